#!/usr/bin/env bash
# docs/reference/configuration.md has every key of a configuration and every flag of train, and no other; its defaults are true,
# and so is which keys decide what is computed.
set -euo pipefail
cd "$(dirname "$0")/../.."
/usr/bin/python3 - build/release/partita docs/reference/configuration.md <<'PY'
import pathlib, re, subprocess, sys, tempfile

program, page = sys.argv[1:]
cells = [re.split(r"(?<!\\)\|", line)[1:-1] for line in open(page) if re.match(r"\| `[a-z_0-9.]+` \| (`--|MODEL)", line)]
documented = {key.strip(" `"): (re.findall(r"--[a-z0-9-]+", flags), default.strip(), effect.strip())
              for key, flags, _, default, effect, *_ in cells}
faults = []


def run(*words):
    done = subprocess.run([program, *words], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.stdout


def keys_of(text):
    """The keys of a printed configuration, and their values."""
    found, section = {}, ""
    for line in text.splitlines():
        if line.startswith("["):
            section = line.strip("[]") + "."
        elif " = " in line:
            name, value = line.split(" = ", 1)
            found[section + name] = value.strip('"')
    return found


# Keys that the program prints, and as many as it knows.
printed = keys_of(run("train", "mlp", "--print-config"))
faults += [f"{key} is not in {page}" for key in printed if key not in documented]
with tempfile.TemporaryDirectory() as folder:
    file = pathlib.Path(folder) / "job.toml"
    file.write_text("no_such_key = 1\n")
    known = int(re.search(r"one of (\d+) keys", run("train", "mlp", "--config", str(file))).group(1))
    if len(documented) != known:
        faults.append(f"{page} has {len(documented)} keys, the program {known}")
    for key in documented:
        section, _, name = key.rpartition(".")
        file.write_text((f"[{section}]\n" if section else "") + f"{name} = [[1]]\n")
        if "unknown key" in run("train", "mlp", "--config", str(file)):
            faults.append(f"{key} is in {page}, but not a key")

# Flags.
flags = set(re.findall(r"^  --(?:\[no-\])?([a-z0-9-]+)", run("train", "--help"), re.M))
flags -= {"config", "print-config"}
named = {flag[2:] for found, _, _ in documented.values() for flag in found
         if not flag.startswith("--no-") or flag in ("--no-pass", "--no-decay")}
faults += [f"--{flag} is not in {page}" for flag in flags - named]
faults += [f"--{flag} is in {page}, but not a flag" for flag in named - flags]

# Defaults of sections that no recipe changes.
for key, (_, default, _) in documented.items():
    if key.split(".")[0] in ("data", "plan", "files", "console") and printed.get(key, "") != default:
        faults.append(f"{key}: {page} says '{default}', the program '{printed.get(key, '')}'")

# Effects: --resume-with takes the keys that decide what is computed.
with tempfile.TemporaryDirectory() as folder:
    refusal = run("train", "mlp", "--steps", "1", "--no-eval", "--resume", f"{folder}/none", "--resume-with", "no_such_key")
    taken = set(re.search(r"expected one of ([a-z0-9_. ]+)", refusal).group(1).split()) - {"program", "rows"}
    faults += [f"{key}: the effect in {page} is '{effect}'" for key, (_, _, effect) in documented.items()
               if (effect == "program") != (key in taken)]

print("\n".join(faults) if faults else f"configuration: {len(documented)} keys, ok")
sys.exit(bool(faults) or not documented)
PY
