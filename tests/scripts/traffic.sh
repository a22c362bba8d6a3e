#!/usr/bin/env bash
# tools/xla/traffic.py counts the bytes and the operations of kernels, and refuses other files.
set -euo pipefail
cd "$(dirname "$0")/../.."
PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 tests/scripts/traffic.py
