#!/usr/bin/env python3
"""Checks what can be checked of how comments, docstrings and pages are written ("How we write" in CONTRIBUTING.md).

    tools/check_prose.py            lists all findings and commit subjects that are too long; fails when there are any
    tools/check_prose.py PATH..     lists the findings of files and folders; fails when there are any

A finding is `path:line: rule N: "words": what to write instead`. N is the number of the rule in CONTRIBUTING.md. Code
in backticks and text in quotation marks is never a finding.

Each doc comment, docstring and paragraph becomes a `Text`, which keeps its line breaks, so that the line of a finding
is the number of breaks before it. A `//` comment is a doc comment if a declaration at the level of the file or of a
class follows; other comments are searched for words only.
"""
import pathlib
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import NamedTuple

FOLDERS = ("include", "src", "python", "tests", "bench", "examples", "tools", "docs")
IGNORED = {"build", ".whl", "__pycache__", "shared"}
SENTENCE, SUBJECT = 40, 72  # words; columns


class Allowed(NamedTuple):
    path: str  # beginning of the paths it holds for; "" for all
    words: str  # pattern; findings that overlap what it matches are dropped
    reason: str


ALLOWED = [  # at most 30
    Allowed("", r"behind (a|an|the|its|one) (mutex|lock|interface|pointer|proxy|firewall|switch|router|flag)",
            "the standard phrase"),
    Allowed("", r"(fall|falls|fell|fallen|lag|lags|lagging|leave|leaves|left) behind", "the standard verb"),
    Allowed("", r"(is|are|was|were) (far )?behind(?=[,.;:)])", "late, without an object"),
    Allowed("", r"(idea|ideas|reasons?|reasoning|numbers|theory|formula) behind", "the standard phrase"),
    Allowed("", r"\(as above\)|as (above|below|usual)", "the standard phrase"),
    Allowed("", r"ahead of time|look(s|ing)? ahead|read-ahead", "the standard phrase"),
]


class Text(NamedTuple):
    # doc, docstring, paragraph, cell; of trailing comments field (at the level of a class or file), local (of a
    # declaration in a function) or aside; note for all other comments.
    kind: str
    line: int  # of its first line, from 1
    text: str  # without markers; line breaks are kept
    after: str = ""  # the line of code that a doc comment describes


class Finding(NamedTuple):
    path: str
    line: int
    rule: int
    words: str
    advice: str

    def __str__(self) -> str:
        return f'{self.path}:{self.line}: rule {self.rule}: "{self.words}": {self.advice}'


def pattern(text: str) -> re.Pattern:
    """Compiles a pattern in which a space also matches a line break."""
    return re.compile(r"\b(?:" + text.replace(" ", r"\s+") + ")", re.I)


VERBS = pattern(
    r"(is|are|was|were|be|been|has|have|had|does|do|can|cannot|may|must|will|would|should|could|needs?|takes?|gives?|"
    r"makes?|gets?|sends?|holds?|reads?|writes?|runs?|returns?|computes?|keeps?|says?|uses?|fails?|stays?|begins?|"
    r"starts?|ends?|lies?|stands?|comes?|goes|throws?|counts?|depends?|waits?|sees?|see|shows?|follows?|differs?)\b")
