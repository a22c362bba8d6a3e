#!/usr/bin/env bash
# tools/check_calls.py finds planted calls that depend on the locale or count cores, and nothing else.
set -euo pipefail
cd "$(dirname "$0")/../.."
PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 tests/scripts/calls.py
