"""Checks the bytes and operations that tools/xla/traffic.py counts, on modules of a few instructions."""
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

    def message(self):
        return field(3, field(5, self.number) + field(6, 100 * self.number + self.count) + self.items)


def module(entry, *others):
    return b"".join(body.message() for body in (entry, *others)) + field(6, entry.number)


def kernels(data):
    options = argparse.Namespace(bandwidth=1.0, launch=0.0, peaks=collections.defaultdict(lambda: 1.0))
    read = traffic.fields(data)
    bodies = {each.id: each for each in map(traffic.Computation, read[3])}
    return traffic.kernels_of(bodies[read[6][0]], bodies, options)


class Kernels(unittest.TestCase):
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
            self.assertAlmostEqual(kernel.seconds, max(kernel.bytes, 2 * 64 * 32 * 16) * 1e-12)

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

    def test_loops_count_once_and_ends_not(self):
        inner, body = Body(2), Body(1)
        inner.add("add", shape(F32, 10), (inner.parameter(0, shape(F32, 10)),) * 2)
        given = body.parameter(0, shape(F32, 10))
        loop = body.add("while", shape(F32, 10), (given,), called=(2,))
        body.add("all-reduce-done", shape(F32, 10), (loop,))
        body.add("get-tuple-element", shape(F32, 10), (loop,))
        self.assertEqual(self.only(body, inner).bytes, 3 * 4 * 10)


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
        self.assertRegex(done.stdout, r"\nsum +1 +0\.101 +0\.137 +1\.374  bf16 0\.137\n")
        self.assertIn("1.374 ms     1 x products, operations: dot.103: ", done.stdout)

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
        body.add("fusion", shape(F32, 10), (body.parameter(0, shape(F32, 10)),), called=(2,))
        whole = module(body, inner)
        options = argparse.Namespace(bandwidth=1.0, launch=0.0, peaks=collections.defaultdict(lambda: 1.0))
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
                    traffic.kernels_in(path, options)
                except SystemExit as refusal:
                    self.assertTrue(str(refusal).startswith("[traffic] "), refusal)
                    refused += 1
        self.assertGreater(refused, 1000)


if __name__ == "__main__":
    unittest.main()
