#!/usr/bin/env bash
# Tests that cannot run here end with 77: test.sh counts them apart and prints their reasons. Without PyTorch its
# comparison is one of them, and tools/install.sh says which packages of the tests a distribution lacks.
set -euo pipefail
cd "$(dirname "$0")/../.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() {
  echo "skipped: $*" >&2
  exit 1
}
counted=$(bash -c 'source tools/test_pool.sh
  check good true; check bad false; check absent bash -c "echo no such thing; exit 77"
  finish_tests; echo "counts $passed $failed $skipped"')
grep -qx 'counts 1 1 1' <<<"$counted" || fail "got $counted"
grep -qx 'skipped: absent: no such thing' <<<"$counted" || fail "no reason, got $counted"

echo 'raise ImportError("hidden")' >"$folder/torch.py"
code=0
printed=$(PYTHONPATH=$folder bash tests/scripts/torch_compare.sh) || code=$?
[[ $code -eq 77 && $printed == "no PyTorch for /usr/bin/python3"*"ImportError: hidden" ]] || fail "got $code, $printed"

# A distribution without python3-torch, then one without oneDNN, whose other packages are to be installed.
cat >"$folder/dpkg-query" <<'END'
#!/usr/bin/env bash
[[ " $LACKS " != *" ${!#} "* && ${!#} != procps ]] && printf 'install ok installed'
END
cat >"$folder/apt-cache" <<'END'
#!/usr/bin/env bash
for package in "${@:2}"; do
  candidate=1.0
  [[ " $LACKS " == *" $package "* ]] && candidate='(none)'
  printf '%s:\n  Installed: (none)\n  Candidate: %s\n  Version table:\n' "$package" "$candidate"
done
END
cat >"$folder/apt-get" <<'END'
#!/usr/bin/env bash
echo "$*" >>"$(dirname "$0")/calls"
END
cp "$folder/apt-get" "$folder/sudo"
chmod +x "$folder"/{dpkg-query,apt-cache,apt-get,sudo}
printed=$(PATH=$folder:$PATH LACKS=python3-torch tools/install.sh test)
[[ $printed == *"no package python3-torch, so tests that need it are skipped" ]] || fail "got $printed"
grep -q 'install .*procps' "$folder/calls" || fail "procps is not installed, got $(cat "$folder/calls")"
! grep -q 'install .*torch' "$folder/calls" || fail "python3-torch is asked for"
code=0
PATH=$folder:$PATH LACKS=libdnnl-dev tools/install.sh build 2>"$folder/errors" || code=$?
[[ $code -eq 69 ]] || fail "a missing package of the build ends with $code"
grep -q 'no package libdnnl-dev' "$folder/errors" || fail "got $(cat "$folder/errors")"
code=0
tools/install.sh tests 2>/dev/null || code=$?
[[ $code -eq 64 ]] || fail "an unknown word ends with $code"
echo "skipped: passed"
