"""Data sets of texts: lines, tables, JSON and words with tags. Without a shuffle rows have the order of the files."""

import csv
import glob
import html
import itertools
import json
import os
import re

import numpy as np

from partita.dataset.files import LINES, file_of, listed, one_of, source_class
from partita.dataset.sources import folder_of

_NAMES = {}  # classes of this module, by their names
_USED = "dataset_dir, usage=None, "
_USED_LATE = (
    _USED + "num_samples=None, shuffle=GLOBAL, num_shards=None, shard_id=None, num_parallel_workers=None, cache=None"
)


def _chosen(self, rows, shard):
    """The rows that a script wants: shards are runs of rows, of one length, and the last one ends with first rows."""
    shards, own = self._shards if shard is None else shard
    if shards > 1:
        count = -(-len(rows) // shards)
        rows = rows.select([(own * count + i) % len(rows) for i in range(count)])
    if self._shuffle or self._shuffle is None and self._shuffles_by_default():
        rows = rows.shuffle(self._shuffle_seed())
    return rows if self._num_samples is None else rows.take(self._num_samples)


def _define(name, signature, doc, load):
    _NAMES[name] = source_class(name, __name__, signature, doc, load, _chosen=_chosen)


def _text(value):
    return np.array(value, np.str_)


def _lines(path):
    with open(path, encoding="utf-8", newline="\n") as file:
        return [line[:-1] if line.endswith("\n") else line for line in file]


def _files(where, patterns):
    """Files of names or patterns, in the order of their names."""
    patterns = [patterns] if isinstance(patterns, (str, os.PathLike)) else list(patterns)
    found = {os.fspath(one): [path for path in glob.glob(os.fspath(one)) if os.path.isfile(path)] for one in patterns}
    missing = [one for one, paths in found.items() if not paths]
    if missing or not found:
        raise ValueError(f"[{where}] no such files, got {missing}, expected at least one for each name or pattern")
    return sorted({path for paths in found.values() for path in paths})


def _parts(where, options, files):
    """Paths of the files of a usage: `files` are their names by usages; all of them, in this order, for "all"."""
    usage, folder = options["usage"] or "all", folder_of(where, options["dataset_dir"])
    one_of(where, "usage", usage, [*files, "all"])
    return [file_of(where, folder, name) for name in (files.values() if usage == "all" else [files[usage]])]


# Lines.


def _text_file(options, where):
    return ["text"], [
        [_text(line)] for path in _files(where, options["dataset_files"]) for line in _lines(path) if line
    ]


def _of_lines(files, keeps_empty):
    def load(options, where):
        lines = [line for path in _parts(where, options, files) for line in _lines(path)]
        return ["text"], [[_text(line)] for line in lines if line or keeps_empty]

    return load


def _enwik9(options, where):
    path = file_of(where, folder_of(where, options["dataset_dir"]), "enwik9")
    return ["text"], [[_text(line)] for line in _lines(path)]


_define(
    "TextFileDataset", f"dataset_files, {LINES}", "Lines of files: column text. Empty lines are left out.", _text_file
)
_define(
    "EnWik9Dataset",
    f"dataset_dir, {LINES}".replace("GLOBAL", "True"),
    "Lines of the file enwik9: column text.",
    _enwik9,
)
for _name, _pattern in (("WikiTextDataset", "wiki.{}.tokens"), ("PennTreebankDataset", "ptb.{}.txt")):
    _define(
        _name,
        _USED + LINES,
        f"Lines of {_pattern.format('train')}, or of the files test and valid: column text.",
        _of_lines({usage: _pattern.format(usage) for usage in ("test", "train", "valid")}, False),
    )


# Tables.


def _rows_of_csv(path, delimiter=","):
    with open(path, encoding="utf-8", newline="") as file:
        return [row for row in csv.reader(file, delimiter=delimiter, strict=True) if row]


_WHOLE = re.compile(r"\s*[+-]?\d+(?:\.0*)?", re.ASCII)
_REAL = re.compile(r"\s*[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|inf(?:inity)?|nan)\s*", re.ASCII | re.IGNORECASE)


def _whole(text):
    """The i32 in a field. Raises ValueError for a fraction and OverflowError for more than 32 bits."""
    if not _WHOLE.fullmatch(text.rstrip()):
        raise ValueError("a whole number")
    number = int(text.partition(".")[0])
    if not -(2**31) <= number < 2**31:
        raise OverflowError("a whole number of 32 bits")
    return np.array(number, np.int32)


def _real(text):
    """The f32 in a field. Raises ValueError for another text and OverflowError for what is finite in no f32."""
    if not _REAL.fullmatch(text):
        raise ValueError("a number")
    with np.errstate(over="ignore"):
        number = np.array(float(text), np.float32)
    if np.isinf(number) and "inf" not in text.lower():
        raise OverflowError("a number that f32 holds")
    return number


_CSV_TYPES = {int: _whole, bool: _whole, float: _real, str: _text}


def _csv_columns(where, options, first):
    """(names, functions of fields) of the columns. Raises ValueError or TypeError for others than the file has."""
    names, defaults = options["column_names"] or first, options["column_defaults"] or []
    if not isinstance(defaults, (list, tuple)):
        raise TypeError(f"[{where}] bad column_defaults, got {type(defaults).__name__}, expected a list")
    unknown = [one for one in defaults if type(one) not in _CSV_TYPES]
    if unknown:
        raise TypeError(f"[{where}] bad column_defaults, got {unknown[0]!r}, expected values of int, float or str")
    if len(defaults) > len(names):
        raise ValueError(
            f"[{where}] bad column_defaults, got {len(defaults)}, expected at most {len(names)}: {list(names)}"
        )
    return names, [_CSV_TYPES[type(one)] for one in defaults] + [_text] * (len(names) - len(defaults))


def _csv_row(where, path, number, row, names, kinds):
    """The values of row `number` of a file, from 1. Raises ValueError for wrong fields."""
    if len(row) != len(names):
        raise ValueError(
            f"[{where}] wrong number of fields in {path}, row {number}, got {len(row)}, expected {len(names)}"
        )
    values = []
    for text, name, kind in zip(row, names, kinds):
        try:
            values.append(kind(text))
        except (ValueError, OverflowError) as error:
            raise ValueError(
                f"[{where}] bad value in {path}, row {number}, column '{name}', got {text[:40]!r}, expected {error}"
            ) from None
    return values


def _csv(options, where):
    files, delimiter = _files(where, options["dataset_files"]), options["field_delim"]
    if not isinstance(delimiter, str) or len(delimiter) != 1 or delimiter in '"\r\n':
        raise ValueError(f"[{where}] bad field_delim, got {delimiter!r}, expected one character, no quote or line end")
    tables = [_rows_of_csv(path, delimiter) for path in files]
    has_head = not options["column_names"]
    if has_head and not tables[0]:
        raise ValueError(f"[{where}] no rows, got the empty file {files[0]}, expected a line of names")
    names, kinds = _csv_columns(where, options, tables[0][0] if has_head else None)
    rows = []
    for path, table in zip(files, tables):
        for number, row in enumerate(table[has_head:], 1 + has_head):
            rows.append(_csv_row(where, path, number, row, names, kinds))
    return names, rows


def _table(names, order):
    def load(options, where):
        paths = _parts(where, options, {usage: f"{usage}.csv" for usage in order})
        rows = [row for path in paths for row in _rows_of_csv(path)]
        for row in rows:
            if len(row) != len(names):
                raise ValueError(f"[{where}] wrong number of fields, got {row}, expected {len(names)}: {names}")
        return names, [list(map(_text, row)) for row in rows]

    return load


_define(
    "CSVDataset",
    f"dataset_files, field_delim=',', column_defaults=None, column_names=None, {LINES}",
    "Rows of tables. Columns have the names of the first line, or column_names, and the types of column_defaults: "
    "i32, f32 or texts.",
    _csv,
)
for _name, _signature, _columns in (
    ("AGNewsDataset", _USED + LINES, "index title description"),
    ("AmazonReviewDataset", _USED + LINES, "label title content"),
    ("DBpediaDataset", _USED + LINES, "class title content"),
    ("SogouNewsDataset", _USED_LATE, "index title content"),
    ("YahooAnswersDataset", _USED + LINES, "class title content answer"),
    ("YelpReviewDataset", _USED_LATE, "label text"),
):
    _order = ("train", "test") if _signature is _USED_LATE else ("test", "train")
    _doc = f"Rows of train.csv and test.csv: columns {_columns}, all texts."
    _define(_name, _signature, _doc, _table(_columns.split(" "), _order))


def _sst2(options, where):
    usage = one_of(where, "usage", options["usage"] or "train", ("train", "test", "dev"))
    path = file_of(where, folder_of(where, options["dataset_dir"]), f"{usage}.tsv")
    rows = [line.split("\t") for line in _lines(path)[1:] if line]
    if usage == "test":
        return ["sentence"], [[_text(row[1])] for row in rows]
    return ["sentence", "label"], [[_text(row[0]), _text(row[1])] for row in rows]


_define(
    "SST2Dataset", _USED + LINES, "Sentences of train.tsv, dev.tsv or test.tsv: columns sentence, label (texts).", _sst2
)


# JSON.


def _squad(options, where):
    rows = []
    for path in _parts(where, options, {"train": "train-v1.1.json", "dev": "dev-v1.1.json"}):
        with open(path, encoding="utf-8") as file:
            articles = json.load(file)["data"]
        for context, one in (
            (p["context"], q) for article in articles for p in article["paragraphs"] for q in p["qas"]
        ):
            answers = one.get("answers") or [{"text": "", "answer_start": -1}]
            starts = np.array([answer["answer_start"] for answer in answers]).astype(np.uint32)
            texts = np.array([answer["text"] for answer in answers])
            rows.append([_text(context), _text(one["question"]), texts, starts])
    return ["context", "question", "text", "answer_start"], rows


_define(
    "SQuADDataset",
    _USED + LINES,
    "Questions of train-v1.1.json and dev-v1.1.json: columns context, question, text (its answers) and answer_start "
    "u32, one for each answer.",
    _squad,
)

_CLUE = {
    "AFQMC": "label sentence1 sentence2",
    "CMNLI": "label sentence1 sentence2",
    "CSL": "abst id keyword label",
    "IFLYTEK": "label label_des sentence",
    "TNEWS": "keywords label label_desc sentence",
    "WSC": "idx label span1_index span1_text span2_index span2_text text",
}


def _clue(options, where):
    task = one_of(where, "task", options["task"], _CLUE)
    usage = one_of(where, "usage", options["usage"], ("train", "test", "eval"))
    names = set(_CLUE[task].split(" "))
    if usage == "test":
        names = {name for name in names if not name.startswith("label")} | (set() if task == "WSC" else {"id"})
    names, rows = sorted(names), []
    for line in (line for path in _files(where, options["dataset_files"]) for line in _lines(path) if line):
        row = json.loads(line)
        row.update(row.pop("target", {}))
        values = [row[name] for name in names]
        rows.append([np.array(one, np.uint32) if isinstance(one, int) else np.array(one) for one in values])
    return names, rows


_define(
    "CLUEDataset",
    f"dataset_files, task='AFQMC', usage='train', {LINES}",
    "Rows of a task of CLUE: columns as in its JSON; numbers are u32.",
    _clue,
)


# Words with tags.


def _tagged(names, files, delimiter):
    def load(options, where):
        rows = []
        for path in _parts(where, options, files):
            groups = itertools.groupby(_lines(path), bool)
            sentences = ([line.split(delimiter) for line in lines] for is_there, lines in groups if is_there)
            for words in sentences:
                if any(len(word) != len(names) for word in words):
                    raise ValueError(f"[{where}] a bad line in {path}, got one of {words}, expected {', '.join(names)}")
                rows.append([np.array(column) for column in zip(*words)])
        return names, rows

    return load


_define(
    "CoNLL2000Dataset",
    _USED_LATE,
    "Sentences of train.txt and test.txt: columns word, pos_tag and chunk_tag, arrays of texts.",
    _tagged(["word", "pos_tag", "chunk_tag"], {"test": "test.txt", "train": "train.txt"}, " "),
)
_define(
    "UDPOSDataset",
    _USED_LATE,
    "Sentences of en-ud-tag.v2.train.txt, or of dev and test: columns word, universal and stanford, arrays of texts.",
    _tagged(
        ["word", "universal", "stanford"],
        {
            "valid": "en-ud-tag.v2.dev.txt",
            "test": "en-ud-tag.v2.test.txt",
            "train": "en-ud-tag.v2.train.txt",
        },
        "\t",
    ),
)


# Two languages.


def _pairs(where, pairs, sentences):
    """Rows of pairs of files, of which `sentences(path)` gives those that belong together by their numbers. One of a
    pair may be empty."""
    rows = []
    for pair in pairs:
        one, other = (sentences(file_of(where, path)) for path in pair)
        rows += [[_text(a), _text(b)] for a, b in zip(one, other) if a or b]
    return ["text", "translation"], rows


def _sentences(path):
    """The sentences of a file with markup: those of its segments, or else its lines that are no markup."""
    if path.endswith(".xml"):
        found = (re.fullmatch(r"\s*<seg[^>]*>(.*)</seg>\s*", line) for line in _lines(path))
        return [html.unescape(one.group(1)).strip() for one in found if one]
    return [line.strip() for line in _lines(path) if not line.lstrip().startswith("<")]


def _multi30k(options, where):
    folder, usage = folder_of(where, options["dataset_dir"]), options["usage"] or "all"
    parts = {"test": "mmt16_task1_test/test", "train": "training/train", "valid": "validation/val"}
    one_of(where, "usage", usage, [*parts, "all"])
    languages = list(options["language_pair"] or ["en", "de"])
    if sorted(languages) != ["de", "en"]:
        raise ValueError(f"[{where}] bad language_pair, got {languages}, expected en and de")
    names = parts.values() if usage == "all" else [parts[usage]]
    return _pairs(where, [[os.path.join(folder, f"{name}.{one}") for one in languages] for name in names], _lines)


def _iwslt(release, folders, default_sets):
    def load(options, where):
        folder, usage = folder_of(where, options["dataset_dir"]), options["usage"] or "all"
        one_of(where, "usage", usage, ("train", "valid", "test", "all"))
        languages = list(options["language_pair"] or ("de", "en"))
        pair = "-".join(languages)
        inner = os.path.join(folder, *(one.format(*languages, pair=pair) for one in folders))
        sets = {"valid": options.get("valid_set", default_sets[0]) or default_sets[0]}
        sets["test"] = options.get("test_set", default_sets[1]) or default_sets[1]
        names = {"train": f"train.tags.{pair}.{{}}"}
        names.update({one: f"IWSLT{release}.TED.{sets[one]}.{pair}.{{}}.xml" for one in sets})
        wanted = names.values() if usage == "all" else [names[usage]]
        files = [[os.path.join(inner, name.format(one)) for one in languages] for name in wanted]
        return _pairs(where, files, _sentences)

    return load


_TWO = "Sentences and their translations: columns text and translation."
_LATE = _USED_LATE[len(_USED) :]
_define("Multi30kDataset", f"{_USED}language_pair=None, {LINES}".replace("GLOBAL", "None"), _TWO, _multi30k)
_define(
    "IWSLT2016Dataset",
    f"{_USED}language_pair=None, valid_set=None, test_set=None, {_LATE}",
    _TWO,
    _iwslt("16", ("texts", "{0}", "{1}", "{pair}"), ("tst2013", "tst2014")),
)
_define(
    "IWSLT2017Dataset",
    f"{_USED}language_pair=None, {_LATE}",
    _TWO,
    _iwslt("17", ("texts", *["DeEnItNlRo"] * 2, "DeEnItNlRo-DeEnItNlRo"), ("dev2010", "tst2010")),
)


def _imdb(options, where):
    folder, usage = folder_of(where, options["dataset_dir"]), options["usage"] or "all"
    one_of(where, "usage", usage, ("train", "test", "all"))
    rows = []
    for part in ("train", "test") if usage == "all" else [usage]:
        for name, label in (("pos", 1), ("neg", 0)):
            for path in listed(os.path.join(folder, part, name), [".txt"]):
                rows.append([_text("\n".join(_lines(path))), np.array(label, np.int32)])
    return ["text", "label"], rows


_NAMES["IMDBDataset"] = source_class(
    "IMDBDataset",
    __name__,
    "dataset_dir, usage=None, num_samples=None, num_parallel_workers=None, shuffle=None, sampler=None, "
    "num_shards=None, shard_id=None, cache=None",
    "Reviews of folders train/pos, train/neg, test/pos and test/neg: columns text and label i32, 1 for pos.",
    _imdb,
)
globals().update(_NAMES)
__all__ = sorted(_NAMES)
