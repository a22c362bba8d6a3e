#pragma once
// How many cores this process may use. Nothing else asks the system (tools/check_calls.py).

#include <optional>
#include <string>

namespace partita {

/// Cores that this process and the ranks of its host may use. They depend on what is allowed, never on how busy the
/// machine is: the number of threads may change the last bits of results.
struct UsableCores {
  int machine = 1;              // cores of the machine that are online
  int affinity = 1;             // cores on which this process may run
  int launcher = 1;             // cores on which the ranks of this host may run together
  std::optional<double> quota;  // time that control groups allow, in cores; nullopt: unlimited
  std::string quota_file = "";  // file that states the quota

  /// Number of cores of this process: those of its mask, at most the quota rounded up; at least 1.
  int own() const;
  /// Number of cores that the ranks of this host have together; `own` if no launcher started this process.
  int shared() const;
};

/// Returns the cores of this process. Its mask is that of the calling thread, or where OpenMP binds threads to places
/// (OMP_PROC_BIND) that which the process had before. `launcher` is the mask of the process that started the ranks of
/// this host: a launcher may bind each rank to cores of its own. It is the nearest ancestor in whose environment a
/// variable that launchers give each rank is missing or another one; if there is none, it is `affinity`. The quota is
/// the smallest one of the control groups of versions 1 and 2, from the group of this process up. Facts that cannot be
/// read are left out. `root` is prepended to paths under /proc and /sys, for tests.
UsableCores usable_cores(const std::string& root = "");

/// Lets the calling thread, and the programs that it starts, run on all cores again if OpenMP has bound it to a place
/// (OMP_PROC_BIND), which it does before the program begins. Does nothing otherwise.
void leave_place();

}  // namespace partita
