#pragma once
// Devices of a plugin, and what lies and runs on them.

#include <chrono>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/shape.h"
#include "runtime/pjrt/api.h"
#include "runtime/pjrt/compile_options.h"
#include "runtime/pjrt/key_value_store.h"

namespace partita::pjrt {

/// Identifies one run of a program with collectives: the same number on all its devices, and another one for each run.
/// The plugin mixes the collectives of runs in flight that have one number.
using RunId = int;

/// Bytes of a compiled program on a device.
struct MemoryUse {
  int64_t arguments = 0, outputs = 0;
  int64_t aliased = 0;  // bytes of outputs that lie where arguments were
  int64_t temporaries = 0, code = 0;
  int64_t peak = 0;  // 0: the plugin does not say
};

/// The state that a client shares with its buffers and executables, which keep it alive.
struct ClientState;

/// An array on a device. Move only. Uses throw RuntimeFailure(usage) in another process than that of the client.
class Buffer {
 public:
  Buffer(std::shared_ptr<const ClientState> state, BufferHandle* handle) : state_(std::move(state)), handle_(handle) {}
  Buffer(Buffer&& other) noexcept : state_(std::move(other.state_)), handle_(std::exchange(other.handle_, nullptr)) {}
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(state_, other.state_);
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Buffer();

  /// Returns the type. Throws InternalError for element types that Partita does not have.
  Type type() const;
  /// Waits until the array is computed and copies it, dense and in row-major order. Throws InternalError if `to` has
  /// another type or the array was donated, and the error of the run that computes it, as `Api::call` does.
  void download(Tensor to) const;
  /// Waits until the array is computed. Throws the error of the run that computes it.
  void wait() const;
  /// Whether a run took the array for its results.
  bool is_donated() const;
  BufferHandle* handle() const { return handle_; }

 private:
  std::shared_ptr<const ClientState> state_;
  BufferHandle* handle_;
};

/// The end of a run on one device. Move only. The destructor waits for the run and ignores its error.
class Completion {
 public:
  Completion(std::shared_ptr<const ClientState> state, Event* event) : state_(std::move(state)), event_(event) {}
  Completion(Completion&& other) noexcept
      : state_(std::move(other.state_)), event_(std::exchange(other.event_, nullptr)) {}
  Completion& operator=(Completion&& other) noexcept {
    std::swap(state_, other.state_);
    std::swap(event_, other.event_);
    return *this;
  }
  ~Completion();

  /// Calls `told` once when the run has ended, on a thread of the plugin or on this one; never if the plugin cannot
  /// tell or gave no event. `told` throws nothing. Not for a run that was waited for.
  void when_ended(std::function<void()> told) const;
  /// Waits for the run; returns at once the second time. Throws the error of the run, once.
  void wait();

 private:
  std::shared_ptr<const ClientState> state_;
  Event* event_;  // null: waited for, or the plugin gave none
};

/// The results of a run on one device. Errors of a run surface late: in `done` and in reads of the buffers.
struct Results {
  std::vector<Buffer> buffers;
  Completion done;
};

/// A program that is loaded on devices. Move only. Threads may run it at the same time.
class Executable {
 public:
  /// Takes `loaded`. `serialized`: the bytes from which it was loaded, "" if it was compiled.
  Executable(std::shared_ptr<const ClientState> state, LoadedExecutable* loaded, std::string serialized = "");
  Executable(Executable&& other) noexcept;
  Executable& operator=(Executable&&) = delete;
  ~Executable();

  size_t outputs() const { return outputs_; }
  /// Number of its devices that this process has.
  size_t devices() const { return devices_; }
  /// Enqueues the program of one replica on device `device` of the client. Arguments that the program marks as aliased
  /// are donated. Throws as `Api::call` does, for what the plugin notices at once.
  Results run(size_t device, std::span<const Buffer* const> arguments, RunId launch = 0) const;
  /// Enqueues all replicas, each on its device, with its arguments. Throws as `run` does.
  std::vector<Results> run_all(std::span<const std::vector<const Buffer*>> arguments, RunId launch = 0) const;
  /// Returns the bytes that the program takes on a device. Throws InternalError if the plugin does not say.
  MemoryUse memory() const;
  /// Returns the program as bytes that `Client::load` of the same plugin on the same devices takes. A program that was
  /// loaded gives the bytes it came from: what a plugin saves of such a program may lack parts.
  std::string serialized() const;

 private:
  std::vector<Results> launch(std::span<const std::vector<BufferHandle*>> arguments, Device* device,
                              RunId launch) const;
  void release() noexcept;

  std::shared_ptr<const ClientState> state_;
  LoadedExecutable* loaded_;
  CompiledExecutable* compiled_ = nullptr;
  std::string serialized_;
  size_t outputs_ = 0, devices_ = 0;
};

/// The devices that one process uses. Copies share them. Threads may use it at the same time. A process that was forked
/// from that of the client cannot use it: what it would wait for runs in the other one.
class Client {
 public:
  /// Takes `handle`, and keeps the `store` that the plugin calls, if any. Throws as `Api::call` does in the setup.
  Client(std::shared_ptr<const Api> api, ClientHandle* handle, std::shared_ptr<KeyValueStore> store = nullptr);

  /// Returns the version of the plugin's interface.
  const Version& version() const;
  size_t devices() const;
  /// Returns the id of a device, which CompileOptions name.
  int64_t id(size_t device) const;
  /// Returns the kind of a device: "NVIDIA H100 80GB HBM3".
  std::string kind(size_t device) const;
  /// Returns the bytes that programs and arrays may take on a device; none if the plugin does not say.
  std::optional<int64_t> memory_limit(size_t device) const;
  /// Returns the platform: "cpu", "cuda".
  std::string platform() const;
  /// Returns what the plugin says about versions of itself and of the libraries that it uses.
  std::string platform_version() const;

  /// Lets threads that wait for a run or a copy call `watch` from time to time with the time that they have waited, as
  /// long as the result is kept. It returns, or ends the process: nothing can stop what the device does.
  std::shared_ptr<const void> watch_waits(std::function<void(std::chrono::milliseconds)> watch) const;

  /// Compiles a module of StableHLO in text form and loads it. Throws RuntimeFailure(out_of_memory), or InternalError
  /// with the plugin's message if it refuses the text.
  Executable compile(std::string_view text, const CompileOptions& options) const;
  /// Loads what `Executable::serialized` returned. Throws as `compile` does.
  Executable load(std::string_view serialized) const;
  /// Copies a tensor to a device. Throws RuntimeFailure(out_of_memory), or InternalError.
  Buffer upload(size_t device, ConstTensor tensor) const;
  /// Whether the plugin has a function that copies arrays between devices.
  bool copies() const;
  /// Starts a copy of an array to a device of this client. Donations of the array wait for the copy, which has the
  /// error of the run that computes the array. Throws as `Api::call` does, for what the plugin notices at once.
  Buffer copied(const Buffer& from, size_t device) const;

 private:
  std::shared_ptr<const ClientState> state_;
};

/// Returns the bytes that a compiled program takes. Throws as `Api::call` does.
MemoryUse memory_of(const Api& api, CompiledExecutable* compiled);
/// Returns the compiled program as bytes. Throws as `Api::call` does.
std::string serialized_of(const Api& api, CompiledExecutable* compiled);
/// Returns the struct for a module of StableHLO, which borrows `text`.
ProgramText program_text(std::string_view text);

}  // namespace partita::pjrt
