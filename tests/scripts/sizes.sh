#!/usr/bin/env bash
# tools/check_size.py finds planted classes, functions, files and lines that are too long, and nothing else.
set -euo pipefail
cd "$(dirname "$0")/../.."
PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 tests/scripts/sizes.py
