#!/usr/bin/env bash
# Run by hand: readers of checkpoints get random changes of what they read, under the address and undefined behaviour
# sanitizers: by tests/fuzz/driver.cpp or, with PARTITA_LIBFUZZER=clang++ (one that knows _Float16), by libFuzzer. No crash,
# no input that takes a second, no allocation above 64 MiB.
#   tests/soak/fuzz.sh [SECONDS OF EACH=600] [TARGET...]
set -euo pipefail
cd "$(dirname "$0")/../.."
seconds=${1:-600}
shift || true
targets=("$@")
[[ ${#targets[@]} -gt 0 ]] || targets=(manifest safetensors)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
sources=(src/checkpoint/{manifest,shard_file,tiles,checksum,files,safetensors_header}.cpp src/base/{error,shape,dtype,resources}.cpp
  src/sharding/rule.cpp src/graph/graph.cpp)
flags=(-std=c++20 -O1 -fsanitize=address,undefined -fno-sanitize-recover=all -Isrc -Itests -DFMT_HEADER_ONLY -w)
for target in "${targets[@]}"; do
  c++ "${flags[@]}" "tests/fuzz/$target.cpp" tests/fuzz/driver.cpp "${sources[@]}" -o "$folder/$target" &
done
wait
for target in "${targets[@]}"; do
  if [[ -n ${PARTITA_LIBFUZZER:-} ]]; then
    "$PARTITA_LIBFUZZER" "${flags[@]}" -fsanitize=fuzzer "tests/fuzz/$target.cpp" "${sources[@]}" -o "$folder/lib_$target"
    mkdir -p "$folder/corpus_$target"
    "$folder/$target" --seeds "$folder/corpus_$target"
    (cd "$folder" && "./lib_$target" -max_total_time="$seconds" -timeout=1 -malloc_limit_mb=64 -rss_limit_mb=1024 \
      -max_len=20000 "corpus_$target" 2>&1 | tail -n 3)
  else
    (cd "$folder" && ASAN_OPTIONS=max_allocation_size_mb=64:allocator_may_return_null=0 "./$target" "$seconds")
  fi
  echo "$target: no finding"
done
