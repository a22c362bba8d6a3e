#include "runtime/pjrt/key_value_callbacks.h"

#include <cstring>
#include <exception>
#include <new>
#include <string_view>

#include "base/error.h"

namespace partita::pjrt {
namespace {

constexpr std::string_view kNoMemory = "out of memory";

Error* error_of(CallbackError* make, ErrorCode code, std::string_view text) {
  return (*make)(static_cast<int>(code), text.data(), text.size());
}

/// Calls `act` and returns null or its error: nothing may be thrown through the plugin.
template <class Act>
Error* guarded(CallbackError* make, Act&& act) {
  try {
    return act();
  } catch (const std::bad_alloc&) {
    return error_of(make, ErrorCode::resource_exhausted, kNoMemory);
  } catch (const partita::Error& error) {
    const bool is_wrong = error.code() == ExitCode::usage;  // as a value that is too long
    return error_of(make, is_wrong ? ErrorCode::invalid_argument : ErrorCode::unavailable, error.what());
  } catch (const std::exception& error) {
    return error_of(make, ErrorCode::unavailable, error.what());
  } catch (...) {
    return error_of(make, ErrorCode::internal, "an error without a message");
  }
}

/// Gives a value to the plugin, which destroys it by the function that comes with it.
template <class Args>
void give(Args& args, const std::string& value) {
  args.value = new char[value.size() + 1];
  std::memcpy(args.value, value.data(), value.size());
  args.value_size = value.size();
  args.destroy = [](char* text) { delete[] text; };
}

template <class Args>
Error* find(Args& args, std::chrono::milliseconds timeout, ErrorCode absent) {
  return guarded(args.make_error, [&]() -> Error* {
    const std::string key(args.key, args.key_size);
    const std::optional<std::string> value = static_cast<KeyValueStore*>(args.store)->get(key, timeout);
    if (!value) return error_of(args.make_error, absent, "no value of " + key);
    give(args, *value);
    return nullptr;
  });
}

Error* get_value(KeyValueGetArgs* args) {
  return find(*args, std::chrono::milliseconds(args->timeout_ms), ErrorCode::deadline_exceeded);
}

Error* try_get_value(KeyValueTryGetArgs* args) {
  return find(*args, std::chrono::milliseconds(0), ErrorCode::not_found);
}

Error* put_value(KeyValuePutArgs* args) {
  return guarded(args->make_error, [&]() -> Error* {
    static_cast<KeyValueStore*>(args->store)
        ->put(std::string(args->key, args->key_size), std::string(args->value, args->value_size));
    return nullptr;
  });
}

}  // namespace

void set_callbacks(ClientCreateArgs& args, KeyValueStore& store) {
  args.kv_get = get_value;
  args.kv_try_get = try_get_value;
  args.kv_put = put_value;
  args.kv_get_argument = args.kv_put_argument = args.kv_try_get_argument = &store;
}

}  // namespace partita::pjrt
