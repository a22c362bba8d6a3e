"""Words and their numbers: tokenizers, vocabularies, vectors, and maps of words in Python."""

from partita._names import absent_all, refuse_missing
from partita.dataset.text import transforms, utils  # noqa: F401
from partita.dataset.text.tokenizers import *  # noqa: F401,F403
from partita.dataset.text.transforms import AddToken, Lookup, Truncate  # noqa: F401
from partita.dataset.text.utils import JiebaMode, NormalizeForm, Vocab, to_bytes, to_str  # noqa: F401
from partita.dataset.text.vectors import CharNGram, FastText, GloVe, ToVectors, Vectors  # noqa: F401

_PIECES = "sentencepiece.SentencePieceProcessor in a function of map"
globals().update(
    absent_all(
        __name__,
        {
            name: _PIECES
            for name in (
                "SPieceTokenizerLoadType",
                "SPieceTokenizerOutType",
                "SentencePieceModel",
                "SentencePieceTokenizer",
                "SentencePieceVocab",
            )
        },
    )
)

__getattr__ = refuse_missing(globals())
