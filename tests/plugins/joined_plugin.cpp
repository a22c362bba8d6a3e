// A plugin that joins the devices of several processes, for tests: it computes with the plugin for CPUs that
// PARTITA_JOINED_PLUGIN names. That one has no collectives between processes, so each process runs the replicas of all
// of them. What the other processes give as arguments it takes from the table that the client was made with. Results
// are thus those of one process with as many devices. A client without `num_nodes` is one of the plugin below. If
// PARTITA_JOINED_PLATFORM is set, to "cuda" for example, that one stands for another platform, with as many devices as
// PARTITA_JOINED_DEVICES says.

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/pjrt/c_api.h"

namespace {

using namespace partita::pjrt;

constexpr size_t kEntries = 128;
constexpr int kPatienceMs = 120'000;
constexpr size_t kPiece = size_t{32} << 20;
using Entry = Error* (*)(void*);

/// A table with room for the functions that partita calls.
struct JoinedTable {
  Table table;
  std::array<Entry, kEntries> entries{};
};

struct JoinedClient {
  int64_t node = 0, nodes = 1;
  ClientCreateArgs table{};  // the functions of the table that the processes share
  Device* own = nullptr;
};

/// An error of this file. Those of the plugin below are its own.
struct OwnError {
  int code;
  std::string message;
};

struct State {
  const JoinedTable* below = nullptr;
  std::mutex mutex{};
  std::map<ClientHandle*, JoinedClient> clients{};
  std::map<LoadedExecutable*, ClientHandle*> owners{};
  std::set<const void*> errors{};
};

State& state() {
  static State& only = *new State;
  return only;
}

Error* error_of(int code, const char* message, size_t size) {
  auto* error = new OwnError{code, std::string(message, size)};
  const std::lock_guard lock(state().mutex);
  state().errors.insert(error);
  return reinterpret_cast<Error*>(error);
}
Error* error_of(const std::string& message) {
  return error_of(static_cast<int>(ErrorCode::internal), message.data(), message.size());
}
CallbackError make_error = [](int code, const char* message, size_t size) { return error_of(code, message, size); };

OwnError* own(const Error* error) {
  const std::lock_guard lock(state().mutex);
  const auto found = state().errors.find(error);
  return found == state().errors.end() ? nullptr : reinterpret_cast<OwnError*>(const_cast<void*>(*found));
}

template <class Args>
Error* below(Function function, Args& args) {
  args.struct_size = sizeof(Args);
  return state().below->entries[static_cast<size_t>(function)](&args);
}

/// Returns the client of a program if it is joined and the program has several replicas; none otherwise.
std::optional<JoinedClient> joined_owner(LoadedExecutable* executable, LoadedExecutableDevicesArgs& devices) {
  devices.executable = executable;
  if (below(Function::loaded_executable_addressable_devices, devices) != nullptr || devices.num_devices < 2) return {};
  const std::lock_guard lock(state().mutex);
  const auto client = state().clients.find(state().owners[executable]);
  return client == state().clients.end() ? std::nullopt : std::optional(client->second);
}

std::optional<int64_t> option_of(const ClientCreateArgs& args, std::string_view name) {
  for (size_t i = 0; i < args.num_options; ++i) {
    const NamedValue& option = args.options[i];
    if (std::string_view(option.name, option.name_size) == name) return option.int64_value;
  }
  return {};
}

Error* put(const JoinedClient& client, const std::string& key, const std::string& value) {
  KeyValuePutArgs args;
  args.key = key.data();
  args.key_size = key.size();
  args.value = value.data();
  args.value_size = value.size();
  args.make_error = &make_error;
  args.store = client.table.kv_put_argument;
  return client.table.kv_put(&args);
}

Error* get_piece(const JoinedClient& client, const std::string& key, std::string& value) {
  KeyValueGetArgs args;
  args.key = key.data();
  args.key_size = key.size();
  args.timeout_ms = kPatienceMs;
  args.make_error = &make_error;
  args.store = client.table.kv_get_argument;
  if (Error* error = client.table.kv_get(&args)) return error;
  value.assign(args.value, args.value_size);
  args.destroy(args.value);
  return nullptr;
}

/// Puts a value of any length, in pieces after its length.
Error* put_all(const JoinedClient& client, const std::string& key, const std::string& value) {
  if (Error* error = put(client, key, std::to_string(value.size()))) return error;
  for (size_t at = 0; at < value.size(); at += kPiece) {
    if (Error* error = put(client, key + " at " + std::to_string(at), value.substr(at, kPiece))) return error;
  }
  return nullptr;
}

Error* get_all(const JoinedClient& client, const std::string& key, std::string& value) {
  std::string length, piece;
  if (Error* error = get_piece(client, key, length)) return error;
  value.clear();
  while (value.size() < std::stoull(length)) {
    if (Error* error = get_piece(client, key + " at " + std::to_string(value.size()), piece)) return error;
    value += piece;
  }
  return nullptr;
}

/// Checks that a key without a value is an error of this file, as plugins expect it.
Error* find_nothing(const JoinedClient& client) {
  const std::string key = "nothing";
  KeyValueTryGetArgs args;
  args.key = key.data();
  args.key_size = key.size();
  args.make_error = &make_error;
  args.store = client.table.kv_try_get_argument;
  Error* error = client.table.kv_try_get(&args);
  const OwnError* made = error == nullptr ? nullptr : own(error);
  if (made == nullptr || made->code != static_cast<int>(ErrorCode::not_found)) return error_of("a value of no key");
  return nullptr;
}

/// Meets the other processes, as plugins do to learn of their devices.
Error* meet(const JoinedClient& client) {
  if (Error* error = find_nothing(client)) return error;
  if (Error* error = put(client, "node " + std::to_string(client.node), std::to_string(client.nodes))) return error;
  for (int64_t node = 0; node < client.nodes; ++node) {
    std::string nodes;
    if (Error* error = get_piece(client, "node " + std::to_string(node), nodes)) return error;
    if (nodes != std::to_string(client.nodes)) return error_of("another number of processes: " + nodes);
  }
  return nullptr;
}

/// Makes a client of the plugin below that has `devices`.
Error* create_below(int64_t devices, ClientHandle*& client) {
  const std::string name = "cpu_device_count";
  NamedValue count;
  count.struct_size = sizeof(count);
  count.name = name.data();
  count.name_size = name.size();
  count.kind = NamedValue::int64;
  count.int64_value = devices;
  count.value_size = 1;
  ClientCreateArgs made;
  made.options = &count;
  made.num_options = 1;
  Error* error = below(Function::client_create, made);
  client = made.client;
  return error;
}

Error* name_platform(ClientTextArgs* args) {
  const char* platform = std::getenv("PARTITA_JOINED_PLATFORM");
  if (platform == nullptr) return below(Function::client_platform_name, *args);
  args->text = platform;
  args->size = std::strlen(platform);
  return nullptr;
}

Error* create_client(ClientCreateArgs* args) {
  const std::optional<int64_t> node = option_of(*args, "node_id"), nodes = option_of(*args, "num_nodes");
  const char* devices_here = std::getenv("PARTITA_JOINED_DEVICES");
  if (!nodes && devices_here != nullptr) return create_below(std::atoi(devices_here), args->client);
  if (!nodes) return below(Function::client_create, *args);
  if (!node || args->kv_get == nullptr || args->kv_put == nullptr) return error_of("no place or no table");
  JoinedClient client{.node = *node, .nodes = *nodes, .table = *args};
  if (Error* error = meet(client)) return error;
  if (Error* error = create_below(*nodes, args->client)) return error;
  ClientDevicesArgs devices;
  devices.client = args->client;
  if (Error* error = below(Function::client_addressable_devices, devices)) return error;
  if (devices.num_devices != static_cast<size_t>(*nodes)) return error_of("another number of devices");
  const std::lock_guard lock(state().mutex);
  client.own = devices.devices[*node];
  state().clients[args->client] = client;
  return nullptr;
}

Error* list_devices(ClientDevicesArgs* args) {
  {
    const std::lock_guard lock(state().mutex);
    if (const auto found = state().clients.find(args->client); found != state().clients.end()) {
      args->devices = &found->second.own;
      args->num_devices = 1;
      return nullptr;
    }
  }
  return below(Function::client_addressable_devices, *args);
}

template <Function function, class Args>
Error* make_program(Args* args) {
  Error* error = below(function, *args);
  const std::lock_guard lock(state().mutex);
  if (error == nullptr) state().owners[args->executable] = args->client;
  return error;
}

Error* list_devices_of_program(LoadedExecutableDevicesArgs* args) {
  const std::optional<JoinedClient> client = joined_owner(args->executable, *args);
  if (!client) return below(Function::loaded_executable_addressable_devices, *args);
  args->devices = std::find(args->devices, args->devices + args->num_devices, client->own);
  args->num_devices = 1;
  return nullptr;
}

/// An argument of the own replica: its type, and its bytes on the host.
struct Argument {
  int type = 0;
  std::vector<int64_t> dims{};
  std::string bytes{};
};

Error* await(Error* error, Event* event) {
  if (error != nullptr || event == nullptr) return error;
  EventArgs args;
  args.event = event;
  error = below(Function::event_await, args);
  below(Function::event_destroy, args);
  return error;
}

Error* read(BufferHandle* buffer, Argument& argument) {
  BufferTypeArgs type;
  BufferDimensionsArgs dims;
  BufferToHostArgs args;
  type.buffer = dims.buffer = args.buffer = buffer;
  if (Error* error = below(Function::buffer_element_type, type)) return error;
  if (Error* error = below(Function::buffer_dimensions, dims)) return error;
  argument.type = type.type;
  argument.dims.assign(dims.dims, dims.dims + dims.num_dims);
  std::vector<int64_t> order;
  for (size_t d = dims.num_dims; d-- > 0;) order.push_back(static_cast<int64_t>(d));
  HostLayout layout;
  layout.struct_size = sizeof(layout);
  layout.tiled.struct_size = sizeof(layout.tiled);
  layout.tiled.minor_to_major = order.data();
  layout.tiled.minor_to_major_size = order.size();
  args.layout = &layout;
  if (Error* error = below(Function::buffer_to_host, args)) return error;  // its size
  argument.bytes.resize(args.size);
  args.data = argument.bytes.data();
  Error* error = below(Function::buffer_to_host, args);
  return await(error, args.event);
}

Error* write(ClientHandle* client, Device* device, const Argument& like, const char* bytes, BufferHandle*& buffer) {
  BufferFromHostArgs args;
  args.client = client;
  args.data = bytes;
  args.type = like.type;
  args.dims = like.dims.data();
  args.num_dims = like.dims.size();
  args.device = device;
  Error* error = below(Function::client_buffer_from_host, args);
  buffer = args.buffer;
  return await(error, args.done);
}

/// Arguments and results of all replicas.
struct Replicas {
  std::vector<std::vector<BufferHandle*>> arguments, outputs;
  std::vector<Event*> events;
};

/// Gets the arguments of another process.
Error* fetch(const JoinedClient& client, ClientHandle* handle, const std::string& key, Device* device,
             const std::vector<Argument>& like, std::vector<BufferHandle*>& arguments) {
  std::string bytes;
  if (Error* error = get_all(client, key, bytes)) return error;
  size_t at = 0;
  for (const Argument& one : like) {
    if (at + one.bytes.size() > bytes.size()) return error_of("other shapes on another process");
    if (Error* error = write(handle, device, one, bytes.data() + at, arguments.emplace_back())) return error;
    at += one.bytes.size();
  }
  return at == bytes.size() ? nullptr : error_of("other arguments on another process");
}

/// Releases what belongs to the replicas of other processes.
void release(const Replicas& all, size_t own_replica) {
  for (const auto* lists : {&all.arguments, &all.outputs}) {
    for (size_t d = 0; d < lists->size(); ++d) {
      for (BufferHandle* buffer : (*lists)[d]) {
        BufferArgs args;
        args.buffer = buffer;
        if (d != own_replica && buffer != nullptr) below(Function::buffer_destroy, args);
      }
    }
  }
}

/// A run of a program of all processes.
struct JoinedRun {
  JoinedClient client;
  ClientHandle* handle = nullptr;
  std::vector<Device*> members{};    // devices of the replicas
  std::vector<Device*> everybody{};  // all devices, by process
  std::string name{};                // begins keys: the number of the run, and its processes

