"""Prices training steps that others published and prints how far off the prices are.

    bench/published_steps.py build/release/partita FOLDER [-v]

FOLDER has the tables as CSV files: vtrain_a100_{single,multi}_node_calibration, megatron_sc21_table1_calibration,
korthikanti_table5_iteration_time_calibration, megatron_core_h100_weak_scaling_calibration. They are not part of the
project. Each row is priced with `partita plan --fixed` under the presets, whose constants belong to a device and its
software, never to a row.
"""

import csv
import json
import pathlib
import statistics
import subprocess
import sys


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


def price(program, model, preset, ranks, batch, fixed):
    nodes = max(1, int(ranks) // 8)
    command = [program, "plan", model, "--cluster", f"{preset}:{nodes}", "--batch", str(batch), "--dtype", "bf16"]
    output = subprocess.run([*command, "--fixed", fixed, "--json"], capture_output=True, text=True, check=True).stdout
    return json.loads(output)["step_seconds"]


def main():
    program, folder, verbose = sys.argv[1], pathlib.Path(sys.argv[2]), "-v" in sys.argv
    for table, rows_of in TABLES.items():
        errors = []
        with open(folder / f"{table}_calibration.csv", newline="") as file:
            for row in csv.DictReader(file):
                for model, preset, ranks, batch, fixed, measured in rows_of(row):
                    predicted = price(program, model, preset, ranks, batch, fixed)
                    errors.append(predicted / measured - 1)
                    if verbose:
                        print(f"{errors[-1]:+7.1%}  {predicted:9.4f} s, measured {measured:9.4f} s  {model} {fixed}")
        mean, most = statistics.mean(map(abs, errors)), max(map(abs, errors))
        print(f"{table}: {len(errors)} rows, mean {mean:.1%}, largest {most:.1%}, bias {statistics.mean(errors):+.1%}")


if __name__ == "__main__":
    main()
