#!/usr/bin/env python3
"""Prints a roofline of compiled programs: how long each kernel takes at least, by its bytes and its operations.

    partita compile gpt --target h100 --precision bf16 --out FOLDER
    tools/xla/traffic.py FOLDER/program_*.hlo.pb
    tools/xla/traffic.py --kernels 20 FOLDER/program_0.hlo.pb      # its 20 slowest kernels, kernels alike in one line
    tools/xla/traffic.py --collectives FOLDER/program_0.hlo.pb     # and the kernels that its collectives overlap with

FILE is an optimised module of XLA for a GPU, an HloModuleProto in bytes. A kernel takes the larger of its bytes over the
bandwidth and its operations over the peak of their type, plus --launch. This is a bound, not a forecast: kernels reach
less than the peak, and what a cache saves is not counted.

Bytes are those of operands and results of each fusion, library call and plain instruction, without scratch memory. A
fusion that reads an operand only by slices or gathers reads what these give, and a scatter reads and writes the rows that
it changes.
Operations are those of products, convolutions and cuDNN's attention, half of them where it is causal. Other arithmetic
is free.

`in text` counts the kernels of the module, `executed` how often they run: each pass of a loop counts, and of the branches
of a conditional the one with the largest bound. GB, TFLOP and ms are those of kernels executed. XLA writes down the trip
count of a loop if it is constant. Other loops count as one pass, and a line after the table says how many there are.

A collective takes the time of a ring at --link, plus --launch and --message. An all-reduce of n ranks sends 2 (n - 1) /
n of its bytes, a permutation all of them, others (n - 1) / n. If the module does not say n, it counts as large.
Collectives run one after the other, next to the kernels that the schedule has between start and end. Their ms in the
table are those for which kernels then wait, so the sum is a bound of the step. A called computation begins with a link
that is free.

--collectives prints a line for each collective, or for all alike if there are more than 24. It shows the bytes of the
whole tensor, the ms at --link, the number and ms of the kernels between start and end, and the ms that kernels wait. All
are sums over executions, and kernels between two starts and two ends count for both. Synchronous collectives have no
kernels between. The last line is the share of the bytes whose kernels between take at least as long as they do.
"""

import argparse
import collections
import json
import math
import struct
import sys

# PrimitiveType of xla_data.proto, with bytes of an element.
TYPES = {1: ("pred", 1), 2: ("s8", 1), 3: ("s16", 2), 4: ("s32", 4), 5: ("s64", 8), 6: ("u8", 1), 7: ("u16", 2),
         8: ("u32", 4), 9: ("u64", 8), 10: ("f16", 2), 11: ("f32", 4), 12: ("f64", 8), 15: ("c64", 8), 16: ("bf16", 2),
         18: ("c128", 16)}
FREE = {"parameter", "constant", "tuple", "get-tuple-element", "bitcast", "after-all", "opt-barrier", "partition-id",
        "replica-id", "recv"}
READS = {"slice", "dynamic-slice", "gather"}
CALLS = {"while", "call", "conditional", "async-start"}
COLLECTIVES = {"all-reduce", "all-gather", "reduce-scatter", "all-to-all", "ragged-all-to-all", "collective-permute",
               "collective-broadcast", "send"}
MAX_LINES = 24  # of collectives, before those alike share one


