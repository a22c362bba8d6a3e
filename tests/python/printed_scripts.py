"""Writes the scripts that the documents of a folder print: printed_scripts.py FOLDER OUT.

Nothing that is printed is kept here but where it stands: by lines, and, where a page has lost its lines, by the number
of words of each. The scripts import partita, and their misprints are mended: MENDS, which fails when what it mends is
not printed."""

import glob
import json
import os
import re
import sys
import textwrap


class Pages:
    """The documents by their numbers."""

    def __init__(self, folder):
        self._texts = {}
        for path in glob.glob(os.path.join(folder, "[0-9]*.txt")):
            with open(path) as file:
                self._texts[int(os.path.basename(path)[:3])] = file.read()

    def lines(self, page, first, last, indents=""):
        """Lines from 1; `indents` puts back what the first of them have lost."""
        found = self._texts[page].split("\n")[first - 1 : last]
        for i, indent in enumerate(indents.split()):
            found[i] = int(indent) * " " + found[i]
        return textwrap.dedent("\n".join(found)) + "\n"

    def words(self, page, begin, layout):
        """Words from 0, laid out as lines: the indent and the number of words of each."""
        words, lines = self._texts[page].split(), []
        for indent, count in (map(int, one.split(":")) for one in layout.split()):
            lines.append(indent * " " + " ".join(words[begin : begin + count]))
            begin += count
        return "\n".join(lines) + "\n"


# What the pages leave to the reader.
TRAIN_WHEN_RUN = '\nif __name__ == "__main__":\n    test_train_cifar()\n'
DATA_PATH = 'data_path = os.getenv("DATA_PATH")\n'
IMPORTS_OF_QUICK_START = """
import mindspore as ms
from mindspore import Parameter, ops
import mindspore.dataset as ds
from mindspore.common.initializer import initializer
from mindspore.communication import get_rank, init
from mindspore.nn import Cell, Momentum, MSELoss
from mindspore.train import LossMonitor, Model, ModelCheckpoint
"""
ROWS_OF_A_RANK = """
from mindspore import context
from mindspore.communication.management import init
from mindspore.context import ParallelMode
from expanded_loss import SoftmaxCrossEntropyExpand
context.set_context(mode=context.GRAPH_MODE)
init()

def CreateData():
    from mindspore import dataset as ds
    numbers = np.random.default_rng(1)
    inputs = numbers.random((256, WIDTH)).astype("f4")
    labels = np.eye(16, dtype="f4")[numbers.integers(0, 16, 256)]
    rows = ds.NumpySlicesDataset((inputs, labels), shuffle=False, num_shards=8, shard_id=get_rank())
    return rows.batch(8)
"""


def written_by_page_0(page):
    """Release 0.2."""
    script = page.lines(0, 68, 70) + page.lines(0, 73, 73) + "init()\n" + DATA_PATH
    script += page.lines(0, 89, 129) + page.lines(0, 142, 178) + page.lines(0, 200, 213) + TRAIN_WHEN_RUN
    return {
        "r0.2/resnet50_distributed_training.py": script,
        "r0.2/rank_table.json": "{\n" + page.lines(0, 27, 41) + "}\n",
        "r0.2/run.sh": page.lines(0, 219, 228),
    }


def written_by_page_1(page):
    """Release 1.0, with four ways to save."""
    loss = page.lines(1, 155, 190)
    script = page.lines(1, 71, 73) + page.lines(1, 76, 77) + DATA_PATH + page.lines(1, 92, 134) + loss
    script += page.lines(1, 211, 220) + page.lines(1, 335, 348) + TRAIN_WHEN_RUN
    imports, data = page.lines(1, 366, 374), page.lines(1, 395, 405)
    saved = page.lines(1, 456, 467), page.lines(1, 475, 486)
    semi = imports + ROWS_OF_A_RANK.replace("WIDTH", "1") + page.lines(1, 434, 450) + saved[0]
    return {
        "r1.0/resnet50_distributed_training.py": script,
        "r1.0/rank_table_8pcs.json": page.lines(1, 29, 48),
        "r1.0/run.sh": page.lines(1, 247, 297),
        "r1.0/expanded_loss.py": loss,
        "r1.0/data_parallel.py": imports
        + ROWS_OF_A_RANK.replace("WIDTH", "24")
        + page.lines(1, 375, 389)
        + data
        + page.lines(1, 411, 424),
        "r1.0/semi_auto_parallel.py": semi + page.lines(1, 473, 474) + saved[1],
        "r1.0/semi_auto_parallel_parts.py": semi + page.lines(1, 505, 506) + saved[1],
    }


def written_by_others(page):
    """Releases 2.0 (the quick start), 2.x (several kinds of parallelism at once) and 1.7 (by mpirun)."""
    start = IMPORTS_OF_QUICK_START + page.words(2, 176, "0:4 0:5 4:1 4:4 4:4 4:2 8:4 12:3 4:2")
    start += page.words(2, 496, "0:2 4:2 4:5 8:1" + 3 * " 8:3" + " 8:6 8:6 8:56 8:6 8:3 8:3 4:3 8:4 8:3 8:4 8:2")
    counts = "3 3 3 3 3 4 19 3 17 1 3 4 6 5 5 5 7 3 4 4 3 3 3 5 3 5 4"
    start += page.words(2, 719, " ".join(f"0:{count}" for count in counts.split()))
    mix = page.lines(3, 20, 25) + "init()\nms.set_seed(1)\n"
    mix += page.lines(3, 28, 52, "0 0 4" + 6 * " 8" + " 4" + 7 * " 8")
    mix += "net.relu1.recompute()\nnet.relu2.recompute()\n"
    mix += page.lines(3, 55, 66, "0 0 0" + 8 * " 4") + page.lines(3, 71, 78)
    return {
        "r2.0/quick_start.py": start,
        "mix/multiple_mix.py": mix,
        "r1.7/run_gpu.sh": page.lines(4, 56, 70),
        "r1.7/run_gpu_cluster.sh": page.lines(4, 94, 102),
    }


