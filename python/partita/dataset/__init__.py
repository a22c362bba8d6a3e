"""Data sets: sources, views, transforms."""

from partita._names import absent_all, refuse_missing
from partita.dataset import audio, callback, config, core, text, transforms, vision  # noqa: F401
from partita.dataset.batched import BatchInfo
from partita.dataset.callback import DSCallback, WaitedDSCallback
from partita.dataset.engine import (
    BatchDataset,
    ConcatDataset,
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
from partita.dataset.made_sources import *  # noqa: F401,F403
from partita.dataset.samplers import (
    BuiltinSampler,
    DistributedSampler,
    IterSampler,
    PKSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    SubsetSampler,
    WeightedRandomSampler,
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
from partita.dataset.transforms import Implementation

PaddedBatchDataset = BatchDataset
_ROWS = "MindDataset, or GeneratorDataset with its rows"
globals().update(
    absent_all(
        __name__,
        {
            "DatasetCache": "no cache: files are cached by the system",
            "LSUNDataset": "ImageFolderDataset",
            "LibriTTSDataset": _ROWS,
            "OBSMindDataset": "MindDataset of files that are copied here",
            "PhotoTourDataset": _ROWS,
            "SBDataset": "GeneratorDataset, with scipy.io.loadmat",
            "TFRecordDataset": _ROWS,
            "TedliumDataset": _ROWS,
            "compare": "two iterations that are compared",
            "deserialize": "the script that makes the data set",
            "serialize": "the script that makes the data set",
            "show": "print(dataset)",
            "sync_wait_for_dataset": "MindDataset of files that are copied here",
        },
    )
)

__getattr__ = refuse_missing(globals())
