"""Trains small models of mindnlp: `train_mindnlp.py FOLDER documented|own [NAMES]`. A classifier of BERT, of an LSTM
and of a GRU train by the library's Trainer, and models of mindnlp_models.txt by `value_and_grad`. Weights are drawn by
their names. Results and losses go to a file of the folder; `own` compares them with those of `documented`, if these are
there, and fails where one differs by more than 1e-5, in proportion to numbers above 1."""

import inspect
import json
import os
import sys
import time

import numpy as np

import mindspore as ms

if "partita" not in sys.modules:  # a name that mindnlp 0.2.4 imports, and that MindSpore has no longer
    import mindspore._c_expression

    mindspore._c_expression.Tensor = ms.Tensor.__mro__[1]

import mindspore.dataset as ds
from mindnlp import transformers
from mindnlp.abc import Callback
from mindnlp.engine import Trainer
from mindnlp.metrics import Accuracy
from mindnlp.modules import StaticGRU, StaticLSTM
from mindspore import nn

WORDS, WIDTH, LENGTH, ROWS, CLASSES, STEPS = 60, 32, 10, 12, 3, 3
SIZES = dict(
    vocab_size=WORDS, hidden_size=WIDTH, n_embd=WIDTH, d_model=WIDTH, num_hidden_layers=2, n_layer=2, encoder_layers=2,
    decoder_layers=2, num_attention_heads=4, n_head=4, encoder_attention_heads=4, decoder_attention_heads=4,
    intermediate_size=64, encoder_ffn_dim=64, decoder_ffn_dim=64, max_position_embeddings=32, n_positions=32, n_ctx=32,
    num_labels=CLASSES, pad_token_id=0, bos_token_id=1, eos_token_id=2,
)
RATES = (
    "hidden_dropout_prob attention_probs_dropout_prob attention_dropout dropout activation_dropout resid_pdrop"
    " embd_pdrop attn_pdrop classifier_dropout hidden_dropout"
).split()
TOLERANCE = 1e-5


def drawn(network):
    """The network with weights that follow from their names."""
    for name, parameter in network.parameters_and_names():
        values = np.random.default_rng(sum(map(ord, name))).standard_normal(parameter.shape) * 0.1
        values += parameter.ndim == 1 and "eight" in name
        parameter.set_data(ms.Tensor(values.astype(np.float32)))
    return network


def rows():
    """Words, which of them count, classes."""
    own = np.random.default_rng(0)
    counts = np.ones((ROWS, LENGTH), np.int32)
    counts[::2, 7:] = 0
    words = own.integers(3, WORDS, (ROWS, LENGTH)).astype(np.int32)
    return words, counts, own.integers(0, CLASSES, ROWS).astype(np.int32)


class Losses(Callback):
    """Keeps the mean loss of the epoch after each step."""

    def __init__(self):
        self.values = []

    def train_step_end(self, run_context):
        self.values.append(float(run_context.loss.asnumpy()))


class Classifier(nn.Cell):
    """A recurrent network of the library over words, and the mean of its states."""

    def __init__(self, layers):
        super().__init__()
        self.embedding = nn.Embedding(WORDS, 16)
        self.layers = layers(16, 12, num_layers=2, batch_first=True, bidirectional=True)
        self.out = nn.Dense(24, CLASSES)

    def construct(self, input_ids):
        return self.out(self.layers(self.embedding(input_ids))[0].mean(1))


def by_trainer(network, columns, names, result, **options):
    """(result before, losses) of a training of two epochs by the library's own Trainer."""
    data = ds.NumpySlicesDataset(columns, names, shuffle=False).batch(4)
    before, losses = result(network).asnumpy(), Losses()
    optimizer = nn.Adam(network.trainable_params(), learning_rate=1e-3)
    if "loss_fn" in options:
        options.update(eval_dataset=data, metrics=Accuracy())
    trainer = Trainer(network=network, train_dataset=data, epochs=2, optimizer=optimizer, callbacks=losses, **options)
    trainer.run(tgt_columns="label" if "loss_fn" in options else None)
    return before, losses.values


def trained_bert():
    words, counts, classes = rows()
    config = transformers.BertConfig(**{**SIZES, **dict.fromkeys(RATES[:2], 0.0)})
    network = drawn(transformers.BertForSequenceClassification(config))
    names = ["input_ids", "attention_mask", "labels"]
    inputs = ms.Tensor(words), ms.Tensor(counts)
    return by_trainer(network, (words, counts, classes), names, lambda net: net(*inputs)[0])


