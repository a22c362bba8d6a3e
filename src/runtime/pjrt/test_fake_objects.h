#pragma once
// Objects of a plugin that computes nothing.

#include <algorithm>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "runtime/pjrt/c_api.h"
#include "runtime/pjrt/test_program_types.h"

namespace partita::pjrt {

/// Makes and destroys the objects of the present fake plugin, which counts them.
template <class Plugin>
class FakeObjects {
 protected:
  struct Object {
    std::string kind;
    int code = 0;  // code of an error, or of the error that an event or the values of a buffer stand for
    bool is_run = false, is_awaited = false;  // for events
    bool is_donated = false;
    std::vector<char> bytes = {};
    std::vector<int64_t> dims = {};
    int type = 0;
    const void* device = nullptr;  // where a buffer lies; null: not known
    std::string text = {};         // text of a program
    TestProgramTypes types = {};
  };

  static Plugin*& current() {
    static Plugin* plugin = nullptr;
    return plugin;
  }

  /// Whether this thread runs a function of a plugin.
  static bool& is_inside() {
    static thread_local bool inside = false;
    return inside;
  }
  struct Inside {
    Inside() { is_inside() = true; }
    ~Inside() { is_inside() = false; }
  };

  /// Recursive, since a function may tell of an event, and whoever is told destroys its error.
  static std::recursive_mutex& mutex() {
    static std::recursive_mutex all;
    return all;
  }

  template <class Handle>
  static Handle* make(const std::string& kind, int code = 0) {
    current()->alive.insert(kind);
    return reinterpret_cast<Handle*>(new Object{.kind = kind, .code = code});
  }
  static LoadedExecutable* make_program(std::string_view text) {
    auto* program = make<LoadedExecutable>("loaded executable");
    object(program)->text = text;
    object(program)->types = test_program_types(text);
    return program;
  }
  /// Makes room for the values of a buffer.
  static void hold(Object& buffer, size_t bytes) {
    buffer.bytes.resize(bytes);
    Plugin& plugin = *current();
    plugin.device_bytes += static_cast<int64_t>(bytes);
    plugin.max_device_bytes = std::max(plugin.max_device_bytes, plugin.device_bytes);
  }
  static void drop(Object& buffer) {
    current()->device_bytes -= static_cast<int64_t>(buffer.bytes.size());
    buffer.bytes.clear();
  }
  template <class Handle>
  static Object* object(Handle* handle) {
    return reinterpret_cast<Object*>(const_cast<std::remove_const_t<Handle>*>(handle));
  }
  template <class Handle>
  static void destroy(Handle* handle) {
    current()->alive.erase(current()->alive.find(object(handle)->kind));
    if (object(handle)->is_run) --current()->in_flight;
    if (object(handle)->is_run && !object(handle)->is_awaited) ++current()->forgotten;
    drop(*object(handle));
    delete object(handle);
  }
};

}  // namespace partita::pjrt
