"""Names that both systems have, and which of them random calls cover: common_names.py [--missing].

Counts callable names of ops, mint, mint.nn, mint.nn.functional, numpy, nn and Tensor. Prints a line for each of these,
and with --missing the names that no random call has. Those in NOT_CALLED are no functions of tensors on one device, or
give drawn numbers, which differ by design, or have no kernel of MindSpore on a CPU, so that tests compare them with
formulas; other scripts compare optimizers, trainings and communication."""

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
    "drawn": """Bernoulli Cauchy Dropout1d Dropout2d Dropout3d Gamma LogNormalReverse Multinomial
        MultinomialWithReplacement Poisson RandomCategorical RandomChoiceWithMask RandomGamma RandomPoisson
        RandomShuffle Randperm RandpermV2 StandardLaplace StandardNormal TruncatedNormal UniformInt UniformReal
        bernoulli cauchy choice_with_mask dropout1d dropout2d dropout3d gamma laplace multinomial
        multinomial_with_replacement normal poisson rand rand_like randint randint_like randn randn_like
        random_categorical random_gamma random_poisson randperm shuffle standard_laplace standard_normal
        truncated_normal uniform""",
    "communication": """AllGather AllReduce AlltoAll Broadcast DistributedGradReducer Receive ReduceOp ReduceScatter
        Send SyncBatchNorm all_gather all_gather_into_tensor all_reduce all_to_all_single barrier broadcast_object_list
        destroy_process_group get_rank get_world_size init_process_group is_available is_initialized new_group""",
    "trainings": """AdaMax Adadelta Adagrad Adam AdamWeightDecay Lamb Momentum Optimizer RMSProp SGD
        TrainOneStepCell TrainOneStepWithLossScaleCell ForwardValueAndGrad
        FixedLossScaleUpdateCell DynamicLossScaleUpdateCell GradAccumulationCell GradientAccumulation
        MicroBatchInterleaved PipelineCell _MicroBatch _VirtualDatasetCell""",
    "bases and decorators": """Bijector Cell Custom Distribution FloatStatus LearningRateSchedule LossBase Metric
        MultitypeFuncGraph Partial Primitive Print PyFunc RNNCellBase Tensor _Conv _Loss _get_cache_prim _primexpr
        _run_op add_flags constexpr init_data register_hook""",
    "not on a CPU": """FlashAttentionScore FusedAdaFactor FusedCastAdamWeightDecay PromptFlashAttention RmsNorm
        flash_attention_score rms_norm rotary_position_embedding swiglu""",
    "refused by name": """ApplyRotaryPosEmb DropoutGenMask ImageSummary PagedAttention PagedAttentionMask
        ReshapeAndCache ScalarSummary TensorSummary""",
}
# Their calls show nothing of their numbers: what tests say of them counts.
COUNTED_BY_TESTS = ("drawn", "communication", "trainings", "bases and decorators", "not on a CPU")


def counted_by_tests():
    """The last words of such names."""
    return {name for kind in COUNTED_BY_TESTS for name in NOT_CALLED[kind].split()}


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
