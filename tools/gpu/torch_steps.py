"""Times steps of GPT-2 124M and ResNet-50 by torch.compile on a GPU: batch 8 x 1024 and 64 x 3 x 224 x 224."""
import time

import torch
import torch.nn.functional as F
from torch import nn


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm_a, self.norm_b = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, length, width = x.shape
        parts = self.qkv(self.norm_a(x)).split(width, 2)
        q, k, v = [part.view(batch, length, self.heads, -1).transpose(1, 2) for part in parts]
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(F.gelu(self.up(self.norm_b(x))))


class Gpt(nn.Module):
    def __init__(self, vocab=50257, layers=12, width=768, heads=12, length=1024):
        super().__init__()
        self.table, self.places = nn.Embedding(vocab, width), nn.Embedding(length, width)
        self.blocks = nn.Sequential(*[Block(width, heads) for _ in range(layers)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocab, bias=False)

    def forward(self, ids):
        x = self.table(ids) + self.places(torch.arange(ids.shape[1], device=ids.device))
        return self.head(self.norm(self.blocks(x))).flatten(0, 1)


def median_ms(model, x, y, bf16, steps=20, warm=5):
    model = model.cuda()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, fused=True)
    compiled = torch.compile(model)
    times = []
    for step in range(warm + steps):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        with torch.autocast("cuda", torch.bfloat16, enabled=bf16):
            loss = F.cross_entropy(compiled(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        torch.cuda.synchronize()
        if step >= warm:
            times.append(1e3 * (time.perf_counter() - begin))
    return sorted(times)[steps // 2]


if torch.cuda.is_available():
    ids = torch.randint(0, 50257, (8, 1024), device="cuda")
    for bf16 in (False, True):
        print(f"gpt batch 8 {'bf16' if bf16 else 'f32'} torch.compile: {median_ms(Gpt(), ids, ids.flatten(), bf16):.2f} ms", flush=True)
    try:
        from torchvision.models import resnet50

        x = torch.randn(64, 3, 224, 224, device="cuda")
        y = torch.randint(0, 1000, (64,), device="cuda")
        for bf16 in (False, True):
            print(f"resnet50 batch 64 {'bf16' if bf16 else 'f32'} torch.compile: {median_ms(resnet50(), x, y, bf16):.2f} ms", flush=True)
    except ImportError as error:
        print(f"resnet50: {error}")
else:
    print("no PyTorch with CUDA")
