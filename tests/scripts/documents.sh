#!/usr/bin/env bash
# The pages of documentation: links lead somewhere, generated pages are current, figures are there and used, and commands
# print what the pages show.
set -euo pipefail
cd "$(dirname "$0")/../.."
source tests/support/containers.sh
mapfile -t all < <(find docs bench src -name '*.md' | sort)
/usr/bin/python3 tests/scripts/links.py README.md CONTRIBUTING.md CHANGELOG.md examples/README.md python/README.md "${all[@]}"
[[ $(wc -l <README.md) -le 100 ]] || { echo "README.md has more than 100 lines" >&2; exit 1; }
/usr/bin/python3 tools/figures/draw.py --check
tools/reference/all.sh --check
mapfile -t pages < <(grep -lE '^\$ ' README.md "${all[@]}")
/usr/bin/python3 tests/scripts/documents.py build/release/partita "${pages[@]}"
