"""Words and their numbers: vocabularies, and maps of words in Python."""

from partita._names import absent_all, refuse_missing
from partita.dataset.text import transforms, utils  # noqa: F401
from partita.dataset.text.transforms import AddToken, Lookup, Truncate  # noqa: F401
from partita.dataset.text.utils import NormalizeForm, Vocab  # noqa: F401

globals().update(
    absent_all(
        __name__,
        {
            "BasicTokenizer": "str.split, or a tokenizer of a library",
            "JiebaTokenizer": "jieba.lcut in a function of map",
            "SentencePieceTokenizer": "sentencepiece in a function of map",
        },
    )
)

__getattr__ = refuse_missing(globals())
