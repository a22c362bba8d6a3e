"""The files of four ranks of hybrid_parallel_checkpoint.py as one, by the documented recipe, loaded on one rank."""
import partita as ms
from partita import build_searched_strategy, load_checkpoint, load_param_into_net, merge_sliced_parameter
from partita import save_checkpoint

from hybrid_parallel_checkpoint import Net

strategy = build_searched_strategy("./rank_0_ckpt/strategy.txt")
dicts = [load_checkpoint("./rank_{}_ckpt/hybrid-1_4.ckpt".format(rank)) for rank in range(4)]
param_dict = dicts[0]
for name in ("weight", "weight.momentum"):
    sliced_parameters = [one[name] for one in dicts]
    param_dict[name] = merge_sliced_parameter(sliced_parameters, strategy)
save_checkpoint([{"name": name, "data": one} for name, one in param_dict.items()], "./integrated.ckpt")

net = Net()
not_loaded, _ = load_param_into_net(net, load_checkpoint("./integrated.ckpt"))
other = Net()
ms.load_distributed_checkpoint(other, ["./rank_{}_ckpt/hybrid-1_4.ckpt".format(rank) for rank in range(4)])
assert not not_loaded and all((one.asnumpy() == same.asnumpy()).all()
                              for one, same in zip(net.get_parameters(), other.get_parameters()))
print("merged:", ", ".join(f"{one.name}{one.shape}" for one in net.get_parameters()))
