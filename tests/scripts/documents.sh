#!/usr/bin/env bash
# The commands in the pages of documentation print what the pages show.
set -euo pipefail
cd "$(dirname "$0")/../.."
source tests/support/containers.sh
mapfile -t pages < <(grep -lE '^\$ ' README.md $(find docs -name '*.md' | sort))
/usr/bin/python3 tests/scripts/documents.py build/release/partita "${pages[@]}"