NO_NOUN = "say what it is or does first: a verb, or a noun phrase"
DOCS = {"doc", "docstring"}
DESCRIPTIONS = DOCS | {"field", "local"}
# The text begins with the pattern: kinds of text, rule, pattern, advice.
OPENINGS = [
    (DESCRIPTIONS, 1, pattern(r"of(?! course\b)\b"), NO_NOUN),
    (DOCS, 1, pattern(
        r"the same(?=[,.:;]|$| (as|for|of|by|with|without|at|in|into|on|over|behind|past|were|to|from|where|when|but|"
        r"through|under|after|before|between|along|in)\b)"), "name the thing and how it differs"),
    ({"field"}, 1, pattern(r"the same(?=[,.:;]| (as|for|of|by|with|in|where|when)\b)(?! for (all|each|every)\b)"),
     "name the thing and how it differs"),
    (DOCS | {"field"}, 1, pattern(r"as\b(?! (soon|long|in|with|for|of)\b[^.]*,)"), NO_NOUN),
    (DOCS | {"field"}, 1, pattern(r"what(?!'s| to\b)\b(?=[^.?]*([.;]|$))"),
     "name the thing; \"What\" only in a question"),
    (DOCS | {"field"}, 1, pattern(r"(that|those) (?=(of|a|an|the|is|are|was|many|which|that)\b)"), NO_NOUN),
    ({"field"}, 1, pattern(r"that\b"), NO_NOUN),
    (DOCS, 1, pattern(r"throws\b"), "errors come last: say first what it does or checks"),
    (DESCRIPTIONS, 3, pattern(
        r"(the )?most (?=[\w-]+[^s\W]s\b|that\b|a\b|an\b|any\b)"), "maximum, largest number of"),
    (DESCRIPTIONS, 3, pattern(
        r"(the )?least\b(?! (expensive|costly|significant|recently|common|likely|squares)\b)"), "minimum, smallest"),
]

MADE = r"(made|computed|compute|computes|computing|make|makes|making)"
FORWARD = r"(backward|forward|recomput\w+|results|attention|activations)"
ONE = r"(the|an?|its|whose|each|every|one|first|last|next|second|own|their|no|this|another|whole|\w+[’']s)"
PASS = r"(backward|forward)"
# What follows "forward" where it is no noun.
PASSED = (r"(pass(es)?|graphs?|nodes?|parts?|phases?|slots?|functions?|sections?|text|work|half|steps?|segments?|ops?|"
          r"programs?|runs?|order|values?|results?|calls?|cop(y|ies)|stage|times?|seconds|direction|ones?|kernels?|"
          r"path|shapes?|code|formula|messages|sends?|convolutions?|primitives?|tasks?|ends?|pooling|layout)\b")
AMOUNT = (r"((up|to|at|most|about|over|more|less|as|much|least|half|of|no|the|some|that|this|its|all|any|only|an?|same|"
          r"few|fewer|other|additional|[\d.,]+) )*(memory|bytes|[KMGT]i?B)\b")
# Rule, pattern, advice; anywhere in a text.
WORDS = [
    (3, pattern(r"behind\b"), "after; next to"),
    (3, pattern(r"in front of\b"), "before"),
    (3, pattern(r"beside\b"), "next to, along with, during"),
    (3, pattern(r"so many\b(?![^.;:]*? that\b)"), "name the number; as many"),
    (3, pattern(r"at the (most|least)(?=[.,;:)]|$| (one|two|a|and|or|of)\b)"), "at most, at least"),
    (3, pattern(r"the least (number|count|size|value|index|multiple|power|"
                r"(?!is\b|as\b|was\b|has\b|takes\b)\w+[^s\W]s)\b"), "the smallest, the fewest"),
    (3, pattern(r"the most (that|a|an|any|one|each|it|they)\b"), "the maximum"),
    (3, pattern(r"(?<=,\s)as (that|those) (of|in|on|at|with)\b(?![^.,;:]* (do|does|is|are|has|have)\b)"),
     "such as, like"),
    (3, pattern(r"(?<=,\s)as [a-z]+s (and|or) [a-z]+s\b(?=[.;,)])"), "such as"),
    (3, pattern(r"(?<=\()as `x*`(?=[),])|(?<=,\s)as `x*`(?=[);])"), "such as"),
    (4, pattern(r"(talk|talks|talked|talking)\b"), "communicate, exchange messages, point-to-point"),
    (4, pattern(r"(is|are|was|were|been|still|once) spent\b(?! (on|in|for|by)\b)|"
                r"spends? (the|its|their|a) (models?|states?|arrays?|buffers?|memory|tensors?)\b"), "release"),
    (4, pattern(r"(weigh|weighs|weighed|weighing)\b"), "sum with weights; count, cost"),
    (4, pattern(r"(dealt|deals|dealing)\b(?! with\b)|deal (out|evenly)\b|(even|balanced|such|a) deals?\b(?! with\b)"),
     "assign, split"),
    (4, pattern(r"soonest\b"), "earliest"),
    (4, pattern(rf"{MADE} ([\w']+ ){{0,5}}?again\b(?=[^.]*\b{FORWARD}\b)"), "recomputed"),
    (4, pattern(rf"{FORWARD}\b[^.]* {MADE} ([\w']+ ){{0,5}}?again\b"), "recomputed"),
    (4, pattern(r"(gather|gathers|gathered|fetched|sent|made|read|received|issued|layer|batches) ahead\b"),
     "prefetched"),
    (4, pattern(r"(what|bytes|messages?|frames?|chunks?|requests?|signals?|answers?)( that)? came\b(?! first)"),
     "arrived, was received"),
    (4, pattern(rf"{ONE} {PASS}\b(?!-)(?!,? ((and|or) )?({ONE} )?{PASS}\b)(?! ({PASSED}|or training\b))"),
     "the forward pass, the backward pass"),
    (3, pattern(rf"(takes?|took|taking) {AMOUNT}(?! (of (an|that) (operand|copy)|that its)\b)"), "need, use"),
    (3, pattern(r"(has|have|had) ([\d.,]+|an? \w+ of [\d.,]+) %"), "is, reaches, shows"),
    (3, pattern(r"meanwhile(?=[.;)]|$)"), "at that time, during .."),
    (9, pattern(r"is lost or late\b|label, an id or a slot that is out of range; "),
     "the name of these errors in base/error.h, such as RankFailures"),
    (3, pattern(r"(?<=[.;]\s)who\b(?=[^?]*[.])"), "whoever; name the thing that does"),
]


