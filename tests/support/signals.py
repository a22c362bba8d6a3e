"""Signals to `partita launch` in the first half second of a job: signals.py PROGRAM SIGNALS SEED

Every job must end with 128 and the number of the signal, or by the signal itself where it comes before the program
begins, and leave no process and no folder. Prints a line for each job that does not, and how many did."""
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time
import uuid

TIME = 12  # seconds until a job has ended, on a busy machine
ENDLESS = "train mlp --batch 48 --epochs 100000 --threads 1 --no-eval --per-print-times 1000".split()


def processes_with(token):
    """Processes that have the token in their environment."""
    found = []
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            is_ended = (entry / "stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
            if token.encode() in (entry / "environ").read_bytes() and not is_ended:
                found.append(int(entry.name))
        except OSError:
            pass
    return found


def run(program, number, numbers, folder):
    token = f"PARTITA_SIGNAL_TEST={uuid.uuid4()}"
    name, value = token.split("=")
    hosts = ["-n", "3"]
    if number % 2 == 1:  # two agents, each behind a command in place of ssh
        hosts = ["--hosts", "127.0.0.1:2,localhost:1", "--ssh", str(folder / "rsh")]
    urgent = number % 7 == 6  # a second signal
    seconds = numbers.uniform(0, 0.5)
    kind = numbers.choice([signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
    temporary = folder / f"tmp_{number}"
    temporary.mkdir()
    job = subprocess.Popen([program, "launch", *hosts, "--", *ENDLESS], stdin=subprocess.DEVNULL,
                           stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True, text=True,
                           env={**os.environ, name: value, "TMPDIR": str(temporary)})
    time.sleep(seconds)
    begin = time.monotonic()
    job.send_signal(kind)
    if urgent:
        time.sleep(0.05)
        job.send_signal(kind)
    try:
        errors = job.communicate(timeout=TIME)[1]
    except subprocess.TimeoutExpired:
        job.kill()
        errors = job.communicate()[1]
    taken = time.monotonic() - begin
    time.sleep(0.1)
    left = processes_with(token)
    for process in left:
        os.kill(process, signal.SIGKILL)
    wrong = []
    if job.returncode not in (128 + kind, -kind):
        wrong.append(f"exit code {job.returncode}, not {128 + kind}")
    if urgent and taken > 3:
        wrong.append(f"{taken:.1f} s after a second signal")
    if left:
        wrong.append(f"{len(left)} processes left")
    if wrong:
        print(f"{kind.name} after {seconds:.3f} s ({' '.join(hosts)}): {'; '.join(wrong)}: {errors[-300:]}")
    return not wrong


def main():
    program, count, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    numbers = random.Random(seed)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        rsh = folder / "rsh"
        rsh.write_text("#!/bin/sh\nshift\nexec sh -c \"$*\"\n")
        rsh.chmod(0o755)
        right = sum(run(program, number, numbers, folder) for number in range(count))
    print(f"{right} of {count} jobs ended as their signal asked (seed {seed})")
    sys.exit(0 if right == count else 1)


main()
