#pragma once
// A plugin of a few lines for error paths: its programs return their first argument. Each function can be made to fail,
// be missing, or give an event that fails.

#include <array>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "runtime/pjrt/c_api.h"

namespace partita::pjrt {

/// The plugin of the test that runs, reached by its functions, which have no other argument of ours. One at a time.
class FakePlugin {
 public:
  FakePlugin() {
    current() = this;
    table_.table.struct_size = sizeof(table_);
    table_.table.version.major = 0;
    table_.table.version.minor = 90;
    add_functions();
  }
  ~FakePlugin() { current() = nullptr; }
  FakePlugin(const FakePlugin&) = delete;
  FakePlugin& operator=(const FakePlugin&) = delete;

  Table* table() { return &table_.table; }
  void remove(Function function) { table_.functions[static_cast<size_t>(function)] = nullptr; }

  std::map<Function, ErrorCode> failing = {};        // functions that return an error
  std::map<Function, ErrorCode> failing_later = {};  // functions whose event stands for an error
  std::multiset<std::string> alive = {};             // "buffer", "client", ..: made and not destroyed
  int launch = -1;                                   // RunId of the last run

 private:
  static constexpr size_t kFunctions = 128;
  using Entry = void* (*)(void*);
  struct {
    Table table;
    std::array<Entry, kFunctions> functions{};
  } table_;

  struct Object {
    std::string kind;
    int code = 0;  // code of an error, or of the error that an event stands for
    std::vector<char> bytes = {};
    std::vector<int64_t> dims = {};
    int type = 0;
  };

  static FakePlugin*& current() {
    static FakePlugin* plugin = nullptr;
    return plugin;
  }

  template <class Handle>
  static Handle* make(const std::string& kind, int code = 0) {
    current()->alive.insert(kind);
    return reinterpret_cast<Handle*>(new Object{.kind = kind, .code = code});
  }
  template <class Handle>
  static Object* object(Handle* handle) {
    return reinterpret_cast<Object*>(const_cast<std::remove_const_t<Handle>*>(handle));
  }
  template <class Handle>
  static void destroy(Handle* handle) {
    current()->alive.erase(current()->alive.find(object(handle)->kind));
    delete object(handle);
  }

  static Event* event(Function cause) {
    const auto found = current()->failing_later.find(cause);
    return make<Event>("event", found == current()->failing_later.end() ? 0 : static_cast<int>(found->second));
  }

  /// Sets the entry of a function: `run` on its arguments unless it is made to fail.
  template <Function function, class Args, class Run>
  void add(Run) {
    table_.functions[static_cast<size_t>(function)] = [](void* given) -> void* {
      auto* args = static_cast<Args*>(given);
      if (args->struct_size != sizeof(Args)) return make<Error>("error", static_cast<int>(ErrorCode::data_loss));
      const auto failing = current()->failing.find(function);
      if (failing != current()->failing.end()) return make<Error>("error", static_cast<int>(failing->second));
      return Run()(*args);
    };
  }

  void add_functions() {
    using F = Function;
    add<F::error_destroy, ErrorArgs>([](ErrorArgs& args) -> void* { return destroy(args.error), nullptr; });
    add<F::error_message, ErrorMessageArgs>([](ErrorMessageArgs& args) -> void* {
      args.message = "as the test wants";
      args.message_size = std::strlen(args.message);
      return nullptr;
    });
    add<F::error_code, ErrorCodeArgs>(
        [](ErrorCodeArgs& args) -> void* { return args.code = object(args.error)->code, nullptr; });
    add<F::plugin_initialize, InitializeArgs>([](InitializeArgs&) -> void* { return nullptr; });
    add<F::event_destroy, EventArgs>([](EventArgs& args) -> void* { return destroy(args.event), nullptr; });
    add<F::event_await, EventArgs>([](EventArgs& args) -> void* {
      const int code = object(args.event)->code;
      return code == 0 ? nullptr : make<Error>("error", code);
    });
    add_client_functions();
    add_executable_functions();
    add_buffer_functions();
  }

  void add_client_functions() {
    using F = Function;
    add<F::client_create, ClientCreateArgs>([](ClientCreateArgs& args) -> void* {
      args.client = make<ClientHandle>("client");
      return nullptr;
    });
    add<F::client_destroy, ClientArgs>([](ClientArgs& args) -> void* { return destroy(args.client), nullptr; });
    add<F::client_addressable_devices, ClientDevicesArgs>([](ClientDevicesArgs& args) -> void* {
      static int memory[2];
      static Device* const devices[] = {reinterpret_cast<Device*>(&memory[0]), reinterpret_cast<Device*>(&memory[1])};
      args.devices = devices;
      args.num_devices = 2;
      return nullptr;
    });
    add<F::client_compile, ClientCompileArgs>([](ClientCompileArgs& args) -> void* {
      args.executable = make<LoadedExecutable>("loaded executable");
      return nullptr;
    });
    add<F::executable_deserialize_and_load, DeserializeArgs>([](DeserializeArgs& args) -> void* {
      args.executable = make<LoadedExecutable>("loaded executable");
      return nullptr;
    });
    add<F::topology_create, TopologyCreateArgs>([](TopologyCreateArgs& args) -> void* {
      args.topology = make<TopologyHandle>("topology");
      return nullptr;
    });
    add<F::topology_platform_name, TopologyTextArgs>([](TopologyTextArgs& args) -> void* {
      args.text = "fake";
      args.size = 4;
      return nullptr;
    });
    add<F::topology_destroy, TopologyArgs>([](TopologyArgs& args) -> void* { return destroy(args.topology), nullptr; });
    add<F::compile, CompileArgs>([](CompileArgs& args) -> void* {
      args.executable = make<CompiledExecutable>("executable");
      return nullptr;
    });
  }

