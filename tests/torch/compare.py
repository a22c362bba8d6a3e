#!/usr/bin/env python3
"""Repeats runs of torch_export in PyTorch and compares: compare.py (MODEL TYPE OPTIMIZER FILE)...

Logits, loss and gradients of the first step, the losses of ten steps, and all states after them. f64 within 1e-9 of
each tensor's largest element; f32 within 1e-5 (a net with batch norm amplifies one rounding error a thousandfold in ten
steps, so in f32 its first step alone is judged, gradients within 5e-5). bf16 against its automatic casts, which round
in other places: losses within 1 %, the cosine of the gradients of the first step above 0.999 (not for convolutions),
and these gradients no further from those of f64 than PyTorch's."""
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


class Bottleneck(nn.Module):
    def __init__(self, inside, channels, stride):
        super().__init__()
        outside = 4 * channels
        self.conv1, self.bn1 = nn.Conv2d(inside, channels, 1, bias=False), nn.BatchNorm2d(channels)
        self.conv2, self.bn2 = nn.Conv2d(channels, channels, 3, stride, 1, bias=False), nn.BatchNorm2d(channels)
        self.conv3, self.bn3 = nn.Conv2d(channels, outside, 1, bias=False), nn.BatchNorm2d(outside)
        self.downsample = None
        if stride != 1 or inside != outside:
            self.downsample = nn.Sequential(nn.Conv2d(inside, outside, 1, stride, bias=False),
                                            nn.BatchNorm2d(outside))

    def forward(self, x):
        y = torch.relu(self.bn1(self.conv1(x)))
        y = self.bn3(self.conv3(torch.relu(self.bn2(self.conv2(y)))))
        return torch.relu(y + (x if self.downsample is None else self.downsample(x)))


class ResNet50(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, width, 7, 2, 3, bias=False), nn.BatchNorm2d(width)
        inside = width
        for stage, count in enumerate((3, 4, 6, 3)):
            blocks = []
            for i in range(count):
                blocks.append(Bottleneck(inside, width << stage, 2 if stage > 0 and i == 0 else 1))
                inside = 4 * (width << stage)
            setattr(self, f"layer{stage + 1}", nn.Sequential(*blocks))
        self.fc = nn.Linear(inside, 10)

    def forward(self, x):
        x = nn.functional.max_pool2d(torch.relu(self.bn1(self.conv1(x))), 3, 2, 1)
        for stage in range(4):
            x = getattr(self, f"layer{stage + 1}")(x)
        return self.fc(x.mean((2, 3)))


def causal_attention(q, k, v):
    """Causal attention of q, k, v[b, heads, s, d]."""
    s, width = q.shape[2:]
    hidden = torch.ones(s, s, dtype=torch.bool).triu(1)
    return (q @ k.transpose(2, 3) / width ** 0.5).masked_fill(hidden, float("-inf")).softmax(-1) @ v


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v = nn.Linear(width, width), nn.Linear(width, width, bias=False), nn.Linear(width, width)
        self.proj = nn.Linear(width, width)

    def forward(self, x):
        b, s, width = x.shape
        q, k, v = (part(x).view(b, s, self.heads, -1).transpose(1, 2) for part in (self.q, self.k, self.v))
        y = causal_attention(q, k, v)
        return self.proj(y.transpose(1, 2).reshape(b, s, width))


class GptBlock(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attn = Attention(width, heads)
        self.mlp = nn.ModuleDict({"fc": nn.Linear(width, 4 * width), "proj": nn.Linear(4 * width, width)})

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp["proj"](nn.functional.gelu(self.mlp["fc"](self.ln_2(x))))


class Gpt(nn.Module):
    def __init__(self, layers, width, heads, seq, vocab):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocab, width), nn.Embedding(seq, width)
        self.h = nn.Sequential(*[GptBlock(width, heads) for _ in range(layers)])
        self.ln_f = nn.LayerNorm(width)

    def forward(self, tokens):
        x = self.wte(tokens.long()) + self.wpe.weight
        return self.ln_f(self.h(x)) @ self.wte.weight.T


