#pragma once
// Calls of a plugin's functions, and its errors as exceptions.

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "runtime/pjrt/c_api.h"

namespace partita::pjrt {

/// The oldest version whose structs are those of c_api.h.
inline constexpr int kOldestMinor = 57;

/// Returns the name of a function in the interface: "PJRT_Client_Create".
std::string_view name_of(Function function);

/// The purpose of a call, which decides the exception for an error. setup: finds out whether the plugin and its devices
/// can be used. work: uses them.
enum class Purpose { setup, work };

/// A device that does not answer any more: a run, or a copy from or to it, failed as unavailable, internal, aborted or
/// with a loss of data. The process cannot go on with the device; another process may.
class DeviceLost : public RuntimeFailure {
 public:
  /// `got` is the plugin's error.
  explicit DeviceLost(const std::string& got);
  /// Returns the same error with ": " and `place` after the plugin's error.
  DeviceLost at(const std::string& place) const { return DeviceLost(got_ + ": " + place); }

 private:
  std::string got_;
};

/// The functions of one plugin. Threads may call them at the same time.
class Api {
 public:
  /// `table` must outlive the object. `path` names the plugin in messages. Throws RuntimeFailure(usage) if `table` is
  /// null, or its version is not 0.57 or a later 0.x.
  Api(const Table* table, std::string path);

  const std::string& path() const { return path_; }
  const Version& version() const { return table_->version; }

  /// Whether the plugin has a function.
  bool has(Function function) const;
  /// Calls a function with `args`, whose size it sets. Throws RuntimeFailure(out_of_memory) if the plugin says that
  /// memory is exhausted, RuntimeFailure(usage) for other errors of the setup and if the plugin lacks the function,
  /// DeviceLost, else InternalError.
  template <class Args>
  void call(Function function, Args& args, Purpose purpose = Purpose::work) const {
    args.struct_size = sizeof(Args);
    if (Error* error = address_of(function)(&args); error != nullptr) fail(function, error, purpose);
  }

  /// Calls a function that destroys something. Errors are ignored, since nothing could be done about them.
  template <class Args>
  void release(Function function, Args args) const noexcept {
    args.struct_size = sizeof(Args);
    if (!has(function)) return;
    if (Error* error = entries()[static_cast<size_t>(function)](&args); error != nullptr) destroy(error);
  }

  /// Waits for an event and destroys it; does nothing if it is null. Throws as `call` does if it stands for an error;
  /// `cause` is the function that gave the event.
  void await(Event* event, Function cause) const;
  /// Calls `told` once, on a thread of the plugin or on this one, when an event has happened, also if it stands for an
  /// error. `told` throws nothing. Returns false, and calls nothing, if the plugin cannot tell of events.
  bool when_ready(Event* event, std::function<void()> told) const;
  /// Waits for an event, and calls `watch` from time to time as long as it has not happened, with the time that it has
  /// waited. Waits for nothing if the plugin cannot tell of events.
  void await_watched(Event* event, const std::function<void(std::chrono::milliseconds)>& watch) const;

 private:
  using Entry = Error* (*)(void* args);
  const Entry* entries() const { return reinterpret_cast<const Entry*>(table_ + 1); }
  Entry address_of(Function function) const;
  void destroy(Error* error) const noexcept;
  [[noreturn]] void fail(Function function, Error* error, Purpose purpose) const;

  const Table* table_;
  const std::string path_;
};

}  // namespace partita::pjrt
