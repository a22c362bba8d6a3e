"""Starts of `partita launch -n 8` while strangers connect to every port that its ranks listen on, as fast as they can:
flood.py PROGRAM STARTS STRANGERS

Every start must end with exit code 0. Prints a line for each that does not, and how many connections there were."""
import collections
import multiprocessing
import pathlib
import socket
import subprocess
import sys
import tempfile
import time

from strangers import listening_ports, processes

HELD = 800  # connections of a stranger that stay open
TIME = 90  # seconds for a start on a busy machine


def flood(folder, count):
    """Connects to the ports of the job without end, says nothing, and keeps the newest connections."""
    held = collections.deque()
    while True:
        ports = listening_ports(processes(folder))
        if not ports:
            time.sleep(0.005)
        for port in ports:
            for _ in range(50):
                link = socket.socket()
                link.setblocking(False)
                link.connect_ex(port)
                held.append(link)
                if len(held) > HELD:
                    held.popleft().close()
        with count.get_lock():
            count.value += 50 * len(ports)


def main():
    program, starts, strangers = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    right = 0
    count = multiprocessing.Value("q", 0)
    for number in range(starts):
        with tempfile.TemporaryDirectory() as folder:
            floods = [multiprocessing.Process(target=flood, args=(folder, count), daemon=True)
                      for _ in range(strangers)]
            for one in floods:
                one.start()
            mine = 'case $PARTITA_RANK in 5) sleep 0.3 ;; 7) sleep 0.6 ;; esac; exec "$0" "$@"'
            job = subprocess.run(
                ["timeout", "-k", "2", str(TIME), program, "launch", "-n", "8", "--log-dir", folder, "--",
                 "sh", "-c", mine, program, *"train mlp --batch 48 --steps 2 --no-eval --threads 1".split()],
                stdin=subprocess.DEVNULL, capture_output=True, text=True)
            for one in floods:
                one.kill()
                one.join()
            right += job.returncode == 0
            if job.returncode != 0:
                errors = [line for line in job.stderr.splitlines() if "error" in line]
                print(f"start {number}: exit code {job.returncode}: {' | '.join(errors)[:400]}")
    print(f"{right} of {starts} starts among {strangers} strangers, who connected {count.value} times")
    sys.exit(0 if right == starts and count.value > 0 else 1)


if __name__ == "__main__":
    main()
