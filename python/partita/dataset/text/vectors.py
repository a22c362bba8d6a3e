"""Vectors of words from files, and maps of words to them."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from partita.dataset.refused import reading
from partita.dataset.text.tokenizers import _texts
from partita.dataset.transforms import Implementation, PyTensorOperation


class Vectors:
    """Vectors of words: a file with a word and its numbers in each line, and perhaps their counts in the first one."""

    _file = r".*"
    _kind = "a file with a word and its numbers in each line"

    def __init__(self, numbers=None):
        self._numbers = numbers or {}
        self.size = len(next(iter(self._numbers.values()))) if self._numbers else 0

    @classmethod
    def from_file(cls, file_path: str, max_vectors: int | None = None):
        """Reads the first `max_vectors` lines, or all. Raises ValueError for a bad name or line."""
        if not re.fullmatch(cls._file, str(file_path).rsplit("/", 1)[-1]):
            raise ValueError(f"[{cls.__name__}] wrong file, got '{file_path}', expected {cls._kind}")
        if max_vectors is not None and (not isinstance(max_vectors, int) or max_vectors < 0):
            raise ValueError(f"[{cls.__name__}] bad max_vectors, got {max_vectors!r}, expected an integer from 0")
        numbers = {}
        with reading(cls.__name__, f"'{file_path}'"), open(file_path, encoding="utf-8") as file:
            for i, line in enumerate(file):
                word, *values = line.rstrip().split(" ")
                if i == 0 and len(values) == 1:
                    continue
                numbers.setdefault(word, np.array(values, np.float32))
                if max_vectors and len(numbers) == max_vectors:
                    break
        if len({len(one) for one in numbers.values()}) != 1:
            raise ValueError(f"[{cls.__name__}] vectors of unlike lengths, got '{file_path}', expected one length")
        return cls(numbers)

    def vector(self, word: str, lower_case_backup: bool):
        """The vector of a word; None for an unknown one."""
        found = self._numbers.get(word)
        return self._numbers.get(word.lower()) if found is None and lower_case_backup else found


class GloVe(Vectors):
    """Vectors of GloVe."""

    _file, _kind = r"glove\..*\.txt", "a file glove.*.txt"


class FastText(Vectors):
    """Vectors of FastText."""

    _file, _kind = r".*\.vec", "a file *.vec"


class CharNGram(Vectors):
    """Vectors of runs of characters: that of a word is the mean of those of its runs of 2 to 4 characters."""

    def vector(self, word: str, lower_case_backup: bool):
        letters = ["#BEGIN#", *(word.lower() if lower_case_backup else word), "#END#"]
        runs = (f"{n}gram-{''.join(letters[i : i + n])}" for n in (2, 3, 4) for i in range(len(letters) - n + 1))
        found = [self._numbers[one] for one in runs if one in self._numbers]
        return np.mean(found, 0, dtype=np.float32) if found else None


class ToVectors(PyTensorOperation):
    """Words as their vectors; unknown ones are `unk_init`, or 0. With `lower_case_backup` a word that is unknown is
    looked up in small letters."""

    implementation = Implementation.PY

    def __init__(self, vectors: Vectors, unk_init: Sequence[float] | None = None, lower_case_backup: bool = False):
        if not isinstance(vectors, Vectors):
            raise TypeError(f"[ToVectors] no vectors, got {type(vectors).__name__}, expected text.Vectors")
        if unk_init is not None and len(unk_init) != vectors.size:
            raise ValueError(f"[ToVectors] bad unk_init, got {len(unk_init)} numbers, expected {vectors.size}")
        self._vectors, self._lower = vectors, lower_case_backup
        self._unknown = np.array([0] * vectors.size if unk_init is None else unk_init, np.float32)

    def execute_py(self, value):
        words = _texts("ToVectors", value)
        found = [self._vectors.vector(str(one), self._lower) for one in words.reshape(-1)]
        made = np.array([self._unknown if one is None else one for one in found], np.float32)
        return made.reshape(*words.shape, self._vectors.size)
