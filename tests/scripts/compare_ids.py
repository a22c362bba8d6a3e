"""Compares `partita tokenize` with Hugging Face's tokenizers and with SentencePiece on texts and random Unicode.

Trains small tokenizers with the packages, as their documents do, and asks both for ids, which must be equal.
usage: compare_ids.py PARTITA TEXT [hf|spm..]   exit code 1 and a line for each difference"""
import json
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
import unicodedata

GPT2 = None
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
          r"|\s+(?!\S)|\s+")
QWEN = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
O200K = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
         r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
         r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")


def is_known(c: str):
    """Whether the package, whose tables are those of Unicode 10, normalizes a character as Unicode 14 does."""
    from tokenizers import normalizers
    probe = f"a\u0300{c}\u0316\u0345"
    return normalizers.NFKC().normalize_str(probe) == unicodedata.normalize("NFKC", probe)


def random_texts(count: int, seed: int):
    """Texts of assigned characters of all planes, of letters with marks, of spaces, contractions and special tokens."""
    draw = random.Random(seed)
    assigned = [chr(c) for c in range(1, 0x110000)
                if unicodedata.category(chr(c)) not in ("Cn", "Cs", "Co") and not 0xAC00 + 100 < c < 0xD7A4]
    assigned = [c for c in assigned if is_known(c)]
    spaces = [c for c in map(chr, range(0x3001)) if c.isspace()] + ["\u180e", "\u200b", "\u00ad"]
    letters = "abcdefgÅéñöșßſKçÀ日本語한글ابتदेवना"
    marks = [chr(c) for c in range(0x300, 0x345)]
    pieces = ["'s", "'S", "'LL", "'ſ", "<|end|>", "<|end|", "<mask>", "<norm>é", "  ",
              "\r\n", "\n\n", " 1234567", "٣٤٥", "½"]
    makers = [lambda: draw.choice(assigned), lambda: draw.choice(spaces), lambda: draw.choice(letters),
              lambda: draw.choice(letters) + draw.choice(marks) + draw.choice(marks), lambda: draw.choice(pieces),
              lambda: " " + "".join(draw.choice(letters) for _ in range(draw.randrange(8)))]
    for _ in range(count):
        few = draw.sample(makers, draw.randrange(1, len(makers) + 1))
        yield "".join(draw.choice(few)() for _ in range(draw.randrange(1, 200)))


def ids_of_partita(partita: str, folder: pathlib.Path, tokenizer: pathlib.Path, documents: list):
    """The ids of each document, by way of the files of Megatron's format."""
    lines = folder / "documents.jsonl"
    lines.write_text("".join(json.dumps({"text": one}) + "\n" for one in documents))
    out = folder / "ids"
    subprocess.run([partita, "tokenize", lines, "--tokenizer", tokenizer, "--out", out], check=True,
                   stdout=subprocess.DEVNULL)
    index, data = (folder / "ids.idx").read_bytes(), (folder / "ids.bin").read_bytes()
    code, count = index[17], struct.unpack_from("<Q", index, 18)[0]
    lengths = struct.unpack_from(f"<{count}i", index, 34)
    width, kind = {8: (2, "H"), 4: (4, "i")}[code]
    at, result = 0, []
    for length in lengths:
        result.append(list(struct.unpack_from(f"<{length}{kind}", data, at * width)))
        at += length
    return result


def hf_tokenizers(text: pathlib.Path, folder: pathlib.Path):
    from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers, trainers
    kinds = {"gpt2": (None, pre_tokenizers.ByteLevel(add_prefix_space=False)),
             "spaced": (None, pre_tokenizers.ByteLevel(add_prefix_space=True)),
             "digits": (normalizers.NFKC(), pre_tokenizers.Sequence([
                 pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]))}
    for name, pattern, form in (("llama3", LLAMA3, None), ("qwen", QWEN, normalizers.NFC()), ("o200k", O200K, None)):
        kinds[name] = (form, pre_tokenizers.Sequence([
            pre_tokenizers.Split(Regex(pattern), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]))
    for name, (form, split) in kinds.items():
        tokenizer = Tokenizer(models.BPE(ignore_merges=name == "llama3"))
        if form is not None:
            tokenizer.normalizer = form
        tokenizer.pre_tokenizer = split
        tokenizer.train([str(text)], trainers.BpeTrainer(
            vocab_size=3000 if name != "qwen" else 1000, show_progress=False, special_tokens=["<|end|>"],
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
        tokenizer.add_special_tokens([AddedToken("<mask>", lstrip=True), AddedToken("<|end|>x", normalized=False)])
        tokenizer.add_tokens([AddedToken("<norm>e\u0301", normalized=True), AddedToken("thou", rstrip=True)])
        path = folder / f"{name}.json"
        tokenizer.save(str(path))
        yield name, path, lambda one, t=tokenizer: t.encode(one, add_special_tokens=False).ids


def spm_tokenizers(text: pathlib.Path, folder: pathlib.Path):
    import sentencepiece
    for kind in ("bpe", "unigram"):
        for fallback in (False, True):
            name = f"{kind}{'_bytes' if fallback else ''}"
            sentencepiece.SentencePieceTrainer.train(
                input=str(text), model_prefix=str(folder / name), vocab_size=1500, model_type=kind,
                byte_fallback=fallback, minloglevel=2)
            processor = sentencepiece.SentencePieceProcessor(model_file=str(folder / f"{name}.model"))
            yield name, folder / f"{name}.model", processor.encode


def main(partita: str, path: str, *kinds: str):
    text = pathlib.Path(path)
    whole = text.read_text()
    documents = [whole, whole[:1000], *random_texts(3000, seed=1)]
    documents = [one for one in documents if one]
    failed = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for kind in kinds or ("hf", "spm"):
            for tokenizer, file, encode in (hf_tokenizers if kind == "hf" else spm_tokenizers)(text, folder):
                given = ids_of_partita(partita, folder, file, documents)
                differ = [i for i, one in enumerate(documents) if given[i] != encode(one)]
                print(f"{kind} {tokenizer}: {len(documents)} documents, {sum(map(len, given))} ids, "
                      f"{len(differ)} differ")
                for i in differ[:3]:
                    print(f"  {documents[i][:80]!r}\n  got {given[i][:40]}\n  expected {encode(documents[i])[:40]}")
                failed += len(differ)
    sys.exit(1 if failed else 0)


main(*sys.argv[1:])
