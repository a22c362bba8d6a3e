#pragma once
// A key-value store in the memory of one process, and its server for others.

#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "runtime/comm/key_values.h"
#include "runtime/comm/sockets/gate.h"

namespace partita {

/// The head of a question to the table, followed by the key and, of a put, the value. Sent as it is in memory.
struct ValueQuestion {
  enum class Kind : int64_t { put, get };
  Kind kind = Kind::put;
  int64_t key_bytes = 0, value_bytes = 0;
  int64_t timeout_ms = 0;  // how long a get may wait
};
/// The head of an answer, followed by the value that a get asks for.
struct ValueAnswer {
  int64_t is_found = 0;  // 1 after a put
  int64_t value_bytes = 0;
};
inline constexpr int64_t kMaxKeyBytes = int64_t{64} << 10;    // a question with more ends the connection
inline constexpr int64_t kMaxValueBytes = int64_t{64} << 20;  // so does one with more of these

/// Accepts questions on sockets and answers them from its table, by one thread. The process that holds it asks
/// directly.
class ValueTable final : public KeyValues {
 public:
  /// Begins to serve. Takes `listener`. Connections have to prove that they know `key`. Throws
  /// RuntimeFailure(out_of_memory) if there are no more files or threads.
  ValueTable(Socket listener, const JobKey& key);
  ~ValueTable() override;
  ValueTable(const ValueTable&) = delete;
  ValueTable& operator=(const ValueTable&) = delete;

  void put(const std::string& key, const std::string& value) override;
  std::optional<std::string> get(const std::string& key, Timeout timeout) override;

 private:
  /// A connection of another process, which asks one question at a time.
  struct Caller {
    Socket socket;
    std::vector<std::byte> received{};
    std::optional<std::string> awaits{};  // the key of a get that has no value yet
    Deadline until{};                     // end of this get
  };
  void serve();
  void wake() const;
  void accept_next();
  bool advance(Caller& caller);
  bool take_question(Caller& caller);
  bool answer_late(Caller& caller);

  const JobKey key_;
  Gate gate_;  // used by the thread alone, as are `callers_`
  std::vector<Caller> callers_{};
  Socket wake_;  // an event of the kernel that ends the thread's wait
  std::mutex mutex_{};
  std::condition_variable changed_{};
  std::map<std::string, std::string> values_{};  // guarded by `mutex_`, as is `is_over_`
  bool is_over_ = false;
  std::thread thread_{};
};

}  // namespace partita
