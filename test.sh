#!/usr/bin/env bash
# Installs, builds and runs every test; ends with "N passed, N failed".
set -uo pipefail
cd "$(dirname "$0")"
tools/install.sh test || exit 1
cmake --preset release -DPARTITA_TESTS=ON -DPARTITA_BENCH=ON >/dev/null || exit 1
cmake --build --preset release || exit 1

# Real data beside the checkout are used when they are there; generated ones otherwise.
[[ -d ../shared/data ]] && export PARTITA_DATA="$(cd ../shared/data && pwd)"

passed=0
failed=0
# check NAME COMMAND...: one test that is a program
check() {
  local name=$1
  shift
  if "$@" >"/tmp/partita_test.$$" 2>&1; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "FAILED: $name"
    tail -n 30 "/tmp/partita_test.$$"
  fi
  rm -f "/tmp/partita_test.$$"
}

check layers tools/check_layers.py
check sizes tools/check_size.py

report=build/release/junit.xml
ctest --test-dir build/release --output-on-failure --output-junit junit.xml -j2 || true
read -r run bad < <(/usr/bin/python3 - "$report" <<'PY'
import sys
import xml.etree.ElementTree as tree
suite = tree.parse(sys.argv[1]).getroot()
total, failures = int(suite.get("tests")), int(suite.get("failures"))
skipped = int(suite.get("skipped", 0)) + int(suite.get("disabled", 0))
print(total - failures - skipped, failures)
PY
)
passed=$((passed + ${run:-0}))
failed=$((failed + ${bad:-1}))
for script in tests/scripts/*.sh; do
  [[ -e $script ]] && check "$(basename "$script")" bash "$script"
done
echo "$passed passed, $failed failed"
[[ $failed -eq 0 && $passed -gt 0 ]]
