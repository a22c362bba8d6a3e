"""Data sets: sources, views, transforms."""

from partita._names import absent, refuse_missing
from partita.dataset import audio, config, core, text, transforms, vision  # noqa: F401
from partita.dataset.engine import (
    BatchDataset,
    Dataset,
    MappableDataset,
    RepeatDataset,
    SourceDataset,
    TakeDataset,
    TextBaseDataset,
    VisionBaseDataset,
    zip,
)
from partita.dataset.image_sources import *  # noqa: F401,F403
from partita.dataset.listed_sources import *  # noqa: F401,F403
from partita.dataset.records import MindDataset
from partita.dataset.samplers import (
    DistributedSampler,
    RandomSampler,
    SequentialSampler,
    SubsetRandomSampler,
    SubsetSampler,
)
from partita.dataset.sources import (
    Cifar10Dataset,
    GeneratorDataset,
    MnistDataset,
    NumpySlicesDataset,
    Shuffle,
)
from partita.dataset.sound_sources import *  # noqa: F401,F403
from partita.dataset.text_sources import *  # noqa: F401,F403

TFRecordDataset = absent("TFRecordDataset", __name__, "MindDataset, or GeneratorDataset with its rows")

__getattr__ = refuse_missing(globals())
