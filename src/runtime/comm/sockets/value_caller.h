#pragma once
// Asks a key-value store of another process.

#include <mutex>
#include <vector>

#include "runtime/comm/sockets/value_table.h"

namespace partita {

/// Asks the table that listens at an endpoint. Each question in flight has a connection of its own.
class ValueCaller final : public KeyValues {
 public:
  ValueCaller(Endpoint endpoint, const JobKey& key) : endpoint_(std::move(endpoint)), key_(key) {}

  void put(const std::string& key, const std::string& value) override;
  std::optional<std::string> get(const std::string& key, Timeout timeout) override;

 private:
  std::optional<std::string> ask(const ValueQuestion& head, const std::string& key, const std::string& value);
  Socket take();

  const Endpoint endpoint_;
  const JobKey key_;
  std::mutex mutex_{};
  std::vector<Socket> idle_{};  // guarded by `mutex_`: connections without a question
};

}  // namespace partita
