"""Files of the parts that processes hold, under stages and products that are cut, and on one rank again:
mpirun -n 2 python3 parts.py FOLDER."""

import os
import sys

import numpy as np
from support import Losses

import partita as ms
from partita import dataset as ds
from partita import nn, ops, train
from partita.communication import get_rank, init

folder = sys.argv[1]
init()
rank = get_rank()


class Net(nn.Cell):
    def __init__(self, strategy):
        super().__init__()
        self.first, self.second = nn.Dense(8, 16), nn.Dense(16, 3, has_bias=False)
        self.weight = ms.Parameter(ms.Tensor(np.full((16, 16), 0.05, "f4")), name="weight")
        self.product = ops.MatMul()
        if strategy:
            self.product.shard(strategy)

    def construct(self, x):
        return self.second(self.product(self.first(x), self.weight))


def trained(way, stages, strategy, asynchronous):
    """Trains; gives the folder of this rank's files."""
    ms.reset_auto_parallel_context()
    own = os.path.join(folder, way, f"rank_{rank}")
    ms.set_auto_parallel_context(
        parallel_mode="semi_auto_parallel",
        full_batch=True,
        pipeline_stages=stages,
        strategy_ckpt_save_file=os.path.join(folder, f"{way}.json"),
    )
    numbers = np.random.default_rng(1)
    rows = numbers.random((32, 8), "f4"), numbers.integers(0, 3, 32).astype("i4")
    net = Net(strategy)
    if stages > 1:
        net.first.pipeline_stage, net.second.pipeline_stage = 0, 1
        net.product.set_stage(0)
    config = train.CheckpointConfig(save_checkpoint_steps=2, integrated_save=False, async_save=asynchronous)
    data = ds.NumpySlicesDataset(rows, ["data", "label"], shuffle=False).batch(8)
    losses = Losses()
    model = ms.Model(net, nn.CrossEntropyLoss(), nn.Momentum(net.trainable_params(), 0.1, 0.9))
    model.train(1, data, callbacks=[losses, train.ModelCheckpoint("net", own, config)])
    assert sorted(os.listdir(own)) == ["net-1_2.ckpt", "net-1_4.ckpt"], os.listdir(own)
    return net


def files(way):
    return [os.path.join(folder, way, f"rank_{i}", "net-1_4.ckpt") for i in range(2)]


ways = {"cut": (1, ((1, 1), (1, 2)), True), "stages": (2, None, False)}
nets = {way: trained(way, *how) for way, how in ways.items()}
ms.communication.comm_func.barrier()
for way, net in nets.items():
    other = Net(None)
    assert ms.load_distributed_checkpoint(other, files(way)) == []
    for one, same in zip(net.get_parameters(), other.get_parameters()):
        np.testing.assert_array_equal(one.asnumpy(), same.asnumpy(), err_msg=f"{way} {one.name}")
    other = Net(None)  # each process its own file, as scripts do that go on
    ms.load_param_into_net(other, ms.load_checkpoint(files(way)[rank]))
    for one, same in zip(net.get_parameters(), other.get_parameters()):
        np.testing.assert_array_equal(one.asnumpy(), same.asnumpy(), err_msg=f"{way} {one.name}")
part = ms.load_checkpoint(files("cut")[rank])["weight"]
assert part.shape == (16, 8) and part.box == (((0, 16), (8 * rank, 8 * rank + 8)), (16, 16)), part.box
assert len(ms.load_checkpoint(files("stages")[1])) < len(ms.load_checkpoint(files("cut")[1]))
if rank == 0:
    # Cut anew as stages have it, and back to a whole.
    source, target = os.path.join(folder, "cut"), os.path.join(folder, "anew")
    ms.transform_checkpoints(source, target, "net", f"{source}.json", os.path.join(folder, "stages.json"))
    anew = [os.path.join(target, f"rank_{i}", f"net{i}.ckpt") for i in range(2)]
    names = [set(ms.load_checkpoint(path)) for path in anew]
    assert names == [set(ms.load_checkpoint(path)) for path in files("stages")], names
    ms.transform_checkpoints(target, os.path.join(folder, "whole"), "net", os.path.join(folder, "stages.json"))
    whole = ms.load_checkpoint(os.path.join(folder, "whole", "rank_0", "net0.ckpt"))
    for one in nets["cut"].get_parameters():
        np.testing.assert_array_equal(whole[one.name].asnumpy(), one.asnumpy())
    assert ms.rank_list_for_transform(0, f"{source}.json", os.path.join(folder, "stages.json")) == [0, 1]
print("parts: ok", flush=True)
