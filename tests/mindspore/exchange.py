"""One side of the comparison of checkpoints: exchange.py mindspore|partita FOLDER write|go_on [OTHER].

write: for each network and optimizer, trains 3 steps, saves FOLDER/SIDE-NETWORK-OPTIMIZER.ckpt, and prints the losses
of 3 more steps. go_on: reads the files that OTHER has written, and prints the losses of 3 more steps."""

import importlib
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from networks import networks, optimizers, training

side, folder, way = sys.argv[1:4]
ms = importlib.import_module(side)
for network in networks(ms):
    for optimizer in optimizers(ms):
        cell, train = training(ms, network, optimizer)
        path = os.path.join(folder, f"{sys.argv[4] if way == 'go_on' else side}-{network}-{optimizer}.ckpt")
        if way == "write":
            train(0, 3)
            ms.save_checkpoint(cell, path, crc_check=optimizer == "adam", append_dict={"epoch": 3, "who": "Zoë"})
        else:
            given = ms.load_checkpoint(path, crc_check=optimizer == "adam")
            texts = given.pop("who"), int(given.pop("epoch").asnumpy())
            missing, unused = ms.load_param_into_net(cell, given)
            if missing or unused or texts != ("Zoë", 3):
                print(f"{network} {optimizer}: missing {missing}, unused {unused}, texts {texts}", file=sys.stderr)
        print(network, optimizer, *(f"{loss:.9g}" for loss in train(3, 3)))