def varint(data, at):
    """Returns a number of variable length, and where the next field begins."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


class Malformed(ValueError):
    """Bytes that are no message."""


def fields(data):
    """Returns the fields of a message by number, each a list of numbers or bytes."""
    result, at = collections.defaultdict(list), 0
    while at < len(data):
        key, at = varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 2:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
        elif kind in (1, 5):
            size = 8 if kind == 1 else 4
            value, at = struct.unpack("<Q" if kind == 1 else "<I", data[at:at + size])[0], at + size
        else:
            raise Malformed(f"a field of type {kind}")
        if at > len(data):
            raise Malformed("a message that ends early")
        result[key >> 3].append(value)
    return result


def numbers(values):
    """Returns the numbers of a repeated field, packed or not."""
    result = []
    for value in values:
        at = 0
        while isinstance(value, bytes) and at < len(value):
            number, at = varint(value, at)
            result.append(number)
        if isinstance(value, int):
            result.append(value)
    return result


class Shape:
    def __init__(self, data):
        shape = fields(data)
        self.type, self.width = TYPES.get(shape[2][0] if shape[2] else 0, ("", 0))
        self.sizes = numbers(shape[3])
        self.parts = [Shape(part) for part in shape[4]]

    def count(self):
        return math.prod(self.sizes)

    def bytes(self):
        return sum(part.bytes() for part in self.parts) if self.parts else self.width * self.count()

    def __str__(self):
        if self.parts:
            return "(" + ", ".join(map(str, self.parts)) + ")"
        return f"{self.type}[{','.join(map(str, self.sizes))}]"


class Instruction:
    def __init__(self, data):
        proto = fields(data)
        self.proto = proto
        self.name, self.opcode = proto[1][0].decode(), proto[2][0].decode()
        self.shape = Shape(proto[3][0])
        self.id = proto[35][0] if proto[35] else 0
        self.operands, self.called = numbers(proto[36]), numbers(proto[38])
        self.target = proto[28][0].decode() if proto[28] else ""

    def config(self):
        """Returns the backend's configuration, an empty one if it is not JSON."""
        try:
            return json.loads(self.proto[43][0])
        except (IndexError, ValueError):
            return {}


class Computation:
    def __init__(self, data):
        proto = fields(data)
        self.id, self.root = proto[5][0], proto[6][0]
        self.all = [Instruction(item) for item in proto[2]]
        self.by_id = {item.id: item for item in self.all}

    def reorder(self, schedule):
        self.all = [self.by_id[number] for number in schedule]

    def root_item(self):
        return self.by_id[self.root]

    def operands(self, item):
        return [self.by_id[number] for number in item.operands]


def product_work(left, result, contracted):
    return 2 * result.count() * math.prod(left.sizes[axis] for axis in contracted)


def is_exact(item):
    """Whether a product of f32 asks for all bits, so it cannot be one of TF32."""
    return any(value for config in item.proto[51] for value in numbers(fields(config)[1]))


def convolution_work(filters, result, item):
    """Operations of a convolution: for each result, those of a filter's elements of one output feature."""
    dimensions = fields(item.proto[16][0])
    features = numbers(dimensions[4])
    return 2 * result.count() * filters.count() // filters.sizes[features[0] if features else 0]


def attention_work(item, operands):
    """Operations of cuDNN's attention, from the queries [batch, s, heads, width] and the keys: 2 products, or 5."""
    q, k = operands[0].shape.sizes, operands[1].shape.sizes
    config = item.config().get("cudnn_fmha_backend_config", {})
    causal = "CAUSAL" in config.get("mask_type", "")
    products = 5 if "Backward" in item.target else 2
    return products * 2 * math.prod(q) * k[1] // (2 if causal else 1)


def work_of(computation, item, module):
    """Returns the operations of an instruction, and of what it calls, by their type."""
    work = collections.Counter()
    operands = computation.operands(item)
    shape = item.shape.parts[0] if item.shape.parts else item.shape
    if item.opcode == "dot":
        contracted = numbers(fields(item.proto[30][0])[1])
        kind = operands[0].shape.type
        work["f32" if kind == "f32" and is_exact(item) else "tf32" if kind == "f32" else kind] += product_work(
            operands[0].shape, shape, contracted)
    elif item.target.startswith("__cublas"):
        gemm = item.config().get("gemm_backend_config", {})
        contracted = [int(axis) for axis in gemm["dot_dimension_numbers"].get("lhs_contracting_dimensions", [])]
        exact = any(value != "DEFAULT" for value in gemm.get("precision_config", {}).get("operand_precision", []))
        kind = operands[0].shape.type
        work["tf32" if kind == "f32" and not exact else kind] += product_work(operands[0].shape, shape, contracted)
    elif item.target.startswith("__cudnn$fmha"):
        work[operands[0].shape.type] += attention_work(item, operands)
    elif item.opcode == "convolution" or item.target.startswith("__cudnn$conv"):
        # The filter's gradient and the input's have their results where the filter and the input were.
        filters, result = operands[1].shape, shape
        if item.target.endswith("BackwardFilter"):
            filters, result = shape, operands[1].shape
        elif item.target.endswith("BackwardInput"):
            result = operands[0].shape
        kind = operands[0].shape.type
        work["tf32" if kind == "f32" and not is_exact(item) else kind] += convolution_work(filters, result, item)
    for called in item.called if item.opcode in ("fusion", "call") else []:
        for inner in module[called].all:
            work += work_of(module[called], inner, module)
    return work


