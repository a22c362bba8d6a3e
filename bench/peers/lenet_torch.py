#!/usr/bin/env python3
"""The training step of LeNet in PyTorch, on a fixed random batch: lenet_torch.py BATCH THREADS STEPS."""
import statistics
import sys
import time

import torch
from torch import nn

batch, threads, steps = (int(word) for word in sys.argv[1:4])
torch.set_num_threads(threads)
torch.manual_seed(0)
net = nn.Sequential(nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(),
                    nn.MaxPool2d(2), nn.Flatten(), nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(),
                    nn.Linear(84, 10))
optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9, foreach=True)
image, label = torch.randn(batch, 1, 28, 28), torch.randint(0, 10, (batch,))


def step():
    optimizer.zero_grad(set_to_none=True)
    nn.functional.cross_entropy(net(image), label).backward()
    optimizer.step()


for _ in range(20):
    step()
times = []
for _ in range(steps):
    begin = time.perf_counter()
    step()
    times.append(1e3 * (time.perf_counter() - begin))
print(f"torch {torch.__version__} lenet B {batch} threads {threads} median {statistics.median(times):.3f} ms "
      f"min {min(times):.3f} ms")
