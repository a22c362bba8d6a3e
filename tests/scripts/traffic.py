"""Checks the bytes, operations and overlaps that tools/xla/traffic.py counts, on modules of a few instructions."""
import argparse
import collections
import importlib.util
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools/xla/traffic.py"
spec = importlib.util.spec_from_file_location("traffic", TOOL)
traffic = importlib.util.module_from_spec(spec)
spec.loader.exec_module(traffic)

BF16, F32, S32 = 16, 11, 4


def varint(number):
    result = b""
    while True:
        number, low = number >> 7, number & 127
        result += bytes([low | (128 if number else 0)])
        if not number:
            return result


def field(number, value):
    """Encodes a field of a message: a number, text or bytes."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def shape(kind, *sizes):
    return field(2, kind) + (field(3, b"".join(map(varint, sizes))) if sizes else b"")


def results(*shapes):
    return field(2, 13) + b"".join(field(4, each) for each in shapes)


class Body:
    """A computation that is being written."""

    def __init__(self, number):
        self.number, self.items, self.count = number, b"", 0

    def add(self, opcode, kind, operands=(), called=(), target="", config=None, more=b""):
        self.count += 1
        number = 100 * self.number + self.count
        item = field(1, f"{opcode}.{number}") + field(2, opcode) + field(3, kind) + field(35, number) + more
        item += b"".join(field(36, operand) for operand in operands) + b"".join(field(38, body) for body in called)
        item += (field(28, target) if target else b"") + (field(43, json.dumps(config)) if config else b"")
        self.items += field(2, item)
        return number

    def parameter(self, at, kind):
        return self.add("parameter", kind, more=field(9, at))

    def fusion(self, number, write, result, operands):
        """Adds a fusion of operands, pairs of a number and a shape. `write` fills its body, which is returned."""
        inner = Body(number)
        write(inner, [inner.parameter(at, kind) for at, (_, kind) in enumerate(operands)])
        return self.add("fusion", result, [operand for operand, _ in operands], called=(number,)), inner

    def message(self):
        return field(3, field(5, self.number) + field(6, 100 * self.number + self.count) + self.items)


def module(entry, *others, more=b""):
    return b"".join(body.message() for body in (entry, *others)) + field(6, entry.number) + more


def scheduled(body, *numbers):
    """Encodes a schedule of one computation."""
    return field(7, field(1, field(1, body.number) + field(2, field(1, b"".join(map(varint, numbers))))))


def options_of(**changed):
    return argparse.Namespace(**{"bandwidth": 1.0, "launch": 0.0, "message": 0.0, "link": 1.0,
                                 "peaks": collections.defaultdict(lambda: 1.0), **changed})


def program(data, **changed):
    return traffic.Program(data, options_of(**changed))


def kernels(data):
    return program(data).kernels


def trips(count):
    return {"known_trip_count": {"n": str(count)}, "known_init_step": {"init": "0", "step": "1"}}


def executed(found, value=lambda kernel: 1):
    return traffic.total(found.kernels, value)


class Checks(unittest.TestCase):
    def assert_close(self, found, expected):
        """Compares seconds, which are too small for the default digits of assertAlmostEqual."""
        self.assertAlmostEqual(found, expected, delta=1e-9 * abs(expected) + 1e-18)


class Kernels(Checks):
    def only(self, *bodies):
        found = kernels(module(*bodies))
        self.assertEqual(len(found), 1)
        return found[0]

    def test_products(self):
        for kind, width, name in ((BF16, 2, "bf16"), (F32, 4, "tf32")):
            body = Body(1)
            left, right = body.parameter(0, shape(kind, 64, 32)), body.parameter(1, shape(kind, 32, 16))
            contracts = field(30, field(1, varint(1)))
            body.add("dot", shape(kind, 64, 16), (left, right), more=contracts)
            kernel = self.only(body)
            self.assertEqual(kernel.work, {name: 2 * 64 * 32 * 16})
            self.assertEqual(kernel.bytes, width * (64 * 32 + 32 * 16 + 64 * 16))
            self.assertEqual(kernel.group, "products")
            self.assert_close(kernel.seconds, max(kernel.bytes, 2 * 64 * 32 * 16) * 1e-12)

    def test_library_calls_leave_their_scratch_out(self):
        body = Body(1)
        left, right = body.parameter(0, shape(BF16, 8, 4)), body.parameter(1, shape(BF16, 4, 6))
        config = {"gemm_backend_config": {"dot_dimension_numbers": {"lhs_contracting_dimensions": ["1"]}}}
        body.add("custom-call", results(shape(BF16, 8, 6), shape(6, 1 << 20)), (left, right), target="__cublas$gemm",
                 config=config)
        kernel = self.only(body)
        self.assertEqual(kernel.work, {"bf16": 2 * 8 * 4 * 6})
        self.assertEqual(kernel.bytes, 2 * (8 * 4 + 4 * 6 + 8 * 6))

    def test_convolutions(self):
        # Filters [output 5, input 3, 2, 2], whose output feature is dimension 0, and images of 4 x 4 give 3 x 3.
        images, filters, given = shape(BF16, 7, 3, 4, 4), shape(BF16, 5, 3, 2, 2), shape(BF16, 7, 5, 3, 3)
        for target, operands, result in (("__cudnn$convForward", (images, filters), given),
                                         ("__cudnn$convBackwardFilter", (images, given), filters),
                                         ("__cudnn$convBackwardInput", (given, filters), images)):
            body = Body(1)
            numbers = [body.parameter(at, operand) for at, operand in enumerate(operands)]
            body.add("custom-call", results(result, shape(6, 9)), numbers, target=target, more=field(16, field(4, 0)))
            self.assertEqual(self.only(body).work, {"bf16": 2 * 7 * 5 * 3 * 3 * 3 * 2 * 2}, target)

    def test_attention_and_its_gradient(self):
        for target, products, mask in (("__cudnn$fmhaSoftmax", 2, "CAUSAL"), ("__cudnn$fmhaSoftmax", 2, "NO_MASK"),
                                       ("__cudnn$fmhaSoftmaxBackward", 5, "CAUSAL")):
            body = Body(1)
            q, k = body.parameter(0, shape(BF16, 2, 6, 3, 8)), body.parameter(1, shape(BF16, 2, 10, 3, 8))
            body.add("custom-call", results(shape(BF16, 2, 6, 3, 8), shape(6, 4)), (q, k, k), target=target,
                     config={"cudnn_fmha_backend_config": {"mask_type": mask}})
            expected = products * 2 * 2 * 6 * 3 * 8 * 10 // (2 if mask == "CAUSAL" else 1)
            self.assertEqual(self.only(body).work, {"bf16": expected})

    def fusion(self, write, *operands, result):
        inner, body = Body(2), Body(1)
        write(inner, [inner.parameter(at, operand) for at, operand in enumerate(operands)])
        numbers = [body.parameter(at, operand) for at, operand in enumerate(operands)]
        body.add("fusion", result, numbers, called=(2,))
        return self.only(body, inner)

    def test_a_fusion_reads_what_it_takes(self):
        row = shape(F32, 1, 50)

        def sliced(inner, given):
            table = inner.add("bitcast", shape(F32, 1000, 50), given[:1])
            inner.add("negate", row, (inner.add("dynamic-slice", row, (table, given[1])),))

        self.assertEqual(self.fusion(sliced, shape(F32, 1000, 50), shape(S32), result=row).bytes, 4 * 50 + 4 + 4 * 50)

        def whole(inner, given):
            inner.add("negate", shape(F32, 1000, 50), given)

        kernel = self.fusion(whole, shape(F32, 1000, 50), result=shape(F32, 1000, 50))
        self.assertEqual(kernel.bytes, 2 * 4 * 1000 * 50)
        self.assertEqual(kernel.group, "pointwise")

    def test_a_fusion_writes_what_it_changes(self):
        table, rows = shape(F32, 1000, 50), shape(F32, 3, 50)

        def scattered(inner, given):
            inner.add("scatter", table, given)

        kernel = self.fusion(scattered, table, shape(S32, 3), rows, result=table)
        self.assertEqual(kernel.bytes, 3 * 4 * 3 * 50 + 4 * 3)  # rows that it reads, adds and writes, and their numbers
        self.assertEqual(kernel.group, "scatter")

        def updated(inner, given):
            inner.add("dynamic-update-slice", table, given)

        self.assertEqual(self.fusion(updated, table, rows, shape(S32), shape(S32), result=table).bytes,
                         2 * 4 * 3 * 50 + 2 * 4)

    def test_a_fusion_writes_the_changed_part_of_each_result(self):
        table, row = shape(F32, 1000, 50), shape(F32, 1, 50)

        def kept(inner, given):
            first = inner.add("dynamic-update-slice", table, (given[0], given[2], given[3], given[3]))
            second = inner.add("bitcast", table, (
                inner.add("dynamic-update-slice", table, (given[1], given[2], given[3], given[3])),))
            inner.add("tuple", results(table, table, row), (first, second, given[2]))

        kernel = self.fusion(kept, table, table, row, shape(S32), result=results(table, table, row))
        self.assertEqual(kernel.bytes, 4 * 50 + 4 + 3 * 4 * 50)

    def test_ends_are_no_kernels(self):
        body = Body(1)
        given = body.parameter(0, shape(F32, 10))
        body.add("copy-done", shape(F32, 10), (given,))
        body.add("get-tuple-element", shape(F32, 10), (given,))
        self.assertEqual(kernels(module(body)), [])


class Layers:
    """Random layers over stacked weights, written as a loop or one after the other."""

    def __init__(self, draw):
        self.count, self.rows, self.width = draw.randint(1, 12), draw.randint(20, 200), draw.randint(20, 90)
        self.steps = draw.choices(("product", "pointwise", "keep"), k=draw.randint(1, 6))
        self.x, self.row = shape(BF16, self.rows, self.width), shape(BF16, 1, self.rows, self.width)
        self.square, self.stack = shape(BF16, self.width, self.width), shape(BF16, self.count, self.rows, self.width)
        self.weights = shape(F32, self.count, self.width, self.width)
        self.bodies = []

    def fuse(self, body, write, result, *operands):
        number, inner = body.fusion(10 + len(self.bodies), write, result, operands)
        self.bodies.append(inner)
        return number

    def product(self, body, x, given):
        one = shape(F32, 1, self.width, self.width)

        def taken(inner, inputs):
            cut = inner.add("dynamic-slice" if "index" in given else "slice", one, inputs[:1] + inputs[1:] * 3)
            inner.add("convert", self.square, (inner.add("bitcast", shape(F32, self.width, self.width), (cut,)),))

        index = [(given["index"], shape(S32))] if "index" in given else []
        cut = self.fuse(body, taken, self.square, (given["weights"], self.weights), *index)
        return body.add("dot", self.x, (x, cut), more=field(30, field(1, varint(1))))

    def pointwise(self, body, x, _):
        return self.fuse(body, lambda inner, inputs: inner.add("negate", self.x, inputs), self.x, (x, self.x))

    def keep(self, body, x, given):
        """Keeps x for later next to a value made of it: in its place of a stack if there is a loop."""
        stacked = "index" in given
        result = results(self.x, self.stack if stacked else self.row)

        def kept(inner, inputs):
            made = inner.add("negate", self.x, inputs[:1])
            row = inner.add("bitcast", self.row, inputs[:1])
            if stacked:
                row = inner.add("dynamic-update-slice", self.stack, (inputs[1], row, *inputs[2:] * 3))
            inner.add("tuple", result, (made, row))

        place = [(given["stack"], self.stack), (given["index"], shape(S32))] if stacked else []
        both = self.fuse(body, kept, result, (x, self.x), *place)
        return body.add("get-tuple-element", self.x, (both,))

    def layer(self, body, x, given):
        for step in self.steps:
            x = getattr(self, step)(body, x, given)
        return x

    def unrolled(self):
        self.bodies = []
        entry = Body(1)
        x, weights = entry.parameter(0, self.x), entry.parameter(1, self.weights)
        for _ in range(self.count):
            x = self.layer(entry, x, {"weights": weights})
        return module(entry, *self.bodies)

    def loop(self):
        self.bodies = []
        state = results(shape(S32), self.x, self.weights, self.stack)
        inner, condition, entry = Body(2), Body(3), Body(1)
        given = inner.parameter(0, state)
        index, x, weights, stack = (inner.add("get-tuple-element", kind, (given,))
                                    for kind in (shape(S32), self.x, self.weights, self.stack))
        x = self.layer(inner, x, {"index": index, "weights": weights, "stack": stack})
        inner.add("tuple", state, (inner.add("add", shape(S32), (index, index)), x, weights, stack))
        last = condition.add("get-tuple-element", shape(S32), (condition.parameter(0, state),))
        condition.add("compare", shape(1), (last, last))
        entry.add("while", state, (entry.parameter(0, state),), called=(2, 3), config=trips(self.count))
        return module(entry, inner, condition, *self.bodies)


class Loops(Checks):
    def test_a_loop_equals_its_unrolled_program(self):
        draw = random.Random(5)
        for _ in range(100):
            layers = Layers(draw)
            loop, unrolled = program(layers.loop()), program(layers.unrolled())
            about = (layers.steps, layers.count)
            for value in (lambda k: k.bytes, lambda k: k.seconds):
                self.assertAlmostEqual(executed(loop, value) / executed(unrolled, value), 1, delta=0.02, msg=about)
            operations = [executed(each, lambda k: sum(k.work.values())) for each in (loop, unrolled)]
            self.assertEqual(*operations, about)
            # A pass has an addition and a comparison more than a layer.
            self.assertEqual(executed(loop), executed(unrolled) + 2 * layers.count)
            self.assertEqual(len(loop.kernels) - 2, len(unrolled.kernels) // layers.count)
            self.assertEqual(loop.unknown_loops, 0)

    def test_nested_loops_multiply(self):
        draw = random.Random(6)
        for _ in range(30):
            counts = [draw.randint(0, 9) for _ in range(draw.randint(1, 4))]
            bodies = [Body(at + 1) for at in range(len(counts) + 1)]
            for at, body in enumerate(bodies):
                given = body.parameter(0, shape(F32, 10))
                body.add("add", shape(F32, 10), (given, given))
                if at < len(counts):
                    body.add("while", shape(F32, 10), (given,), called=(at + 2,), config=trips(counts[at]))
            found = program(module(*bodies))
            times = [1]
            for count in counts:
                times.append(times[-1] * count)
            self.assertEqual(sorted(kernel.times for kernel in found.kernels), sorted(times))
            self.assert_close(found.seconds, sum(times) * 3 * 40e-12)

    def test_a_computation_that_two_loops_share_is_in_the_text_once(self):
        entry, inner = Body(1), Body(2)
        inner.add("add", shape(F32, 10), (inner.parameter(0, shape(F32, 10)),) * 2)
        given = entry.parameter(0, shape(F32, 10))
        for count in (3, 4):
            given = entry.add("while", shape(F32, 10), (given,), called=(2,), config=trips(count))
        entry.add("call", shape(F32, 10), (given,), called=(2,))
        self.assertEqual([kernel.times for kernel in program(module(entry, inner)).kernels], [8])

    def test_an_unknown_count_is_one_pass(self):
        for config in (None, {"other": 1}, trips(-1), trips(1 << 63)):
            entry, inner, other = Body(1), Body(2), Body(3)
            for body in (inner, other):
                body.add("add", shape(F32, 10), (body.parameter(0, shape(F32, 10)),) * 2)
            given = entry.parameter(0, shape(F32, 10))
            given = entry.add("while", shape(F32, 10), (given,), called=(2,), config=config)
            entry.add("while", shape(F32, 10), (given,), called=(3,), config=trips(5))
            found = program(module(entry, inner, other))
            self.assertEqual([kernel.times for kernel in found.kernels], [1, 5])
            self.assertEqual(found.unknown_loops, 1)

    def test_a_conditional_runs_its_longest_branch(self):
        draw = random.Random(7)
        for _ in range(30):
            sizes = draw.sample(range(1, 1000), draw.randint(2, 5))
            entry, loop = Body(1), Body(2)
            branches = [Body(3 + at) for at in range(len(sizes))]
            for branch, size in zip(branches, sizes):
                branch.add("add", shape(F32, size), (branch.parameter(0, shape(F32, size)),) * 2)
            loop.add("conditional", shape(F32, 1), called=[branch.number for branch in branches])
            entry.add("while", shape(F32, 1), (entry.parameter(0, shape(F32, 1)),), called=(2,), config=trips(7))
            found = program(module(entry, loop, *branches))
            self.assertEqual(len(found.kernels), len(sizes))
            self.assertEqual({kernel.bytes: kernel.times for kernel in found.kernels if kernel.times},
                             {12 * max(sizes): 7})


class Collectives(Checks):
    """With a link of 1 GB/s a byte takes 1 ns, and with a memory of 1 TB/s an addition of 1,000 numbers 12 ns."""

    RANKS = {4: field(49, field(1, bytes([0, 1, 2, 3]))), 2: field(87, field(1, field(1, bytes([0, 1])))),
             8: field(92, field(1, 1) + field(2, 8)),
             6: field(93, field(1, field(1, field(1, "a") + field(2, 5)) + field(1, field(1, "b") + field(2, 6)))
                      + field(2, field(1, 1))),
             3: field(93, field(1, field(1, field(1, "a") + field(2, 6)))
                      + field(2, field(2, field(1, 2) + field(2, 3))))}

    def begun(self):
        body = Body(1)
        return body, body.parameter(0, shape(F32, 1000))

    def between(self, body, given, count):
        for _ in range(count):
            body.add("add", shape(F32, 1000), (given, given))

    def only(self, data, **changed):
        found = [each for each in program(data, **changed).kernels if each.group == "collectives"]
        self.assertEqual(len(found), 1)
        return found[0]

    def test_time_of_a_ring(self):
        for ranks, groups in self.RANKS.items():
            part = 1 - 1 / ranks
            for opcode, result, tensor, sent in (
                    ("all-reduce", shape(F32, 1000), 4000, 2 * part), ("all-to-all", shape(F32, 1000), 4000, part),
                    ("all-gather", shape(F32, ranks * 1000), ranks * 4000, part),
                    ("reduce-scatter", shape(F32, 1000 // ranks), 4000, part),
                    ("collective-permute", shape(F32, 1000), 4000, 1)):
                body, given = self.begun()
                body.add(opcode, result, (given,), more=groups)
                found = self.only(module(body), launch=3.0)
                self.assertEqual((found.opcode, found.ranks, found.tensor), (opcode, ranks, tensor))
                self.assert_close(found.link, sent * tensor * 1e-9 + 3e-6)
                self.assertEqual((found.between, found.hidden, found.seconds), (0, 0, found.link))

    def test_time_of_a_message(self):
        body, given = self.begun()
        body.add("all-reduce", shape(F32, 1000), (given,), more=self.RANKS[2])
        self.assert_close(self.only(module(body), launch=3.0, message=20.0).link, 4000 * 1e-9 + 23e-6)

    def test_groups_that_are_not_written_down(self):
        for places, ranks, sent in ((b"", 0, 2), (field(15, field(1, 2) + field(2, 4)), 8, 2 * 7 / 8)):
            body, given = self.begun()
            body.add("all-reduce", shape(F32, 1000), (given,))
            found = self.only(module(body, more=places))
            self.assertEqual(found.ranks, ranks)
            self.assert_close(found.link, sent * 4000e-9)

    def test_kernels_between_start_and_end(self):
        for kernels_between, hidden in ((0, False), (1, False), (499, False), (500, True), (600, True)):
            body, given = self.begun()
            self.between(body, given, 3)
            start = body.add("all-reduce-start", shape(F32, 1000), (given,), more=self.RANKS[4])
            self.between(body, given, kernels_between)
            body.add("all-reduce-done", shape(F32, 1000), (start,))
            self.between(body, given, 5)
            found = self.only(module(body))
            self.assertEqual((found.between, found.is_hidden()), (kernels_between, hidden))
            self.assert_close(found.hidden, kernels_between * 12e-9)
            self.assert_close(found.seconds, max(0, 6000e-9 - kernels_between * 12e-9))

    def test_asynchronous_computations(self):
        body, given = self.begun()
        inner = Body(2)
        inner.add("reduce-scatter", shape(F32, 250), (inner.parameter(0, shape(F32, 1000)),), more=self.RANKS[4])
        state = results(results(shape(F32, 1000)), shape(F32, 250))
        start = body.add("async-start", state, (given,), called=(2,))
        self.between(body, given, 2)
        update = body.add("async-update", state, (start,))
        self.between(body, given, 3)
        body.add("async-done", shape(F32, 250), (update,))
        found = self.only(module(body, inner))
        self.assertEqual((found.opcode, found.ranks, found.tensor, found.between), ("reduce-scatter", 4, 4000, 5))
        self.assert_close(found.link, 3000e-9)

    def test_a_gather_and_a_permutation_that_start(self):
        for opcode, results_of, tensor in (("all-gather", results(shape(F32, 1000), shape(F32, 4000)), 16000),
                                           ("collective-permute", results(shape(F32, 1000), shape(F32, 1000)), 4000)):
            body, given = self.begun()
            start = body.add(opcode + "-start", results_of, (given,), more=self.RANKS[4])
            self.between(body, given, 1)
            body.add(opcode + "-done", shape(F32, 1000), (start,))
            found = self.only(module(body))
            self.assertEqual((found.opcode, found.tensor, found.between), (opcode, tensor, 1))

    def test_synchronous_ones_have_no_kernels_between(self):
        body, given = self.begun()
        start = body.add("all-reduce-start", shape(F32, 1000), (given,), more=self.RANKS[4],
                         config={"collective_backend_config": {"is_sync": True}})
        self.between(body, given, 600)
        body.add("all-reduce-done", shape(F32, 1000), (start,))
        found = self.only(module(body))
        self.assertEqual((found.between, found.hidden, found.is_hidden()), (0, 0, False))
        self.assert_close(found.seconds, 6000e-9)

    def test_the_order_is_that_of_the_schedule(self):
        body, given = self.begun()
        first = body.add("add", shape(F32, 1000), (given, given))
        start = body.add("all-reduce-start", shape(F32, 1000), (given,), more=self.RANKS[4])
        done = body.add("all-reduce-done", shape(F32, 1000), (start,))
        last = body.add("add", shape(F32, 1000), (given, given))
        for order, count in (((given, start, first, last, done), 2), ((given, first, start, last, done), 1),
                             ((given, first, start, done, last), 0)):
            data = module(body, more=scheduled(body, *order))
            self.assertTrue(program(data).is_scheduled)
            self.assertEqual(self.only(data).between, count)
        self.assertFalse(program(module(body)).is_scheduled)

    def test_loops_between_and_around(self):
        body, given = self.begun()
        around, inside = Body(2), Body(3)
        self.between(inside, inside.parameter(0, shape(F32, 1000)), 2)
        own = around.parameter(0, shape(F32, 1000))
        start = around.add("all-reduce-start", shape(F32, 1000), (own,), more=self.RANKS[4])
        around.add("while", shape(F32, 1000), (own,), called=(3,), config=trips(20))
        around.add("all-reduce-done", shape(F32, 1000), (start,))
        body.add("while", shape(F32, 1000), (given,), called=(2,), config=trips(10))
        data = module(body, around, inside)
        found = self.only(data)
        self.assertEqual((found.between, found.times), (40, 10))
        self.assert_close(program(data).seconds, 10 * 6000e-9)
        self.assert_close(found.seconds, 6000e-9 - 40 * 12e-9)
        self.assert_close(found.hidden, 40 * 12e-9)

    def test_collectives_share_the_link(self):
        body, given = self.begun()
        starts = [body.add("collective-permute-start", results(shape(F32, 1000), shape(F32, 1000)), (given,))
                  for _ in range(3)]
        self.between(body, given, 400)
        for start in starts:
            body.add("collective-permute-done", shape(F32, 1000), (start,))
        found = program(module(body))
        moved = [each for each in found.kernels if each.group == "collectives"]
        self.assertEqual([each.between for each in moved], [400] * 3)
        for each, wait in zip(moved, (0, 3200e-9, 4000e-9)):
            self.assert_close(each.seconds, wait)
        self.assert_close(found.seconds, 12000e-9)

    def test_the_bound_is_the_sum_of_kernels_and_waits(self):
        draw = random.Random(8)
        for _ in range(100):
            bodies, open_starts = [Body(at + 1) for at in range(draw.randint(1, 4))], []
            for at, body in enumerate(bodies):
                given, open_starts = body.parameter(0, shape(F32, 1000)), []
                for _ in range(draw.randint(1, 12)):
                    kind = draw.choice(("kernels", "start", "done", "loop"))
                    if kind == "kernels":
                        self.between(body, given, draw.randint(1, 300))
                    elif kind == "start":
                        open_starts.append(body.add("all-reduce-start", shape(F32, 1000), (given,), more=self.RANKS[2]))
                    elif kind == "done" and open_starts:
                        start = open_starts.pop(draw.randrange(len(open_starts)))
                        body.add("all-reduce-done", shape(F32, 1000), (start,))
                    elif kind == "loop" and at + 1 < len(bodies):
                        body.add("while", shape(F32, 1000), (given,), called=(draw.randint(at + 2, len(bodies)),),
                                 config=trips(draw.randint(0, 5)))
            found = program(module(*bodies))
            self.assert_close(found.seconds, executed(found, lambda k: k.seconds))


class Command(unittest.TestCase):
    def run_on(self, data, *flags):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "program_0.hlo.pb"
            path.write_bytes(data)
            return subprocess.run([sys.executable, TOOL, *flags, path], capture_output=True, text=True, check=False)

    def test_tables(self):
        body = Body(1)
        left, right = body.parameter(0, shape(BF16, 4096, 4096)), body.parameter(1, shape(BF16, 4096, 4096))
        body.add("dot", shape(BF16, 4096, 4096), (left, right), more=field(30, field(1, varint(1))))
        done = self.run_on(module(body), "--kernels", "1", "--bf16", "100", "--launch", "0")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"\nsum +1 +1 +0\.101 +0\.137 +1\.374  bf16 0\.137\n")
        self.assertRegex(done.stdout, r"\n +1 +1 +1\.374  products, operations: dot\.103: ")
        self.assertNotIn("loops", done.stdout)

    def test_tables_of_loops(self):
        body, loop, other = Body(1), Body(2), Body(3)
        for inner in (loop, other):
            given = inner.parameter(0, shape(F32, 1 << 20))
            inner.add("add", shape(F32, 1 << 20), (given, given))
        given = body.parameter(0, shape(F32, 1 << 20))
        body.add("while", shape(F32, 1 << 20), (given,), called=(2,), config=trips(100))
        body.add("while", shape(F32, 1 << 20), (given,), called=(3,))
        done = self.run_on(module(body, loop, other), "--kernels", "1", "--bandwidth", "1", "--launch", "1")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"\nsum +2 +101 +1\.271 +0\.000 +1\.372\b")
        self.assertIn("\nloops of unknown trip count, each counted as one pass: 1\n", done.stdout)
        self.assertRegex(done.stdout, r"\n +2 +101 +1\.372  pointwise, bytes: add\.")

    def collectives(self, count):
        """Runs on `count` equal all-reduces, half of them asynchronous, and a gather that kernels cover."""
        body = Body(1)
        given = body.parameter(0, shape(F32, 1 << 20))
        groups = field(49, field(1, bytes([0, 1])))
        for at in range(count):
            start = body.add("all-reduce-start", shape(F32, 1 << 20), (given,), more=groups,
                             config={"collective_backend_config": {"is_sync": at % 2 == 0}})
            body.add("add", shape(F32, 1 << 20), (given, given))
            body.add("all-reduce-done", shape(F32, 1 << 20), (start,))
        start = body.add("all-gather-start", results(shape(F32, 1 << 20), shape(F32, 2 << 20)), (given,), more=groups)
        for _ in range(2):
            body.add("add", shape(F32, 1 << 20), (given, given))
        body.add("all-gather-done", shape(F32, 2 << 20), (start,))
        done = self.run_on(module(body), "--collectives", "--bandwidth", "1", "--launch", "0", "--link", "200")
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_tables_of_collectives(self):
        # The bytes are 2 x 4.2 MB at 21.0 us, of which 12.6 are covered once, and 8.4 MB at 21.0 us, covered by 25.2.
        printed = self.collectives(2)
        self.assertRegex(printed, r"\nall-reduce of 2 +1 +1 +0\.004 +0\.021 +0 +0\.000 +0\.021  synchronous, all-")
        self.assertRegex(printed, r"\nall-reduce of 2 +1 +1 +0\.004 +0\.021 +1 +0\.013 +0\.008  all-reduce-start\.")
        self.assertRegex(printed, r"\nall-gather of 2 +1 +1 +0\.008 +0\.021 +2 +0\.025 +0\.000  all-gather-start\.")
        self.assertRegex(printed, r"\nsum +3 +3 +0\.017 +0\.063 +3 +0\.038 +0\.029\n")
        self.assertIn("\n50.0 % of the bytes overlap ", printed)
        self.assertRegex(printed, r"\ncollectives +3 +3 +0\.029 +0\.000 +0\.029 *\n")
        self.assertIn("\nthe module has no schedule, ", printed)

    def test_many_collectives_fold(self):
        self.assertEqual(self.collectives(23).count("all-reduce of 2"), 23)
        printed = self.collectives(24)
        self.assertRegex(printed, r"\nall-reduce of 2 +12 +12 +0\.050 +0\.252 +0 +0\.000 +0\.252  synchronous, ")
        self.assertRegex(printed, r"\nall-reduce of 2 +12 +12 +0\.050 +0\.252 +12 +0\.151 +0\.101  all-reduce-start")
        self.assertEqual(printed.count("all-reduce of 2"), 2)

    def test_no_collectives(self):
        body = Body(1)
        body.add("negate", shape(F32, 10), (body.parameter(0, shape(F32, 10)),))
        self.assertIn("\nno collectives\n", self.run_on(module(body), "--collectives").stdout)

    def test_other_files(self):
        for data, word in ((b"\x0b\x01", "a field of type 3"), (field(3, "long")[:-1], "ends early")):
            done = self.run_on(data)
            self.assertEqual(done.returncode, 1, done.stdout)
            self.assertIn(word, done.stderr)
            self.assertNotIn("Traceback", done.stderr)
        missing = subprocess.run([sys.executable, TOOL, "/no/such"], capture_output=True, text=True, check=False)
        self.assertEqual(missing.stderr, "[traffic] cannot read /no/such: No such file or directory\n")

    def test_random_changes_are_no_crash(self):
        inner, body = Body(2), Body(1)
        inner.add("add", shape(F32, 10), (inner.parameter(0, shape(F32, 10)),) * 2)
        given = body.parameter(0, shape(F32, 10))
        body.add("fusion", shape(F32, 10), (given,), called=(2,))
        start = body.add("all-reduce-start", shape(F32, 10), (given,), more=field(93, field(1, field(1, field(2, 4)))
                                                                                  + field(2, b"")))
        body.add("while", shape(F32, 10), (given,), called=(2,), config=trips(3))
        body.add("all-reduce-done", shape(F32, 10), (start,))
        whole = module(body, inner, more=scheduled(body, *range(101, 106)))
        self.assertEqual(executed(program(whole)), 5)
        draw = random.Random(3)
        refused = 0
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "changed.hlo.pb"
            for _ in range(2000):
                changed = bytearray(whole)
                for _ in range(draw.randint(1, 4)):
                    changed[draw.randrange(len(changed))] = draw.randrange(256)
                path.write_bytes(changed[: draw.randint(1, len(changed))])
                try:
                    traffic.program_in(path, options_of())
                except SystemExit as refusal:
                    self.assertTrue(str(refusal).startswith("[traffic] "), refusal)
                    refused += 1
        self.assertGreater(refused, 1000)


if __name__ == "__main__":
    unittest.main()
