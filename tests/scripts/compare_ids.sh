#!/usr/bin/env bash
# Compares `partita tokenize` with Hugging Face's tokenizers and with SentencePiece, where Python has these packages.
# PARTITA_TOKENIZERS_PYTHON names a Python that has them.
set -euo pipefail
cd "$(dirname "$0")/../.."
python=${PARTITA_TOKENIZERS_PYTHON:-python3}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
text=${PARTITA_DATA:-../shared/data}/tinyshakespeare/input.txt
if [[ ! -e $text ]]; then
  text=$folder/text.txt
  cat docs/guide/*.md docs/decisions/*.md >"$text"
fi
kinds=()
"$python" -c 'import tokenizers' 2>/dev/null && kinds+=(hf)
if "$python" -c 'import sentencepiece' 2>/dev/null && [[ -e build/release/libpartita_sentencepiece.so ]]; then
  kinds+=(spm)
fi
if [[ ${#kinds[@]} -eq 0 ]]; then
  echo "no packages tokenizers or sentencepiece for Python"
  exit 77  # skipped
fi
"$python" tests/scripts/compare_ids.py build/release/partita "$text" "${kinds[@]}"
