"""Files of MindRecord: rows of numbers, texts, bytes and arrays, in one or more files with an index each."""

from partita._names import refuse_missing
from partita.mindrecord.filereader import FileReader
from partita.mindrecord.filewriter import FileWriter

__getattr__ = refuse_missing(globals())
