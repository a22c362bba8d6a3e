"""Compares the texts of chat templates with those of transformers, and the ids of conversations with SentencePiece by
the rules of transformers' tokenizer of Llama.

usage: compare_chats.py PARTITA [texts|ids..]   exit code 1 and a line for each difference"""
import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOKENS = {"bos_token": "<s>", "eos_token": "</s>", "additional_special_tokens": ["<a>"]}
MORE_TEMPLATES = [
    "{{ messages|tojson(indent=1) }}{{ tools }}{{ documents is none }}{{ pad_token }}|{{ additional_special_tokens }}",
    "{%- for m in messages if m.role!='x' %}{{ loop.index }}{{ m.content.split('a')[-1] }}"
    "{{ m.content.strip().upper() }}"
    "{% if loop.last %}{% continue %}{% endif %}\n{% endfor %}\n",
    "{% macro f(x) -%} [{{ x }}] {%- endmacro %}{{ f(messages[-1].content) }}"
    "{{ messages[::-1][0].role.startswith('a') }}"
    "{{ strftime_now('%Y') }}",
]
LLAMA_2 = (
    "{{ bos_token }}{% for m in messages %}{% if m.role == 'user' %}[INST] {{ m.content }} [/INST]"
    "{% else %} {{ m.content }}{{ eos_token }}{% endif %}{% endfor %}"
)


class Renderer:
    """The script of the command, with one template."""

    def __init__(self, template: str):
        script = (ROOT / "src/cli/chat/render.py").read_text()
        pipe = subprocess.PIPE
        self.process = subprocess.Popen([sys.executable, "-c", script], stdin=pipe, stdout=pipe, text=True)
        self.ask({"template": template, "tokens": TOKENS, "seconds": 5})

    def ask(self, question: dict) -> dict:
        self.process.stdin.write(json.dumps(question) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


def random_messages(rng: random.Random) -> list[dict]:
    def role(k):
        return rng.choice(["user", "assistant", "system"]) if rng.random() < 0.3 else ["user", "assistant"][k % 2]

    def content():
        return "".join(rng.choice("aé <>&\n😀'\"\\") for _ in range(rng.randint(0, 9)))

    return [{"role": role(k), "content": content()} for k in range(rng.randint(1, 5))]


def compare_texts() -> list[str]:
    from transformers.utils.chat_template_utils import render_jinja_template

    source = (ROOT / "src/cli/chat/test_chat.h").read_text()
    rng = random.Random(1)
    faults = []
    for template in [*re.findall(r'R"\((.*?)\)";', source, re.S), *MORE_TEMPLATES]:
        renderer = Renderer(template)
        for _ in range(100):
            messages = random_messages(rng)
            tools = [{"type": "function", "function": {"name": "f", "x": "é"}}] if rng.random() < 0.3 else None
            got = renderer.ask({"conversation": json.dumps({"messages": messages, "tools": tools})}).get("text")
            try:
                expected = render_jinja_template(
                    [messages], tools=tools, chat_template=template, add_generation_prompt=True, **TOKENS
                )[0][0]
            except Exception:  # a template refuses the conversation
                expected = None
            if got != expected:
                faults.append(f"template {template[:40]!r}: got {got!r}, expected {expected!r}")
    return faults


def ids_of(pieces, conversation: list[dict], begins_anew: bool) -> list[int]:
    """The ids of a whole conversation. In a tokenizer that is not "legacy" a text goes on after a special token."""
    before = pieces.encode("<unk>")
    ids = [pieces.bos_id()]
    text = "".join(
        f"[INST] {m['content']} [/INST]" if m["role"] == "user" else f" {m['content']}</s>" for m in conversation
    )
    for i, part in enumerate(text.split("</s>")):
        ids += [pieces.eos_id()] if i > 0 else []
        if part:
            ids += pieces.encode(part) if begins_anew else pieces.encode("<unk>" + part)[len(before) :]
    return ids


def written_ids(name: pathlib.Path) -> list[list[int]]:
    index, data = name.with_suffix(".idx").read_bytes(), name.with_suffix(".bin").read_bytes()
    count = int.from_bytes(index[18:26], "little")
    documents, at = [], 0
    for i in range(count):
        size = 2 * int.from_bytes(index[34 + 4 * i : 38 + 4 * i], "little")
        documents.append([int.from_bytes(data[k : k + 2], "little") for k in range(at, at + size, 2)])
        at += size
    return documents


def compare_ids(partita: str) -> list[str]:
    import sentencepiece

    text = "".join((ROOT / "docs/guide" / page).read_text() for page in ("tokens.md", "install.md"))
    faults = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "text.txt").write_text(text)
        for kind in ("bpe", "unigram"):
            for strips in (False, True):
                sentencepiece.SentencePieceTrainer.train(
                    input=str(folder / "text.txt"), model_prefix=str(folder / "tokenizer"), vocab_size=600,
                    model_type=kind, byte_fallback=True, remove_extra_whitespaces=strips, minloglevel=2,
                    normalization_rule_name="nmt_nfkc" if strips else "identity",
                )
                pieces = sentencepiece.SentencePieceProcessor(model_file=str(folder / "tokenizer.model"))
                for begins_anew in (True, False):
                    where = f"{kind}, strips {strips}, legacy {begins_anew}"
                    faults += compare_model(partita, folder, pieces, begins_anew, text.split(), where)
    return faults


def compare_model(partita, folder, pieces, begins_anew, words, where) -> list[str]:
    config = {"bos_token": "<s>", "eos_token": "</s>", "legacy": begins_anew, "chat_template": LLAMA_2}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    rng = random.Random(3)

    def content():
        return " ".join(rng.sample(words, rng.randint(1, 6))) + rng.choice(["", "\n", "é"])

    conversations = [
        [{"role": ["user", "assistant"][k % 2], "content": content()} for k in range(rng.choice([2, 4]))]
        for _ in range(60)
    ]
    lines = [json.dumps({"messages": conversation}) + "\n" for conversation in conversations]
    (folder / "lines.jsonl").write_text("".join(lines))
    command = [partita, "tokenize", str(folder / "lines.jsonl"), "--tokenizer", str(folder / "tokenizer.model")]
    subprocess.run([*command, "--out", str(folder / "out")], check=True, stdout=subprocess.DEVNULL)
    return [
        f"{where}: got {got}, expected {ids_of(pieces, conversation, begins_anew)}"
        for conversation, got in zip(conversations, written_ids(folder / "out"), strict=True)
        if got != ids_of(pieces, conversation, begins_anew)
    ]


def main() -> int:
    faults = []
    if "texts" in sys.argv[2:]:
        faults += compare_texts()
    if "ids" in sys.argv[2:]:
        faults += compare_ids(sys.argv[1])
    print(*faults[:10], f"chats: {len(faults)} differences ({', '.join(sys.argv[2:])})", sep="\n")
    return 1 if faults else 0


sys.exit(main())
