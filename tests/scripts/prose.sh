#!/usr/bin/env bash
# tools/check_prose.py finds planted words, openings, identifiers, sentences and subjects, and leaves right ones alone.
set -euo pipefail
cd "$(dirname "$0")/../.."
PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 tests/scripts/prose.py
