#pragma once
// A plugin of a few lines for error paths. Its programs compute nothing: a result that takes the place of an argument
// is that argument, others are full of ones. Each function can be made to fail, throw, be missing, or give an event
// that fails.

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/pjrt/c_api.h"
#include "runtime/pjrt/test_fake_objects.h"
#include "runtime/pjrt/test_fake_state.h"

namespace partita::pjrt {

/// The plugin of the test that runs, reached by its functions, which have no other argument of ours. One at a time.
/// Ranks that are threads may call its functions; the members are for the time before and after.
class FakePlugin : public FakeState, FakeObjects<FakePlugin> {
 public:
  FakePlugin() {
    current() = this;
    table_.table.struct_size = sizeof(table_);
    table_.table.version.major = 0;
    table_.table.version.minor = 90;
    add_functions();
  }
  ~FakePlugin() { current() = nullptr; }
  FakePlugin& operator=(FakePlugin&&) = delete;

  Table* table() { return &table_.table; }
  void remove(Function function) { table_.functions[static_cast<size_t>(function)] = nullptr; }

  using FakeObjects::is_inside;

 private:
  static constexpr size_t kFunctions = 128;
  static constexpr std::string_view kSerialized = "serialized ";  // begins programs that are serialized
  using Entry = void* (*)(void*);
  struct {
    Table table;
    std::array<Entry, kFunctions> functions{};
  } table_;

  /// Returns the code of the error that the present call of a function has in a list; 0: none.
  static int code_in(const std::map<Function, ErrorCode>& failing, Function function) {
    const auto found = failing.find(function);
    if (found == failing.end()) return 0;
    return is_failing_call(function) ? static_cast<int>(found->second) : 0;
  }
  static bool is_failing_call(Function function) {
    const auto call = current()->failing_call.find(function);
    return call == current()->failing_call.end() || call->second == current()->calls[function];
  }
  static Event* event(Function cause, int code = 0) {
    return make<Event>("event", code != 0 ? code : code_in(current()->failing_later, cause));
  }

