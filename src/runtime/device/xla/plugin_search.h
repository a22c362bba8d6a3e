#pragma once
// Names of accelerators, and where their plugins and libraries lie.

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/pjrt/compile_options.h"

namespace partita {

/// An accelerator: its name, that of its platform, where its plugin lies in a folder of Python packages, and what pip
/// has to install.
struct Vendor {
  std::string_view name, platform;
  std::vector<std::string> libraries;
  std::string_view package;
};

const std::vector<Vendor>& vendors();
/// Names of accelerators: "xla:cpu" and those of vendors, such as "cuda".
std::vector<std::string> accelerator_names();
/// Returns the vendor of "NAME" or "NAME:INDEX", and the index, -1 if there is none. Throws InvalidArgument for others.
std::pair<const Vendor*, int> parse_accelerator(std::string_view name);
/// Checks a name. Throws InvalidArgument unless it is that of an accelerator, or "NAME:INDEX".
void require_accelerator(std::string_view name);
/// Returns the name of a device without its index: "cuda" of "cuda:1". Throws InvalidArgument for other names.
std::string_view device_kind(std::string_view name);

/// Makes these folders of Python packages the first that are searched, such as those of the interpreter that runs.
void search_packages_in(std::vector<std::string> folders);
/// Returns the shared library of the plugin for an accelerator: that which PARTITA_PJRT_PLUGIN names, or the one in a
/// folder of Python packages. Throws RuntimeFailure(usage) if there is none, with the command that installs it.
std::string find_plugin(std::string_view name);

/// Silences the plugin for CPUs, unless the user has chosen what it logs: sets TF_CPP_MIN_LOG_LEVEL, which it reads
/// when it logs for the first time. For each kept program that it loads it logs as errors that hints of its compiler,
/// such as "prefer-no-gather", are no features of the processor. Real errors are returned as well. Does nothing for
/// other devices, or if the variable is set. It is called before the plugin is loaded, while no other thread reads the
/// environment. A program with threads that may do so sets the variable itself before it starts them.
void silence_plugin(std::string_view device);

/// Returns the libraries of NVIDIA's Python packages next to a plugin, those that others need first.
std::vector<std::string> nvidia_libraries(const std::string& plugin);
/// Opens `nvidia_libraries` for all libraries of the process, so that the plugin finds them without LD_LIBRARY_PATH.
/// Skips one that cannot be opened: the plugin reports what it lacks.
void load_libraries(const std::string& plugin);
/// Returns the folder that has bin/ptxas, of NVIDIA's Python packages next to a plugin, or of a CUDA toolkit whose
/// ptxas is in PATH; "" if there is none.
std::string cuda_data_folder(const std::string& plugin);

/// A flag of XLA that decides numbers, with the value that Partita gives it.
struct NumberFlag {
  std::string_view device;  // "" for all of them
  std::string_view name;
  bool value;
  std::string_view effect;  // property that holds with this value
};
/// Returns all flags that Partita sets for the sake of numbers. `tests/soak/number_flags.sh` tries the others.
const std::vector<NumberFlag>& number_flags();

/// Returns the flags that every compilation for an accelerator needs, but those that XLA_FLAGS names. They are those of
/// `number_flags`, without flags of one device that the plugin does not know. For "cuda" they are also the folder of
/// ptxas and libdevice, if it is found, and a limit for products that XLA makes one, since slices of a large result are
/// copies.
std::map<std::string, pjrt::Flag> compile_flags(std::string_view name, const std::string& plugin);

/// Returns the one command that installs what a device lacks: the plugin, a driver, or libraries of the plugin's
/// version. `root` is prepended to paths under /proc, for tests.
std::string device_remedy(std::string_view name, const std::string& root = "");

}  // namespace partita
