#pragma once
// A key-value store by which a plugin connects the devices of several processes.

#include <chrono>
#include <optional>
#include <string>

namespace partita::pjrt {

/// A store of byte strings that all processes of a client share. Threads of the plugin call it at the same time, while
/// the client is made, and whenever programs first communicate.
class KeyValueStore {
 public:
  virtual ~KeyValueStore() = default;
  /// Sets a value, which replaces an earlier one. What it throws is an error of the plugin.
  virtual void put(const std::string& key, const std::string& value) = 0;
  /// Returns a value, once it is set; none if `timeout` passes first. What it throws is an error of the plugin.
  virtual std::optional<std::string> get(const std::string& key, std::chrono::milliseconds timeout) = 0;
};

}  // namespace partita::pjrt
