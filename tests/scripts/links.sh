#!/usr/bin/env bash
# tests/scripts/links.py finds planted links that lead nowhere, and tools/site_pages.py leads links to the same files on
# the site.
set -euo pipefail
cd "$(dirname "$0")/../.."
PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 tests/scripts/links_planted.py
