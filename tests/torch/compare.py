#!/usr/bin/env python3
"""Repeats a run of torch_export in PyTorch and compares: compare.py MODEL OPTIMIZER FILE.

Logits, loss and gradients of the first step, the losses of ten steps, and all states after them. f64 within 1e-9 of
each tensor's largest element; f32 within 1e-5 (a net with batch norm amplifies one rounding error a thousandfold in ten
steps, so in f32 its first step alone is judged, gradients within 5e-5)."""
import json
import sys

import numpy as np
import torch
from torch import nn


def read(path):
    types = {"F64": np.float64, "F32": np.float32, "I32": np.int32, "I64": np.int64}
    with open(path, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        data = file.read()
    return {name: torch.from_numpy(np.frombuffer(data[slice(*info["data_offsets"])], types[info["dtype"]])
                                   .reshape(info["shape"]).copy())
            for name, info in header.items() if name != "__metadata__"}


class BasicBlock(nn.Module):
    def __init__(self, inside, channels, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inside, channels, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)
        self.downsample = None
        if stride != 1 or inside != channels:
            self.downsample = nn.Sequential(nn.Conv2d(inside, channels, 1, stride, bias=False),
                                            nn.BatchNorm2d(channels))

    def forward(self, x):
        y = self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(x)))))
        return torch.relu(y + (x if self.downsample is None else self.downsample(x)))


class BlockNet(BasicBlock):
    def __init__(self):
        super().__init__(3, 8, 2)
        self.fc = nn.Linear(8, 10)

    def forward(self, x):
        return self.fc(super().forward(x).mean((2, 3)))


class ResNet18(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width)
        inside = width
        for stage in range(4):
            channels = width << stage
            block = BasicBlock(inside, channels, 1 if stage == 0 else 2)
            setattr(self, f"layer{stage + 1}", nn.Sequential(block, BasicBlock(channels, channels, 1)))
            inside = channels
        self.fc = nn.Linear(inside, 10)

    def forward(self, x):
        x = torch.relu(self.bn1(self.conv1(x)))
        for stage in range(4):
            x = getattr(self, f"layer{stage + 1}")(x)
        return self.fc(x.mean((2, 3)))


class LeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 6, 5, padding=2), nn.Conv2d(6, 16, 5)
        self.fc1, self.fc2, self.fc3 = nn.Linear(400, 120), nn.Linear(120, 84), nn.Linear(84, 10)

    def forward(self, x):
        x = nn.functional.max_pool2d(torch.relu(self.conv1(x)), 2)
        x = nn.functional.max_pool2d(torch.relu(self.conv2(x)), 2).flatten(1)
        return self.fc3(torch.relu(self.fc2(torch.relu(self.fc1(x)))))


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2, self.fc3 = nn.Linear(784, 256), nn.Linear(256, 256), nn.Linear(256, 10)

    def forward(self, x):
        return self.fc3(torch.relu(self.fc2(torch.relu(self.fc1(x.flatten(1))))))


MODELS = {"mlp": Mlp, "lenet": LeNet, "block": BlockNet, "resnet18:width=8,size=16": lambda: ResNet18(8)}
OPTIMIZERS = {"nesterov": {"momentum": 0.9, "nesterov": True, "weight_decay": 1e-3},
              "momentum": {"momentum": 0.8},
              "sgd": {"weight_decay": 1e-3}}


def main():
    model, kind, path = sys.argv[1:4]
    torch.set_num_threads(2)
    given = read(path)
    dtype = given["logits"].dtype
    net = MODELS[model]().to(dtype)
    initial = {name[8:]: value for name, value in given.items() if name.startswith("initial.")}
    result = net.load_state_dict(initial, strict=False)
    assert not result.unexpected_keys, result.unexpected_keys
    assert all(name.endswith("num_batches_tracked") for name in result.missing_keys), result.missing_keys
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, **OPTIMIZERS[kind])

    pairs = []  # (name, ours, theirs, limit)
    deep = model.startswith("resnet")
    exact = dtype == torch.float64
    limit, gradient_limit = (1e-9, 1e-9) if exact else (1e-5, 5e-5 if deep else 1e-5)
    losses = []
    for step in range(10):
        optimizer.zero_grad()
        logits = net(given[f"batch.{step}.image"])
        loss = nn.functional.cross_entropy(logits, given[f"batch.{step}.label"].long())
        loss.backward()
        losses.append(loss.item())
        if step == 0:
            pairs.append(("logits", given["logits"], logits.detach(), limit))
            pairs += [(f"d_{name}", given[f"d_{name}"], p.grad.clone(), gradient_limit)
                      for name, p in net.named_parameters()]
        optimizer.step()
    steps = 10 if exact or not deep else 1
    pairs.append(("loss", given["loss"][:steps], torch.tensor(losses[:steps], dtype=torch.float64), limit))
    if steps == 10:
        pairs += [(f"final.{name}", given[f"final.{name}"], value, limit) for name, value in net.state_dict().items()
                  if not name.endswith("num_batches_tracked")]
        pairs += [(f"final.{name}.momentum", given[f"final.{name}.momentum"], optimizer.state[p]["momentum_buffer"],
                   limit) for name, p in net.named_parameters() if kind != "sgd"]

    errors = [(((ours.double() - theirs.double()).abs().max() / theirs.double().abs().max()).item(), bound, name)
              for name, ours, theirs, bound in pairs]
    worst = max(errors, key=lambda entry: entry[0] / entry[1])
    failed = [entry for entry in errors if not entry[0] <= entry[1]]
    print(f"{model} {str(dtype)[6:]} {kind}: {len(errors)} tensors, "
          f"worst {worst[0]:.2e} of {worst[1]:.0e} in {worst[2]}"
          f"{', FAILED: ' + str(failed[:5]) if failed else ''}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
