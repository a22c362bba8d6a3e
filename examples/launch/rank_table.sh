#!/usr/bin/env bash
# One process for each device of a rank table, started by hand: rank_table.sh TABLE SCRIPT [ARGUMENTS]
#
# TABLE has one server, this host: the file that rank_table.py prints, or one that a cluster has already. A rank prints
# into rank_N.log. `partita launch --rank-table TABLE` starts the ranks of several servers.
set -euo pipefail
table=$(realpath "$1")
shift
mapfile -t ranks < <(grep -oE '"rank_id": *"[0-9]+"' "$table" | grep -oE '[0-9]+')
pids=()
for rank in "${ranks[@]}"; do
  RANK_TABLE_FILE=$table RANK_ID=$rank RANK_SIZE=${#ranks[@]} "${PYTHON:-python3}" "$@" >"rank_$rank.log" 2>&1 &
  pids+=($!)
done
code=0
for i in "${!pids[@]}"; do
  wait "${pids[i]}" || { code=$? && echo "rank ${ranks[i]} failed with exit code $code, see rank_${ranks[i]}.log" >&2; }
done
exit "$code"