  std::string key(const Device* device) const {
    return name + " of " + std::to_string(std::find(everybody.begin(), everybody.end(), device) - everybody.begin());
  }
};

/// Puts the arguments of the own replica into the table, and those of the others onto their devices.
Error* exchange(const JoinedRun& run, const ExecuteArgs& args, Replicas& all) {
  std::vector<Argument> own_arguments(args.num_arguments);
  std::string bytes;
  for (size_t i = 0; i < args.num_arguments; ++i) {
    if (Error* error = read(args.arguments[0][i], own_arguments[i])) return error;
    bytes += own_arguments[i].bytes;
  }
  if (Error* error = put_all(run.client, run.key(run.client.own), bytes)) return error;
  for (Device* member : run.members) {
    std::vector<BufferHandle*>& arguments = all.arguments.emplace_back();
    if (member == run.client.own) {
      arguments.assign(args.arguments[0], args.arguments[0] + args.num_arguments);
    } else if (Error* error = fetch(run.client, run.handle, run.key(member), member, own_arguments, arguments)) {
      return error;
    }
  }
  return nullptr;
}

Error* count_outputs(LoadedExecutable* executable, size_t& count) {
  GetExecutableArgs compiled;
  compiled.executable = executable;
  if (Error* error = below(Function::loaded_executable_get_executable, compiled)) return error;
  NumOutputsArgs outputs;
  ExecutableArgs unused;
  outputs.executable = unused.executable = compiled.compiled;
  Error* error = below(Function::executable_num_outputs, outputs);
  below(Function::executable_destroy, unused);
  count = outputs.num_outputs;
  return error;
}

/// Runs all replicas, and gives the results of the own one.
Error* run_replicas(const JoinedRun& run, const ExecuteArgs& args, Replicas& all, size_t own_replica) {
  size_t count = 0;
  if (Error* error = count_outputs(args.executable, count)) return error;
  all.outputs.assign(run.members.size(), std::vector<BufferHandle*>(count, nullptr));
  all.events.assign(run.members.size(), nullptr);
  std::vector<BufferHandle* const*> argument_lists;
  std::vector<BufferHandle**> output_lists;
  for (auto& list : all.arguments) argument_lists.push_back(list.data());
  for (auto& list : all.outputs) output_lists.push_back(list.data());
  ExecuteArgs whole = args;
  whole.arguments = argument_lists.data();
  whole.num_devices = run.members.size();
  whole.outputs = output_lists.data();
  whole.events = all.events.data();
  Error* error = below(Function::loaded_executable_execute, whole);
  for (size_t d = 0; d < run.members.size() && error == nullptr; ++d) {
    if (d != own_replica) error = await(nullptr, all.events[d]);
  }
  if (error != nullptr) return error;
  args.events[0] = all.events[own_replica];
  std::copy(all.outputs[own_replica].begin(), all.outputs[own_replica].end(), args.outputs[0]);
  return nullptr;
}

Error* execute(ExecuteArgs* args) {
  LoadedExecutableDevicesArgs devices;
  const std::optional<JoinedClient> client = joined_owner(args->executable, devices);
  if (!client || args->device != nullptr) return below(Function::loaded_executable_execute, *args);
  if (args->num_devices != 1) return error_of("arguments of other processes");
  JoinedRun run{.client = *client, .members = {devices.devices, devices.devices + devices.num_devices}};
  {
    const std::lock_guard lock(state().mutex);
    run.handle = state().owners[args->executable];
  }
  ClientDevicesArgs everybody;
  everybody.client = run.handle;
  if (Error* error = below(Function::client_addressable_devices, everybody)) return error;
  run.everybody.assign(everybody.devices, everybody.devices + everybody.num_devices);
  run.name = "run " + std::to_string(args->options->launch_id);
  std::string group;
  for (const Device* member : run.members) group += run.key(member).substr(run.name.size());
  run.name += group;
  Replicas all;
  const auto own_replica =
      static_cast<size_t>(std::find(run.members.begin(), run.members.end(), client->own) - run.members.begin());
  Error* error = exchange(run, *args, all);
  if (error == nullptr) error = run_replicas(run, *args, all, own_replica);
  release(all, own_replica);
  return error;
}

Error* destroy_error(ErrorArgs* args) {
  OwnError* error = own(args->error);
  if (error == nullptr) return below(Function::error_destroy, *args);
  const std::lock_guard lock(state().mutex);
  state().errors.erase(error);
  delete error;
  return nullptr;
}

Error* message_of_error(ErrorMessageArgs* args) {
  const OwnError* error = own(args->error);
  if (error == nullptr) return below(Function::error_message, *args);
  args->message = error->message.data();
  args->message_size = error->message.size();
  return nullptr;
}

Error* code_of_error(ErrorCodeArgs* args) {
  const OwnError* error = own(args->error);
  if (error == nullptr) return below(Function::error_code, *args);
  args->code = error->code;
  return nullptr;
}

template <auto run>
Error* entry(void* args) {
  return [args]<class Args>(Error* (*function)(Args*)) { return function(static_cast<Args*>(args)); }(run);
}

/// Returns the functions of the plugin below, some of which this file replaces.
const Table* joined_table() {
  static JoinedTable* joined = nullptr;
  if (joined != nullptr) return &joined->table;
  const char* path = std::getenv("PARTITA_JOINED_PLUGIN");
  void* library = path == nullptr ? nullptr : ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
  void* get = library == nullptr ? nullptr : ::dlsym(library, "GetPjrtApi");
  if (get == nullptr) return nullptr;
  state().below = reinterpret_cast<const JoinedTable* (*)()>(get)();
  joined = new JoinedTable;
  const size_t size = std::min(sizeof(JoinedTable), state().below->table.struct_size);
  std::memcpy(static_cast<void*>(joined), state().below, size);
  joined->table.struct_size = size;
  const auto set = [](Function function, Entry entry) { joined->entries[static_cast<size_t>(function)] = entry; };
  set(Function::client_create, entry<create_client>);
  set(Function::client_addressable_devices, entry<list_devices>);
  set(Function::client_platform_name, entry<name_platform>);
  set(Function::client_compile, entry<make_program<Function::client_compile, ClientCompileArgs>>);
  set(Function::executable_deserialize_and_load,
      entry<make_program<Function::executable_deserialize_and_load, DeserializeArgs>>);
  set(Function::loaded_executable_addressable_devices, entry<list_devices_of_program>);
  set(Function::loaded_executable_execute, entry<execute>);
  set(Function::error_destroy, entry<destroy_error>);
  set(Function::error_message, entry<message_of_error>);
  set(Function::error_code, entry<code_of_error>);
  return &joined->table;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const partita::pjrt::Table* GetPjrtApi() { return joined_table(); }
