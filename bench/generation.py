#!/usr/bin/env python3
"""Milliseconds of a token of a generation by GPT-2 (124M, random weights, f32) after a text of 900 tokens, with a
cache of keys and values and without one.

    python3 bench/generation.py PARTITA WEIGHTS [PYTHON_WITH_TRANSFORMERS [ROUNDS]]

WEIGHTS: a file of `partita train gpt:125m,seq=1024 --batch 1 --steps 1 --save WEIGHTS`. Prints the least of the rounds,
in turns with transformers where its Python is given, and the ratio. A token's time is the difference of a long and a
short generation, so that it has neither the start nor the prompt."""
import os
import subprocess
import sys
import tempfile
import time

PROMPT = 900
MODEL = "gpt:125m,seq=1024"
LENGTHS = {True: (1, 101), False: (1, 5)}


def partita_seconds(program, weights, prompts, cache, length):
    words = [program, "generate", MODEL, "--load", weights, "--tokenizer", "bytes", "--prompts", prompts]
    words += ["--length", str(length), "--temperature", "0"] + ([] if cache else ["--no-cache"])
    begin = time.time()
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    return time.time() - begin


def transformers_times(rounds):
    """Prints seconds of the generations of LENGTHS, in turns, as lines "CACHE LENGTH SECONDS"."""
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.set_num_threads(len(os.sched_getaffinity(0)))
    model = GPT2LMHeadModel(GPT2Config()).eval()
    tokens = torch.randint(0, 256, (1, PROMPT))
    for _ in range(rounds):
        for cache, lengths in LENGTHS.items():
            for length in lengths:
                begin = time.time()
                with torch.no_grad():
                    model.generate(
                        tokens,
                        max_new_tokens=length,
                        min_new_tokens=length,
                        do_sample=False,
                        use_cache=cache,
                        pad_token_id=0,
                    )
                print(cache, length, time.time() - begin)


def main():
    if sys.argv[1:2] == ["--transformers"]:
        return transformers_times(int(sys.argv[2]))
    program, weights = sys.argv[1:3]
    other = sys.argv[3] if len(sys.argv) > 3 else None
    rounds = int(sys.argv[4]) if len(sys.argv) > 4 else 3
    least = {}

    def note(who, cache, length, seconds):
        key = (who, cache, length)
        least[key] = min(seconds, least.get(key, seconds))

    with tempfile.TemporaryDirectory() as folder:
        prompts = os.path.join(folder, "prompts.txt")
        with open(prompts, "w", encoding="utf-8") as file:
            file.write(("To be or not to be, that is the question. " * PROMPT)[:PROMPT] + "\n")
        for _ in range(rounds):
            for cache, lengths in LENGTHS.items():
                for length in lengths:
                    note("partita", cache, length, partita_seconds(program, weights, prompts, cache, length))
            if other:
                words = [other, __file__, "--transformers", "1"]
                for line in subprocess.run(words, check=True, capture_output=True, text=True).stdout.splitlines():
                    cache, length, seconds = line.split()
                    note("transformers", cache == "True", int(length), float(seconds))

    def milliseconds(who, cache):
        short, long = LENGTHS[cache]
        return 1e3 * (least[who, cache, long] - least[who, cache, short]) / (long - short)

    for who in sorted({key[0] for key in least}):
        with_cache, without = milliseconds(who, True), milliseconds(who, False)
        print(f"{who}: {with_cache:.1f} ms with a cache, {without:.0f} ms without, {without / with_cache:.0f} times")
    if other:
        print(f"ratio with a cache: {milliseconds('partita', True) / milliseconds('transformers', True):.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
