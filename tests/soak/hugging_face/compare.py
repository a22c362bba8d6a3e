"""Compares folders that Partita has exported with transformers: loads each with its class and compares logits.

    compare.py PARTITA MADE EXPORTED    MADE: folders of make_folders.py; EXPORTED: folders of `partita export`, of the
                                        same names, as they were imported (NAME) and after a training (NAME.trained)

A folder that was imported and exported has the logits that PyTorch had for the made one, within 1e-6. A trained one is
loaded without missing or other tensors and has other, finite logits; `partita import` of it has the weights that were
exported. One line per folder; exit code 1 if one differs. Needs torch, transformers and safetensors.
"""

import json
import os
import subprocess
import sys

import torch
import transformers
from safetensors.torch import load_file

from make_folders import logits_of


def loaded(folder):
    """Returns the model of a folder, of the class that config.json names, and a text if weights do not fit."""
    with open(os.path.join(folder, "config.json"), encoding="utf-8") as file:
        name = json.load(file)["architectures"][0]
    model, info = getattr(transformers, name).from_pretrained(folder, output_loading_info=True)
    wrong = {key: sorted(info[key]) for key in ("missing_keys", "unexpected_keys", "mismatched_keys") if info[key]}
    return model.eval(), f"{wrong}" if wrong else ""


def columns_in(folder):
    """Returns the columns, the logits and the losses of expected.safetensors."""
    columns = load_file(os.path.join(folder, "expected.safetensors"))
    return columns, columns.pop("logits"), columns.pop("losses")


def difference(folder, made):
    """Returns the largest difference of logits of an exported folder, and what does not fit."""
    model, wrong = loaded(folder)
    columns, logits, _ = columns_in(made)
    with torch.no_grad():
        got = logits_of(model, columns)
    return (got - logits).abs().max().item(), wrong


def imported_again(partita, folder, weights):
    """Returns the names of weights that an import of an exported folder changes."""
    again = folder + ".again.safetensors"
    subprocess.run([partita, "import", folder, "--out", again], check=True, stdout=subprocess.DEVNULL)
    before, after = load_file(weights), load_file(again)
    names = [name for name in after if name not in before or not torch.equal(before[name], after[name])]
    return names + [name for name in before if name not in after]


def main():
    """Compares all folders."""
    partita, made, exported = sys.argv[1:4]
    failures = 0
    for name in sorted(os.listdir(made)):
        same, wrong = difference(os.path.join(exported, name), os.path.join(made, name))
        trained, wrong_trained = difference(os.path.join(exported, name + ".trained"), os.path.join(made, name))
        weights = os.path.join(exported, name + ".trained.safetensors")
        changed = imported_again(partita, os.path.join(exported, name + ".trained"), weights)
        is_right = same <= 1e-6 and 0 < trained < 1e3 and not (wrong or wrong_trained or changed)
        failures += not is_right
        print(f"{name:8} logits differ by {same:.1e}, after a training by {trained:.1e}", wrong, wrong_trained, changed)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
