"""Runs the commands that the pages of documentation show, and compares what they print with what the pages show.

A code block with a line "$ partita ..." is a session: commands, each followed by a part of its output. Shown lines
are in the output in their order; "..." in a line stands for any text, alone in a line for any lines. All blocks of a
page run in one empty folder. A command fails when the page shows an error of it, and only then. A block of Python that
begins with "# NAME.py", or of TOML with "# NAME.toml", is a file of that folder; the package of the build is found by
Python. Exit code 1 and one line per difference.
usage: documents.py PARTITA PAGE..."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

LIMIT = 120  # seconds for one command


def sessions(text: str):
    """(line number, command, shown lines) of every command of a page."""
    found = []
    for block in re.finditer(r"^```[a-z]*\n(.*?)^```$", text, re.S | re.M):
        first = text.count("\n", 0, block.start(1)) + 1
        lines = block.group(1).splitlines()
        if not any(line.startswith("$ ") for line in lines):
            continue
        at = 0
        while at < len(lines):
            number, command = first + at, lines[at].removeprefix("$ ")
            while command.endswith("\\"):
                at += 1
                command = command[:-1] + lines[at].strip()
            at += 1
            begin = at
            while at < len(lines) and not lines[at].startswith("$ "):
                at += 1
            found.append((number, command, [line for line in lines[begin:at] if line.strip()]))
    return found


def scripts(text: str):
    """(name, text) of the blocks of Python and TOML that begin with a name of a file."""
    for block in re.finditer(r"^```(?:python|toml)\n(# (\w+\.(?:py|toml))\n.*?)^```$", text, re.S | re.M):
        yield block.group(2), block.group(1)


def missing_line(shown: list[str], printed: list[str]):
    """Returns the first shown line that does not follow those before it in the output, or None."""
    at = 0
    for line in shown:
        if line.strip() == "...":
            continue
        pattern = re.compile(".*".join(re.escape(part) for part in line.rstrip().split("...")))
        while at < len(printed) and not pattern.fullmatch(printed[at].rstrip()):
            at += 1
        if at == len(printed):
            return line
        at += 1
    return None


def main() -> int:
    program, pages = pathlib.Path(sys.argv[1]).resolve(), [pathlib.Path(page).resolve() for page in sys.argv[2:]]
    # The system's Python, which has NumPy (tools/install.sh).
    environment = dict(os.environ, PATH=f"{program.parent}:/usr/bin:{os.environ['PATH']}", OMP_NUM_THREADS="1",
                       PYTHONPATH=str(program.parent / "python"), PYTHONDONTWRITEBYTECODE="1")
    count, faults = 0, []
    for page in pages:
        with tempfile.TemporaryDirectory() as folder:
            for name, script in scripts(page.read_text()):
                (pathlib.Path(folder) / name).write_text(script)
            for number, command, shown in sessions(page.read_text()):
                count += 1
                try:
                    run = subprocess.run(["bash", "-c", command], cwd=folder, env=environment, text=True, timeout=LIMIT,
                                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
                except subprocess.TimeoutExpired:
                    faults.append(f"{page.name}:{number}: not done after {LIMIT} s: {command}")
                    continue
                expected = any("partita: error:" in line for line in shown)
                if (run.returncode != 0) != expected:
                    faults.append(f"{page.name}:{number}: exit code {run.returncode} of '{command}'\n"
                                  f"{run.stdout[-2000:]}")
                line = missing_line(shown, run.stdout.splitlines())
                if line is not None:
                    faults.append(f"{page.name}:{number}: not printed by '{command}': {line}\n{run.stdout[-2000:]}")
    print("\n".join(faults) if faults else f"documents: {count} commands, ok")
    return 1 if faults or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
