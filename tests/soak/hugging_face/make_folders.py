"""Makes small folders of Hugging Face with random weights, and the numbers that PyTorch computes with them.

    make_folders.py OUT     a folder OUT/NAME for each model, with expected.safetensors: the columns of a batch of rows,
                            the logits for them in an evaluation, and the losses of ten steps of SGD with rate 0.05

Needs torch, transformers and safetensors. tests/hugging_face is what it writes.
"""

import os
import sys

import torch
import transformers
from safetensors.torch import save_file

ROWS, LENGTH, STEPS, RATE, VOCAB = 24, 12, 10, 0.05, 40

DECODER = dict(
    hidden_size=16,
    intermediate_size=24,
    num_hidden_layers=2,
    num_attention_heads=4,
    num_key_value_heads=2,
    vocab_size=VOCAB,
    max_position_embeddings=64,
    bos_token_id=None,
    eos_token_id=None,
    pad_token_id=None,
)
ENCODER = dict(hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=4)
LLAMA3 = dict(
    rope_type="llama3",
    rope_theta=100.0,
    factor=8.0,
    low_freq_factor=1.0,
    high_freq_factor=4.0,
    original_max_position_embeddings=16,
)


def models():
    """Returns the models by name."""
    t = transformers
    gpt2 = dict(n_embd=16, n_layer=2, n_head=4, vocab_size=VOCAB, n_positions=20, bos_token_id=None, eos_token_id=None)
    classes = dict(num_labels=10)
    return {
        "gpt2": t.GPT2LMHeadModel(t.GPT2Config(**gpt2)),
        "llama": t.LlamaForCausalLM(
            t.LlamaConfig(**DECODER, tie_word_embeddings=True, rms_norm_eps=1e-5, rope_parameters=LLAMA3)
        ),
        "mistral": t.MistralForCausalLM(t.MistralConfig(**DECODER, sliding_window=32)),
        "mixtral": t.MixtralForCausalLM(t.MixtralConfig(**DECODER, num_local_experts=4, num_experts_per_tok=2)),
        "qwen2": t.Qwen2ForCausalLM(t.Qwen2Config(**DECODER)),
        "qwen3": t.Qwen3ForCausalLM(t.Qwen3Config(**DECODER, head_dim=8)),
        "bert": t.BertForMaskedLM(
            t.BertConfig(**ENCODER, vocab_size=VOCAB, max_position_embeddings=20, pad_token_id=None)
        ),
        "vit": t.ViTForImageClassification(t.ViTConfig(**ENCODER, image_size=8, patch_size=4, **classes)),
        "resnet": t.ResNetForImageClassification(
            t.ResNetConfig(
                embedding_size=2, hidden_sizes=[2, 4, 8, 16], depths=[2, 2, 2, 2], layer_type="basic", **classes
            )
        ),
    }


def disturb(model):
    """Moves weights and statistics away from their regular initial values."""
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
        for name, buffer in model.named_buffers():
            if name.endswith("running_mean"):
                buffer.copy_(0.1 * torch.randn_like(buffer))
            if name.endswith("running_var"):
                buffer.copy_(1 + 0.3 * torch.rand_like(buffer))
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0


def columns_of(name):
    """Returns a batch of rows."""
    if name in ("vit", "resnet"):
        size = 8 if name == "vit" else 32
        return {"image": torch.randn(ROWS, 3, size, size), "label": torch.randint(0, 10, (ROWS,), dtype=torch.int32)}
    tokens = torch.randint(0, VOCAB, (ROWS, LENGTH), dtype=torch.int32)
    if name != "bert":
        return {"tokens": tokens, "label": torch.randint(0, VOCAB, (ROWS, LENGTH), dtype=torch.int32)}
    positions = torch.stack([torch.randperm(LENGTH)[:3].sort().values for _ in range(ROWS)]).to(torch.int32)
    label = torch.randint(0, VOCAB, (ROWS, 3), dtype=torch.int32)
    return {"tokens": tokens, "positions": positions, "label": label}


def logits_of(model, columns):
    """Returns the logits of a batch."""
    if "image" in columns:
        return model(pixel_values=columns["image"]).logits
    logits = model(input_ids=columns["tokens"].long()).logits
    if "positions" not in columns:
        return logits
    places = columns["positions"].long().unsqueeze(-1).expand(-1, -1, logits.shape[-1])
    return logits.gather(1, places)


def main():
    """Writes all folders."""
    torch.manual_seed(7)
    for name, model in models().items():
        folder = os.path.join(sys.argv[1], name)
        disturb(model)
        model.save_pretrained(folder)
        generation = os.path.join(folder, "generation_config.json")
        if os.path.exists(generation):
            os.remove(generation)
        columns = columns_of(name)
        expected = dict(columns)
        model.eval()
        with torch.no_grad():
            expected["logits"] = logits_of(model, columns).contiguous()
        model.train()
        optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
        losses = []
        for _ in range(STEPS):
            loss = torch.nn.functional.cross_entropy(
                logits_of(model, columns).flatten(0, -2), columns["label"].long().flatten()
            )
            losses.append(loss.item())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        expected["losses"] = torch.tensor(losses, dtype=torch.float64)
        save_file(expected, os.path.join(folder, "expected.safetensors"))
        print(name, losses[0], losses[-1])


if __name__ == "__main__":
    main()