INSTANCES = [
    {"devices": [{"device_id": i, "device_ip": f"192.0.2.{i}"}], "rank_id": i, "server_id": "10.0.0.1"} for i in "01"
]

# (scripts, printed, mended, why). Each is printed once in each of the scripts.
SAVING = "r1.0/(data_parallel|semi_auto_parallel).*"
MENDS = [
    ("r0.2/rank_table.json", '"group_list": [', '"group_list": [{', "a brace is lost"),
    ("r0.2/rank_table.json", '"instance_list": [', f'"instance_list": {json.dumps(INSTANCES)}}}],', "devices are lost"),
    ("r0.2/rank_table.json", '"eth0", "eth1"', '"eth0", "eth1"],', "a bracket is lost"),
    ("r0.2/run.sh", "RANK_SIZE=2\n", "RANK_SIZE=2\nfor i in 0 1; do\n", "the loop is lost"),
    ("r0.2/run.sh", "training.py ./device", "training.py ./resnet.py ./device", "the network is not copied"),
    ("r0.2/run.sh", "2>&1 &\n", "2>&1 &\ncd ..\ndone\nwait\n", "the end of the loop is lost"),
    ("r1.0/resnet.*", "callback import LossMonitor", "callback import *", "two names are not imported"),
    ("r1.0/resnet.*", "'...'", '"."', "no folder"),
    (SAVING, "from context import", "from mindspore.context import", "no such module"),
    (SAVING, "(self, inputs, label)", "(self, inputs)", "the loss gets the label"),
    (SAVING, "ckpt'.format(get_rank)", "ckpt'.format(get_rank())", "not called"),
    (SAVING, "Momentum()", "Momentum(net.trainable_params(), 0.01, 0.9)", "no arguments"),
    (SAVING, "loss_fb", "loss_fn", "a letter"),
    (SAVING, "train(train_dataset", "train(1, train_dataset", "no epochs"),
    (SAVING, "[ckpt_callback, loss]", "[ckpt_callback, LossMonitor()]", "the loss is no callback"),
    ("r1.0/data_par.*", "Net(strategy", "Net([24, 16], strategy", "no size"),
    ("r1.0/semi.*", "Net(strategy", "Net([1, 16], [1, 16], strategy", "no sizes"),
    ("r1.0/semi.*", "strategy2=strategy)", "strategy2=((1, 8), (1, 8)))", "cuts operands of one size differently"),
    ("r1.0/semi.*", "txt'.format(get_rank)", "txt'.format(get_rank())", "not called"),
    ("r1.0/semi.*", "ops.Equal()", "ops.Add()", "bools have no gradient"),
    ("r2.0/.*", "_size, var_step_per_epoch,", "_size,", "the number of steps is the last argument"),
    ("r2.0/.*", "var_in_dim, var_out_dim)\ndata", "var_in_dim, var_out_dim, var_step_per_epoch)\ndata", "so"),
    ("mix/.*", "(self):\n", "(self):\n        super().__init__()\n", "the call is lost"),
    ("mix/.*", "[ / 255.0, 0),", "[ds.vision.Rescale(1 / 255, 0), ds.vision.Normalize(", "names are lost"),
    ("mix/.*", "Normalize(,), std=", "Normalize((0.1307,), ", "the mean is lost"),
    ("mix/.*", "(0.3081,)),", "(0.3081,)), ds.vision.HWC2CHW()]", "the end of the list is lost"),
    ("mix/.*", "=, 'image')", "= dataset.map(image_transforms, 'image')", "names are lost"),
    ("mix/.*", "=, 'label')", "= dataset.map(label_transform, 'label')", "names are lost"),
]


def mended(name, text):
    for scripts, printed, instead, _ in MENDS:
        if re.fullmatch(scripts, name):
            if text.count(printed) != 1:
                sys.exit(f"{name}: {printed!r} is printed {text.count(printed)} times, expected once")
            text = text.replace(printed, instead)
    return text


def main(folder, out):
    page = Pages(folder)
    scripts = {**written_by_page_0(page), **written_by_page_1(page), **written_by_others(page)}
    for name, text in scripts.items():
        text = mended(name, text)
        if name.endswith(".py"):
            text = re.sub(r"^( *(?:from|import)) mindspore\b", r"\1 partita", text, flags=re.M)
            compile(text, name, "exec")
        path = os.path.join(out, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(text)
    # A table of two devices is not printed: the first two of eight.
    with open(os.path.join(out, "r1.0", "rank_table_8pcs.json")) as file:
        table = json.load(file)
    table["server_list"][0].update(server_id="127.0.0.1", device=table["server_list"][0]["device"][:2])
    with open(os.path.join(out, "r1.0", "rank_table_2pcs.json"), "w") as file:
        json.dump(table, file)
    print(f"{len(scripts)} printed scripts, {len(MENDS)} misprints mended")


if __name__ == "__main__":
    main(*sys.argv[1:])
