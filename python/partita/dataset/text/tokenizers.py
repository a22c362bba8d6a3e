"""Texts as words: tokenizers, and what is done with words. They follow their documented counterparts."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence

import numpy as np

from partita.common import dtype as mstype
from partita.common.dtype import DTypeLike
from partita.dataset.text.utils import JiebaMode, NormalizeForm, Vocab
from partita.dataset.transforms import Implementation, PyTensorOperation

__all__ = [
    "BasicTokenizer",
    "BertTokenizer",
    "CaseFold",
    "FilterWikipediaXML",
    "JiebaTokenizer",
    "Ngram",
    "NormalizeUTF8",
    "PythonTokenizer",
    "RegexReplace",
    "RegexTokenizer",
    "SlidingWindow",
    "ToNumber",
    "TruncateSequencePair",
    "UnicodeCharTokenizer",
    "UnicodeScriptTokenizer",
    "WhitespaceTokenizer",
    "WordpieceTokenizer",
]


def _texts(where, value):
    """A text, or an array of texts, as an array of NumPy. Raises TypeError for others."""
    found = np.asarray(value)
    if found.dtype.kind == "S":
        found = np.char.decode(found, "utf-8")
    if found.dtype.kind not in "UO":
        raise TypeError(f"[{where}] not a text, got {found.dtype}, expected texts")
    return found


def _text(where, value):
    found = _texts(where, value)
    if found.ndim != 0:
        raise RuntimeError(f"[{where}] not one text, got an array of {found.shape}, expected a text without dimensions")
    return str(found)


def _regex():
    import regex

    return regex


def _compiled(where, pattern):
    """A regular expression. The module regex, if it is there, knows classes such as \\p{Han}."""
    try:
        return re.compile(pattern)
    except re.error as error:
        if "\\p" not in pattern and "\\P" not in pattern:
            raise ValueError(
                f"[{where}] bad pattern, got {pattern!r}: {error}, expected a regular expression"
            ) from None
    try:
        return _regex().compile(pattern)
    except ImportError:
        raise ImportError(
            f"[{where}] classes of Unicode need the module regex, got {pattern!r}, expected pip install regex"
        ) from None


def _bytes_before(text):
    """Places of the characters of a text, and its end, in bytes of UTF-8."""
    return [0, *np.cumsum([len(one.encode()) for one in text]).tolist()]


class _Tokenizer(PyTensorOperation):
    """A map of one text to its words, and with `with_offsets` to their first and last places in bytes."""

    implementation = Implementation.PY
    with_offsets = False

    def _spans(self, text):
        """Places of the first and after the last character of each word."""
        raise NotImplementedError

    def execute_py(self, value):
        text = _text(type(self).__name__, value)
        spans = list(self._spans(text)) or [(0, 0)]
        places = _bytes_before(text)
        return self._given([text[a:b] for a, b in spans], [places[a] for a, _ in spans], [places[b] for _, b in spans])

    def _given(self, words, begins, ends):
        if not self.with_offsets:
            return np.array(words)
        return np.array(words), np.array(begins, np.uint32), np.array(ends, np.uint32)


def _flag(where, name, value):
    if not isinstance(value, bool):
        raise TypeError(f"[{where}] {name} is no truth value, got {value!r}, expected bool")
    return value


class WhitespaceTokenizer(_Tokenizer):
    """The words of a text between white space, as an array of texts. With `with_offsets` it gives three columns: words,
    and the numbers of their first bytes and of those after their last ones, uint32."""

    def __init__(self, with_offsets: bool = False):
        self.with_offsets = _flag("WhitespaceTokenizer", "with_offsets", with_offsets)

    def _spans(self, text):
        return [one.span() for one in re.finditer(r"\S+", text)]


class UnicodeCharTokenizer(_Tokenizer):
    """The characters of a text, as an array of texts of one each; with `with_offsets` three columns, see
    WhitespaceTokenizer."""

    def __init__(self, with_offsets: bool = False):
        self.with_offsets = _flag("UnicodeCharTokenizer", "with_offsets", with_offsets)

    def _spans(self, text):
        return [(i, i + 1) for i in range(len(text))]


def _script(letter):
    """The script of a character, as the first word of its name; "" for those that all scripts have."""
    if not unicodedata.category(letter).startswith("L"):
        return ""
    name = unicodedata.name(letter, "").replace("FULLWIDTH ", "").replace("HALFWIDTH ", "").split(" ")
    return "CJK" if name[0] in ("CJK", "IDEOGRAPHIC", "KANGXI") else name[0]


class UnicodeScriptTokenizer(_Tokenizer):
    """Words of one script each; digits and punctuation are one of their own. White space parts words, and is a word
    itself with `keep_whitespace`."""

    def __init__(self, keep_whitespace: bool = False, with_offsets: bool = False):
        self.keep_whitespace = _flag("UnicodeScriptTokenizer", "keep_whitespace", keep_whitespace)
        self.with_offsets = _flag("UnicodeScriptTokenizer", "with_offsets", with_offsets)

    def _spans(self, text):
        begin, kinds = 0, []
        for letter in text:
            is_mark = unicodedata.category(letter).startswith("M") and kinds
            kinds.append(kinds[-1] if is_mark else (letter.isspace(), _script(letter)))
        for i in range(1, len(text) + 1):
            if i == len(text) or kinds[i] != kinds[begin]:
                if self.keep_whitespace or not kinds[begin][0]:
                    yield begin, i
                begin = i


class RegexTokenizer(_Tokenizer):
    """The parts of a text between what a pattern finds. What is found is a word too, where the second pattern matches
    all of it."""

    def __init__(self, delim_pattern: str, keep_delim_pattern: str = "", with_offsets: bool = False):
        where = type(self).__name__
        self.with_offsets = _flag(where, "with_offsets", with_offsets)
        self._pattern = _compiled(where, delim_pattern)
        self._kept = _compiled(where, keep_delim_pattern) if keep_delim_pattern else None

    def _spans(self, text):
        begin = 0
        for found in self._pattern.finditer(text):
            first, last = found.span()
            if first == last:
                continue
            if begin < first:
                yield begin, first
            if self._kept is not None and self._kept.fullmatch(found.group()):
                yield first, last
            begin = last
        if begin < len(text):
            yield begin, len(text)


_MARKS = r"[!-/]|[:-@]|[\[-`]|[{-~]|[^\w\s]|_"
_IDEOGRAPHS = (
    "[\u4e00-\u9fff\u3400-\u4dbf\uf900-\ufaff\U00020000-\U0002a6df\U0002a700-\U0002b73f\U0002b740-\U0002b81f"
    "\U0002b820-\U0002ceaf\U0002f800-\U0002fa1f]"
)
_UNUSED = r"\[CLS\]|\[SEP\]|\[UNK\]|\[PAD\]|\[MASK\]|\[unused\d+\]"


class BasicTokenizer(_Tokenizer):
    """The words of a text as an array of texts, whose punctuation and ideographs are words of their own. With
    `lower_case` letters are small and without accents, else `normalization_form` says which form they get. Special
    words such as [CLS] stay as they are with `preserve_unused_token`. With `with_offsets` it gives three columns:
    words, first bytes and ends."""

    def __init__(
        self,
        lower_case: bool = False,
        keep_whitespace: bool = False,
        normalization_form: NormalizeForm = NormalizeForm.NONE,
        preserve_unused_token: bool = True,
        with_offsets: bool = False,
    ):
        where = type(self).__name__
        self.lower_case = _flag(where, "lower_case", lower_case)
        self.with_offsets = _flag(where, "with_offsets", with_offsets)
        self._form = _form(where, normalization_form)
        self._special = re.compile(_UNUSED) if _flag(where, "preserve_unused_token", preserve_unused_token) else None
        parts = ([_UNUSED] if preserve_unused_token else []) + [_MARKS, _IDEOGRAPHS]
        kept = "|".join(parts + ([r"\s+"] if _flag(where, "keep_whitespace", keep_whitespace) else []))
        self._tokens = RegexTokenizer("|".join([*parts, r"\s+"]), kept, with_offsets)

    def execute_py(self, value):
        text = _text(type(self).__name__, value)
        if self.lower_case:
            text = _apart(self._special, text, lambda part: _without_accents(_folded(part)))
        elif self._form is not None:
            text = unicodedata.normalize(self._form, text)
        text = "".join(" " if unicodedata.category(one) in ("Cc", "Cf") else one for one in text)
        return self._tokens.execute_py(text)


def _apart(special, text, change):
    """A text whose parts other than special words are changed."""
    if special is None:
        return change(text)
    made, begin = [], 0
    for found in special.finditer(text):
        made += [change(text[begin : found.start()]), found.group()]
        begin = found.end()
    return "".join([*made, change(text[begin:])])


def _folded(text):
    return unicodedata.normalize("NFKC", text.casefold())


def _without_accents(text):
    return "".join(one for one in unicodedata.normalize("NFD", text) if unicodedata.category(one) != "Mn")


def _form(where, form):
    """The name of a form of Unicode; None for NONE."""
    if not isinstance(form, NormalizeForm):
        raise TypeError(f"[{where}] no form of Unicode, got {form!r}, expected one of text.NormalizeForm")
    return None if form is NormalizeForm.NONE else form.name


class WordpieceTokenizer(_Tokenizer):
    """Words as the longest parts that a vocabulary has, from their beginning; parts that do not begin a word have
    `suffix_indicator` before them. Words that are not made of such parts, or longer than `max_bytes_per_token`, are
    `unknown_token`, or stay if that is empty."""

    def __init__(
        self,
        vocab: Vocab,
        suffix_indicator: str = "##",
        max_bytes_per_token: int = 100,
        unknown_token: str = "[UNK]",
        with_offsets: bool = False,
    ):
        if not isinstance(vocab, Vocab):
            raise TypeError(
                f"[{type(self).__name__}] not a vocabulary, got {type(vocab).__name__}, expected text.Vocab"
            )
        self._words, self._suffix, self._longest = set(vocab.vocab()), suffix_indicator, max_bytes_per_token
        self._unknown = unknown_token
        self.with_offsets = _flag(type(self).__name__, "with_offsets", with_offsets)

    def execute_py(self, value):
        words = _texts(type(self).__name__, value)
        return self._of_words([str(one) for one in words.reshape(-1)])

    def _of_words(self, words, first=None):
        parts = [one for i, word in enumerate(words) for one in self._parts(word, first[i] if first else 0)]
        return self._given(*map(list, zip(*parts)))

    def _parts(self, word, first):
        """(part, first place, last place) of a word."""
        places, begin, parts = _bytes_before(word), 0, []
        whole = [(self._unknown or word, first, first + places[-1])]
        if places[-1] > self._longest:
            return whole
        while begin < len(word):
            before = self._suffix if begin else ""
            ends = (end for end in range(len(word), begin, -1) if before + word[begin:end] in self._words)
            end = next(ends, None)
            if end is None:
                return whole
            parts.append((before + word[begin:end], first + places[begin], first + places[end]))
            begin = end
        return parts or [("", 0, 0)]


class BertTokenizer(WordpieceTokenizer):
    """The words of a text by BasicTokenizer, as the parts that WordpieceTokenizer finds in a vocabulary: an array of
    texts."""

    def __init__(
        self,
        vocab: Vocab,
        suffix_indicator: str = "##",
        max_bytes_per_token: int = 100,
        unknown_token: str = "[UNK]",
        lower_case: bool = False,
        keep_whitespace: bool = False,
        normalization_form: NormalizeForm = NormalizeForm.NONE,
        preserve_unused_token: bool = True,
        with_offsets: bool = False,
    ):
        super().__init__(vocab, suffix_indicator, max_bytes_per_token, unknown_token, with_offsets)
        self._basic = BasicTokenizer(lower_case, keep_whitespace, normalization_form, preserve_unused_token, True)

    def execute_py(self, value):
        words, first, _ = self._basic.execute_py(value)
        return self._of_words([str(one) for one in words], first.tolist())


class _OfEach(PyTensorOperation):
    """A map of each text of an array."""

    implementation = Implementation.PY

    def _changed(self, text):
        raise NotImplementedError

    def execute_py(self, value):
        found = _texts(type(self).__name__, value)
        changed = [self._changed(str(one)) for one in found.reshape(-1)]
        return np.array(changed, str if changed else found.dtype).reshape(found.shape)


class CaseFold(_OfEach):
    """Texts whose letters compare without regard to case."""

    def _changed(self, text):
        return _folded(text)


class NormalizeUTF8(_OfEach):
    """Texts in a form of Unicode."""

    def __init__(self, normalize_form: NormalizeForm = NormalizeForm.NFKC):
        self._form = _form("NormalizeUTF8", normalize_form)

    def _changed(self, text):
        return text if self._form is None else unicodedata.normalize(self._form, text)


class RegexReplace(_OfEach):
    """Texts in which what a pattern finds, everywhere or once, is replaced; $1 is its first group."""

    def __init__(self, pattern: str, replace: str, replace_all: bool = True):
        self._pattern, self._all = _compiled("RegexReplace", pattern), replace_all
        self._replace = re.sub(r"\$(\d+)", r"\\g<\1>", replace.replace("\\", "\\\\"))

    def _changed(self, text):
        return self._pattern.sub(self._replace, text, count=0 if self._all else 1)


class FilterWikipediaXML(_OfEach):
    """Lines of an extract of Wikipedia as small letters and spaces, with digits as words. Lines of XML become empty."""

    _DIGITS = dict(zip("0123456789", "zero one two three four five six seven eight nine".split()))

    def _changed(self, text):
        if text.startswith("<"):
            return ""
        text = re.sub(r"<[^>]*>|&[a-z]+;|\{[^}]*\}", " ", text.lower())
        text = re.sub(r"\[\[[^|\]]*\|", "[[", text)
        text = "".join(f" {self._DIGITS[one]} " if one in self._DIGITS else one for one in text)
        return re.sub(r" +", " ", re.sub(r"[^a-z]", " ", text)).strip()


class PythonTokenizer(PyTensorOperation):
    """The words that a function makes of a text, a str: a list or an array of texts. Raises TypeError for what cannot
    be called."""

    implementation = Implementation.PY

    def __init__(self, tokenizer: Callable):
        if not callable(tokenizer):
            raise TypeError(f"[PythonTokenizer] not a function, got {type(tokenizer).__name__}, expected one of a text")
        self._tokenizer = tokenizer

    def execute_py(self, value):
        return np.array(self._tokenizer(_text("PythonTokenizer", value)))


class ToNumber(PyTensorOperation):
    """Texts as the numbers that they say, of an element type. Raises RuntimeError for other texts, and for numbers out
    of range."""

    implementation = Implementation.PY

    def __init__(self, data_type: DTypeLike):
        self._type = np.dtype(mstype.to_dtype(data_type).numpy)

    def _number(self, text):
        try:
            return float(text) if self._type.kind == "f" else int(re.match(r"\s*[+-]?\d+", text).group())
        except (AttributeError, ValueError):
            raise RuntimeError(f"[ToNumber] not a number, got '{text}', expected one of {self._type}") from None

    def execute_py(self, value):
        found = _texts("ToNumber", value)
        numbers = [self._number(str(one)) for one in found.reshape(-1)]
        if self._type.kind in "iu":
            bounds = np.iinfo(self._type)
            for one in numbers:
                if not bounds.min <= one <= bounds.max:
                    raise RuntimeError(
                        f"[ToNumber] out of range, got {one}, expected {bounds.min} to {bounds.max} for {self._type}"
                    )
        return np.array(numbers, self._type).reshape(found.shape)


class Ngram(PyTensorOperation):
    """Runs of `n` words, or of each of several numbers of them, with `separator` between the words. (word, width) pads
    each side with up to width times, at most n - 1 times."""

    implementation = Implementation.PY

    def __init__(
        self,
        n: int | Sequence[int],
        left_pad: tuple[str, int] = ("", 0),
        right_pad: tuple[str, int] = ("", 0),
        separator: str = " ",
    ):
        self._sizes = [n] if isinstance(n, int) else list(n)
        if not self._sizes or min(self._sizes) < 1:
            raise ValueError(f"[Ngram] bad n, got {n!r}, expected integers from 1")
        self._left, self._right, self._separator = left_pad, right_pad, separator

    def execute_py(self, value):
        words = _texts("Ngram", value)
        if words.ndim != 1:
            raise RuntimeError(f"[Ngram] wrong number of dimensions, got {words.shape}, expected 1")
        made = []
        for n in self._sizes:
            left, right = ([pad] * min(width, n - 1) for pad, width in (self._left, self._right))
            padded = left + words.tolist() + right
            runs = [self._separator.join(padded[i : i + n]) for i in range(len(padded) - n + 1)]
            made += runs or [""]
        return np.array(made)


class SlidingWindow(PyTensorOperation):
    """All runs of `width` neighbours of a row."""

    implementation = Implementation.PY

    def __init__(self, width: int, axis: int = 0):
        if not isinstance(width, int) or width < 1:
            raise ValueError(f"[SlidingWindow] bad width, got {width!r}, expected an integer from 1")
        self._width, self._axis = width, axis

    def execute_py(self, value):
        found = np.asarray(value)
        if found.ndim != 1 or self._axis not in (0, -1):
            raise RuntimeError(
                f"[SlidingWindow] one dimension is supported, got {found.shape} and axis {self._axis}, expected axis 0"
            )
        count = len(found) - self._width + 1
        return np.array([found[i : i + self._width] for i in range(count)]) if count > 0 else found[:0]


class TruncateSequencePair(PyTensorOperation):
    """Two rows, of which the longer one loses its last elements until both together have at most `max_length`."""

    implementation = Implementation.PY

    def __init__(self, max_length: int):
        if not isinstance(max_length, int) or max_length < 1:
            raise ValueError(f"[TruncateSequencePair] bad max_length, got {max_length!r}, expected an integer from 1")
        self._longest = max_length

    def execute_py(self, first, second):
        first, second = np.asarray(first), np.asarray(second)
        a, b = len(first), len(second)
        while a + b > self._longest:
            a, b = (a - 1, b) if a > b else (a, b - 1)
        return first[:a], second[:b]


class JiebaTokenizer(PyTensorOperation):
    """Chinese words of a text, an array of texts, by the module jieba. Raises ImportError without it."""

    implementation = Implementation.PY

    def __init__(
        self,
        hmm_path: str | None = None,
        mp_path: str | None = None,
        mode: JiebaMode | None = None,
        with_offsets: bool = False,
    ):
        try:
            import jieba
        except ImportError:
            raise ImportError("[JiebaTokenizer] no module jieba, got a call, expected pip install jieba") from None
        self._jieba = jieba
        self._mode, self.with_offsets = getattr(mode, "name", "MIX"), with_offsets
        self._own = []

    def add_word(self, word: str, freq: int | None = None):
        """Adds a word to the dictionary."""
        self._jieba.add_word(word, freq)

    def execute_py(self, value):
        text = _text("JiebaTokenizer", value)
        words = list(self._jieba.cut(text, HMM=self._mode != "MP"))
        if not self.with_offsets:
            return np.array(words)
        places = [0, *np.cumsum([len(one.encode()) for one in words]).tolist()]
        return np.array(words), np.array(places[:-1], np.uint32), np.array(places[1:], np.uint32)
