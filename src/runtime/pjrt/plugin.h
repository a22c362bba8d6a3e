#pragma once
// A PJRT plugin: a shared library that compiles StableHLO and runs it on the devices of one vendor.

#include <map>
#include <memory>
#include <utility>

#include "runtime/pjrt/client.h"
#include "runtime/pjrt/key_value_store.h"

namespace partita::pjrt {

/// Options of a client or of a topology; each plugin knows some of them ("cpu_device_count", "visible_devices",
/// "memory_fraction").
using NamedOptions = std::map<std::string, std::variant<bool, int64_t, float, std::string, std::vector<int64_t>>>;

/// A program after all passes of the plugin's compiler.
struct Optimized {
  std::string format;  // "hlo", "hlo_with_config" or "mlir": how `bytes` are to be read
  std::string bytes;
};

/// A program that was compiled for a topology: no device is there to run it.
class Compiled {
 public:
  Compiled(std::shared_ptr<const Api> api, CompiledExecutable* compiled) : api_(std::move(api)), compiled_(compiled) {}
  Compiled(Compiled&& other) noexcept
      : api_(std::move(other.api_)), compiled_(std::exchange(other.compiled_, nullptr)) {}
  Compiled& operator=(Compiled&&) = delete;
  ~Compiled();

  MemoryUse memory() const { return memory_of(*api_, compiled_); }
  std::string serialized() const { return serialized_of(*api_, compiled_); }
  /// Returns the optimised program in a form that the plugin chooses.
  Optimized optimized() const;

 private:
  std::shared_ptr<const Api> api_;
  CompiledExecutable* compiled_;
};

/// Chips for which a plugin compiles without having them. Move only.
class Topology {
 public:
  Topology(std::shared_ptr<const Api> api, TopologyHandle* handle) : api_(std::move(api)), handle_(handle) {}
  Topology(Topology&& other) noexcept : api_(std::move(other.api_)), handle_(std::exchange(other.handle_, nullptr)) {}
  Topology& operator=(Topology&&) = delete;
  ~Topology();

  /// Name of the platform: "cuda", "tpu".
  std::string platform() const;
  /// Compiles a module of StableHLO. Throws RuntimeFailure(out_of_memory), or InternalError with the plugin's message.
  Compiled compile(std::string_view text, const CompileOptions& options) const;

 private:
  std::shared_ptr<const Api> api_;
  TopologyHandle* handle_;
};

/// A loaded plugin. It stays loaded until the process ends. Threads may use it at the same time.
class Plugin {
 public:
  /// Loads a shared library and initialises it, to be done once for each library in a process. Throws
  /// RuntimeFailure(usage) if there is none, if it is no plugin or of another version than 0.57 or a later 0.x, or if
  /// it refuses.
  static Plugin load(const std::string& path);
  /// Takes the functions of a plugin that is part of the program; `path` names it in messages. Throws as `load` does.
  Plugin(const Table* table, const std::string& path);

  const Version& version() const { return api_->version(); }
  /// Makes a client of the plugin's devices. If it is one of several processes, as options say, `store` is shared by
  /// all of them, and the client keeps it. Throws RuntimeFailure(usage) if there is no device or driver,
  /// RuntimeFailure(out_of_memory) if there is no memory.
  Client make_client(const NamedOptions& options = {}, std::shared_ptr<KeyValueStore> store = nullptr) const;
  /// Returns chips by the plugin's name for them and by options such as "topology" and "target_config". Throws
  /// RuntimeFailure(usage) if the plugin does not know them.
  Topology topology(std::string_view name, const NamedOptions& options = {}) const;

 private:
  std::shared_ptr<const Api> api_;
};

}  // namespace partita::pjrt