def named(words: str, camel: str = "") -> re.Pattern:
    """Identifiers that have one of `words` between underscores, or one of `camel` in CamelCase."""
    snake = rf"\b(?:\w*_)?(?:{words})(?:_\w*)?\b"
    return re.compile(snake + (rf"|\b\w*(?<![A-Z])(?:{camel})(?![a-z])\w*\b" if camel else ""))


IDENTIFIERS = [  # rule 4: pattern, advice
    (re.compile(r"\b(?:k(?:Most|Least)\w*|(?:most|least)_\w*)\b"), "kMaxX, max_x, min_x"),
    (named("deals?|dealt", "Deals?|Dealt"), "assign, split"),
    (named("beside", "Beside"), "overlapped, exposed, concurrent, adjacent"),
    (named("soonest", "Soonest"), "earliest"),
    (named("talks?", "Talks?"), "communicate, point_to_point"),
    (named("spends?", "Spends?"), "release"),
    (named("weighs?"), "count, sum"),
    (named("came"), "received"),
    (named("in_front", "InFront"), "before"),
]
# A quick test whether any of them can match.
ANY_IDENTIFIER = re.compile(r"[mM]ost|[lL]east|[dD]eal|[bB]eside|[sS]oonest|[tT]alk|[sS]pend|weigh|came|in_front|InFront")
TERMS = re.compile(r"(?:most|least)_(?:recent|significant|squares|common|likely|specific|general)")

QUOTED = re.compile(r'`[^`]*`|"[^"]{0,300}"')
# Raw strings, strings and characters, in which // begins no comment.
RAW = re.compile(r'R"([^()\\ ]{0,16})\([\s\S]*?\)\1"')
STRING = re.compile(r""""(?:\\.|[^"\\])*"|(?<!\w)'(?:\\.|[^'\\])+'""")
NO_PROSE = re.compile(r"NOLINT|namespace\b|clang-format|IWYU|={3}|-{3}")
CLASS = re.compile(r"(?:template\s*<.*>\s*)?(?:class|struct|union|enum)\b[^;()]*$")
LOCAL = re.compile(  # a declaration
    r"\s*(?!return\b|delete\b|throw\b|goto\b)[\w:<>,*& ]*[\w>&*] +[*&]?\w+(?:\[.*\])?(?: = .*|\{.*\}|\(.*\))?;$")