def trained_layers(layers):
    words, _, classes = rows()
    network = drawn(Classifier(layers))
    result = lambda net: net(ms.Tensor(words))
    return by_trainer(network, (words, classes), ["input_ids", "label"], result, loss_fn=nn.CrossEntropyLoss())


def settings(config, own):
    """The settings of a class: sizes and rates of dropout that it names, and those of the model."""
    known = inspect.signature(config.__init__).parameters
    given = {name: value for name, value in SIZES.items() if name in known}
    given.update({name: 0.0 for name in RATES if name in known})
    given.update({name: SIZES[name] for name in ("num_labels", "pad_token_id", "bos_token_id", "eos_token_id")})
    return config(**{**given, **own})


def trained_model(config, model, own):
    """(result, losses) of three steps of a model that is made from its settings."""
    network = drawn(getattr(transformers, model)(settings(getattr(transformers, config), own)))
    words, counts, classes = (one[:4].astype(np.int64) for one in rows())
    is_classifier = "Classification" in model
    takes = inspect.signature(network.construct).parameters
    inputs = {"attention_mask": ms.Tensor(counts)} if "attention_mask" in takes else {}
    labels = ms.Tensor(classes.astype(np.int32) if is_classifier else words)
    if "decoder_input_ids" in takes:
        inputs["labels"] = labels
    network.set_train(False)
    words = ms.Tensor(words)
    result = network(words, **inputs)
    result = result.logits if hasattr(result, "logits") else result[0]
    network.set_train(True)
    optimizer = nn.SGD(network.trainable_params(), 0.05)
    inputs["labels"] = labels

    def loss_of(words):
        found = network(words, **inputs)
        return found.loss if hasattr(found, "loss") else found[0]

    step, losses = ms.value_and_grad(loss_of, None, optimizer.parameters), []
    for _ in range(STEPS):
        loss, gradients = step(words)
        optimizer(gradients)
        losses.append(float(loss.asnumpy()))
    return result.asnumpy(), losses


def listed():
    """{name: a function that trains it}."""
    found = {
        "trainer_bert": trained_bert,
        "trainer_lstm": lambda: trained_layers(StaticLSTM),
        "trainer_gru": lambda: trained_layers(StaticGRU),
    }
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "mindnlp_models.txt")) as file:
        for line in file:
            if not line.startswith("#"):
                name, config, model, own = line.split(" ", 3)
                found[name] = lambda config=config, model=model, own=json.loads(own): trained_model(config, model, own)
    return found


def difference(got, expected):
    """The largest difference, in proportion to numbers above 1."""
    if got.shape != expected.shape:
        return float("inf")
    return float((np.abs(got - expected) / np.maximum(1, np.abs(expected))).max())


def text_of(error):
    """The first line of an error."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0][:150] if lines else ''}"


def main():
    folder, who, *names = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    there, file = os.path.join(folder, "mindnlp_documented.npz"), os.path.join(folder, f"mindnlp_{who}.npz")
    expected = dict(np.load(there)) if who == "own" and os.path.exists(there) else {}
    numbers = dict(np.load(file)) if names and os.path.exists(file) else {}
    counts, failed = dict.fromkeys(("trained", "compared", "equal", "refused"), 0), []
    for name, train in listed().items():
        if names and name not in names:
            continue
        begin = time.time()
        try:
            result, losses = train()
        except Exception as error:  # a model of the list that does not train is counted, and the next one is trained
            counts["refused"] += 1
            print(f"{name}: {text_of(error)}", flush=True)
            continue
        numbers[f"{name}/result"], numbers[f"{name}/losses"] = result, np.array(losses)
        counts["trained"] += 1
        line = f"{name}: losses {' '.join(f'{one:.6f}' for one in losses)}, {time.time() - begin:.1f} s"
        if f"{name}/losses" in expected:
            apart = [difference(numbers[f"{name}/{part}"], expected[f"{name}/{part}"]) for part in ("result", "losses")]
            counts["compared"] += 1
            counts["equal"] += max(apart) <= TOLERANCE
            failed += [name] if max(apart) > TOLERANCE else []
            line += f"; result differs by {apart[0]:.1e}, losses by {apart[1]:.1e}"
        print(line, flush=True)
        np.savez(file, **numbers)
    print(", ".join(f"{count} {what}" for what, count in counts.items()))
    if failed:
        sys.exit(f"[train_mindnlp] other numbers, got {failed}, expected those of the documented system")


if __name__ == "__main__":
    main()