def read_bytes(body, operand, parameter):
    """Bytes that a fusion reads of one operand: all of it, unless only slices, gathers or a scatter read it."""
    elements, names, seen = 0, [parameter.id], {parameter.id}
    while names:
        name = names.pop()
        for user in body.all:
            if name not in user.operands:
                continue
            is_first = user.operands[0] == name
            if user.opcode in ("bitcast", "convert"):
                names += {user.id} - seen
                seen.add(user.id)
            elif user.opcode in READS and is_first:
                elements += user.shape.count()
            elif user.opcode == "scatter" and is_first:
                elements += body.by_id[user.operands[-1]].shape.count()
            elif user.opcode != "dynamic-update-slice" or not is_first:
                return operand.bytes()
    return min(elements * operand.width, operand.bytes())


def written_bytes(body, result):
    """Bytes that a fusion writes of one result: all of it, or the changed part of one that is updated in place."""
    for _ in body.all:
        if result.opcode == "bitcast":
            result = body.by_id[result.operands[0]]
    if result.opcode == "scatter":
        return body.by_id[result.operands[-1]].shape.bytes()
    if result.opcode == "dynamic-update-slice":
        return body.by_id[result.operands[1]].shape.bytes()
    return result.shape.bytes()


def bytes_of(computation, item, module):
    operands = computation.operands(item)
    if item.opcode != "fusion":
        # The last result of a library call is its scratch memory.
        results = item.shape.parts[:-1] if item.target.startswith("__cu") and item.shape.parts else [item.shape]
        return sum(result.bytes() for result in results) + sum(operand.shape.bytes() for operand in operands)
    body = module[item.called[0]]
    parameters = {inner.proto[9][0] if inner.proto[9] else 0: inner for inner in body.all if inner.opcode == "parameter"}
    read = sum(read_bytes(body, operand.shape, parameters[at]) for at, operand in enumerate(operands))
    root = body.root_item()
    results = body.operands(root) if root.opcode == "tuple" else [root]
    return read + sum(written_bytes(body, result) for result in results)


class Kernel:
    """A kernel in the text, which runs `times` times. `seconds` is the bound of one run."""

    times = 0

    def __init__(self, computation, item, module, options):
        self.bytes = bytes_of(computation, item, module)
        self.work = work_of(computation, item, module)
        self.memory = self.bytes / options.bandwidth / 1e12
        self.arithmetic = sum(count / (options.peaks[kind] * 1e12) for kind, count in self.work.items())
        self.seconds = max(self.memory, self.arithmetic) + options.launch * 1e-6
        self.shapes = ", ".join(str(operand.shape) for operand in computation.operands(item)) + " -> " + str(item.shape)
        self.opcode, self.name = item.opcode, item.name
        self.group = self.kind(item, module)

    def bound(self):
        return "bytes" if self.memory >= self.arithmetic else "operations"

    def kind(self, item, module):
        if self.work:
            return "products"
        if item.opcode == "custom-call":
            return "library"
        inner = {item.opcode}
        if item.opcode == "fusion":
            inner = {each.opcode for each in module[item.called[0]].all} - FREE
        if inner <= {"copy", "transpose", "convert", "reshape", "concatenate", "pad", "slice"}:
            return "copies, casts"
        for name in ("scatter", "sort", "reduce"):
            if any(each.startswith(name) for each in inner):
                return name
        return "pointwise"


