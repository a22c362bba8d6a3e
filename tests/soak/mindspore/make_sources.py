"""Writes tests/python/source_rows.txt: rows that MindSpore gives for the pipelines of source_cases.py next to it."""

import os
import sys
import tempfile

import mindspore
import mindspore.dataset
import source_cases
import source_files


def main():
    out = os.path.join(os.path.dirname(source_cases.__file__), "source_rows.txt")
    with tempfile.TemporaryDirectory() as folder, open(out, "w", encoding="utf-8") as file:
        files = source_files.write_all(folder)
        for name, make in source_cases.CASES.items():
            try:
                lines = source_cases.text_of(mindspore.dataset, mindspore, make, files.path)
            except RuntimeError as error:
                print(f"{name}: {str(error)[-400:]}", file=sys.stderr)
                continue
            file.write(f"# {name}\n" + "".join(f"{line}\n" for line in lines))


main()