DOCSTRING = re.compile(r"""(?:\A(?:#[^\n]*\n|\s)*|:[ \t]*(?:\#[^\n]*)?\n[ \t]*)[rR]?\"{3}([\s\S]*?)\"{3}""")
PYTHON_TEXT = re.compile(r"""[rRfbFB]{0,2}(?:\"{3}[\s\S]*?\"{3}|'{3}[\s\S]*?'{3})""")
FENCE = re.compile(r"[ \t]*(?:>[ \t]*)*(```+|~~~+)")
ITEM = re.compile(r"[ \t]*(?:[-*+]|\d+[.)])[ \t]+")
END = re.compile(r"(?<=[.!?])[\"')\]*_]*\s+(?=[\"'(\[*_`]*[A-Z0-9`])")


def blank(match: re.Match) -> str:
    return re.sub(r"[^\n]", " ", match[0])


def hide(match: re.Match) -> str:
    """The quoted text as x, a span of code as one word, with the same length and lines."""
    inside = match[0][1:-1]
    return match[0][0] + re.sub(r"[^\n]" if match[0][0] == "`" else r"\S", "x", inside) + match[0][-1]


class Comments:
    """Collects the comments of a C++ file, line by line."""

    def __init__(self) -> None:
        self.texts: list[Text] = []
        self.code: list[str] = []  # the lines without comments and strings
        self.lines: list[str] = []  # of the comment that is open
        self.kind, self.first, self.column = "", 0, -1
        self.in_class = False

    def add(self, kind: str, number: int, column: int, words: str) -> None:
        if self.lines and (column != self.column or kind != self.kind and kind != "//"):
            self.close("")
        if not self.lines:
            self.kind, self.first, self.column = kind, number, column
        self.lines.append(words)

    def close(self, code: str) -> None:
        """Ends the open comment; `code` is the next line of code, "" if none follows at once."""
        if not self.lines:
            return
        kind = {"///": "doc", "//": "note"}.get(self.kind, self.kind)
        indent = len(code) - len(code.lstrip())
        if kind == "note" and code.strip() and code.strip()[0] not in "}#":
            kind = "doc" if indent == 0 or indent == 2 and self.in_class else "note"
        number = self.first
        for part in re.split(r"(?<=\n)[ \t]*\n", "\n".join(self.lines)):  # a paragraph each
            self.texts.append(Text(kind, number, part, code.strip()))
            number, kind = number + part.count("\n") + 1, "note"
        self.lines = []

    def read(self, number: int, line: str) -> None:
        bare = STRING.sub(blank, line) if '"' in line or "'" in line else line
        at = bare.find("//")
        code = (bare if at < 0 else bare[:at]).rstrip()
        self.code.append(code)
        if code:
            self.close(code)
            if not code[0].isspace() and (CLASS.match(code) or not code.startswith(("template", "#"))):
                self.in_class = bool(CLASS.match(code))
        elif at < 0:
            self.close("")
        if at < 0:
            return
        marker = re.match(r"//[/!]?<?", line[at:])[0]
        words = line[at + len(marker) :].strip()
        if NO_PROSE.match(words):
            words = ""
        if code:
            declares = not code[0].isspace() or self.in_class and re.match(r"  \S", code)
            declares = declares and not code.endswith(("{", "delete;", "default;"))
            kind = "field" if declares else "local" if LOCAL.match(code) else "aside"
            self.add(kind, number, at, words)
        else:
            self.add("///" if marker == "///" else "//", number, at, words)


def texts_of_cpp(text: str) -> tuple[list[Text], list[str]]:
    """The comments of a C++ file, and its lines without comments and strings."""
    if 'R"' in text:
        text = RAW.sub(blank, text)
    comments = Comments()
    for number, line in enumerate(text.split("\n"), 1):
        comments.read(number, line)
    comments.close("")
    return comments.texts, comments.code


