# Sourced by scripts that need two hosts: two network namespaces, $near at 10.77.0.1 and $far at 10.77.0.2, joined by
# one link. Each knows the other as near-host or far-host, and itself, as Debian has it, as 127.0.1.1 under that name. $folder is a folder of the script; $folder/rsh takes a host and a command, as ssh does. Without the rights
# to make them the script ends: skipped.
near=partita-near-$$
far=partita-far-$$
two_namespaces() {
  if ! ip netns add "$near" 2>/dev/null; then
    echo "no network namespaces here: skipped"
    exit 0
  fi
  ip netns add "$far"
  ip link add "near-$$" netns "$near" type veth peer name "far-$$" netns "$far"
  ip -n "$near" addr add 10.77.0.1/24 dev "near-$$"
  ip -n "$far" addr add 10.77.0.2/24 dev "far-$$"
  local host
  for host in "$near" "$far"; do
    ip -n "$host" link set lo up
    ip -n "$host" link set "${host/partita-/}" up
  done
  mkdir -p "/etc/netns/$near" "/etc/netns/$far"
  printf '127.0.0.1 localhost\n127.0.1.1 near-host\n10.77.0.2 far-host\n' >"/etc/netns/$near/hosts"
  printf '127.0.0.1 localhost\n10.77.0.1 near-host\n127.0.1.1 far-host\n' >"/etc/netns/$far/hosts"
  cat >"$folder/rsh" <<RSH
#!/bin/sh
case \$1 in
  10.77.0.1 | near-host) space=$near ;;
  10.77.0.2 | far-host) space=$far ;;
  *) exit 255 ;;
esac
shift
exec ip netns exec \$space unshare --uts sh -c "hostname \$space; \$*"
RSH
  chmod +x "$folder/rsh"
}
cut_link() { ip -n "$near" link set "near-$$" down; }
mend_link() { ip -n "$near" link set "near-$$" up; }
# To be called at the end: nothing stays.
remove_namespaces() {
  ip netns del "$near" 2>/dev/null
  ip netns del "$far" 2>/dev/null
  rm -rf "/etc/netns/$near" "/etc/netns/$far"
}
