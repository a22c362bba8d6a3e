"""Names that both systems have, and which of them random calls cover: common_names.py [--missing].

Counts callable names of ops, mint, mint.nn, mint.nn.functional, numpy, nn and Tensor. Prints a line for each of these,
and with --missing the names that no random call has. Those in NOT_CALLED are no functions of tensors on one device, or
give drawn numbers, which differ by design; other scripts compare optimizers, trainings and communication."""

import argparse
import importlib
import json
import subprocess
import sys

SPACES = {
    "ops": "ops", "mint": "mint", "mint.nn": "mint.nn", "mint.nn.functional": "mint.nn.functional", "numpy": "numpy",
    "nn": "nn", "Tensor": "Tensor",
}  # fmt: skip
NOT_CALLED = {
    "drawn": "multinomial normal rand rand_like randint randn randn_like standard_normal uniform StandardNormal",
    "communication": """AllGather AllReduce Broadcast Receive ReduceOp ReduceScatter Send DistributedGradReducer
        SyncBatchNorm""",
    "trainings": """AdaMax Adadelta Adagrad Adam AdamWeightDecay Lamb Momentum Optimizer RMSProp SGD
        TrainOneStepCell TrainOneStepWithLossScaleCell ForwardValueAndGrad
        FixedLossScaleUpdateCell DynamicLossScaleUpdateCell GradAccumulationCell MicroBatchInterleaved PipelineCell""",
    "bases and decorators": """Cell LossBase Metric Primitive Tensor MultitypeFuncGraph constexpr add_flags Custom
        PyFunc Print register_hook init_data""",
    "refused by name": """ApplyRotaryPosEmb DropoutGenMask FusedAdaFactor FusedCastAdamWeightDecay ImageSummary LRN
        PagedAttention PagedAttentionMask ReshapeAndCache ScalarSummary TensorSummary Conv3dTranspose""",
}


def names_of(system):
    """{space: callable names}."""
    root, found = importlib.import_module(system), {}
    importlib.import_module(f"{system}.numpy")
    for space in SPACES:
        module = root
        for part in space.split("."):
            module = getattr(module, part)
        found[space] = [name for name in dir(module) if not name.startswith("_") and callable(getattr(module, name))]
    return found


def common_names():
    """{space: names of both systems}, each of which is asked in a process of its own."""
    found = []
    for system in ("mindspore", "partita"):
        text = f"import json, common_names; print(json.dumps(common_names.names_of({system!r})))"
        made = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
        found.append(json.loads(made.stdout.splitlines()[-1]))
    return {space: sorted(set(found[0][space]) & set(found[1][space])) for space in SPACES}


def covered_names():
    """{space: names of the templates}."""
    import random_calls

    written = {"op": "ops", "functional": "mint.nn.functional"}
    found = {space: set() for space in SPACES}
    for space, name in random_calls.Calls(1).covered():
        if space == "text":
            space, _, name = name.rpartition(".")
        found.setdefault(written.get(space, space), set()).add(name.partition(".")[0])
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--missing", action="store_true", help="print the names that no call has")
    options = parser.parse_args()
    common, covered = common_names(), covered_names()
    left_out = {name for names in NOT_CALLED.values() for name in names.split()}
    whole = [0, 0, 0]
    for space, names in common.items():
        calls = [name for name in names if name in covered[space]]
        left = [name for name in names if name in left_out and name not in covered[space]]
        missing = sorted(set(names) - set(calls) - set(left))
        texts = f"{len(calls)} in random calls, {len(left)} not functions of tensors"
        print(f"{space}: {len(names)} names of both, {texts}")
        whole = [one + more for one, more in zip(whole, (len(names), len(calls), len(left)))]
        if options.missing:
            print(f"    missing: {' '.join(missing)}")
    print(f"all: {whole[0]} names of both, {whole[1]} in random calls, {whole[2]} not functions of tensors")


if __name__ == "__main__":
    main()
