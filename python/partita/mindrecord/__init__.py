"""Files of MindRecord: rows of numbers, texts, bytes and arrays, in one or more files with an index each."""

from partita._names import refuse_missing
from partita.mindrecord.converters import (  # noqa: F401
    ABSENT,
    FAILED,
    SUCCESS,
    CsvToMR,
    ImageNetToMR,
    MnistToMR,
    set_dec_mode,
    set_enc_key,
    set_enc_mode,
)
from partita.mindrecord.filereader import FileReader
from partita.mindrecord.filewriter import FileWriter

globals().update(ABSENT)
__getattr__ = refuse_missing(globals())