  void add_executable_functions() {
    using F = Function;
    add<F::loaded_executable_destroy, LoadedExecutableArgs>(
        [](LoadedExecutableArgs& args) -> void* { return destroy(args.executable), nullptr; });
    add<F::loaded_executable_get_executable, GetExecutableArgs>([](GetExecutableArgs& args) -> void* {
      args.compiled = make<CompiledExecutable>("executable");
      return nullptr;
    });
    add<F::executable_destroy, ExecutableArgs>(
        [](ExecutableArgs& args) -> void* { return destroy(args.executable), nullptr; });
    add<F::executable_num_outputs, NumOutputsArgs>([](NumOutputsArgs& args) -> void* {
      args.num_outputs = 1;
      return nullptr;
    });
    add<F::loaded_executable_addressable_devices, LoadedExecutableDevicesArgs>(
        [](LoadedExecutableDevicesArgs& args) -> void* {
          args.num_devices = 2;
          return nullptr;
        });
    add<F::executable_memory_stats, MemoryStatsArgs>([](MemoryStatsArgs& args) -> void* {
      args.temporaries = 64;
      args.peak = 128;
      return nullptr;
    });
    add<F::executable_serialize, SerializeArgs>([](SerializeArgs& args) -> void* {
      args.bytes = "program";
      args.size = 7;
      args.serialized = make<SerializedExecutable>("serialized executable");
      args.destroy = [](SerializedExecutable* serialized) { destroy(serialized); };
      return nullptr;
    });
    add<F::executable_optimized_program, OptimizedProgramArgs>([](OptimizedProgramArgs& args) -> void* {
      args.program->code_size = 9;
      args.program->format = "hlo";
      args.program->format_size = 3;
      if (args.program->code != nullptr) std::memcpy(args.program->code, "optimised", 9);
      return nullptr;
    });
    add<F::loaded_executable_execute, ExecuteArgs>([](ExecuteArgs& args) -> void* {
      current()->launch = args.options->launch_id;
      for (size_t d = 0; d < args.num_devices; ++d) {
        auto* result = make<BufferHandle>("buffer");
        const Object* argument = object(args.arguments[d][0]);
        *object(result) = *argument;
        args.outputs[d][0] = result;
        args.events[d] = event(Function::loaded_executable_execute);
      }
      return nullptr;
    });
  }

  void add_buffer_functions() {
    using F = Function;
    add<F::client_buffer_from_host, BufferFromHostArgs>([](BufferFromHostArgs& args) -> void* {
      args.buffer = make<BufferHandle>("buffer");
      Object& buffer = *object(args.buffer);
      buffer.type = args.type;
      buffer.dims.assign(args.dims, args.dims + args.num_dims);
      int64_t elements = 1;
      for (const int64_t size : buffer.dims) elements *= size;
      buffer.bytes.resize(static_cast<size_t>(elements) * 4);
      if (!buffer.bytes.empty()) std::memcpy(buffer.bytes.data(), args.data, buffer.bytes.size());
      args.done = event(Function::client_buffer_from_host);
      return nullptr;
    });
    add<F::buffer_destroy, BufferArgs>([](BufferArgs& args) -> void* { return destroy(args.buffer), nullptr; });
    add<F::buffer_element_type, BufferTypeArgs>([](BufferTypeArgs& args) -> void* {
      args.type = object(args.buffer)->type;
      return nullptr;
    });
    add<F::buffer_dimensions, BufferDimensionsArgs>([](BufferDimensionsArgs& args) -> void* {
      args.dims = object(args.buffer)->dims.data();
      args.num_dims = object(args.buffer)->dims.size();
      return nullptr;
    });
    add<F::buffer_is_deleted, BufferIsDeletedArgs>([](BufferIsDeletedArgs& args) -> void* {
      args.is_deleted = false;
      return nullptr;
    });
    add<F::buffer_ready_event, BufferReadyEventArgs>([](BufferReadyEventArgs& args) -> void* {
      args.event = event(Function::buffer_ready_event);
      return nullptr;
    });
    add<F::buffer_to_host, BufferToHostArgs>([](BufferToHostArgs& args) -> void* {
      const Object& buffer = *object(args.buffer);
      if (args.size != buffer.bytes.size()) return make<Error>("error", static_cast<int>(ErrorCode::invalid_argument));
      std::memcpy(args.data, buffer.bytes.data(), args.size);
      args.event = event(Function::buffer_to_host);
      return nullptr;
    });
  }
};

}  // namespace partita::pjrt
