"""Prices training steps that others published and prints how far off the prices are.

    bench/published_steps.py build/release/partita FOLDER [-v] [--suffix SUFFIX]

FOLDER has the tables as CSV files, NAME_SUFFIX.csv (of calibration, unless said otherwise):
vtrain_a100_{single,multi}_node, megatron_sc21_table1, korthikanti_table5_iteration_time,
megatron_core_h100_weak_scaling and korthikanti_fig1_memory. They are not part of the project; one that is not there is
left out. Each row is priced with `partita plan --fixed` under the presets, whose constants belong to a device and its
software, never to a row: `partita cluster NAME --fitted` lists them.
"""

import argparse
import csv
import json
import pathlib
import statistics
import subprocess


def gpt(row, vocab=51200):
    return f"gpt:layers={row['layers']},hidden={row['hidden']},heads={row['heads']},seq={row['seq']},vocab={vocab}"


def shared(row, data, **more):
    """The text of a configuration: what is 1 or nothing is left out."""
    keys = {"data": data, "tensor": row["tp"], "pipeline": row["pp"], **more}
    return ",".join(f"{key}={value}" for key, value in keys.items() if str(value) not in ("1", "") or key == "data")


def vtrain(row):
    text = shared(row, row["dp"], recompute="full") + f",micro_batch={row['micro_batch']}"
    yield gpt(row), "a100-80", row["gpus"], row["global_batch"], text, float(row["iter_ms"]) / 1e3


def sc21(row):
    each = row["layers_per_virtual_stage"]
    chunks = int(row["layers"]) // int(row["pp"]) // int(each) if each and int(row["pp"]) > 1 else 1
    text = shared(row, row["dp"], interleave=chunks, recompute="full") + f",micro_batch={row['micro_batch']}"
    yield gpt(row), "a100-80", row["gpus"], row["global_batch"], text, float(row["derived_iter_time_s"])


def korthikanti(row):
    data = int(row["gpus"]) // int(row["tp"]) // int(row["pp"])
    for recompute, column in (("full", "iter_s_full_recompute"), ("selective", "iter_s_seqpar_selective")):
        sequence = "true" if recompute == "selective" else ""
        text = shared(row, data, interleave=row["interleave_m"], recompute=recompute, sequence_parallel=sequence)
        text += f",micro_batch={row['micro_batch']}"
        yield gpt(row), "a100-80", row["gpus"], row["global_batch"], text, float(row[column])


def megatron_core(row):
    layers, hidden, seq, vocab, batch = (int(row[key]) for key in ("layers", "hidden", "seq", "vocab", "global_batch"))
    flops = 72 * batch * seq * layers * hidden**2 * (1 + seq / (6 * hidden) + vocab / (12 * hidden * layers))
    seconds = flops / (float(row["tflops_per_gpu"]) * 1e12 * int(row["gpus"]))
    sequence = "true" if int(row["tp"]) > 1 else ""
    text = shared(row, row["dp"], zero="1", sequence_parallel=sequence).replace(",zero=1", "") + ",zero=1,micro_batch=1"
    yield gpt(row, vocab), "h100", row["gpus"], batch, text, seconds


TABLES = {
    "vtrain_a100_single_node": vtrain,
    "vtrain_a100_multi_node": vtrain,
    "megatron_sc21_table1": sc21,
    "korthikanti_table5_iteration_time": korthikanti,
    "megatron_core_h100_weak_scaling": megatron_core,
}


# What figure 1 of Korthikanti et al. is of: layers, hidden, heads, stages, interleaving, batch, micro-batch.
MEMORY = {
    "22B": (48, 6144, 64, 1, 1, 4, 4),
    "175B": (96, 12288, 96, 8, 3, 64, 1),
    "530B": (105, 20480, 128, 35, 3, 280, 1),
    "1T": (128, 25600, 160, 64, 1, 512, 1),
}


def memory(row):
    """Yields cases with the memory of the first stage, in GiB. That stage has the largest number of micro-batches in
    flight."""
    layers, hidden, heads, stages, interleave, batch, micro_batch = MEMORY[row["model"]]
    model = gpt({"layers": layers, "hidden": hidden, "heads": heads, "seq": 2048})
    for recompute, column in (("none", "tensor_parallel_baseline"), ("selective", "seqpar_selective")):
        sequence = "true" if recompute == "selective" else ""
        keys = {"interleave": interleave, "recompute": recompute, "sequence_parallel": sequence}
        text = shared({"tp": 8, "pp": stages}, 1, **keys) + f",micro_batch={micro_batch}"
        measured = float(row["params_optimizer_GiB"]) + float(row[f"activations_GiB_{column}"])
        yield model, "a100-80", 8 * stages, batch, text, measured


def whole_stage(price):
    """Peak memory of a rank of the first stage, in GiB."""
    return price["peak_memory_bytes"][0] / 2**30


def repeated_layers(price):
    """Memory of a rank of the first stage in GiB, as the figure counts it: 18 bytes for each parameter of the
    transformer layers, and their activations. It leaves out embeddings, the head, and the workspace of kernels."""
    whole, single = price["memory_bytes"][0], price["single_layers_bytes"][0]
    return sum(whole[part] - single[part] for part in ("parameters", "gradients", "optimizer", "activations")) / 2**30


def price(program, model, preset, ranks, batch, fixed):
    nodes = max(1, int(ranks) // 8)
    command = [program, "plan", model, "--cluster", f"{preset}:{nodes}", "--batch", str(batch), "--dtype", "bf16"]
    output = subprocess.run([*command, "--fixed", fixed, "--json"], capture_output=True, text=True, check=True).stdout
    return json.loads(output)


def report(name, path, rows_of, value_of, options):
    errors = []
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            for *what, measured in rows_of(row):
                predicted = value_of(price(options.program, *what))
                errors.append(predicted / measured - 1)
                if options.verbose:
                    print(f"{errors[-1]:+7.1%}  {predicted:9.4f}, measured {measured:9.4f}  {what[0]} {what[-1]}")
    mean, most = statistics.mean(map(abs, errors)), max(map(abs, errors))
    print(f"{name}: {len(errors)} rows, mean {mean:.1%}, largest {most:.1%}, bias {statistics.mean(errors):+.1%}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("-v", "--verbose", action="store_true")
    parser.add_argument("--suffix", default="calibration")
    options = parser.parse_args()
    values = [(name, "", rows_of, lambda price: price["step_seconds"]) for name, rows_of in TABLES.items()]
    values += [("korthikanti_fig1_memory", ", the whole first stage", memory, whole_stage)]
    values += [("korthikanti_fig1_memory", ", what the figure counts", memory, repeated_layers)]
    for name, what, rows_of, value_of in values:
        path = options.folder / f"{name}_{options.suffix}.csv"
        if path.exists():
            report(name + what, path, rows_of, value_of, options)


if __name__ == "__main__":
    main()
