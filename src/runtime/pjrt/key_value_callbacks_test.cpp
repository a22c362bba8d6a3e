#include "runtime/pjrt/key_value_callbacks.h"

#include <gtest/gtest.h>

#include <map>
#include <new>
#include <stdexcept>
#include <utility>

namespace partita::pjrt {
namespace {

using namespace std::chrono_literals;

/// Errors that the callbacks made, as a plugin has them.
std::vector<std::pair<int, std::string>>& made_errors() {
  static std::vector<std::pair<int, std::string>> errors;
  return errors;
}

CallbackError make_test_error = [](int code, const char* message, size_t size) {
  made_errors().emplace_back(code, std::string(message, size));
  return reinterpret_cast<Error*>(&made_errors());
};

class TestStore final : public KeyValueStore {
 public:
  void put(const std::string& key, const std::string& value) override {
    if (key == "lost") throw std::runtime_error("rank 0 does not answer");
    values[key] = value;
  }
  std::optional<std::string> get(const std::string& key, std::chrono::milliseconds timeout) override {
    if (key == "lost") throw std::runtime_error("rank 0 does not answer");
    if (key == "large") throw std::bad_alloc();
    if (key == "odd") throw 7;
    patience = timeout;
    const auto found = values.find(key);
    return found == values.end() ? std::nullopt : std::optional(found->second);
  }
  std::map<std::string, std::string> values;
  std::chrono::milliseconds patience{-1};
};

class KeyValueCallbacks : public testing::Test {
 protected:
  KeyValueCallbacks() {
    made_errors().clear();
    set_callbacks(client_, store_);
  }

  template <class Args>
  static void set_key(Args& args, const std::string& key, void* store) {
    args.struct_size = sizeof(args);
    args.key = key.data();
    args.key_size = key.size();
    args.make_error = &make_test_error;
    args.store = store;
  }
  Error* put(const std::string& key, const std::string& value) {
    KeyValuePutArgs args;
    set_key(args, key, client_.kv_put_argument);
    args.value = value.data();
    args.value_size = value.size();
    return client_.kv_put(&args);
  }
  template <class Args>
  static std::string value_of(const Args& args) {
    std::string value(args.value, args.value_size);
    args.destroy(args.value);
    return value;
  }
  /// Returns the value, or "code: message".
  std::string get(const std::string& key, int timeout_ms) {
    KeyValueGetArgs args;
    set_key(args, key, client_.kv_get_argument);
    args.timeout_ms = timeout_ms;
    return client_.kv_get(&args) == nullptr ? value_of(args) : last_error();
  }
  std::string try_get(const std::string& key) {
    KeyValueTryGetArgs args;
    set_key(args, key, client_.kv_try_get_argument);
    return client_.kv_try_get(&args) == nullptr ? value_of(args) : last_error();
  }
  static std::string last_error() {
    return std::to_string(made_errors().back().first) + ": " + made_errors().back().second;
  }

  TestStore store_;
  ClientCreateArgs client_;
};

TEST_F(KeyValueCallbacks, ValuesComeBackWithAllTheirBytes) {
  const std::string key("a\0b", 3), value("\0\xff\0", 3);
  EXPECT_EQ(put(key, value), nullptr);
  EXPECT_EQ(store_.values.at(key), value);
  EXPECT_EQ(get(key, 1500), value);
  EXPECT_EQ(store_.patience, 1500ms);
  EXPECT_EQ(try_get(key), value);
  EXPECT_EQ(store_.patience, 0ms);
  EXPECT_EQ(put(key, ""), nullptr);
  EXPECT_EQ(get(key, 0), "");
  EXPECT_TRUE(made_errors().empty());
}

TEST_F(KeyValueCallbacks, NothingIsThrownThroughThePlugin) {
  EXPECT_EQ(get("none", 5), "4: no value of none");
  EXPECT_EQ(try_get("none"), "5: no value of none");
  EXPECT_EQ(get("lost", 5), "14: rank 0 does not answer");
  EXPECT_EQ(try_get("large"), "8: out of memory");
  EXPECT_EQ(try_get("odd"), "13: an error without a message");
  EXPECT_NE(put("lost", ""), nullptr);
  EXPECT_EQ(last_error(), "14: rank 0 does not answer");
}

}  // namespace
}  // namespace partita::pjrt
