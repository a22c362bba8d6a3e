"""Times steps by torch.compile on a GPU.

    tools/gpu/torch_steps.py [NAME:ROWS[:f32]..]      # gpt2, llama1b and resnet50; in bf16 without f32

The models are those of steps.sh: GPT-2 124M with 1,024 tokens a row, a Llama of 1B with 1,024 tokens, and ResNet-50 with
images of 224 x 224. --small takes tiny sizes, and --cpu the processor, to try the script out.
"""
import sys
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
        self.head.weight = self.table.weight

    def forward(self, ids):
        x = self.table(ids) + self.places(torch.arange(ids.shape[1], device=ids.device))
        return self.head(self.norm(self.blocks(x))).flatten(0, 1)


class RmsNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        numbers = x.float()
        return numbers * torch.rsqrt(numbers.pow(2).mean(-1, keepdim=True) + 1e-5) * self.weight


class LlamaBlock(nn.Module):
    def __init__(self, width, heads, kv_heads, inner):
        super().__init__()
        self.heads, self.kv_heads = heads, kv_heads
        self.norm_a, self.norm_b = RmsNorm(width), RmsNorm(width)
        narrow = width // heads * kv_heads
        self.q, self.k, self.v, self.out = (nn.Linear(width, size, bias=False) for size in (width, narrow, narrow, width))
        self.gate, self.up = nn.Linear(width, inner, bias=False), nn.Linear(width, inner, bias=False)
        self.down = nn.Linear(inner, width, bias=False)

    def forward(self, x, turns):
        batch, length, width = x.shape
        y = self.norm_a(x)
        q, k, v = (part.view(batch, length, -1, width // self.heads).transpose(1, 2) for part in (self.q(y), self.k(y), self.v(y)))
        q, k = (rotate(part, turns).to(v.dtype) for part in (q, k))
        k, v = (part.repeat_interleave(self.heads // self.kv_heads, 1) for part in (k, v))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, width))
        y = self.norm_b(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


def rotate(x, turns):
    """Returns x with its halves turned by an angle for each position and pair of columns (rotary positions)."""
    first, second = x.float().chunk(2, -1)
    cos, sin = turns
    return torch.cat((first * cos - second * sin, first * sin + second * cos), -1)


class Llama(nn.Module):
    def __init__(self, vocab=128256, layers=16, width=2048, heads=32, kv_heads=8, inner=8192):
        super().__init__()
        self.half = width // heads // 2
        self.table = nn.Embedding(vocab, width)
        self.blocks = nn.ModuleList([LlamaBlock(width, heads, kv_heads, inner) for _ in range(layers)])
        self.norm, self.head = RmsNorm(width), nn.Linear(width, vocab, bias=False)
        self.head.weight = self.table.weight

    def forward(self, ids):
        x = self.table(ids)
        rates = 500000.0 ** -(torch.arange(self.half, device=ids.device) / self.half)
        angles = torch.arange(ids.shape[1], device=ids.device)[:, None] * rates
        turns = angles.cos(), angles.sin()
        for block in self.blocks:
            x = block(x, turns)
        return self.head(self.norm(x)).flatten(0, 1)


def median_ms(model, x, y, bf16, steps=20, warm=5):
    kind = x.device.type
    wait = torch.cuda.synchronize if kind == "cuda" else lambda: None
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, fused=kind == "cuda" or None)
    times = []
    for step in range(warm + steps):
        wait()
        begin = time.perf_counter()
        with torch.autocast(kind, torch.bfloat16, enabled=bf16):
            loss = F.cross_entropy(model(x).float(), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        wait()
        if step >= warm:
            times.append(1e3 * (time.perf_counter() - begin))
    return sorted(times)[steps // 2]


def make(name, rows, small, device):
    """Returns a model and its rows and labels on a device."""
    if name == "resnet50":
        from torchvision.models import resnet50

        side = 32 if small else 224
        return resnet50().to(device), torch.randn(rows, 3, side, side, device=device), torch.randint(0, 1000, (rows,), device=device)
    vocab = 97 if small else {"gpt2": 50257, "llama1b": 128256}[name]
    ids = torch.randint(0, vocab, (rows, 32 if small else 1024), device=device)
    sizes = {"vocab": vocab, "layers": 2, "width": 64} if small else {}
    if name == "gpt2":
        model = Gpt(**sizes, **({"heads": 2, "length": 32} if small else {}))
    else:
        model = Llama(**sizes, **({"heads": 4, "kv_heads": 2, "inner": 96} if small else {}))
    return model.to(device), ids, ids.flatten()


def main():
    words = [word for word in sys.argv[1:] if not word.startswith("--")]
    device = "cpu" if "--cpu" in sys.argv else "cuda"
    if device == "cuda" and not torch.cuda.is_available():
        print("no PyTorch with CUDA")
        sys.exit(77)
    failed = 0
    for word in words or ["gpt2:8:f32", "gpt2:8", "llama1b:4", "resnet50:64:f32", "resnet50:64", "resnet50:256"]:
        name, rows, precision = (word + ":bf16").split(":")[:3]
        try:
            model, x, y = make(name, int(rows), "--small" in sys.argv, device)
            if name == "resnet50":
                model, x = (one.to(memory_format=torch.channels_last) for one in (model, x))
            took = f"{median_ms(torch.compile(model), x, y, precision == 'bf16'):.2f} ms"
            if device == "cuda":
                took += f", {torch.cuda.max_memory_allocated() / 2**30:.2f} GiB"
        except ImportError as error:
            took = f"skipped: {error}"
        except RuntimeError as error:
            failed += 1
            took = f"error: {str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__}"
        print(f"{name} batch {rows} {precision} torch.compile: {took}", flush=True)
        if device == "cuda":
            model = x = y = None
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
