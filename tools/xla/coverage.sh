#!/usr/bin/env bash
# Counts which lines of the accelerator back end run in tests without a GPU: on a fake plugin, and on one for CPUs.
#   tools/xla/coverage.sh [LINES]    LINES: also print the numbers of lines that never run
# Builds into FOLDER (build/coverage), prints the lines of each file, the share of each folder, and exits with 1 if a test
# fails or if fewer than 90 % of the lines of a folder run. BUILD=no counts again what earlier runs left. Lines of a process
# that forks and ends by _exit, such as one that tries a plugin, are not counted.
set -euo pipefail
cd "$(dirname "$0")/../.."
folders=(runtime/pjrt compiler/emit runtime/execute/xla runtime/device/xla)
build=${FOLDER:-build/coverage}
faults=0

if [[ ${BUILD:-yes} != no ]]; then
  PARTITA_PJRT_PLUGIN=$(tools/xla/get_plugin.sh)
  export PARTITA_PJRT_PLUGIN PARTITA_CACHE=off OMP_NUM_THREADS=1 TF_CPP_MIN_LOG_LEVEL=3
  # shellcheck disable=SC2086
  cmake --preset release -B $build -DPARTITA_BENCH=OFF -DPARTITA_COVERAGE="$(IFS=';' && echo "${folders[*]}")" \
    ${CMAKE_FLAGS:-} >/dev/null
  ninja -C $build partita unit_tests dist_tests errors_tests commands_tests laws_tests
  find $build -name '*.gcda' -delete
  names='*Accelerat*:*Compil*:*Emission*:*ElementType*:*Gang*:*OptimizedProgram*:*Plugin*:*Probe*:*Program*:*Recompute*'
  names+=':*OwnDevice*:*Segments*:*StepRows*:*Target*:*Whole*:*Xla*'
  for tests in unit dist errors commands; do
    echo "$tests tests"
    $build/tests/${tests}_tests --gtest_brief=1 --gtest_filter="$names" || faults=1
  done
  $build/tests/laws_tests --gtest_brief=1 --gtest_filter='Emission*' || faults=1
fi

python3 - $build "${1:-}" "${folders[@]}" <<'END' || faults=1
import collections, json, pathlib, subprocess, sys

build, shows_lines, folders = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2] == "LINES", sys.argv[3:]
root = pathlib.Path.cwd()
runs = collections.defaultdict(collections.Counter)  # by file: runs of each line
for notes in sorted((build / "src").rglob("*.gcno")):
    text = subprocess.run(["gcov", "--json-format", "--stdout", notes], capture_output=True, check=True, cwd=build).stdout
    for part in text.splitlines():
        for file in json.loads(part)["files"]:
            path = file["file"].removeprefix(f"{root}/")
            for line in file["lines"]:
                runs[path][line["line_number"]] += line["count"]
is_low = False
for folder in folders:
    ran = total = 0
    for path in sorted(path for path in runs if path.startswith(f"src/{folder}/")):
        lines = runs[path]
        missing = sorted(number for number, count in lines.items() if count == 0)
        ran += len(lines) - len(missing)
        total += len(lines)
        print(f"{len(lines) - len(missing):5} of {len(lines):5}  {path}")
        if shows_lines and missing:
            print("      never run:", *missing)
    is_low = is_low or not total or ran < 0.9 * total
    print(f"{ran:5} of {total:5}  src/{folder}: {100 * ran / max(total, 1):.1f} %")
sys.exit(is_low)
END
exit $faults
