"""Data sets of sounds: .wav files, which the module wave of Python reads."""

import os
import re
import wave

import numpy as np

from partita.dataset.files import Made, file_of, folders, listed, one_of, path_in, source_class
from partita.dataset.image_sources import _CACHED, _PLAIN
from partita.dataset.sources import folder_of

_NAMES = {}  # classes of this module, by their names


def read_wave(path):
    """The samples of a .wav file of 16 bits, f32[channels,n] from -1 to 1, and their rate. Raises ValueError for other
    files."""
    try:
        with wave.open(path, "rb") as file:
            rate, channels, width = file.getframerate(), file.getnchannels(), file.getsampwidth()
            data = file.readframes(min(file.getnframes(), os.path.getsize(path) // (channels * width)))
    except (wave.Error, EOFError) as error:
        raise ValueError(f"[dataset] not a .wav file, got {path}: {error}, expected one: FLAC is not read") from None
    if width != 2:
        raise ValueError(f"[dataset] a sound of other samples, got {8 * width} bits in {path}, expected 16")
    if len(data) % (channels * width):
        raise ValueError(f"[dataset] a damaged file, got {len(data)} bytes of sound in {path}, expected whole samples")
    return np.frombuffer(data, "<i2").reshape(-1, channels).T.astype(np.float32) / np.float32(32767), rate


def _row(path, rate_type, *others):
    return [Made(lambda one: read_wave(one)[0], path), Made(lambda one: rate_type(read_wave(one)[1]), path), *others]


def _define(name, signature, doc, load):
    _NAMES[name] = source_class(name, __name__, signature, doc, load)


def _yes_no(options, where):
    paths = listed(folder_of(where, options["dataset_dir"]), [".wav"])
    labels = [np.array(os.path.basename(path)[:-4].split("_"), np.int32) for path in paths]
    return ("waveform", "sample_rate", "label"), [_row(path, np.int32, one) for path, one in zip(paths, labels)]


def _gtzan(options, where):
    one_of(where, "usage", options["usage"] or "all", ("all",))
    folder = folder_of(where, options["dataset_dir"])
    paths = [path for name in folders(folder) for path in listed(os.path.join(folder, name), [".wav"])]
    rows = [_row(path, np.uint32, np.array(os.path.basename(path).split(".")[0])) for path in paths]
    return ("waveform", "sample_rate", "label"), rows


def _lj_speech(options, where):
    folder, rows = folder_of(where, options["dataset_dir"]), []
    with open(file_of(where, folder, "metadata.csv"), encoding="utf-8") as file:
        for line in filter(None, (line.rstrip("\r\n") for line in file)):
            name, said, normal = line.split("|")
            path = path_in(where, folder, "wavs", f"{name}.wav")
            rows.append(_row(path, np.int32, np.array(said), np.array(normal)))
    return ("waveform", "sample_rate", "transcription", "normalized_transcription"), rows


def _speech_commands(options, where):
    folder, usage = folder_of(where, options["dataset_dir"]), options["usage"] or "all"
    one_of(where, "usage", usage, ("train", "test", "valid", "all"))
    lists = {}
    for name, file in (("test", "testing_list.txt"), ("valid", "validation_list.txt")) if usage != "all" else ():
        with open(file_of(where, folder, file), encoding="utf-8") as text:
            lists[name] = {line.strip() for line in text}
    rows = []
    for word in folders(folder):
        for path in listed(os.path.join(folder, word), [".wav"]) if word != "_background_noise_" else ():
            name = os.path.basename(path)
            part = next((one for one, names in lists.items() if f"{word}/{name}" in names), "train")
            speaker, number = name[:-4].split("_nohash_")
            if usage in ("all", part):
                rows.append(_row(path, np.int32, np.array(word), np.array(speaker), np.array(int(number), np.int32)))
    return ("waveform", "sample_rate", "label", "speaker_id", "utterance_number"), rows


def _cmu_arctic(options, where):
    folder = os.path.join(folder_of(where, options["dataset_dir"]), f"cmu_us_{options['name'] or 'aew'}_arctic")
    with open(file_of(where, folder, "etc", "txt.done.data"), encoding="utf-8") as file:
        found = re.findall(r'\(\s*(arctic_\w+)\s+"(.*)"\s*\)', file.read())
    rows = [
        _row(os.path.join(folder, "wav", f"{name}.wav"), np.uint32, np.array(text), np.array(name[len("arctic_") :]))
        for name, text in found
    ]
    return ("waveform", "sample_rate", "transcript", "utterance_id"), rows


_WAVES = "Columns waveform f32[channels,n], sample_rate, "
_USED = f"dataset_dir, usage=None, {_PLAIN}{_CACHED}"
_define("YesNoDataset", f"dataset_dir, {_PLAIN}{_CACHED}", f"{_WAVES}and label i32[8].", _yes_no)
_define("GTZANDataset", _USED, f"{_WAVES}and label, a text. The parts of GTZAN are not known: usage is all.", _gtzan)
_define("LJSpeechDataset", f"dataset_dir, {_PLAIN}{_CACHED}", f"{_WAVES}and two texts.", _lj_speech)
_define("SpeechCommandsDataset", _USED, f"{_WAVES}label, speaker_id and utterance_number.", _speech_commands)
_define(
    "CMUArcticDataset",
    f"dataset_dir, name=None, {_PLAIN}{_CACHED}",
    f"{_WAVES}transcript and utterance_id.",
    _cmu_arctic,
)
globals().update(_NAMES)
__all__ = sorted(_NAMES)
