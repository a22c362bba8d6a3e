"""Command, Python and a C++ program answer the same questions to the planner with the same bits:
same_plans.py PARTITA PLAN_ANSWERS FOLDER."""

import os
import re
import subprocess
import sys

import partita as ms
from partita import planning

program, answers_program, folder = (os.path.abspath(path) for path in sys.argv[1:])
questions_file = os.path.join(os.path.dirname(os.path.abspath(__file__)), "questions.txt")
with open(questions_file) as lines:
    questions = [line.split() for line in lines if line.strip() and not line.startswith("#")]


def comparable(text):
    """The text without what a search took, and without the "[where]" of messages: there flags and arguments differ."""
    text = re.sub(r'\n *"search_seconds": [^\n]*', "", text)
    return re.sub(r"^((?:warning|error): )\[[^\]]*\] ", r"\1", text, flags=re.M)


def in_folder(name):
    """A folder of one's own, with the graphs that questions name."""
    path = os.path.join(folder, name)
    os.makedirs(path)
    for file, more in (("net.txt", []), ("training.txt", ["--training"])):
        with open(os.path.join(path, file), "w") as out:
            subprocess.run([program, "graph", "mlp", "--batch", "16", *more], stdout=out, check=True)
    return path


def of_command():
    path, answers = in_folder("command"), []
    for words in questions:
        made = subprocess.run([program, *words], cwd=path, capture_output=True, text=True)
        answers.append(made.stdout + made.stderr.replace("partita: ", ""))
    return answers


def of_program():
    run = [answers_program, questions_file]
    made = subprocess.run(run, cwd=in_folder("program"), capture_output=True, text=True, check=True)
    return re.split(r"^== \d+\n", made.stdout, flags=re.M)[1:]


def options_of(words):
    """(what a question is about, {option: value})."""
    about, options, words = [], {}, list(words)
    while words:
        word = words.pop(0)
        if not word.startswith("--"):
            about.append(word)
        else:
            options[word] = True if word in ("--json", "--free", "--check") else words.pop(0)
    return about, options


def plan_of(about, options):
    runner_up = not {"--json", "--pin", "--fixed"} & set(options)
    plan = ms.plan(
        about[0],
        cluster=options.get("--cluster"),
        target=options.get("--target"),
        check="--check" in options,
        pins=options.get("--pin", ""),
        fixed=options.get("--fixed", ""),
        batch=int(options.get("--batch", 0)),
        memory_gib=float(options.get("--memory", 0)),
        search=options.get("--search", "exact"),
        dtype=options.get("--dtype"),
        tf32=options.get("--tf32") != "false",
        runner_up=runner_up,
    )
    if not plan.fits and "--fixed" not in options:
        excess, remedies = plan.shortage.split("] ", 1)[1], ", or with ".join(plan.remedies)
        return f"error: [plan] nothing fits; at best {excess}. It would fit with {remedies}\n"
    if "--out" in options:
        plan.save(options["--out"])
    if "--json" in options:
        return plan.json
    text = f"{plan}\n{ms.explain(plan)}" + (f"\n{plan.others}" if runner_up else "")
    return text if plan.fits else f"{text}warning: {plan.shortage}\n"


def of_python():
    os.chdir(in_folder("python"))
    answers = []
    for command, *words in questions:
        about, options = options_of(words)
        try:
            if command == "plan":
                answers.append(plan_of(about, options))
            elif command == "explain":
                answers.append(str(ms.explain(about[0], op=options.get("--op", ""), free="--free" in options)))
            else:
                answers.append(str(planning.diff(*about)))
        except (ValueError, KeyError, RuntimeError) as error:
            answers.append(f"error: {error.args[-1]}\n")
    return answers


expected, files = of_command(), ["fixed.txt", "searched.txt", "stages.txt"]
assert len(questions) >= 30 and len(expected) == len(questions)
for name, answers in (("program", of_program()), ("python", of_python())):
    assert len(answers) == len(questions), (name, len(answers))
    for words, got, right in zip(questions, answers, expected):
        got, right = comparable(got), comparable(right)
        if got != right:
            sys.exit(f"{name}: {' '.join(words)}\ngot\n{got}\nexpected, as the command says,\n{right}")
    for file in files:
        with open(os.path.join(folder, name, file)) as one, open(os.path.join(folder, "command", file)) as other:
            assert one.read() == other.read(), (name, file)
print(f"{len(questions)} questions: command, C++ and Python give the same bits")