class Experts(nn.Module):
    """Dense dispatch and combine tensors [sequences, tokens, experts, slots], as GShard has them."""

    def __init__(self, width, experts, chosen, capacity, shared):
        super().__init__()
        self.chosen, self.capacity = chosen, capacity
        self.router = nn.Linear(width, experts, bias=False)
        self.experts = nn.ParameterDict({"fc": torch.empty(experts, width, 4 * width),
                                         "proj": torch.empty(experts, 4 * width, width)})
        if shared:
            self.shared = nn.ModuleDict({"fc": nn.Linear(width, 4 * width * shared, bias=False),
                                         "proj": nn.Linear(4 * width * shared, width, bias=False)})

    def forward(self, x):
        experts, tokens = self.router.weight.shape[0], x.shape[1]
        slots = -(-int(self.capacity * tokens * self.chosen) // experts)
        probabilities = self.router(x).softmax(-1)
        values, ids = probabilities.topk(self.chosen)
        weights = values / values.sum(-1, keepdim=True) if self.chosen > 1 else values
        hot = nn.functional.one_hot(ids, experts)  # [b, s, k, e]
        taken = torch.zeros_like(hot[:, 0, 0])
        combine = x.new_zeros(*x.shape[:2], experts, slots)
        for k in range(self.chosen):  # all first choices, then all second ones
            places = hot[:, :, k].cumsum(1) - 1 + taken[:, None]
            taken = taken + hot[:, :, k].sum(1)
            kept = (hot[:, :, k] * (places < slots)).to(x.dtype)
            cells = nn.functional.one_hot(places.clamp(0, slots - 1), slots).to(x.dtype)
            combine = combine + weights[:, :, k, None, None] * kept[..., None] * cells
        dispatch = (combine > 0).to(x.dtype)
        sent = torch.einsum("bsec,bsz->becz", dispatch, x)
        made = nn.functional.gelu(torch.einsum("becz,ezf->becf", sent, self.experts["fc"]))
        made = torch.einsum("becf,efz->becz", made, self.experts["proj"])
        y = torch.einsum("bsec,becz->bsz", combine, made)
        share = hot.to(x.dtype).mean((1, 2))  # f_e of each sequence
        self.balance = experts * (share * probabilities.mean(1)).sum(-1).mean()
        if hasattr(self, "shared"):
            y = y + self.shared["proj"](nn.functional.gelu(self.shared["fc"](x)))
        return y


class MoeBlock(nn.Module):
    def __init__(self, width, heads, **experts):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attn, self.moe = Attention(width, heads), Experts(width, **experts)

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.moe(self.ln_2(x))


class Moe(Gpt):
    def __init__(self, layers, width, heads, seq, vocab, **experts):
        super().__init__(0, width, heads, seq, vocab)
        self.h = nn.Sequential(*[MoeBlock(width, heads, **experts) for _ in range(layers)])

    def added_loss(self):
        return 0.01 * sum(block.moe.balance for block in self.h)


class LlamaAttention(nn.Module):
    def __init__(self, width, heads, kv_heads):
        super().__init__()
        self.heads, self.kv_heads = heads, kv_heads
        self.q, self.proj = nn.Linear(width, width, bias=False), nn.Linear(width, width, bias=False)
        self.k = nn.Linear(width, width // heads * kv_heads, bias=False)
        self.v = nn.Linear(width, width // heads * kv_heads, bias=False)

    @staticmethod
    def turned(x):
        """Rotary embedding of x[b, heads, s, d], whose pairs are half of d apart."""
        s, pairs = x.shape[2], x.shape[3] // 2
        angles = torch.outer(torch.arange(s, dtype=torch.float64), 10000.0 ** (-torch.arange(pairs).double() / pairs))
        cosine, sine = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        first, second = x[..., :pairs], x[..., pairs:]
        return torch.cat([first * cosine - second * sine, second * cosine + first * sine], -1)

    def forward(self, x):
        b, s, width = x.shape
        q = self.turned(self.q(x).view(b, s, self.heads, -1).transpose(1, 2))
        k = self.turned(self.k(x).view(b, s, self.kv_heads, -1).transpose(1, 2))
        v = self.v(x).view(b, s, self.kv_heads, -1).transpose(1, 2)
        k, v = (part.repeat_interleave(self.heads // self.kv_heads, 1) for part in (k, v))
        y = causal_attention(q, k, v)
        return self.proj(y.transpose(1, 2).reshape(b, s, width))


class RmsNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-5) * self.weight


class LlamaBlock(nn.Module):
    def __init__(self, width, heads, kv_heads, inner):
        super().__init__()
        self.ln_1, self.ln_2 = RmsNorm(width), RmsNorm(width)
        self.attn = LlamaAttention(width, heads, kv_heads)
        self.mlp = nn.ModuleDict({"gate": nn.Linear(width, inner, bias=False),
                                  "up": nn.Linear(width, inner, bias=False),
                                  "proj": nn.Linear(inner, width, bias=False)})

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        y = self.ln_2(x)
        return x + self.mlp["proj"](nn.functional.silu(self.mlp["gate"](y)) * self.mlp["up"](y))


class Llama(nn.Module):
    def __init__(self, layers, width, heads, kv_heads, inner, vocab, tied):
        super().__init__()
        self.wte = nn.Embedding(vocab, width)
        self.h = nn.Sequential(*[LlamaBlock(width, heads, kv_heads, inner) for _ in range(layers)])
        self.ln_f = RmsNorm(width)
        self.head = None if tied else nn.Linear(width, vocab, bias=False)

    def forward(self, tokens):
        x = self.ln_f(self.h(self.wte(tokens.long())))
        return x @ self.wte.weight.T if self.head is None else self.head(x)


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


MODELS = {"mlp": Mlp, "lenet": LeNet, "block": BlockNet, "resnet18:width=8,size=16": lambda: ResNet18(8),
          "resnet50:width=8,size=32": lambda: ResNet50(8),
          "gpt:layers=2,hidden=32,heads=4,seq=16,vocab=32": lambda: Gpt(2, 32, 4, 16, 32),
          "moe:layers=2,hidden=32,heads=4,seq=16,vocab=32,experts=4,capacity=0.75,shared=1":
              lambda: Moe(2, 32, 4, 16, 32, experts=4, chosen=2, capacity=0.75, shared=1),
          "moe:layers=2,hidden=32,heads=4,seq=16,vocab=32,experts=4,top_k=1,capacity=1":
              lambda: Moe(2, 32, 4, 16, 32, experts=4, chosen=1, capacity=1, shared=0),
          "llama:layers=2,hidden=32,heads=4,kv_heads=2,seq=16,vocab=32": lambda: Llama(2, 32, 4, 2, 96, 32, False),
          "llama:layers=2,hidden=48,heads=6,kv_heads=1,intermediate=20,seq=16,vocab=32,tied=1":
              lambda: Llama(2, 48, 6, 1, 20, 32, True)}
OPTIMIZERS = {"nesterov": {"momentum": 0.9, "nesterov": True, "weight_decay": 1e-3},
              "momentum": {"momentum": 0.8},
              "sgd": {"weight_decay": 1e-3}, "adam": {"weight_decay": 1e-3}, "adamw": {"weight_decay": 0.1},
              "adamw_eps": {"weight_decay": 0.1, "eps": 1e-3}}  # an update that rounding errors do not decide
OPTIMIZER_STATES = {"nesterov": {"momentum": "momentum_buffer"}, "momentum": {"momentum": "momentum_buffer"}, "sgd": {},
         "adam": {"exp_avg": "exp_avg", "exp_avg_sq": "exp_avg_sq"},
         "adamw": {"exp_avg": "exp_avg", "exp_avg_sq": "exp_avg_sq"},
         "adamw_eps": {"exp_avg": "exp_avg", "exp_avg_sq": "exp_avg_sq"}}


def error(ours, theirs):
    """The largest difference over the largest value; where all is zero, as the gradients under a scale of zero
    are, the difference itself."""
    largest = theirs.abs().max().item()
    return (ours - theirs).abs().max().item() / (largest if largest > 0 else 1)


def first_gradients(model, given):
    """The gradients of the first step in float64."""
    net = MODELS[model]().double()
    wide = {name: value.double() if value.is_floating_point() else value for name, value in given.items()}
    net.load_state_dict({name[8:]: value for name, value in wide.items() if name.startswith("initial.")}, strict=False)
    logits = net(wide["batch.0.tokens" if "batch.0.tokens" in wide else "batch.0.image"])
    nn.functional.cross_entropy(logits.flatten(0, -2), wide["batch.0.label"].long().flatten()).backward()
    return {f"d_{name}": p.grad for name, p in net.named_parameters()}


def similar(model, kind, losses, given, gradients):
    """Whether a run in 16 bits is like PyTorch's. Where rounding decides what relu and max_pool let through, both
    differ from float64 and from each other: then ours must be as near to float64."""
    best = first_gradients(model, given)
    names = sorted(best)

    def joined(found):
        return torch.cat([found[name].double().flatten() for name in names])

    ours, theirs, exact = joined(given), joined(gradients), joined(best)
    ratio = ((ours - exact).norm() / (theirs - exact).norm()).item()
    cosine = nn.functional.cosine_similarity(ours, theirs, dim=0).item()
    apart = max(abs(a - b) / b for a, b in zip(given["loss"].tolist(), losses))
    good = ratio <= 1.1 and (rounding_decides(model) or (apart <= 0.01 and cosine > 0.999))
    print(f"{model} bf16 {kind}: losses {100 * apart:.3f} % apart, cosine of gradients {cosine:.6f}, distance to "
          f"float64 {ratio:.2f} of theirs{'' if good else ', FAILED'}")
    return good


def rounding_decides(model):
    """Whether rounding decides much: in networks of convolutions on random images."""
    return model == "lenet" or model.startswith("resnet")


def compare(model, precision, kind, path):
    given = read(path)
    dtype = given["logits"].dtype
    net = MODELS[model]().to(dtype)
    initial = {name[8:]: value for name, value in given.items() if name.startswith("initial.")}
    result = net.load_state_dict(initial, strict=False)
    assert not result.unexpected_keys, result.unexpected_keys
    assert all(name.endswith("num_batches_tracked") for name in result.missing_keys), result.missing_keys
    make = torch.optim.AdamW if kind.startswith("adamw") else torch.optim.Adam if kind == "adam" else torch.optim.SGD
    optimizer = make(net.parameters(), lr=0.01, **OPTIMIZERS[kind])
    column = "tokens" if isinstance(net, (Gpt, Llama)) else "image"

    pairs = []  # (name, ours, theirs, limit)
    deep = model.startswith("resnet")
    exact = dtype == torch.float64
    limit, gradient_limit = (1e-9, 1e-9) if exact else (1e-5, 5e-5 if deep else 1e-5)
    losses = []
    for step in range(10):
        optimizer.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bf16"):
            logits = net(given[f"batch.{step}.{column}"]).to(dtype)
        loss = nn.functional.cross_entropy(logits.flatten(0, -2), given[f"batch.{step}.label"].long().flatten())
        if hasattr(net, "added_loss"):
            loss = loss + net.added_loss()
        loss.backward()
        losses.append(loss.item())
        if step == 0:
            pairs.append(("logits", given["logits"], logits.detach(), limit))
            pairs += [(f"d_{name}", given[f"d_{name}"], p.grad.clone(), gradient_limit)
                      for name, p in net.named_parameters()]
        if kind.startswith("adamw"):
            nn.utils.clip_grad_norm_(net.parameters(), 0.5)
        optimizer.step()
    if precision == "bf16":
        return similar(model, kind, losses, given, {name: theirs for name, _, theirs, _ in pairs})
    steps = 10 if exact or not deep else 1
    pairs.append(("loss", given["loss"][:steps], torch.tensor(losses[:steps], dtype=torch.float64), limit))
    if steps == 10:
        pairs += [(f"final.{name}", given[f"final.{name}"], value, limit) for name, value in net.state_dict().items()
                  if not name.endswith("num_batches_tracked")]
        pairs += [(f"final.{name}.{ours}", given[f"final.{name}.{ours}"], optimizer.state[p][theirs], limit)
                  for name, p in net.named_parameters() for ours, theirs in OPTIMIZER_STATES[kind].items()]

    errors = [(error(ours.double(), theirs.double()), bound, name)
              for name, ours, theirs, bound in pairs]
    worst = max(errors, key=lambda entry: entry[0] / entry[1])
    failed = [entry for entry in errors if not entry[0] <= entry[1]]
    print(f"{model} {str(dtype)[6:]} {kind}: {len(errors)} tensors, "
          f"worst {worst[0]:.2e} of {worst[1]:.0e} in {worst[2]}"
          f"{', FAILED: ' + str(failed[:5]) if failed else ''}")
    return not failed


def main():
    torch.set_num_threads(2)
    runs = [compare(*sys.argv[i:i + 4]) for i in range(1, len(sys.argv), 4)]
    return 0 if runs and all(runs) else 1


if __name__ == "__main__":
    sys.exit(main())
