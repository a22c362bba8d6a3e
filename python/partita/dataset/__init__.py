"""Data sets: sources, views, transforms."""

from enum import Enum

from partita._names import absent, refuse_missing
from partita.dataset import config, transforms, vision  # noqa: F401
from partita.dataset.engine import (
    BatchDataset,
    Dataset,
    MappableDataset,
    RepeatDataset,
    SourceDataset,
    TakeDataset,
    VisionBaseDataset,
    zip,
)
from partita.dataset.records import MindDataset
from partita.dataset.samplers import (
    DistributedSampler,
    RandomSampler,
    SequentialSampler,
    SubsetRandomSampler,
    SubsetSampler,
)
from partita.dataset.sources import (
    Cifar100Dataset,
    Cifar10Dataset,
    GeneratorDataset,
    ImageFolderDataset,
    MnistDataset,
    NumpySlicesDataset,
)



class Shuffle(Enum):
    """How far rows are shuffled: all of them, the files, or the rows of each file."""

    FALSE = "false"
    GLOBAL = "global"
    FILES = "files"
    INFILE = "infile"


TFRecordDataset = absent("TFRecordDataset", __name__, "MindDataset, or GeneratorDataset with its rows")

__getattr__ = refuse_missing(globals())
