#pragma once
// A device of a PJRT plugin, and the programs that were compiled for the plugin's devices.

#include <memory>
#include <string>
#include <string_view>

#include "runtime/device/xla/client_options.h"
#include "runtime/device/xla/program_cache.h"
#include "runtime/pjrt/plugin.h"

namespace partita {

/// One device of a client that all ranks of the process share. Copies share it. Threads may use it at the same time.
class Accelerator {
 public:
  /// Takes device `index` of the plugin for `name`, modulo their number, or the one that "NAME:INDEX" names. Loads the
  /// plugin for the first device of a process. Throws RuntimeFailure(usage) if there is no plugin, device or driver, if
  /// the plugin serves other devices, lacks a flag that is asked for, or another index is named,
  /// RuntimeFailure(out_of_memory) without memory. In whole mode xla:cpu has kCpuDevices, all of which are the
  /// processor, else one. Each of several processes has one device, which the name or its place says, and ids are those
  /// of the devices of all processes. The first call is then a collective call of them. Programs are taken from the
  /// folder `program_folder` and kept there; `warn` says if that cannot be done.
  static Accelerator open(std::string_view name, int index, const OpenOptions& options = {});
  /// Takes device `device` of a client, which only copies of the result share. Without a cache programs are compiled.
  static Accelerator of(pjrt::Client client, size_t device, std::shared_ptr<ProgramCache> cache = nullptr,
                        Warn warn = nullptr);

  const pjrt::Client& client() const;
  /// Returns the version of the PJRT interface that the plugin has, such as "0.106".
  std::string version() const;
  size_t device() const { return device_; }
  /// Returns the program of a module, for any device of the client or for one replica on each of the devices with the
  /// ids `replicas`. Equal texts are compiled once in a process while one of their programs is in use. Throws
  /// RuntimeFailure(out_of_memory), or InternalError with the plugin's message.
  std::shared_ptr<const pjrt::Executable> compile(const std::string& text,
                                                  const std::vector<int64_t>& replicas = {}) const;
  /// Returns a program that another process of the client compiled (`Executable::serialized`). Throws as `compile`
  /// does.
  std::shared_ptr<const pjrt::Executable> load(std::string_view serialized) const;
  /// Returns a number for a run of a program with collectives, larger than any that this process has had.
  pjrt::RunId next_run() const;
  /// Declares that the process has had a number, which another one gave.
  void pass_run(pjrt::RunId run) const;

 private:
  struct Shared;
  static std::shared_ptr<Shared> make_shared(const Vendor& vendor, int named, const OpenOptions& options);
  Accelerator(std::shared_ptr<Shared> shared, size_t device, Warn warn)
      : shared_(std::move(shared)), device_(device), warn_(std::move(warn)) {}

  std::shared_ptr<const pjrt::Executable> hold(pjrt::Executable program) const;

  std::shared_ptr<Shared> shared_;  // lives until the process ends if `open` made it
  size_t device_;
  Warn warn_;
};

}  // namespace partita
