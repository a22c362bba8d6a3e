"""Maps of arrays of words."""

from __future__ import annotations

import numpy as np

from partita import _later
from partita.common import dtype as mstype
from partita.common.dtype import DTypeLike
from partita.dataset.text.utils import NormalizeForm, Vocab
from partita.dataset.transforms import Implementation, PyTensorOperation, TensorOperation  # noqa: F401

DE_C_INTER_NORMALIZE_FORM = {one: one for one in NormalizeForm}


class TextTensorOperation(TensorOperation):
    """The base of maps of words: `execute_py` maps them, or `parse` gives the operation that does."""

    def __call__(self, *values):
        if self.implementation is Implementation.PY:
            return self.execute_py(*values)
        return self.parse()(*values)


def _words(where, value):
    """Words as an array of NumPy, bytes as text."""
    found = np.asarray(value)
    if found.dtype.kind == "S":
        found = np.char.decode(found, "utf-8")
    if found.dtype.kind not in "UO":
        raise TypeError(f"[{where}] not words, got {found.dtype}, expected texts")
    return found


class LookupOperation:
    """Words as their numbers in a vocabulary; `unknown` stands for words that are not in it."""

    def __init__(self, vocab, unknown, data_type):
        self._numbers = vocab.vocab()
        self._dtype = np.dtype("bool" if data_type in ("bool", "bool_") else data_type)
        self._unknown = None if unknown is None else self._number(unknown)

    def _number(self, word):
        found = self._numbers.get(str(word), getattr(self, "_unknown", None))
        if found is None:
            raise RuntimeError(f"[Lookup] unknown word, got '{word}', expected one of {len(self._numbers)}")
        return found

    def __call__(self, value):
        words = _words("Lookup", value)
        numbers = [self._number(word) for word in words.reshape(-1)]
        return np.array(numbers, self._dtype).reshape(words.shape)


class Lookup(TextTensorOperation):
    """Words, an array of texts, as their numbers in a vocabulary, of the element type `data_type` and the same shape.
    `unknown_token` is a word whose number stands for those that the vocabulary lacks; without one they raise
    RuntimeError."""

    implementation = Implementation.C

    def __init__(self, vocab: Vocab, unknown_token: str | None = None, data_type: DTypeLike = mstype.int32):
        if not isinstance(vocab, Vocab):
            raise TypeError(f"[Lookup] not a vocabulary, got {type(vocab).__name__}, expected text.Vocab")
        self.vocab, self.unknown_token, self.data_type = vocab, unknown_token, mstype.to_dtype(data_type)

    def parse(self):
        return LookupOperation(self.vocab, self.unknown_token, self.data_type.numpy)


class Truncate(TextTensorOperation):
    """The first `max_seq_len` words, or numbers, of each row. Raises ValueError for a length below 1."""

    implementation = Implementation.PY

    def __init__(self, max_seq_len: int):
        if isinstance(max_seq_len, bool) or not isinstance(max_seq_len, int):
            raise TypeError(f"[Truncate] max_seq_len is not an integer, got {max_seq_len!r}, expected one from 1")
        if max_seq_len < 1:
            raise ValueError(f"[Truncate] bad max_seq_len, got {max_seq_len}, expected an integer from 1")
        self.max_seq_len = max_seq_len

    def execute_py(self, value):
        found = np.asarray(value)
        if found.ndim not in (1, 2):
            raise RuntimeError(f"[Truncate] wrong number of dimensions, got {found.shape}, expected 1 or 2")
        return found[..., : self.max_seq_len]


class AddToken(TextTensorOperation):
    """A word before, or with `begin=False` after, those of a row: an array of n texts gets n + 1."""

    implementation = Implementation.PY

    def __init__(self, token: str, begin: bool = True):
        if not isinstance(token, str):
            raise TypeError(f"[AddToken] not a word, got {type(token).__name__}, expected str")
        self.token, self.begin = token, bool(begin)

    def execute_py(self, value):
        words = _words("AddToken", value)
        if words.ndim not in (1, 2):
            raise RuntimeError(f"[AddToken] wrong number of dimensions, got {words.shape}, expected 1 or 2")
        added = np.full((*words.shape[:-1], 1), self.token)
        return np.concatenate([added, words] if self.begin else [words, added], -1)


__getattr__, __dir__ = _later.names_of(globals(), "partita.dataset.text")
