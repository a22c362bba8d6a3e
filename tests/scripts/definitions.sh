#!/usr/bin/env bash
# tools/check_definitions.py finds names that two planted files define, and nothing else.
set -euo pipefail
cd "$(dirname "$0")/../.."
PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 tests/scripts/definitions.py
