#!/usr/bin/env bash
# Compares chat templates with the library transformers, and ids of conversations with SentencePiece, where Python has
# these packages. PARTITA_TOKENIZERS_PYTHON names a Python that has them.
set -euo pipefail
cd "$(dirname "$0")/../.."
python=${PARTITA_TOKENIZERS_PYTHON:-python3}
kinds=()
"$python" -c 'import jinja2, transformers' 2>/dev/null && kinds+=(texts)
if "$python" -c 'import jinja2, sentencepiece' 2>/dev/null && [[ -e build/release/libpartita_sentencepiece.so ]]; then
  kinds+=(ids)
fi
if [[ ${#kinds[@]} -eq 0 ]]; then
  echo "no packages transformers or sentencepiece for Python"
  exit 77  # skipped
fi
# The command runs templates by the python3 in PATH.
PATH=$(dirname "$(command -v "$python")"):$PATH "$python" tests/scripts/compare_chats.py build/release/partita "${kinds[@]}"
