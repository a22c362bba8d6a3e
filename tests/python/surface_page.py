"""Reads the tables of the page that describes the documented surface: what is called, with its parameters."""

import re

ROW = re.compile(r"^\| (.+?) \| (.+) \|$")
NAME = re.compile(r"[A-Za-z_][A-Za-z_0-9.]*")


def _closed(text, begin):
    """The text within the parentheses that open at `begin`, and where they close."""
    depth = 0
    for at in range(begin, len(text)):
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(text[at], 0)
        if depth == 0:
            return text[begin + 1 : at], at + 1
    return text[begin + 1 :], len(text)


def parameters(text):
    """The parameters of a signature as they are written, split at commas outside of parentheses."""
    found, depth, one = [], 0, ""
    for letter in text:
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            found.append(one.strip())
            one = ""
        else:
            one += letter
    return [one for one in [*found, one.strip()] if one]


def _calls(text):
    """(name, signature) of each call in a text; `load/save_file(path)` is both."""
    found, at = [], 0
    for match in re.finditer(r"([A-Za-z_][\w./]*) ?\(", text):
        if match.start() < at:
            continue
        inner, at = _closed(text, match.end() - 1)
        names = match[1].split("/")
        if len(names) == 2 and "_" not in names[0] and "_" in names[1]:
            names[0] += names[1][names[1].index("_") :]
        found += [(name, inner) for name in names if NAME.fullmatch(name)]
    return found


def entries(page):
    """(what the row is about, name, signature) of each call in the table of names; the name as it is written."""
    begin = page.index("Names, signatures, defaults")
    found = []
    for line in page[begin:].split("\n"):
        match = ROW.match(line)
        if not match or match[1] in ("name", "---"):
            if found and not line.startswith("|"):
                break
            continue
        about, text = match[1], match[2].replace("\\|", "|")
        names = [one.strip() for one in re.split(r"[,/=]", about) if NAME.fullmatch(one.strip())]
        signatures, rest = [], ""
        for part in re.split(r"(?<![\w] )(`\(.*?\)`)", text):  # signatures without a name in front
            if part.startswith("`(") and not re.search(r"\w ?$", rest):
                signatures.append(part[2:-2])
            else:
                rest += part
        if len(signatures) == 1:
            signatures *= len(names)
        prefix = names[0].rpartition(".")[0] if names else ""
        full = [one if "." in one or not prefix else f"{prefix}.{one}" for one in names]
        found += [(about, name, signature) for name, signature in zip(full, signatures)]
        found += [(about, name, signature) for name, signature in _calls(rest.replace("`", ""))]
    return found
