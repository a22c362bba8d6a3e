#!/usr/bin/env bash
# Compares src/runtime/pjrt/c_api.h with the public header of the interface: sizes of structs, offsets of fields, numbers of
# errors and element types, places of functions in the table.
#   tools/xla/compare_header.sh [HEADER]   HEADER: xla/pjrt/c/pjrt_c_api.h; by default that of a wheel of tensorflow-cpu,
#                                          which is downloaded
set -euo pipefail
header=${1:+$(realpath "$1")}
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [[ -z $header ]]; then
  python3 -m pip download --quiet --no-deps --dest "$work" tensorflow-cpu
  python3 -m zipfile -e "$work"/*.whl "$work/wheel"
  header=$work/wheel/tensorflow/include/xla/pjrt/c/pjrt_c_api.h
fi
cat >"$work/compare.cpp" <<'END'
#include "pjrt_c_api.h"
#include "runtime/pjrt/c_api.h"

namespace own = partita::pjrt;

#define SIZES(ours, theirs) static_assert(sizeof(own::ours) == sizeof(theirs), #ours)
#define FIELD(ours, field, theirs, their_field)                                                  \
  static_assert(__builtin_offsetof(own::ours, field) == __builtin_offsetof(theirs, their_field), #ours "::" #field); \
  static_assert(sizeof(own::ours::field) == sizeof(theirs::their_field), #ours "::" #field)
#define FUNCTION(ours, theirs)                                                                                     \
  static_assert(sizeof(own::Table) + static_cast<size_t>(own::Function::ours) * sizeof(void*) ==                   \
                    __builtin_offsetof(PJRT_Api, theirs), #ours)
#define CODE(ours, theirs) static_assert(static_cast<int>(own::ErrorCode::ours) == PJRT_Error_Code_##theirs, #ours)
#define TYPE(ours, theirs) static_assert(static_cast<int>(own::ElementType::ours) == PJRT_Buffer_Type_##theirs, #ours)

FIELD(Table, version, PJRT_Api, pjrt_api_version);
FIELD(Version, major, PJRT_Api_Version, major_version);
FIELD(Version, minor, PJRT_Api_Version, minor_version);
FUNCTION(error_destroy, PJRT_Error_Destroy);
FUNCTION(error_message, PJRT_Error_Message);
FUNCTION(error_code, PJRT_Error_GetCode);
FUNCTION(plugin_initialize, PJRT_Plugin_Initialize);
FUNCTION(event_destroy, PJRT_Event_Destroy);
FUNCTION(event_await, PJRT_Event_Await);
FUNCTION(event_on_ready, PJRT_Event_OnReady);
FUNCTION(client_create, PJRT_Client_Create);
FUNCTION(client_destroy, PJRT_Client_Destroy);
FUNCTION(client_platform_name, PJRT_Client_PlatformName);
FUNCTION(client_platform_version, PJRT_Client_PlatformVersion);
FUNCTION(client_addressable_devices, PJRT_Client_AddressableDevices);
FUNCTION(client_compile, PJRT_Client_Compile);
FUNCTION(client_buffer_from_host, PJRT_Client_BufferFromHostBuffer);
FUNCTION(device_description_id, PJRT_DeviceDescription_Id);
FUNCTION(device_description_kind, PJRT_DeviceDescription_Kind);
FUNCTION(device_get_description, PJRT_Device_GetDescription);
FUNCTION(device_memory_stats, PJRT_Device_MemoryStats);
FUNCTION(executable_destroy, PJRT_Executable_Destroy);
FUNCTION(executable_num_outputs, PJRT_Executable_NumOutputs);
FUNCTION(executable_optimized_program, PJRT_Executable_OptimizedProgram);
FUNCTION(executable_serialize, PJRT_Executable_Serialize);
FUNCTION(loaded_executable_destroy, PJRT_LoadedExecutable_Destroy);
FUNCTION(loaded_executable_get_executable, PJRT_LoadedExecutable_GetExecutable);
FUNCTION(loaded_executable_addressable_devices, PJRT_LoadedExecutable_AddressableDevices);
FUNCTION(loaded_executable_execute, PJRT_LoadedExecutable_Execute);
FUNCTION(executable_deserialize_and_load, PJRT_Executable_DeserializeAndLoad);
FUNCTION(buffer_destroy, PJRT_Buffer_Destroy);
FUNCTION(buffer_element_type, PJRT_Buffer_ElementType);
FUNCTION(buffer_dimensions, PJRT_Buffer_Dimensions);
FUNCTION(buffer_is_deleted, PJRT_Buffer_IsDeleted);
FUNCTION(buffer_to_host, PJRT_Buffer_ToHostBuffer);
FUNCTION(buffer_ready_event, PJRT_Buffer_ReadyEvent);
FUNCTION(topology_create, PJRT_TopologyDescription_Create);
FUNCTION(topology_destroy, PJRT_TopologyDescription_Destroy);
FUNCTION(topology_platform_name, PJRT_TopologyDescription_PlatformName);
FUNCTION(compile, PJRT_Compile);
FUNCTION(executable_memory_stats, PJRT_Executable_GetCompiledMemoryStats);
CODE(cancelled, CANCELLED);
CODE(unknown, UNKNOWN);
CODE(invalid_argument, INVALID_ARGUMENT);
CODE(deadline_exceeded, DEADLINE_EXCEEDED);
CODE(not_found, NOT_FOUND);
CODE(already_exists, ALREADY_EXISTS);
CODE(permission_denied, PERMISSION_DENIED);
CODE(resource_exhausted, RESOURCE_EXHAUSTED);
CODE(failed_precondition, FAILED_PRECONDITION);
CODE(aborted, ABORTED);
CODE(out_of_range, OUT_OF_RANGE);
CODE(unimplemented, UNIMPLEMENTED);
CODE(internal, INTERNAL);
CODE(unavailable, UNAVAILABLE);
CODE(data_loss, DATA_LOSS);
CODE(unauthenticated, UNAUTHENTICATED);
TYPE(pred, PRED);
TYPE(s32, S32);
TYPE(s64, S64);
TYPE(u8, U8);
TYPE(u32, U32);
TYPE(f16, F16);
TYPE(f32, F32);
TYPE(f64, F64);
TYPE(bf16, BF16);
static_assert(own::NamedValue::string == static_cast<int>(PJRT_NamedValue_kString));
static_assert(own::NamedValue::int64 == static_cast<int>(PJRT_NamedValue_kInt64));
static_assert(own::NamedValue::int64_list == static_cast<int>(PJRT_NamedValue_kInt64List));
static_assert(own::NamedValue::boolean == static_cast<int>(PJRT_NamedValue_kBool));
static_assert(static_cast<int>(own::HostData::immutable_until_transferred) ==
              PJRT_HostBufferSemantics_kImmutableUntilTransferCompletes);
SIZES(ErrorArgs, PJRT_Error_Destroy_Args);
SIZES(ErrorMessageArgs, PJRT_Error_Message_Args);
FIELD(ErrorMessageArgs, message_size, PJRT_Error_Message_Args, message_size);
SIZES(ErrorCodeArgs, PJRT_Error_GetCode_Args);
FIELD(ErrorCodeArgs, code, PJRT_Error_GetCode_Args, code);
SIZES(InitializeArgs, PJRT_Plugin_Initialize_Args);
SIZES(EventArgs, PJRT_Event_Await_Args);
SIZES(EventOnReadyArgs, PJRT_Event_OnReady_Args);
FIELD(EventOnReadyArgs, callback, PJRT_Event_OnReady_Args, callback);
SIZES(NamedValue, PJRT_NamedValue);
FIELD(NamedValue, kind, PJRT_NamedValue, type);
FIELD(NamedValue, int64_value, PJRT_NamedValue, int64_value);
FIELD(NamedValue, value_size, PJRT_NamedValue, value_size);
SIZES(ClientCreateArgs, PJRT_Client_Create_Args);
FIELD(ClientCreateArgs, num_options, PJRT_Client_Create_Args, num_options);
FIELD(ClientCreateArgs, client, PJRT_Client_Create_Args, client);
FIELD(ClientCreateArgs, kv_get, PJRT_Client_Create_Args, kv_get_callback);
FIELD(ClientCreateArgs, kv_put, PJRT_Client_Create_Args, kv_put_callback);
FIELD(ClientCreateArgs, kv_put_argument, PJRT_Client_Create_Args, kv_put_user_arg);
FIELD(ClientCreateArgs, kv_try_get, PJRT_Client_Create_Args, kv_try_get_callback);
SIZES(KeyValueGetArgs, PJRT_KeyValueGetCallback_Args);
FIELD(KeyValueGetArgs, timeout_ms, PJRT_KeyValueGetCallback_Args, timeout_in_ms);
FIELD(KeyValueGetArgs, make_error, PJRT_KeyValueGetCallback_Args, callback_error);
FIELD(KeyValueGetArgs, store, PJRT_KeyValueGetCallback_Args, user_arg);
FIELD(KeyValueGetArgs, value, PJRT_KeyValueGetCallback_Args, value);
FIELD(KeyValueGetArgs, destroy, PJRT_KeyValueGetCallback_Args, value_deleter_callback);
SIZES(KeyValueTryGetArgs, PJRT_KeyValueTryGetCallback_Args);
FIELD(KeyValueTryGetArgs, make_error, PJRT_KeyValueTryGetCallback_Args, callback_error);
FIELD(KeyValueTryGetArgs, store, PJRT_KeyValueTryGetCallback_Args, user_arg);
FIELD(KeyValueTryGetArgs, destroy, PJRT_KeyValueTryGetCallback_Args, value_deleter_callback);
SIZES(KeyValuePutArgs, PJRT_KeyValuePutCallback_Args);
FIELD(KeyValuePutArgs, value, PJRT_KeyValuePutCallback_Args, value);
FIELD(KeyValuePutArgs, make_error, PJRT_KeyValuePutCallback_Args, callback_error);
FIELD(KeyValuePutArgs, store, PJRT_KeyValuePutCallback_Args, user_arg);
static_assert(sizeof(own::CallbackError) == sizeof(PJRT_CallbackError));
SIZES(ClientArgs, PJRT_Client_Destroy_Args);
SIZES(ClientTextArgs, PJRT_Client_PlatformName_Args);
FIELD(ClientTextArgs, size, PJRT_Client_PlatformName_Args, platform_name_size);
SIZES(ClientDevicesArgs, PJRT_Client_AddressableDevices_Args);
FIELD(ClientDevicesArgs, num_devices, PJRT_Client_AddressableDevices_Args, num_addressable_devices);
SIZES(DeviceArgs, PJRT_Device_GetDescription_Args);
FIELD(DeviceArgs, description, PJRT_Device_GetDescription_Args, device_description);
SIZES(DeviceIdArgs, PJRT_DeviceDescription_Id_Args);
FIELD(DeviceIdArgs, id, PJRT_DeviceDescription_Id_Args, id);
SIZES(DeviceKindArgs, PJRT_DeviceDescription_Kind_Args);
SIZES(ProgramText, PJRT_Program);
FIELD(ProgramText, format_size, PJRT_Program, format_size);
SIZES(ClientCompileArgs, PJRT_Client_Compile_Args);
FIELD(ClientCompileArgs, executable, PJRT_Client_Compile_Args, executable);
SIZES(LoadedExecutableArgs, PJRT_LoadedExecutable_Destroy_Args);
SIZES(GetExecutableArgs, PJRT_LoadedExecutable_GetExecutable_Args);
SIZES(LoadedExecutableDevicesArgs, PJRT_LoadedExecutable_AddressableDevices_Args);
SIZES(ExecutableArgs, PJRT_Executable_Destroy_Args);
SIZES(NumOutputsArgs, PJRT_Executable_NumOutputs_Args);
SIZES(OptimizedProgramArgs, PJRT_Executable_OptimizedProgram_Args);
SIZES(SerializeArgs, PJRT_Executable_Serialize_Args);
FIELD(SerializeArgs, destroy, PJRT_Executable_Serialize_Args, serialized_executable_deleter);
SIZES(DeserializeArgs, PJRT_Executable_DeserializeAndLoad_Args);
FIELD(DeserializeArgs, executable, PJRT_Executable_DeserializeAndLoad_Args, loaded_executable);
SIZES(DeviceMemoryArgs, PJRT_Device_MemoryStats_Args);
FIELD(DeviceMemoryArgs, in_use, PJRT_Device_MemoryStats_Args, bytes_in_use);
FIELD(DeviceMemoryArgs, limit, PJRT_Device_MemoryStats_Args, bytes_limit);
FIELD(DeviceMemoryArgs, has_limit, PJRT_Device_MemoryStats_Args, bytes_limit_is_set);
SIZES(MemoryStatsArgs, PJRT_Executable_GetCompiledMemoryStats_Args);
FIELD(MemoryStatsArgs, code, PJRT_Executable_GetCompiledMemoryStats_Args, generated_code_size_in_bytes);
FIELD(MemoryStatsArgs, temporaries, PJRT_Executable_GetCompiledMemoryStats_Args, temp_size_in_bytes);
FIELD(MemoryStatsArgs, peak, PJRT_Executable_GetCompiledMemoryStats_Args, peak_memory_in_bytes);
SIZES(HostLayout, PJRT_Buffer_MemoryLayout);
FIELD(HostLayout, kind, PJRT_Buffer_MemoryLayout, type);
SIZES(HostLayout::Tiled, PJRT_Buffer_MemoryLayout_Tiled);
SIZES(BufferFromHostArgs, PJRT_Client_BufferFromHostBuffer_Args);
FIELD(BufferFromHostArgs, type, PJRT_Client_BufferFromHostBuffer_Args, type);
FIELD(BufferFromHostArgs, host_data, PJRT_Client_BufferFromHostBuffer_Args, host_buffer_semantics);
FIELD(BufferFromHostArgs, device, PJRT_Client_BufferFromHostBuffer_Args, device);
FIELD(BufferFromHostArgs, done, PJRT_Client_BufferFromHostBuffer_Args, done_with_host_buffer);
FIELD(BufferFromHostArgs, buffer, PJRT_Client_BufferFromHostBuffer_Args, buffer);
SIZES(BufferArgs, PJRT_Buffer_Destroy_Args);
SIZES(BufferTypeArgs, PJRT_Buffer_ElementType_Args);
SIZES(BufferDimensionsArgs, PJRT_Buffer_Dimensions_Args);
SIZES(BufferIsDeletedArgs, PJRT_Buffer_IsDeleted_Args);
SIZES(BufferReadyEventArgs, PJRT_Buffer_ReadyEvent_Args);
SIZES(BufferToHostArgs, PJRT_Buffer_ToHostBuffer_Args);
FIELD(BufferToHostArgs, event, PJRT_Buffer_ToHostBuffer_Args, event);
SIZES(ExecuteOptions, PJRT_ExecuteOptions);
FIELD(ExecuteOptions, launch_id, PJRT_ExecuteOptions, launch_id);
FIELD(ExecuteOptions, num_kept_arguments, PJRT_ExecuteOptions, num_non_donatable_input_indices);
SIZES(ExecuteArgs, PJRT_LoadedExecutable_Execute_Args);
FIELD(ExecuteArgs, outputs, PJRT_LoadedExecutable_Execute_Args, output_lists);
FIELD(ExecuteArgs, events, PJRT_LoadedExecutable_Execute_Args, device_complete_events);
FIELD(ExecuteArgs, device, PJRT_LoadedExecutable_Execute_Args, execute_device);
SIZES(TopologyCreateArgs, PJRT_TopologyDescription_Create_Args);
FIELD(TopologyCreateArgs, topology, PJRT_TopologyDescription_Create_Args, topology);
SIZES(TopologyArgs, PJRT_TopologyDescription_Destroy_Args);
SIZES(TopologyTextArgs, PJRT_TopologyDescription_PlatformName_Args);
FIELD(TopologyTextArgs, text, PJRT_TopologyDescription_PlatformName_Args, platform_name);
FIELD(TopologyTextArgs, size, PJRT_TopologyDescription_PlatformName_Args, platform_name_size);
SIZES(CompileArgs, PJRT_Compile_Args);
FIELD(CompileArgs, executable, PJRT_Compile_Args, executable);
END
c++ -std=c++20 -fsyntax-only -Wno-invalid-offsetof -I src -I "$(dirname "$header")" "$work/compare.cpp"
grep -E '^#define PJRT_API_(MAJOR|MINOR)' "$header" | tr '\n' ' '
echo ": the declarations agree"