def texts_of_python(text: str) -> tuple[list[Text], list[str]]:
    """The docstrings of a Python file, and its lines without comments and strings."""
    texts = []
    for match in DOCSTRING.finditer(text):
        number = text.count("\n", 0, match.start(1)) + 1
        for i, part in enumerate(re.split(r"(?<=\n)[ \t]*\n", match[1])):
            texts.append(Text("note" if i else "docstring", number, part))
            number += part.count("\n") + 1
    bare = PYTHON_TEXT.sub(blank, text)
    return texts, [re.sub(r"#.*", "", STRING.sub(blank, line)) for line in bare.split("\n")]


def texts_of_page(text: str) -> list[Text]:
    """The paragraphs, items of lists, headings and cells of tables of a Markdown page, without blocks of code."""
    texts, lines, fence, in_item, blank_before = [], [], "", False, True
    first = 1

    def close() -> None:
        if lines:
            texts.append(Text("paragraph", first, "\n".join(lines)))
            lines.clear()

    text = re.sub(r"<!--[\s\S]*?-->", blank, text)
    text = re.sub(r"\]\([^()\s]*\)", lambda match: "]" + " " * (len(match[0]) - 1), text)
    for number, line in enumerate(text.split("\n"), 1):
        mark = FENCE.match(line)
        if fence or mark:
            close()
            fence = "" if fence and mark and mark[1].startswith(fence) else fence or mark[1]
            continue
        bare = line.strip()
        item = ITEM.match(line)
        is_code = blank_before and not in_item and line.startswith("    ")
        if not bare or item or is_code or bare[0] in "#|<":
            close()
        if bare and not is_code:
            blank_before = False
            in_item = bool(item) or in_item and line[0].isspace()
            if bare[0] in "#|":
                texts += [Text("cell", number, cell.strip()) for cell in bare.strip("#|").split("|") if cell.strip()]
            else:
                first = first if lines else number
                lines.append(line[item.end() :] if item else line)
        elif not bare:
            blank_before = True
    close()
    return texts


def first_sentence(text: str) -> str:
    return re.split(r"(?<=[.?!])(?:\s|$)", text, maxsplit=1)[0]


def refuses(code: str) -> bool:
    """Whether a declaration is of a function whose purpose is to throw."""
    return bool(re.search(r"\[\[noreturn\]\]|\b(?:throw|reject|refuse|fail|rethrow)\w*\(", code))


def opening_of(text: Text, hidden: str) -> tuple[int, int, int, str] | None:
    """(begin, end, rule, advice) of wrong first words."""
    begin = len(hidden) - len(hidden.lstrip(" \n\t:,"))
    for kinds, rule, words, advice in OPENINGS:
        match = words.match(hidden, begin) if text.kind in kinds else None
        if match and not (match[0].lower() == "throws" and refuses(text.after)):
            return begin, match.end(), rule, advice
    if text.kind in ("doc", "docstring") and hidden.startswith("For ", begin):
        sentence = first_sentence(hidden[begin:])
        if not re.search(r"[,:;`]", sentence) and not VERBS.search(sentence):
            return begin, begin + 3, 1, "no verb: say what it is or does"
    return None


def long_sentences(hidden: str) -> Iterator[tuple[int, int]]:
    """(offset, words) of sentences of more than SENTENCE words."""
    begin = 0
    for end in [match.end() for match in END.finditer(hidden)] + [len(hidden)]:
        words = sum(1 for word in hidden[begin:end].split() if re.search(r"\w", word))
        if words > SENTENCE:
            yield begin + len(hidden[begin:end]) - len(hidden[begin:end].lstrip()), words
        begin = end