def ranks_of(item, devices):
    """Returns the number of ranks of each group of a collective, 0 if the module does not say it."""
    groups = item.proto[49] or [group for listed in item.proto[87] for group in fields(listed)[1]]
    if groups:
        return len(numbers(fields(groups[0])[1]))
    for iota in item.proto[92]:
        return fields(iota)[2][0]
    for listed in item.proto[93]:
        mesh, ranks = fields(fields(listed)[1][0]), 1
        for axis in map(fields, fields(listed)[2]):
            whole = fields(mesh[1][axis[1][0] if axis[1] else 0])
            ranks *= fields(axis[2][0])[2][0] if axis[2] else whole[2][0]
        return ranks
    return devices


class Collective(Kernel):
    """A collective. `seconds` is how long kernels wait for it, `link` how long it takes, in seconds of one run."""

    def __init__(self, computation, item, program):
        module, options = program.computations, program.options
        # An async-start calls a computation whose root is the collective, and its first results are its operands.
        inner = module[item.called[0]].root_item() if item.opcode == "async-start" else item
        self.opcode, self.name, self.group = inner.opcode.removesuffix("-start"), item.name, "collectives"
        self.ranks = ranks_of(inner, program.devices)
        operands = [operand.shape for operand in computation.operands(item)]
        read = sum(operand.bytes() for operand in operands)
        result = inner.shape.parts[1] if inner.opcode == "all-gather-start" else inner.shape
        written = result.bytes() if self.opcode in ("all-gather", "reduce-scatter") else read
        self.bytes, self.work, self.tensor = read + written, collections.Counter(), max(read, written)
        whole = self.opcode in ("collective-permute", "collective-broadcast", "send") or not self.ranks
        sent = (2 if self.opcode == "all-reduce" else 1) * self.tensor * (1 if whole else 1 - 1 / self.ranks)
        self.link = sent / options.link / 1e9 + (options.launch + options.message) * 1e-6
        shapes = ", ".join(map(str, operands))
        self.shapes = f"{shapes} -> {result}" if self.opcode in ("all-gather", "reduce-scatter") else shapes
        config = item.config().get("collective_backend_config", {})
        self.is_sync = config.get("is_sync", False) or not (item.opcode.endswith("-start") or item.opcode == "send")
        self.between, self.hidden, self.end, self.seconds = 0, 0.0, 0.0, 0.0

    def bound(self):
        return "link"

    def is_hidden(self):
        return self.hidden >= self.link


class Pass:
    """One pass through a computation: its kernels, the passes that it calls and how often, and its bound."""

    def __init__(self):
        self.kernels, self.calls, self.times, self.unknown_loops = [], [], 0, 0
        self.executed, self.busy = 0, 0.0  # kernels but collectives, and their seconds
        self.seconds, self.link = 0.0, 0.0  # time at which the last kernel ends, and the last collective

    def run(self, kernel):
        self.kernels.append(kernel)
        self.executed += 1
        self.busy += kernel.seconds
        self.seconds += kernel.seconds

    def call(self, inner, times):
        self.calls.append((inner, times))
        self.executed += times * inner.executed
        self.busy += times * inner.busy
        self.seconds += times * inner.seconds

    def start(self, collective):
        self.kernels.append(collective)
        collective.between, collective.hidden = -self.executed, -self.busy
        collective.end = self.link = max(self.link, self.seconds) + collective.link

    def finish(self, collective):
        collective.between += self.executed
        collective.hidden = 0.0 if collective.between == 0 else collective.hidden + self.busy
        collective.seconds = max(0.0, collective.end - self.seconds)
        self.seconds += collective.seconds


