#include "runtime/pjrt/api.h"

#include <condition_variable>
#include <mutex>
#include <utility>

namespace partita::pjrt {
namespace {

constexpr std::chrono::milliseconds kWatchInterval{100};

constexpr std::pair<Function, std::string_view> kFunctions[] = {
    {Function::error_destroy, "PJRT_Error_Destroy"},
    {Function::error_message, "PJRT_Error_Message"},
    {Function::error_code, "PJRT_Error_GetCode"},
    {Function::plugin_initialize, "PJRT_Plugin_Initialize"},
    {Function::event_destroy, "PJRT_Event_Destroy"},
    {Function::event_await, "PJRT_Event_Await"},
    {Function::event_on_ready, "PJRT_Event_OnReady"},
    {Function::client_create, "PJRT_Client_Create"},
    {Function::client_destroy, "PJRT_Client_Destroy"},
    {Function::client_platform_name, "PJRT_Client_PlatformName"},
    {Function::client_platform_version, "PJRT_Client_PlatformVersion"},
    {Function::client_addressable_devices, "PJRT_Client_AddressableDevices"},
    {Function::client_compile, "PJRT_Client_Compile"},
    {Function::client_buffer_from_host, "PJRT_Client_BufferFromHostBuffer"},
    {Function::device_description_id, "PJRT_DeviceDescription_Id"},
    {Function::device_description_kind, "PJRT_DeviceDescription_Kind"},
    {Function::device_get_description, "PJRT_Device_GetDescription"},
    {Function::device_memory_stats, "PJRT_Device_MemoryStats"},
    {Function::executable_destroy, "PJRT_Executable_Destroy"},
    {Function::executable_num_outputs, "PJRT_Executable_NumOutputs"},
    {Function::executable_optimized_program, "PJRT_Executable_OptimizedProgram"},
    {Function::executable_serialize, "PJRT_Executable_Serialize"},
    {Function::loaded_executable_destroy, "PJRT_LoadedExecutable_Destroy"},
    {Function::loaded_executable_get_executable, "PJRT_LoadedExecutable_GetExecutable"},
    {Function::loaded_executable_addressable_devices, "PJRT_LoadedExecutable_AddressableDevices"},
    {Function::loaded_executable_execute, "PJRT_LoadedExecutable_Execute"},
    {Function::executable_deserialize_and_load, "PJRT_Executable_DeserializeAndLoad"},
    {Function::buffer_destroy, "PJRT_Buffer_Destroy"},
    {Function::buffer_element_type, "PJRT_Buffer_ElementType"},
    {Function::buffer_dimensions, "PJRT_Buffer_Dimensions"},
    {Function::buffer_is_deleted, "PJRT_Buffer_IsDeleted"},
    {Function::buffer_copy_to_device, "PJRT_Buffer_CopyToDevice"},
    {Function::buffer_to_host, "PJRT_Buffer_ToHostBuffer"},
    {Function::buffer_ready_event, "PJRT_Buffer_ReadyEvent"},
    {Function::topology_create, "PJRT_TopologyDescription_Create"},
    {Function::topology_destroy, "PJRT_TopologyDescription_Destroy"},
    {Function::topology_platform_name, "PJRT_TopologyDescription_PlatformName"},
    {Function::compile, "PJRT_Compile"},
    {Function::executable_memory_stats, "PJRT_Executable_GetCompiledMemoryStats"},
};

/// Whether an error says that the device, and not what was asked of it, is at fault.
bool is_loss(Function function, int code) {
  const bool uses_device = function == Function::loaded_executable_execute ||
                           function == Function::buffer_copy_to_device || function == Function::buffer_to_host ||
                           function == Function::buffer_ready_event || function == Function::client_buffer_from_host;
  const auto is = [&](ErrorCode one) { return code == static_cast<int>(one); };
  return uses_device &&
         (is(ErrorCode::unavailable) || is(ErrorCode::internal) || is(ErrorCode::data_loss) || is(ErrorCode::aborted));
}

}  // namespace

DeviceLost::DeviceLost(const std::string& got)
    : RuntimeFailure(ExitCode::peer_lost, "[device] the device was lost, got {}, expected a device that answers", got),
      got_(got) {}

std::string_view name_of(Function function) {
  for (const auto& [known, name] : kFunctions) {
    if (known == function) return name;
  }
  return "PJRT";
}

Api::Api(const Table* table, std::string path) : table_(table), path_(std::move(path)) {
  const auto refuse = [&](const std::string& got) {
    throw RuntimeFailure(
        ExitCode::usage,
        "[device] {}: a plugin that cannot be used, got {}, expected version 0.{} of the PJRT interface or a later 0.x",
        path_, got, kOldestMinor);
  };
  if (table_ == nullptr) refuse("no functions");
  if (table_->struct_size < sizeof(Table)) refuse(fmt::format("a table of {} bytes", table_->struct_size));
  const Version& version = table_->version;
  if (version.major != 0 || version.minor < kOldestMinor) {
    refuse(fmt::format("version {}.{}", version.major, version.minor));
  }
  // Without them no one knows when the plugin has read or written the memory of a copy.
  for (const Function function : {Function::event_await, Function::event_destroy}) address_of(function);
}

bool Api::has(Function function) const {
  const size_t end = sizeof(Table) + (static_cast<size_t>(function) + 1) * sizeof(Entry);
  return end <= table_->struct_size && entries()[static_cast<size_t>(function)] != nullptr;
}

Api::Entry Api::address_of(Function function) const {
  if (has(function)) return entries()[static_cast<size_t>(function)];
  throw RuntimeFailure(ExitCode::usage,
                       "[device] {}: a plugin that is too old, got no {} in version 0.{}, expected one that has it",
                       path_, name_of(function), table_->version.minor);
}

void Api::destroy(Error* error) const noexcept {
  if (!has(Function::error_destroy)) return;
  ErrorArgs args;
  args.struct_size = sizeof(args);
  args.error = error;
  entries()[static_cast<size_t>(Function::error_destroy)](&args);
}

void Api::fail(Function function, Error* error, Purpose purpose) const {
  std::string text = "no message";
  int code = static_cast<int>(ErrorCode::unknown);
  // The functions that describe an error return none themselves.
  if (has(Function::error_message)) {
    ErrorMessageArgs message;
    message.struct_size = sizeof(message);
    message.error = error;
    entries()[static_cast<size_t>(Function::error_message)](&message);
    if (message.message != nullptr) text.assign(message.message, message.message_size);
  }
  if (has(Function::error_code)) {
    ErrorCodeArgs args;
    args.struct_size = sizeof(args);
    args.error = error;
    if (entries()[static_cast<size_t>(Function::error_code)](&args) == nullptr) code = args.code;
  }
  destroy(error);
  if (code == static_cast<int>(ErrorCode::resource_exhausted)) {
    throw RuntimeFailure(ExitCode::out_of_memory, "[memory] out of memory: the device: {}", text);
  }
  if (function == Function::topology_create) {
    throw RuntimeFailure(
        ExitCode::usage,
        "[device] {}: the plugin does not know the topology, got code {}: {}, expected chips that it knows", path_,
        code, text);
  }
  if (purpose == Purpose::setup) {
    throw RuntimeFailure(
        ExitCode::usage,
        "[device] {}: the plugin has no device to use, got code {} of {}: {}, expected a device with its driver", path_,
        code, name_of(function), text);
  }
  if (is_loss(function, code)) {
    throw DeviceLost(fmt::format("code {} of {}: {}", code, name_of(function), text));
  }
  throw InternalError("[device] {}: {} failed with code {}: {}", path_, name_of(function), code, text);
}

namespace {

/// The argument of a callback, which owns it.
struct Told {
  const Api& api;
  std::function<void()> call;
};

/// State that a thread that waits for an event shares with the plugin's thread that tells of it.
struct Waiter {
  std::mutex mutex{};
  std::condition_variable changed{};
  bool has_happened = false;  // guarded by `mutex`
};

}  // namespace

bool Api::when_ready(Event* event, std::function<void()> told) const {
  if (!has(Function::event_on_ready)) return false;
  auto argument = std::make_unique<Told>(Told{*this, std::move(told)});
  EventOnReadyArgs args;
  args.event = event;
  args.callback = [](Error* error, void* given) {
    const std::unique_ptr<Told> told(static_cast<Told*>(given));
    if (error != nullptr) told->api.destroy(error);  // `await` gives it as well
    told->call();
  };
  args.argument = argument.get();
  call(Function::event_on_ready, args);
  static_cast<void>(argument.release());  // the plugin has it
  return true;
}

void Api::await_watched(Event* event, const std::function<void(std::chrono::milliseconds)>& watch) const {
  const auto waiter = std::make_shared<Waiter>();
  const bool is_told = when_ready(event, [waiter] {
    const std::lock_guard lock(waiter->mutex);
    waiter->has_happened = true;
    waiter->changed.notify_all();
  });
  if (!is_told) return;
  const auto begin = std::chrono::steady_clock::now();
  std::unique_lock lock(waiter->mutex);
  while (!waiter->changed.wait_for(lock, kWatchInterval, [&] { return waiter->has_happened; })) {
    lock.unlock();
    watch(std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begin));
    lock.lock();
  }
}

void Api::await(Event* event, Function cause) const {
  if (event == nullptr) return;
  EventArgs args;
  args.event = event;
  args.struct_size = sizeof(args);
  Error* error = address_of(Function::event_await)(&args);
  release(Function::event_destroy, args);
  if (error != nullptr) fail(cause, error, Purpose::work);
}

}  // namespace partita::pjrt
