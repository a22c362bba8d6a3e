#pragma once
// Asks a key-value store of another process.

#include <functional>
#include <mutex>
#include <vector>

#include "runtime/comm/sockets/value_table.h"

namespace partita {

/// Asks the table that listens at an endpoint. Each question in flight has a connection of its own.
class ValueCaller final : public KeyValues {
 public:
  /// `check` is called from time to time while an answer is waited for, and may throw.
  ValueCaller(
      Endpoint endpoint, const JobKey& key, std::function<void()> check = [] {})
      : endpoint_(std::move(endpoint)), key_(key), check_(std::move(check)) {}

  void put(const std::string& key, const std::string& value) override;
  std::optional<std::string> get(const std::string& key, Timeout timeout) override;

 private:
  std::optional<std::string> ask(const ValueQuestion& head, const std::string& key, const std::string& value);
  Socket take();
  void await_answer(const Socket& socket, Deadline until) const;

  const Endpoint endpoint_;
  const JobKey key_;
  const std::function<void()> check_;
  std::mutex mutex_{};
  std::vector<Socket> idle_{};  // guarded by `mutex_`: connections without a question
};

}  // namespace partita