class Program:
    """The kernels of a module, each once, with the number of its executions."""

    def __init__(self, message, options):
        module = fields(message)
        self.options, self.passes = options, {}
        self.computations = {each.id: each for each in map(Computation, module[3])}
        self.is_scheduled = bool(module[7])
        # The order of instructions in the message is not that of the schedule.
        for entry in map(fields, fields(module[7][0])[1] if module[7] else []):
            self.computations[entry[1][0]].reorder(numbers(fields(entry[2][0])[1]))
        places = fields(module[15][0]) if module[15] else {1: [], 2: []}
        self.devices = math.prod(places[1] + places[2]) if places[1] + places[2] else 0
        self.seconds = self.pass_of(module[6][0]).seconds
        self.passes[module[6][0]].times = 1
        for each in reversed(self.passes.values()):  # callers first
            for inner, times in each.calls:
                inner.times += each.times * times
            for kernel in each.kernels:
                kernel.times = each.times
        self.kernels = [kernel for each in self.passes.values() for kernel in each.kernels]
        self.unknown_loops = sum(each.unknown_loops for each in self.passes.values())

    def pass_of(self, number):
        if number not in self.passes:
            self.passes[number] = self.read_pass(self.computations[number])
        return self.passes[number]

    def read_pass(self, computation):
        result, started = Pass(), {}
        for item in computation.all:
            if self.is_collective(item):
                collective = Collective(computation, item, self)
                result.start(collective)
                started[item.id] = collective
                if collective.is_sync:
                    result.finish(started.pop(item.id))
            elif item.opcode == "async-update":
                started.update((item.id, started.pop(one)) for one in item.operands if one in started)
            elif item.opcode.endswith("-done"):
                for one in item.operands:
                    if one in started:
                        result.finish(started.pop(one))
            elif item.opcode in CALLS:
                self.read_calls(item, result)
            elif item.opcode not in FREE:
                result.run(Kernel(computation, item, self.computations, self.options))
        for collective in started.values():
            result.finish(collective)
        return result

    def is_collective(self, item):
        if item.opcode == "async-start":
            item = self.computations[item.called[0]].root_item()
        return item.opcode.removesuffix("-start") in COLLECTIVES

    def read_calls(self, item, result):
        inner = [self.pass_of(number) for number in item.called]
        times = [1] * len(inner)
        if item.opcode == "while":
            passes = int(item.config().get("known_trip_count", {}).get("n", -1))
            if not 0 <= passes < 1 << 63:
                result.unknown_loops += 1
                passes = 1
            times = [passes] * len(inner)
        elif item.opcode == "conditional":
            longest = max(range(len(inner)), key=lambda at: inner[at].seconds)
            times = [int(at == longest) for at in range(len(inner))]
        for each, count in zip(inner, times):
            result.call(each, count)


def total(kernels, value):
    """Returns the sum of a value of a kernel over all executions."""
    return sum(kernel.times * value(kernel) for kernel in kernels)


def print_row(name, kernels):
    work = collections.Counter()
    for kernel in kernels:
        work.update({kind: kernel.times * count for kind, count in kernel.work.items() if kernel.times})
    print(f"{name:<16}{len(kernels):>8}{total(kernels, lambda k: 1):>10}{total(kernels, lambda k: k.bytes) / 1e9:>10.3f}"
          f"{sum(work.values()) / 1e12:>10.3f}{total(kernels, lambda k: k.seconds) * 1e3:>10.3f}  "
          + ", ".join(f"{kind} {count / 1e12:.3f}" for kind, count in sorted(work.items())))


def print_slowest(kernels, count):
    alike = collections.defaultdict(list)
    for kernel in kernels:
        alike[(kernel.group, kernel.shapes)].append(kernel)
    ranked = sorted(alike.items(), key=lambda entry: -total(entry[1], lambda k: k.seconds))[:count]
    if ranked:
        print(f"{'in text':>8}{'executed':>10}{'ms':>10}  kernels alike, and their bound")
    for (group, shapes), same in ranked:
        print(f"{len(same):>8}{total(same, lambda k: 1):>10}{total(same, lambda k: k.seconds) * 1e3:>10.3f}  {group}, "
              f"{same[0].bound()}: {same[0].name}: {shapes}")


def print_collective(name, same, text):
    print(f"{name:<24}{len(same):>8}{total(same, lambda k: 1):>10}{total(same, lambda k: k.tensor) / 1e9:>10.3f}"
          f"{total(same, lambda k: k.link) * 1e3:>10.3f}{total(same, lambda k: k.between):>9}"
          f"{total(same, lambda k: k.hidden) * 1e3:>12.3f}{total(same, lambda k: k.seconds) * 1e3:>9.3f}  {text}".rstrip())


