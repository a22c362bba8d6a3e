#!/usr/bin/env bash
# Ranks on two hosts, which are network namespaces of this one: groups within a host share memory, groups across hosts
# send messages, and the numbers are those of threads.
set -uo pipefail
partita=$PWD/build/release/partita
tests=$PWD/build/release/tests/dist_tests
folder=$(mktemp -d)
near=partita-near-$$ far=partita-far-$$
remove() {
  ip netns del "$near" 2>/dev/null
  ip netns del "$far" 2>/dev/null
  rm -rf "$folder"
}
trap remove EXIT
fail() {
  echo "FAILED: $*"
  exit 1
}

if ! ip netns add "$near" 2>"$folder/why"; then
  echo "no network namespaces here: $(cat "$folder/why")"
  exit 77
fi
ip netns add "$far" && ip link add near netns "$near" type veth peer name far netns "$far" || fail "no link"
ip -n "$near" addr add 10.77.0.1/24 dev near && ip -n "$far" addr add 10.77.0.2/24 dev far || fail "no addresses"
for end in "$near near" "$far far"; do
  read -r space device <<<"$end"
  ip -n "$space" link set lo up && ip -n "$space" link set "$device" up || fail "no link in $space"
done
# What the launcher uses in place of ssh.
cat >"$folder/rsh" <<AGENT
#!/bin/sh
host=\$1
shift
case \$host in *.1) space=$near ;; *) space=$far ;; esac
exec ip netns exec \$space unshare --uts /bin/sh -c "hostname \$space; \$*"
AGENT
chmod +x "$folder/rsh"

source tests/support/containers.sh
export OMPI_MCA_plm_rsh_agent="$folder/rsh" OMP_NUM_THREADS=1
export OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,tcp OMPI_MCA_btl_tcp_if_include=10.77.0.0/24
export OMPI_MCA_oob_tcp_if_include=10.77.0.0/24
on_both() {
  local each=$1
  shift
  # Each host has a name of its own, by which MPI tells who is near.
  ip netns exec "$near" unshare --uts sh -c 'hostname "$0"; exec "$@"' "$near" \
    timeout -k 3 "${limit:-240}" mpirun -H "10.77.0.1:$each,10.77.0.2:$each" -n $((2 * each)) "$@"
}
losses() { grep -o 'epoch: .*' "$1" | grep -v time; }

# Who is where: two local ranks on each host.
on_both 2 sh -c 'echo "$OMPI_COMM_WORLD_LOCAL_RANK of $OMPI_COMM_WORLD_LOCAL_SIZE"' >"$folder/places" 2>&1 ||
  fail "mpirun on two hosts: $(tail -n 5 "$folder/places")"
[[ $(grep -c "of 2" "$folder/places") -eq 4 ]] || fail "another placement: $(cat "$folder/places")"

"$partita" train quickstart --ranks 8 >"$folder/threads" 2>/dev/null || fail "quickstart on threads"
on_both 4 "$partita" train quickstart >"$folder/hosts" 2>&1 || fail "quickstart: $(tail -n 5 "$folder/hosts")"
[[ $(losses "$folder/hosts" | wc -l) -eq 20 ]] || fail "another number of lines than one rank prints"
diff <(losses "$folder/threads") <(losses "$folder/hosts") || fail "hosts and threads differ"

on_both 2 "$tests" --gtest_brief=1 --gtest_filter='RandomPlans.Mlp:RandomPlans.ReshardsMoveBits:Ranks.*' \
  >"$folder/tests" 2>&1 || fail "dist_tests: $(tail -n 20 "$folder/tests")"
[[ $(grep -c 'PASSED' "$folder/tests") -eq 4 ]] || fail "not every rank passed: $(tail -n 20 "$folder/tests")"
# Without shared memory ranks that part at the end of a job learn so by the size of a message.
ip netns exec "$near" unshare --uts sh -c 'hostname "$0"; exec "$@"' "$near" timeout -k 3 60 \
  mpirun -H 10.77.0.1:1 -n 1 "$partita" train mlp --steps 2 : -H 10.77.0.2:1 -n 1 "$partita" train mlp --steps 2 \
  --parallel hybrid >"$folder/parted" 2>&1
[[ $? -eq 78 ]] || fail "ranks that part: $(tail -n 5 "$folder/parted")"
grep -q 'ranks' "$folder/parted" || fail "ranks that part without a word: $(tail -n 5 "$folder/parted")"
# A rank that is killed is missed by the one on its host, also where groups span hosts.
# The daemon of MPI on the other host may not end by itself.
limit=20 on_both 2 --enable-recovery sh -c '"$1" train mlp --batch 64 --epochs 100000 --per-print-times 50 &
  echo $! >"$0/pid_$OMPI_COMM_WORLD_RANK"; wait $!; echo $? >"$0/code_$OMPI_COMM_WORLD_RANK"' "$folder" "$partita" \
  >"$folder/lost" 2>&1 &
job=$!
for _ in $(seq 300); do
  grep -q 'epoch: 1 step' "$folder/lost" && break
  sleep 0.1
done
# First all wait for it; the other host is stopped too, where MPI may end a process that sees a connection close.
kill -STOP "$(cat "$folder/pid_1")"
sleep 1
kill -STOP "$(cat "$folder/pid_2")" "$(cat "$folder/pid_3")"
kill -9 "$(cat "$folder/pid_1")"
# The launcher may end its shell before that has written the exit code.
for _ in $(seq 300); do
  grep -q "a rank was lost" "$folder/lost" && break
  sleep 0.1
done
sleep 1
[[ ! -s $folder/code_0 || $(cat "$folder/code_0") -eq 76 ]] ||
  fail "rank 0 ended with $(cat "$folder/code_0"), expected 76: $(tail -n 5 "$folder/lost")"
grep -q "a rank was lost.*: the process of rank 1 .*ended" "$folder/lost" ||
  fail "nobody says which rank was lost: $(tail -n 5 "$folder/lost")"
kill -9 "$(cat "$folder/pid_2")" "$(cat "$folder/pid_3")" 2>/dev/null  # no launcher tells the other host
wait "$job"
echo "ranks on two hosts: passed"