def findings_in(path: str, text: Text) -> Iterator[Finding]:
    hidden = QUOTED.sub(hide, text.text)
    found = [(match.start(), match.end(), rule, advice) for rule, words, advice in WORDS
             for match in words.finditer(hidden)] if SOME.search(hidden) else []
    opening = opening_of(text, hidden)
    if opening:
        found = [opening] + [one for one in found if one[0] >= opening[1]]
    allowed = [match.span() for pattern_, prefix in ALLOWANCES if path.startswith(prefix)
               for match in pattern_.finditer(hidden)] if found else []
    for begin, end, rule, advice in found:
        if not any(begin < last and first < end for first, last in allowed):
            words = " ".join(text.text[begin:end].split())
            yield Finding(path, text.line + text.text.count("\n", 0, begin), rule, words, advice)
    if text.kind == "paragraph":
        for begin, words in long_sentences(hidden):
            start = " ".join(text.text[begin:].split()[:5])
            yield Finding(path, text.line + text.text.count("\n", 0, begin), 7, start + " ..",
                          f"a sentence of {words} words, at most {SENTENCE}")


ALLOWANCES = [(pattern(one.words), one.path) for one in ALLOWED]
# A quick test whether any pattern of WORDS can match.
SOME = re.compile(r"behind|front|beside|many|most|least|,\s+as\b|\(as\b|talk|spen[dt]|weigh|deal|soonest|again|"
                  r"ahead|came|forward|backward|tak(e|ing)|took|%|meanwhile|who|or late|or a slot", re.I)


def findings_of(path: str, text: str) -> list[Finding]:
    """The findings of a file; an identifier counts once a file."""
    if path.endswith(".md"):
        texts, code = texts_of_page(text), []
    else:
        texts, code = texts_of_python(text) if path.endswith(".py") else texts_of_cpp(text)
    found = [one for part in texts for one in findings_in(path, part)]
    seen = set()
    for number, line in enumerate(code, 1):
        for words, advice in IDENTIFIERS if ANY_IDENTIFIER.search(line) else ():
            for match in words.finditer(line):
                if match[0] not in seen and not TERMS.match(match[0]):
                    seen.add(match[0])
                    found.append(Finding(path, number, 4, match[0], advice))
    return sorted(found, key=lambda one: one.line)


def run_git(root: pathlib.Path, *words: str) -> str | None:
    """Returns what git prints; None where there is no git, no repository, or the command fails."""
    try:
        done = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout if done.returncode == 0 else None


def long_subjects(git=run_git, root: pathlib.Path = pathlib.Path(".")) -> list[str]:
    """Faults of the commits since the merge base with origin's main branch; none without git or origin."""
    base = None
    for branch in ("origin/HEAD", "origin/main"):
        base = base or git(root, "merge-base", branch, "HEAD")
    log = git(root, "log", "--no-merges", "--format=%h %s", f"{base.strip()}..HEAD") if base else None
    commits = [line.split(" ", 1) for line in (log or "").splitlines()]
    return [f'commit {name}: rule 8: "{subject}": {len(subject)} columns, at most {SUBJECT}'
            for name, subject in commits if len(subject) > SUBJECT]


def files_in(root: pathlib.Path, places: list[pathlib.Path]) -> list[pathlib.Path]:
    """The C++ and Python sources and the pages in files and folders."""
    suffixes = (".h", ".cpp", ".cu", ".cuh", ".py", ".md")
    files = []
    for place in places:
        if place.is_file():
            files.append(place)
        else:
            files += [path for path in sorted(place.rglob("*"))
                      if path.suffix in suffixes and not IGNORED & set(path.relative_to(root).parts)]
    return files


def main() -> int:
    root = pathlib.Path(__file__).resolve().parent.parent
    names = sys.argv[1:]
    if any(name.startswith("-") for name in names):
        print(__doc__, file=sys.stderr)
        return 64
    places = [pathlib.Path(name).resolve() for name in names]
    if missing := [str(place) for place in places if not place.exists() or not place.is_relative_to(root)]:
        print(f"[check_prose] no such file or folder in {root}, got {', '.join(missing)}", file=sys.stderr)
        return 66
    files = files_in(root, places or [root / folder for folder in FOLDERS] + sorted(root.glob("*.md")))
    faults = [str(one) for file in files for one in findings_of(str(file.relative_to(root)), file.read_text())]
    if not places:
        faults += long_subjects(root=root)
    print("\n".join(faults + [f"{len(faults)} findings"] if faults else ["prose: ok"]))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