def print_collectives(program):
    found = [kernel for kernel in program.kernels if kernel.group == "collectives"]
    if not found:
        print("no collectives")
        return
    print(f"{'collectives':<24}{'in text':>8}{'executed':>10}{'GB':>10}{'ms':>10}{'between':>9}{'between ms':>12}"
          f"{'wait ms':>9}")
    alike = collections.defaultdict(list)
    for at, each in enumerate(found):
        alike[(each.opcode, each.ranks, each.is_sync, each.shapes) if len(found) > MAX_LINES else at].append(each)
    for same in sorted(alike.values(), key=lambda same: -total(same, lambda k: k.link)):
        first = same[0]
        print_collective(f"{first.opcode} of {first.ranks or '?'}", same,
                         ("synchronous, " if first.is_sync else "") + f"{first.name}: {first.shapes}")
    print_collective("sum", found, "")
    hidden = total([each for each in found if each.is_hidden()], lambda k: k.tensor)
    share = 100 * hidden / (total(found, lambda k: k.tensor) or 1)
    print(f"{share:.1f} % of the bytes overlap with kernels for at least the time that they take")
    if not program.is_scheduled:
        print("the module has no schedule, its order is that of its text")


def count(text):
    """Returns a number of an option that is no less than 0."""
    if int(text) < 0:
        raise argparse.ArgumentTypeError(f"got {text}, expected 0 or more")
    return int(text)


def program_in(name, options):
    """Returns the program in a file."""
    try:
        with open(name, "rb") as file:
            return Program(file.read(), options)
    except OSError as error:
        sys.exit(f"[traffic] cannot read {name}: {error.strerror}")
    except Malformed as error:
        sys.exit(f"[traffic] not an HloModuleProto, got {error} in {name}, expected a whole .hlo.pb of partita compile")
    except (IndexError, KeyError, ValueError, TypeError, AttributeError, ArithmeticError, RecursionError, struct.error):
        sys.exit(f"[traffic] not an HloModuleProto, got {name}, expected a .hlo.pb of partita compile")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument("--kernels", type=count, default=0, help="kernels to list, slowest first")
    parser.add_argument("--collectives", action="store_true", help="list collectives and the kernels that overlap")
    parser.add_argument("--bandwidth", type=float, default=3.35, help="TB/s; the default is an H100")
    parser.add_argument("--bf16", type=float, default=990, help="TFLOP/s of products of 16 bits")
    parser.add_argument("--tf32", type=float, default=495, help="TFLOP/s of products of f32 that are rounded to TF32")
    parser.add_argument("--f32", type=float, default=67, help="TFLOP/s of products of f32, and of f64")
    parser.add_argument("--link", type=float, default=450, help="GB/s of a collective; the default is NVLink of an H100")
    parser.add_argument("--message", type=float, default=0, help="microseconds of a collective without its bytes")
    parser.add_argument("--launch", type=float, default=2, help="microseconds for each kernel")
    options = parser.parse_args()
    options.peaks = collections.defaultdict(lambda: options.f32)
    options.peaks.update({"bf16": options.bf16, "f16": options.bf16, "tf32": options.tf32})
    everything = []
    for name in options.files:
        program = program_in(name, options)
        everything += program.kernels
        print(name)
        print(f"{'kernels':<16}{'in text':>8}{'executed':>10}{'GB':>10}{'TFLOP':>10}{'ms':>10}  TFLOP by type")
        groups = collections.defaultdict(list)
        for kernel in program.kernels:
            groups[kernel.group].append(kernel)
        for group in sorted(groups, key=lambda each: -total(groups[each], lambda k: k.seconds)):
            print_row(group, groups[group])
        print_row("sum", program.kernels)
        if program.unknown_loops:
            print(f"loops of unknown trip count, each counted as one pass: {program.unknown_loops}")
        print_slowest(program.kernels, options.kernels)
        if options.collectives:
            print_collectives(program)
        print()
    if len(options.files) > 1:
        print_row("all programs", everything)


if __name__ == "__main__":
    main()
