#!/usr/bin/env bash
# What comes with the package: its version, its scripts for containers, clusters and shells, the command for Python.
set -euo pipefail
cd "$(dirname "$0")/../.."
program=build/release/partita
fail() {
  echo "package: $*" >&2
  exit 1
}

# One version, wherever it is asked for.
version=$(sed -nE 's/^project\(partita VERSION ([0-9.]+).*/\1/p' CMakeLists.txt)
[[ $("$program" --version) == "partita $version" ]] || fail "--version is not $version"
grep -qF "## [$version]" CHANGELOG.md || fail "CHANGELOG.md has no section of $version"
! grep -nE '^version *= *"[0-9]' pyproject.toml || fail "pyproject.toml has a version of its own"
if [[ -d build/release/python ]]; then
  got=$(PYTHONPATH=build/release/python /usr/bin/python3 -c 'import partita; print(partita.__version__)')
  [[ $got == "$version" ]] || fail "partita.__version__ is $got, not $version"
  got=$(PYTHONPATH=build/release/python /usr/bin/python3 -m partita --version)
  [[ $got == "partita $version" ]] || fail "python -m partita prints $got"
fi

# The licence.
grep -q 'Apache License' LICENSE || fail "no licence"
for file in pyproject.toml CMakeLists.txt README.md; do
  grep -q 'Apache-2.0' "$file" || fail "$file does not name the licence"
done

# The scripts can be read by bash, and are clean where shellcheck is installed.
scripts=(.ci/run run.sh test.sh tools/*.sh tests/scripts/package.sh examples/slurm.sbatch)
for script in "${scripts[@]}"; do bash -n "$script"; done
if command -v shellcheck >/dev/null; then shellcheck --shell=bash --severity=error "${scripts[@]}"; fi
# Every flag of the training in the sbatch script is one of the program.
help=$("$program" train --help)
while read -r flag; do
  grep -qE -- "--(\[no-\])?${flag#--}( |$)" <<<"$help" || fail "slurm.sbatch: no flag $flag"
done < <(sed -n '/partita train/,/code=/p' examples/slurm.sbatch | sed 's/.*partita train//' | grep -oE -- '--[a-z-]+')

# The first stage of the Dockerfile installs what tools/install.sh installs for Python.
installed() { tr ' \\' '\n\n' | grep -E '^(lib)?[a-z0-9+.-]+$' | sort; }
expected=$(sed -n '/^packages=(/,/)/p;/^python=(/p' tools/install.sh | tr -d '()' | sed -E 's/^(packages|python)=//' |
  cat - <(echo python3-venv) | installed)
got=$(sed -n '/AS build/,/^COPY/p' Dockerfile | grep -E '^    [a-z]' | installed)
[[ $got == "$expected" ]] || fail "packages of Dockerfile and tools/install.sh differ: $(diff <(echo "$expected") <(echo "$got"))"

# Completion in bash.
words() {
  bash -c "source <('$PWD/$program' completion bash); COMP_WORDS=(partita $1 \"\$2\"); COMP_CWORD=\$((\${#COMP_WORDS[@]} - 1))
    _partita; printf '%s\n' \"\${COMPREPLY[@]}\"" bash "$1" "$2"
}
[[ $(words "" tra) == train ]] || fail "completion of tra"
[[ $(words train --parall) == --parallel ]] || fail "completion of --parall"
[[ $(words "train --parallel" se) == semi ]] || fail "completion of --parallel se"
[[ $(words train lene) == lenet ]] || fail "completion of lene"
[[ $(words "checkpoint merge" --ou) == --out ]] || fail "completion of checkpoint merge --ou"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for shell in bash zsh fish; do
  "$program" completion "$shell" >"$folder/$shell"
  if command -v "$shell" >/dev/null; then "$shell" -n "$folder/$shell"; fi
done

# What the machine has. Nothing is broken here, or no other test could pass.
"$program" doctor >/dev/null || fail "doctor finds something broken: $("$program" doctor)"
"$program" doctor --json | /usr/bin/python3 -c '
import json, sys
facts = json.load(sys.stdin)
assert facts["usable_cores"] > 0 and facts["onednn"]["isa"] and not any(f["broken"] for f in facts["findings"]), facts'
code=0
OMPI_COMM_WORLD_RANK=7 OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_LOCAL_RANK=0 "$program" doctor >/dev/null || code=$?
[[ $code -eq 1 ]] || fail "doctor ends with $code where the launcher's variables make no sense"
echo "package: passed"
