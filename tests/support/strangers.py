"""Connections of strangers to the ports that processes of a job listen on: strangers.py LOG_DIR CONNECTIONS SEED

Random bytes, wrong answers, half messages, lengths that are far too large. Prints how many connections were made, how
many the job closed without more than its challenge, and how much memory its processes used."""
import concurrent.futures
import pathlib
import random
import socket
import struct
import sys
import time


def processes(folder):
    pids = []
    for file in pathlib.Path(folder).glob("rank_*/pid"):
        text = file.read_text().strip()
        if text and pathlib.Path(f"/proc/{text}").exists():
            pids.append(int(text))
    return pids


def listening_ports(pids):
    inodes = {}
    for pid in pids:
        for file in pathlib.Path(f"/proc/{pid}/fd").glob("*"):
            try:
                target = str(file.readlink())
            except OSError:
                continue
            if target.startswith("socket:["):
                inodes[target[8:-1]] = pid
    ports = []
    for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        if fields[3] == "0A" and fields[9] in inodes:
            address, port = fields[1].split(":")
            ports.append((socket.inet_ntoa(struct.pack("<I", int(address, 16))), int(port, 16)))
    return ports


def max_memory(pids):
    most = 0
    for pid in pids:
        try:
            for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
                if line.startswith("VmHWM"):
                    most = max(most, int(line.split()[1]))
        except OSError:
            pass
    return most


def attack(endpoint, number, random_source):
    with socket.create_connection(endpoint, timeout=0.2) as link:
        kind = number % 6
        if kind == 0:
            link.sendall(random_source.randbytes(random_source.randrange(1, 4096)))
        elif kind == 1:  # a challenge, and an answer of the right length that is wrong
            link.recv(32)
            link.sendall(random_source.randbytes(64))
        elif kind == 2:  # a part of an answer
            link.recv(32)
            link.sendall(random_source.randbytes(random_source.randrange(1, 64)))
        elif kind == 3:  # frames of a version that needs no secret, with lengths that are far too large
            link.sendall(struct.pack("<IiQQqBBBBi", 1, 0, 1, 1, 2**62, 0, 0, 0, 0, -1) * 4)
        elif kind == 4:
            link.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        elif kind == 5:  # a right form, far too much of it
            link.recv(32)
            link.sendall(b"\xff" * 65536)
        if kind in (0, 1, 3, 5):
            link.settimeout(0.02)
            received = 0
            try:
                while part := link.recv(4096):
                    received += len(part)
            except OSError:
                pass
            return received <= 32
    return True


def main():
    folder, count, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    ports = []
    for _ in range(1000):
        ports = listening_ports(processes(folder))
        if ports:
            break
        time.sleep(0.01)
    memory = max_memory(processes(folder))

    def one(number):
        source = random.Random(seed * 1000003 + number)
        try:
            return attack(source.choice(ports), number, source)
        except OSError:  # refused, or closed while something was sent
            return True

    with concurrent.futures.ThreadPoolExecutor(max_workers=16) as pool:
        closed = sum(pool.map(one, range(count)))
    grown = max_memory(processes(folder)) - memory
    print(f"{count} connections, {closed} without an answer, the largest process grew by {grown >> 10} MiB")


if __name__ == "__main__":
    main()
