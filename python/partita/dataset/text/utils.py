"""Vocabularies."""

from __future__ import annotations

import collections
import enum
from collections.abc import Sequence

import numpy as np

from partita import _later
from partita.dataset.columns import names_of, require_columns
from partita.dataset.refused import reading


class NormalizeForm(enum.IntEnum):
    """Forms of Unicode."""

    NONE = 0
    NFC = 1
    NFKC = 2
    NFD = 3
    NFKD = 4


class Vocab:
    """Words and their numbers from 0, made by `from_list`, `from_dict`, `from_file` or `from_dataset`; `vocab()` is the
    dict, and Lookup the map of rows."""

    def __init__(self):
        self._numbers, self._words = {}, {}

    def __repr__(self):
        return f"Vocab({len(self._numbers)} words)"

    @classmethod
    def from_dict(cls, word_dict: dict[str, int]) -> Vocab:
        """The vocabulary of {word: number}. Raises ValueError for numbers below 0."""
        for word, number in word_dict.items():
            if not isinstance(word, str) or isinstance(number, bool) or not isinstance(number, int):
                raise TypeError(f"[Vocab] not a word and its number, got {word!r}: {number!r}, expected str: int")
            if not 0 <= number < 2**31:
                raise ValueError(f"[Vocab] number out of range, got {number} for '{word}', expected 0 to {2**31 - 1}")
        made = cls()
        made._numbers = dict(word_dict)
        made._words = {number: word for word, number in word_dict.items()}
        return made

    @classmethod
    def from_list(
        cls, word_list: Sequence[str], special_tokens: Sequence[str] | None = None, special_first: bool = True
    ) -> Vocab:
        """The vocabulary of a list of words, numbered in its order, with other words before or after them. Raises
        ValueError for a word that stands twice."""
        special = list(special_tokens or [])
        words = special + list(word_list) if special_first else list(word_list) + special
        for word in words:
            if not isinstance(word, str):
                raise TypeError(f"[Vocab] not a word, got {word!r}, expected str")
        if len(set(words)) < len(words):
            twice = next(word for word in words if words.count(word) > 1)
            raise ValueError(f"[Vocab] a word stands twice, got '{twice}', expected each once")
        return cls.from_dict({word: i for i, word in enumerate(words)})

    @classmethod
    def from_file(
        cls,
        file_path: str,
        delimiter: str = "",
        vocab_size: int | None = None,
        special_tokens: Sequence[str] | None = None,
        special_first: bool = True,
    ) -> Vocab:
        """The vocabulary of a file with a word in each line: what stands before the delimiter, if one is given. Takes
        the first `vocab_size` lines, or all."""
        if vocab_size is not None and vocab_size < 1:
            raise ValueError(f"[Vocab] bad vocab_size, got {vocab_size}, expected an integer from 1")
        with reading("Vocab", f"'{file_path}'"), open(file_path, encoding="utf-8") as file:
            lines = [line.rstrip("\r\n") for line in file]
        words = [line.split(delimiter)[0] if delimiter else line for line in lines]
        return cls.from_list([word for word in words if word][:vocab_size], special_tokens, special_first)

    @classmethod
    def from_dataset(
        cls,
        dataset,
        columns: str | Sequence[str] | None = None,
        freq_range: tuple[int | None, int | None] | None = None,
        top_k: int | None = None,
        special_tokens: Sequence[str] | None = None,
        special_first: bool = True,
    ) -> Vocab:
        """The vocabulary of the words in columns of a data set, all by default, from the most frequent one on; those of
        equal frequency in the order of their letters. `freq_range` has the least and the greatest frequency, and
        `top_k` is the number of words."""
        if not hasattr(dataset, "get_col_names"):
            raise TypeError(f"[Vocab] no data set, got {type(dataset).__name__}, expected one with words")
        known = dataset.get_col_names()
        columns = names_of("Vocab", "columns", columns) if columns else known
        require_columns("Vocab", columns, known)
        low, high = freq_range or (None, None)
        if top_k is not None and (not isinstance(top_k, int) or top_k < 1):
            raise ValueError(f"[Vocab] bad top_k, got {top_k!r}, expected an integer from 1")
        counts = collections.Counter()
        for row in dataset.create_dict_iterator(num_epochs=1, output_numpy=True):
            for name in columns:
                if row[name].dtype.kind != "U":
                    raise TypeError(f"[Vocab] column '{name}' has no words, got {row[name].dtype}, expected texts")
                counts.update(row[name].reshape(-1).tolist())
        kept = [word for word, n in counts.items() if (low is None or n >= low) and (high is None or n <= high)]
        for word in special_tokens or []:
            if word in counts:
                raise ValueError(f"[Vocab] a special word stands in the data set, got '{word}', expected another one")
        words = sorted(kept, key=lambda word: (-counts[word], word))[:top_k]
        return cls.from_list(words, special_tokens, special_first)

    def vocab(self) -> dict[str, int]:
        """{word: number}."""
        return dict(self._numbers)

    def tokens_to_ids(self, tokens: str | Sequence[str]) -> int | list[int]:
        """The number of a word, or of each of a list; -1 for unknown ones."""
        if isinstance(tokens, str):
            return self._numbers.get(tokens, -1)
        return [self._numbers.get(str(one), -1) for one in tokens]

    def ids_to_tokens(self, ids: int | Sequence[int]) -> str | list[str]:
        """The word of a number, or of each of a list; empty for unknown ones."""
        if isinstance(ids, int):
            return self._words.get(ids, "")
        return [self._words.get(int(one), "") for one in ids]

    @property
    def c_vocab(self):
        """The vocabulary itself, which operations of `_c_dataengine` take."""
        return self


class JiebaMode(enum.IntEnum):
    """How JiebaTokenizer finds words."""

    MIX = 0
    MP = 1
    HMM = 2


def to_str(array: np.ndarray, encoding: str = "utf8") -> np.ndarray:
    """An array of bytes as one of texts, of the same shape. Raises UnicodeDecodeError for bytes of another encoding."""
    found = np.asarray(array)
    return np.char.decode(found, encoding) if found.dtype.kind == "S" else found


def to_bytes(array: np.ndarray, encoding: str = "utf8") -> np.ndarray:
    """An array of texts as one of bytes, of the same shape."""
    found = np.asarray(array)
    return np.char.encode(found, encoding) if found.dtype.kind == "U" else found


_PIECES = "SPieceTokenizerLoadType SPieceTokenizerOutType SentencePieceModel SentencePieceVocab"
__getattr__, __dir__ = _later.names_later(globals(), dict.fromkeys(_PIECES.split(), "partita.dataset.text"))
