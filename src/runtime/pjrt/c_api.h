#pragma once
// The binary interface of PJRT plugins (openxla.org/xla/pjrt), as far as it is used here: own declarations of its
// structs and of the places of its functions.
//
// A plugin exports GetPjrtApi(), which returns a table: its size, extensions, a version, then function pointers. Every
// function takes one struct of arguments, in which results are returned as well, and returns an error or null. Structs
// begin with their size, so that a plugin knows which fields its caller knows. Since version 0.57 fields and functions
// were only appended. `tools/xla/compare_header.sh` compares these declarations with a public header.

#include <cstddef>
#include <cstdint>

namespace partita::pjrt {

// Objects of the plugin.
struct Error;
struct Event;
struct ClientHandle;
struct Device;
struct DeviceDescription;
struct Memory;
struct LoadedExecutable;
struct CompiledExecutable;
struct SerializedExecutable;
struct BufferHandle;
struct TopologyHandle;
struct ExecuteContext;

/// Codes of errors, those of absl::StatusCode.
enum class ErrorCode : int {
  ok = 0,
  cancelled = 1,
  unknown = 2,
  invalid_argument = 3,
  deadline_exceeded = 4,
  not_found = 5,
  already_exists = 6,
  permission_denied = 7,
  resource_exhausted = 8,
  failed_precondition = 9,
  aborted = 10,
  out_of_range = 11,
  unimplemented = 12,
  internal = 13,
  unavailable = 14,
  data_loss = 15,
  unauthenticated = 16,
};

/// Types of elements, with their numbers in the interface.
enum class ElementType : int {
  pred = 1,
  s8 = 2,
  s16 = 3,
  s32 = 4,
  s64 = 5,
  u8 = 6,
  u16 = 7,
  u32 = 8,
  f16 = 10,
  f32 = 11,
  f64 = 12,
  bf16 = 13
};

/// The beginning of every struct.
struct Header {
  size_t struct_size = 0;
  void* extensions = nullptr;
};

struct Version : Header {
  int major = 0, minor = 0;
};

/// The table of a plugin; its functions follow.
struct Table : Header {
  Version version;
};

/// Places of functions in the table, counted from the first one.
enum class Function : size_t {
  error_destroy = 0,
  error_message = 1,
  error_code = 2,
  plugin_initialize = 3,
  event_destroy = 5,
  event_await = 8,
  event_on_ready = 9,
  client_create = 10,
  client_destroy = 11,
  client_platform_name = 12,
  client_platform_version = 14,
  client_addressable_devices = 16,
  client_compile = 20,
  client_buffer_from_host = 22,
  device_description_id = 23,
  device_description_kind = 26,
  device_get_description = 29,
  device_memory_stats = 34,
  executable_destroy = 40,
  executable_num_outputs = 44,
  executable_optimized_program = 48,
  executable_serialize = 49,
  loaded_executable_destroy = 50,
  loaded_executable_get_executable = 51,
  loaded_executable_addressable_devices = 52,
  loaded_executable_execute = 55,
  executable_deserialize_and_load = 56,
  buffer_destroy = 58,
  buffer_element_type = 59,
  buffer_dimensions = 60,
  buffer_is_deleted = 68,
  buffer_copy_to_device = 69,
  buffer_to_host = 70,
  buffer_ready_event = 72,
  topology_create = 82,
  topology_destroy = 83,
  topology_platform_name = 84,
  compile = 89,
  executable_memory_stats = 96,
};

struct ErrorArgs : Header {  // error_destroy
  Error* error = nullptr;
};
struct ErrorMessageArgs : ErrorArgs {
  const char* message = nullptr;
  size_t message_size = 0;
};
struct ErrorCodeArgs : ErrorArgs {
  int code = 0;
};

struct InitializeArgs : Header {};

struct EventArgs : Header {  // event_destroy, event_await
  Event* event = nullptr;
};

struct EventOnReadyArgs : EventArgs {
  void (*callback)(Error* error, void* argument) = nullptr;  // takes the error
  void* argument = nullptr;
};

/// A named option of a client or a topology.
struct NamedValue : Header {
  enum Kind : int { string = 0, int64 = 1, int64_list = 2, float32 = 3, boolean = 4 };
  const char* name = nullptr;
  size_t name_size = 0;
  Kind kind = string;
  union {
    const char* string_value;
    int64_t int64_value = 0;
    const int64_t* int64_values;
    float float_value;
    bool bool_value;
  };
  size_t value_size = 0;  // bytes of a string, length of a list, else 1
};

// Questions of a plugin to the table that its processes share (key_value_store.h). Each function returns an error that
// `make_error` made, or null.

/// Makes an error of the plugin.
using CallbackError = Error* (*)(int code, const char* message, size_t message_size);

struct KeyValueGetArgs : Header {
  const char* key = nullptr;
  size_t key_size = 0;
  int timeout_ms = 0;
  CallbackError* make_error = nullptr;
  void* store = nullptr;
  char* value = nullptr;
  size_t value_size = 0;
  void (*destroy)(char* value) = nullptr;
};
struct KeyValueTryGetArgs : Header {
  const char* key = nullptr;
  size_t key_size = 0;
  CallbackError* make_error = nullptr;
  void* store = nullptr;
  char* value = nullptr;
  size_t value_size = 0;
  void (*destroy)(char* value) = nullptr;
};
struct KeyValuePutArgs : Header {
  const char* key = nullptr;
  size_t key_size = 0;
  const char* value = nullptr;
  size_t value_size = 0;
  CallbackError* make_error = nullptr;
  void* store = nullptr;
};

struct ClientArgs : Header {  // client_destroy
  ClientHandle* client = nullptr;
};
struct ClientCreateArgs : Header {
  const NamedValue* options = nullptr;
  size_t num_options = 0;
  Error* (*kv_get)(KeyValueGetArgs*) = nullptr;
  void* kv_get_argument = nullptr;
  Error* (*kv_put)(KeyValuePutArgs*) = nullptr;
  void* kv_put_argument = nullptr;
  ClientHandle* client = nullptr;
  Error* (*kv_try_get)(KeyValueTryGetArgs*) = nullptr;
  void* kv_try_get_argument = nullptr;
};
struct ClientTextArgs : ClientArgs {  // client_platform_name, client_platform_version
  const char* text = nullptr;
  size_t size = 0;
};
struct ClientDevicesArgs : ClientArgs {
  Device* const* devices = nullptr;
  size_t num_devices = 0;
};

struct DeviceArgs : Header {  // device_get_description
  Device* device = nullptr;
  DeviceDescription* description = nullptr;
};
struct DeviceIdArgs : Header {
  DeviceDescription* description = nullptr;
  int id = 0;
};
struct DeviceKindArgs : Header {
  DeviceDescription* description = nullptr;
  const char* kind = nullptr;
  size_t size = 0;
};

/// Bytes on a device; those after `in_use` are unknown unless the field after them says so.
struct DeviceMemoryArgs : Header {  // device_memory_stats
  Device* device = nullptr;
  int64_t in_use = 0;
  int64_t peak_in_use = 0;
  bool has_peak_in_use = false;
  int64_t allocations = 0;
  bool has_allocations = false;
  int64_t largest_allocation = 0;
  bool has_largest_allocation = false;
  int64_t limit = 0;
  bool has_limit = false;
  int64_t reserved = 0;
  bool has_reserved = false;
  int64_t peak_reserved = 0;
  bool has_peak_reserved = false;
  int64_t reservable_limit = 0;
  bool has_reservable_limit = false;
  int64_t largest_free_block = 0;
  bool has_largest_free_block = false;
  int64_t pool = 0;
  bool has_pool = false;
  int64_t peak_pool = 0;
  bool has_peak_pool = false;
};

struct ProgramText : Header {
  char* code = nullptr;
  size_t code_size = 0;
  const char* format = nullptr;
  size_t format_size = 0;
};
struct ClientCompileArgs : ClientArgs {
  const ProgramText* program = nullptr;
  const char* options = nullptr;
  size_t options_size = 0;
  LoadedExecutable* executable = nullptr;
};

struct LoadedExecutableArgs : Header {  // loaded_executable_destroy
  LoadedExecutable* executable = nullptr;
};
struct GetExecutableArgs : LoadedExecutableArgs {
  CompiledExecutable* compiled = nullptr;
};
struct LoadedExecutableDevicesArgs : LoadedExecutableArgs {
  Device* const* devices = nullptr;
  size_t num_devices = 0;
};
struct ExecutableArgs : Header {  // executable_destroy
  CompiledExecutable* executable = nullptr;
};
struct NumOutputsArgs : ExecutableArgs {
  size_t num_outputs = 0;
};
struct OptimizedProgramArgs : ExecutableArgs {
  ProgramText* program = nullptr;
};
struct SerializeArgs : ExecutableArgs {
  const char* bytes = nullptr;
  size_t size = 0;
  SerializedExecutable* serialized = nullptr;
  void (*destroy)(SerializedExecutable*) = nullptr;
};
struct DeserializeArgs : ClientArgs {
  const char* bytes = nullptr;
  size_t size = 0;
  LoadedExecutable* executable = nullptr;
  const char* options = nullptr;
  size_t options_size = 0;
};
struct MemoryStatsArgs : ExecutableArgs {
  int64_t code = 0, arguments = 0, outputs = 0, aliased = 0, temporaries = 0;  // bytes on the device
  int64_t host_code = 0, host_arguments = 0, host_outputs = 0, host_aliased = 0, host_temporaries = 0;
  int64_t peak = 0, total = 0;
};

/// How a result lies on the host: dense, its dimensions listed from the one with the shortest steps.
struct HostLayout : Header {
  struct Tiled : Header {
    const int64_t* minor_to_major = nullptr;
    size_t minor_to_major_size = 0;
    const int64_t* tile_dims = nullptr;
    const size_t* tile_dim_sizes = nullptr;
    size_t num_tiles = 0;
  } tiled;
  int kind = 0;  // tiled
};

enum class HostData : int { immutable_during_call = 0, immutable_until_transferred = 1 };

struct BufferFromHostArgs : ClientArgs {
  const void* data = nullptr;
  int type = 0;
  const int64_t* dims = nullptr;
  size_t num_dims = 0;
  const int64_t* strides = nullptr;
  size_t num_strides = 0;
  HostData host_data = HostData::immutable_during_call;
  Device* device = nullptr;
  Memory* memory = nullptr;
  HostLayout* device_layout = nullptr;
  Event* done = nullptr;
  BufferHandle* buffer = nullptr;
};
struct BufferArgs : Header {  // buffer_destroy
  BufferHandle* buffer = nullptr;
};
struct BufferTypeArgs : BufferArgs {
  int type = 0;
};
struct BufferDimensionsArgs : BufferArgs {
  const int64_t* dims = nullptr;
  size_t num_dims = 0;
};
struct BufferIsDeletedArgs : BufferArgs {
  bool is_deleted = false;
};
struct BufferCopyArgs : BufferArgs {
  Device* device = nullptr;
  BufferHandle* copy = nullptr;
};
struct BufferReadyEventArgs : BufferArgs {
  Event* event = nullptr;
};
struct BufferToHostArgs : BufferArgs {
  HostLayout* layout = nullptr;
  void* data = nullptr;
  size_t size = 0;
  Event* event = nullptr;
};

struct ExecuteOptions : Header {
  void **send_callbacks = nullptr, **receive_callbacks = nullptr;
  size_t num_sends = 0, num_receives = 0;
  int launch_id = 0;
  const int64_t* kept_arguments = nullptr;  // arguments that are not donated, whatever the program says
  size_t num_kept_arguments = 0;
  ExecuteContext* context = nullptr;
  const char* call_location = nullptr;
  size_t num_tasks = 0;
  int* task_ids = nullptr;
  int64_t* incarnation_ids = nullptr;
};
struct ExecuteArgs : LoadedExecutableArgs {
  ExecuteOptions* options = nullptr;
  BufferHandle* const* const* arguments = nullptr;  // per device
  size_t num_devices = 0;
  size_t num_arguments = 0;
  BufferHandle** const* outputs = nullptr;  // per device
  Event** events = nullptr;                 // per device
  Device* device = nullptr;                 // null: all devices of the executable
};

struct TopologyCreateArgs : Header {
  const char* name = nullptr;
  size_t name_size = 0;
  const NamedValue* options = nullptr;
  size_t num_options = 0;
  TopologyHandle* topology = nullptr;
};
struct TopologyArgs : Header {  // topology_destroy
  TopologyHandle* topology = nullptr;
};
struct TopologyTextArgs : TopologyArgs {  // topology_platform_name
  const char* text = nullptr;
  size_t size = 0;
};
struct CompileArgs : Header {
  const TopologyHandle* topology = nullptr;
  const ProgramText* program = nullptr;
  const char* options = nullptr;
  size_t options_size = 0;
  ClientHandle* client = nullptr;
  CompiledExecutable* executable = nullptr;
};

}  // namespace partita::pjrt
