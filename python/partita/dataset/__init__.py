"""Data sets: sources, views, transforms."""

from partita._names import refuse_missing
from partita.dataset import config, transforms, vision  # noqa: F401
from partita.dataset.engine import Dataset, zip
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

__getattr__ = refuse_missing(globals())
