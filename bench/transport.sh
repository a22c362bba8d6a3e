#!/usr/bin/env bash
# Collectives over one link between two hosts, which are network namespaces: Partita's ranks by sockets against the MPI
# that is installed, and Partita by that MPI. As root. RUNS of each call, default 20; CALLS, default all_reduce, of
# all_reduce, reduce_scatter, all_gather and broadcast; LARGEST in MiB, default 64.
#   [RUNS=N] [CALLS="CALL..."] [LARGEST=N] bench/transport.sh [RANKS_PER_HOST...], default 1 and 2
set -uo pipefail
cd "$(dirname "$0")/.."
folder=$(mktemp -d)
source tests/support/two_namespaces.sh
source tests/support/containers.sh
trap 'remove_namespaces; rm -rf "$folder"' EXIT
export OMP_NUM_THREADS=1
partita=$PWD/build/release/partita own=$PWD/build/release/bench/bench_process_collectives mpi=$PWD/build/release/bench/bench_mpi_collectives
two_namespaces
export OMPI_MCA_plm_rsh_agent=$folder/rsh OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,vader,tcp
export OMPI_MCA_btl_tcp_if_include=10.77.0.0/24 OMPI_MCA_oob_tcp_if_include=10.77.0.0/24

shape() {
  local end
  for end in near far; do
    ip netns exec "partita-$end-$$" tc qdisc del dev "$end-$$" root 2>/dev/null
    [[ $1 == unshaped ]] || ip netns exec "partita-$end-$$" tc qdisc add dev "$end-$$" root tbf rate "$1" burst 256kb latency 50ms
  done
}
# Half the time of a message there and back again: an all-reduce of two ranks sends as much in each direction.
ucx_messages() {
  local size server
  for size in 1048576 4194304 16777216 67108864; do
    UCX_TLS=tcp UCX_NET_DEVICES="far-$$" ip netns exec "$far" ucx_perftest -p 13399 >/dev/null 2>&1 &
    server=$!
    sleep 0.5
    UCX_TLS=tcp UCX_NET_DEVICES="near-$$" ip netns exec "$near" ucx_perftest 10.77.0.2 -p 13399 -t tag_lat -s $size -n "$runs" -w 2 -f 2>/dev/null |
      awk -v size=$size '$1 ~ /^[0-9]+$/ && NF >= 4 { print size, $2 / 1e6 }' | tail -n 1
    wait "$server"
  done
}
on_near() { ip netns exec "$near" unshare --uts sh -c 'hostname "$0"; exec "$@"' "$near" "$@"; }

largest=${LARGEST:-64}
for each in ${*:-1 2}; do for link in unshaped 1gbit; do for call in ${CALLS:-all_reduce}; do
  shape $link
  rm -f "$folder"/ucx.*
  runs=${RUNS:-20}
  for round in 1 2 3; do
    on_near mpirun -H "10.77.0.1:$each,10.77.0.2:$each" -n $((2 * each)) "$mpi" $largest $runs $call >"$folder/mpi.$round"
    "$partita" launch --ssh "$folder/rsh" --hosts "10.77.0.1:$each,10.77.0.2:$each" -- "$own" $largest $runs $call >"$folder/own.$round"
    on_near mpirun -H "10.77.0.1:$each,10.77.0.2:$each" -n $((2 * each)) "$own" $largest $runs $call >"$folder/both.$round"
    if [[ $each -eq 1 && $call == all_reduce ]] && command -v ucx_perftest >/dev/null; then ucx_messages >"$folder/ucx.$round"; fi
  done
  echo "$call, 2 x $each ranks, link $link: milliseconds, medians of 3 runs of the median of $runs calls"
  /usr/bin/python3 - "$folder" <<'PY'
import pathlib, statistics, sys
def medians(kind):
    rows = {}
    for file in pathlib.Path(sys.argv[1]).glob(kind + ".*"):
        for line in file.read_text().splitlines():
            size, seconds = line.split()
            rows.setdefault(int(size), []).append(float(seconds))
    return {size: statistics.median(times) for size, times in rows.items()}
mpi, own, both, ucx = medians("mpi"), medians("own"), medians("both"), medians("ucx")
print(f"{'MiB':>6} {'Open MPI':>10} {'sockets':>10} {'ratio':>6} {'by MPI':>10} {'UCX message':>12}")
for size in sorted(mpi):
    print(f"{size >> 20:>6} {mpi[size] * 1e3:>10.2f} {own.get(size, 0) * 1e3:>10.2f} {own.get(size, 0) / mpi[size]:>6.2f} {both.get(size, 0) * 1e3:>10.2f} {ucx.get(size, 0) * 1e3:>12.2f}")
PY
done; done; done
