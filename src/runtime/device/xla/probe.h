#pragma once
// Tries plugins without trusting them.

#include <string>
#include <vector>

namespace partita {

/// Result of a try to open the devices of one kind.
struct PluginReport {
  std::string device;   // name of the accelerator, such as "cuda"
  std::string path;     // the plugin; "" if none was found
  std::string version;  // version of the PJRT interface; "" if the plugin could not be used
  int devices = 0;
  std::string kind;     // the vendor's name of the first device
  std::string missing;  // why it cannot be used; "" if it can
  std::string remedy;   // the command that installs what is missing; "" if nothing is
};

/// Tries to open the devices of each kind, each in a process of its own, so that a plugin that crashes or does not
/// return within `seconds` is a report as others. To be called while the process has one thread.
std::vector<PluginReport> probe_plugins(int seconds = 30);

}  // namespace partita