  /// Sets the entry of a function: `run` on its arguments unless it is made to fail.
  template <Function function, class Args, class Run>
  void add(Run) {
    table_.functions[static_cast<size_t>(function)] = [](void* given) -> void* {
      const std::lock_guard lock(mutex());
      const Inside inside;
      auto* args = static_cast<Args*>(given);
      ++current()->calls[function];
      if (current()->throwing.contains(function) && is_failing_call(function)) throw std::bad_alloc();
      if (args->struct_size != sizeof(Args)) return make<Error>("error", static_cast<int>(ErrorCode::data_loss));
      if (const int code = code_in(current()->failing, function); code != 0) return make<Error>("error", code);
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
      object(args.event)->is_awaited = true;
      return code == 0 ? nullptr : make<Error>("error", code);
    });
    add<F::event_on_ready, EventOnReadyArgs>([](EventOnReadyArgs& args) -> void* {
      if (current()->is_stuck) {
        current()->stuck.emplace_back(args.callback, args.argument);
        return nullptr;
      }
      const int code = object(args.event)->code;
      args.callback(code == 0 ? nullptr : make<Error>("error", code), args.argument);
      return nullptr;
    });
    add_client_functions();
    add_descriptions();
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
      static int memory[] = {0, 1};
      static Device* const devices[] = {reinterpret_cast<Device*>(&memory[0]), reinterpret_cast<Device*>(&memory[1])};
      args.devices = devices;
      args.num_devices = 2;
      return nullptr;
    });
    add<F::device_get_description, DeviceArgs>([](DeviceArgs& args) -> void* {
      args.description = reinterpret_cast<DeviceDescription*>(args.device);
      return nullptr;
    });
    add<F::device_description_id, DeviceIdArgs>([](DeviceIdArgs& args) -> void* {
      args.id = *reinterpret_cast<int*>(args.description);
      return nullptr;
    });
    add<F::device_memory_stats, DeviceMemoryArgs>([](DeviceMemoryArgs& args) -> void* {
      args.limit = current()->memory_limit;
      args.has_limit = args.limit > 0;
      return nullptr;
    });
    add<F::client_compile, ClientCompileArgs>([](ClientCompileArgs& args) -> void* {
      std::this_thread::sleep_for(current()->compilation);
      args.executable = make_program({args.program->code, args.program->code_size});
      return nullptr;
    });
    add<F::executable_deserialize_and_load, DeserializeArgs>([](DeserializeArgs& args) -> void* {
      const std::string_view bytes(args.bytes, args.size);
      if (!bytes.starts_with(kSerialized)) {
        return make<Error>("error", static_cast<int>(ErrorCode::invalid_argument));
      }
      args.executable = make_program(bytes.substr(kSerialized.size()));
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

  void add_descriptions() {
    using F = Function;
    add<F::client_platform_name, ClientTextArgs>([](ClientTextArgs& args) -> void* {
      args.text = current()->platform.data();
      args.size = current()->platform.size();
      return nullptr;
    });
    add<F::client_platform_version, ClientTextArgs>([](ClientTextArgs& args) -> void* {
      args.text = "fake 1";
      args.size = 6;
      return nullptr;
    });
    add<F::device_description_kind, DeviceKindArgs>([](DeviceKindArgs& args) -> void* {
      args.kind = "fake chip";
      args.size = 9;
      return nullptr;
    });
  }

  void add_executable_functions() {
    using F = Function;
    add<F::loaded_executable_destroy, LoadedExecutableArgs>(
        [](LoadedExecutableArgs& args) -> void* { return destroy(args.executable), nullptr; });
    add<F::loaded_executable_get_executable, GetExecutableArgs>([](GetExecutableArgs& args) -> void* {
      args.compiled = make<CompiledExecutable>("executable");
      object(args.compiled)->types = object(args.executable)->types;
      object(args.compiled)->text = object(args.executable)->text;
      return nullptr;
    });
    add<F::executable_destroy, ExecutableArgs>(
        [](ExecutableArgs& args) -> void* { return destroy(args.executable), nullptr; });
    add<F::executable_num_outputs, NumOutputsArgs>([](NumOutputsArgs& args) -> void* {
      const TestProgramTypes& types = object(args.executable)->types;
      args.num_outputs = types.is_known ? types.results.size() : 1;
      return nullptr;
    });
    add<F::loaded_executable_addressable_devices, LoadedExecutableDevicesArgs>(
        [](LoadedExecutableDevicesArgs& args) -> void* {
          args.num_devices = current()->program_devices;
          return nullptr;
        });
    add<F::executable_memory_stats, MemoryStatsArgs>([](MemoryStatsArgs& args) -> void* {
      args.temporaries = 64;
      args.peak = 128;
      return nullptr;
    });
    add<F::executable_serialize, SerializeArgs>([](SerializeArgs& args) -> void* {
      args.serialized = make<SerializedExecutable>("serialized executable");
      Object& serialized = *object(args.serialized);
      serialized.text = std::string(kSerialized) + object(args.executable)->text;
      args.bytes = serialized.text.data();
      args.size = serialized.text.size();
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
      current()->launches.insert(args.options->launch_id);
      for (size_t d = 0; d < args.num_devices; ++d) run(args, d);
      return nullptr;
    });
  }

  /// Makes the results of a program on a device. Errors of arguments go on to the results.
  static void run(ExecuteArgs& args, size_t device) {
    FakePlugin& plugin = *current();
    const TestProgramTypes& types = object(args.executable)->types;
    int code = code_in(plugin.failing_later, Function::loaded_executable_execute);
    for (size_t i = 0; i < args.num_arguments && code == 0; ++i) code = object(args.arguments[device][i])->code;
    const size_t results = types.is_known ? types.results.size() : 1;
    for (size_t k = 0; k < results; ++k) {
      auto* result = make<BufferHandle>("buffer", code);
      Object& made = *object(result);
      made.device = args.device;
      const int taken = types.is_known ? types.results[k].argument : 0;
      if (taken >= 0) {
        Object& argument = *object(args.arguments[device][taken]);
        made.type = argument.type;
        made.dims = argument.dims;
        const auto bytes = argument.bytes;
        if (types.is_known) {  // the result lies where the argument was
          argument.is_donated = true;
          drop(argument);
        }
        hold(made, bytes.size());
        made.bytes = bytes;
      } else {
        made.type = types.results[k].type;
        made.dims = types.results[k].dims;
        hold(made, types.results[k].bytes());
        types.results[k].fill(made.bytes, plugin.fill, plugin.fill_i64);
      }
      args.outputs[device][k] = result;
    }
    args.events[device] = event(Function::loaded_executable_execute, code);
    object(args.events[device])->is_run = true;
    plugin.max_in_flight = std::max(plugin.max_in_flight, ++plugin.in_flight);
    plugin.bytes_after_runs.push_back(plugin.device_bytes);
  }

  void add_buffer_functions() {
    using F = Function;
    add<F::client_buffer_from_host, BufferFromHostArgs>([](BufferFromHostArgs& args) -> void* {
      args.buffer = make<BufferHandle>("buffer");
      Object& buffer = *object(args.buffer);
      buffer.type = args.type;
      buffer.device = args.device;
      buffer.dims.assign(args.dims, args.dims + args.num_dims);
      int64_t elements = 1;
      for (const int64_t size : buffer.dims) elements *= size;
      hold(buffer, static_cast<size_t>(elements) * test_bytes_of(args.type));
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
    add<F::buffer_is_deleted, BufferIsDeletedArgs>(
        [](BufferIsDeletedArgs& args) -> void* { return args.is_deleted = object(args.buffer)->is_donated, nullptr; });
    add<F::buffer_ready_event, BufferReadyEventArgs>([](BufferReadyEventArgs& args) -> void* {
      args.event = event(Function::buffer_ready_event, object(args.buffer)->code);
      return nullptr;
    });
    add<F::buffer_copy_to_device, BufferCopyArgs>([](BufferCopyArgs& args) -> void* {
      const Object& from = *object(args.buffer);
      if (from.device == args.device) return make<Error>("error", static_cast<int>(ErrorCode::invalid_argument));
      ++current()->copies[{from.device, args.device}];
      Object& copy = *object(args.copy = make<BufferHandle>("buffer"));
      hold(copy, from.bytes.size());
      copy = from;
      copy.device = args.device;
      return nullptr;
    });
    add<F::buffer_to_host, BufferToHostArgs>([](BufferToHostArgs& args) -> void* {
      const Object& buffer = *object(args.buffer);
      if (args.size != buffer.bytes.size()) return make<Error>("error", static_cast<int>(ErrorCode::invalid_argument));
      std::memcpy(args.data, buffer.bytes.data(), args.size);
      args.event = event(Function::buffer_to_host, buffer.code);
      return nullptr;
    });
  }
};

}  // namespace partita::pjrt
