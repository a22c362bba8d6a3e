#include "runtime/pjrt/client.h"

#include "base/error.h"
#include "runtime/pjrt/client_state.h"
#include "runtime/pjrt/element_type.h"

namespace partita::pjrt {
namespace {

template <class Args>
Args of_client(const ClientState& state) {
  Args args;
  args.client = state.handle;
  return args;
}

DeviceDescription* description_of(const ClientState& state, size_t device) {
  PARTITA_CHECK(device < state.devices.size(), "device {} of {}", device, state.devices.size());
  DeviceArgs args;
  args.device = state.devices[device];
  state.api->call(Function::device_get_description, args);
  return args.description;
}

}  // namespace

ClientState::ClientState(std::shared_ptr<const Api> functions, ClientHandle* owned,
                         std::shared_ptr<KeyValueStore> shared)
    : api(std::move(functions)), store(std::move(shared)), handle(owned) {
  auto args = of_client<ClientDevicesArgs>(*this);
  try {
    api->call(Function::client_addressable_devices, args, Purpose::setup);
  } catch (...) {
    release(Function::client_destroy, of_client<ClientArgs>(*this));
    throw;
  }
  devices.assign(args.devices, args.devices + args.num_devices);
}

ClientState::~ClientState() { release(Function::client_destroy, of_client<ClientArgs>(*this)); }

void ClientState::require_own_process() const {
  if (::getpid() == process) return;
  throw RuntimeFailure(
      ExitCode::usage,
      "[device] a client of another process, got process {}, expected {}, which made it: no device survives a fork",
      ::getpid(), process);
}

void ClientState::await(Event* event, Function cause) const {
  std::shared_ptr<const Watch> watch;
  {
    const std::lock_guard lock(watching);
    for (const auto& one : watches) watch = watch == nullptr ? one.lock() : watch;
  }
  if (event != nullptr && watch != nullptr) api->await_watched(event, *watch);
  api->await(event, cause);
}

Client::Client(std::shared_ptr<const Api> api, ClientHandle* handle, std::shared_ptr<KeyValueStore> store)
    : state_(std::make_shared<const ClientState>(std::move(api), handle, std::move(store))) {}

const Version& Client::version() const { return state_->api->version(); }
size_t Client::devices() const { return state_->devices.size(); }

int64_t Client::id(size_t device) const {
  state_->require_own_process();
  DeviceIdArgs args;
  args.description = description_of(*state_, device);
  state_->api->call(Function::device_description_id, args);
  return args.id;
}

std::string Client::kind(size_t device) const {
  state_->require_own_process();
  DeviceKindArgs args;
  args.description = description_of(*state_, device);
  state_->api->call(Function::device_description_kind, args);
  return {args.kind, args.size};
}

std::optional<int64_t> Client::memory_limit(size_t device) const {
  state_->require_own_process();
  PARTITA_CHECK(device < devices(), "device {} of {}", device, devices());
  if (!state_->api->has(Function::device_memory_stats)) return std::nullopt;
  DeviceMemoryArgs args;
  args.device = state_->devices[device];
  try {
    state_->api->call(Function::device_memory_stats, args);
  } catch (const partita::Error&) {  // plugins may have the function for other devices alone
    return std::nullopt;
  }
  return args.has_limit ? std::optional(args.limit) : std::nullopt;
}

std::shared_ptr<const void> Client::watch_waits(std::function<void(std::chrono::milliseconds)> watch) const {
  auto kept = std::make_shared<const ClientState::Watch>(std::move(watch));
  const std::lock_guard lock(state_->watching);
  std::erase_if(state_->watches, [](const auto& one) { return one.expired(); });
  state_->watches.push_back(kept);
  return kept;
}

std::string Client::platform() const {
  state_->require_own_process();
  auto args = of_client<ClientTextArgs>(*state_);
  state_->api->call(Function::client_platform_name, args);
  return {args.text, args.size};
}

std::string Client::platform_version() const {
  state_->require_own_process();
  auto args = of_client<ClientTextArgs>(*state_);
  state_->api->call(Function::client_platform_version, args);
  return {args.text, args.size};
}

ProgramText program_text(std::string_view text) {
  constexpr std::string_view kFormat = "mlir";
  ProgramText program;
  program.struct_size = sizeof(program);
  program.code = const_cast<char*>(text.data());  // only read
  program.code_size = text.size();
  program.format = kFormat.data();
  program.format_size = kFormat.size();
  return program;
}

Executable Client::compile(std::string_view text, const CompileOptions& options) const {
  state_->require_own_process();
  const ProgramText program = program_text(text);
  const std::string bytes = pjrt::serialized(options);
  auto args = of_client<ClientCompileArgs>(*state_);
  args.program = &program;
  args.options = bytes.data();
  args.options_size = bytes.size();
  state_->api->call(Function::client_compile, args);
  return {state_, args.executable};
}

Executable Client::load(std::string_view serialized) const {
  state_->require_own_process();
  auto args = of_client<DeserializeArgs>(*state_);
  args.bytes = serialized.data();
  args.size = serialized.size();
  state_->api->call(Function::executable_deserialize_and_load, args);
  return {state_, args.executable, std::string(serialized)};
}

Buffer Client::upload(size_t device, ConstTensor tensor) const {
  state_->require_own_process();
  PARTITA_CHECK(device < devices(), "device {} of {}", device, devices());
  auto args = of_client<BufferFromHostArgs>(*state_);
  args.data = tensor.data;
  args.type = static_cast<int>(element_type(tensor.type.dtype));
  args.dims = tensor.type.shape.data();
  args.num_dims = tensor.type.shape.size();
  args.device = state_->devices[device];
  state_->api->call(Function::client_buffer_from_host, args);
  Buffer buffer(state_, args.buffer);
  state_->await(args.done, Function::client_buffer_from_host);
  return buffer;
}

bool Client::copies() const { return state_->api->has(Function::buffer_copy_to_device); }

Buffer Client::copied(const Buffer& from, size_t device) const {
  state_->require_own_process();
  PARTITA_CHECK(device < devices(), "device {} of {}", device, devices());
  BufferCopyArgs args;
  args.buffer = from.handle();
  args.device = state_->devices[device];
  state_->api->call(Function::buffer_copy_to_device, args);
  return {state_, args.copy};
}

Buffer::~Buffer() {
  if (handle_ == nullptr) return;
  BufferArgs args;
  args.buffer = handle_;
  state_->release(Function::buffer_destroy, args);
}

Type Buffer::type() const {
  state_->require_own_process();
  BufferTypeArgs element;
  BufferDimensionsArgs dims;
  element.buffer = dims.buffer = handle_;
  state_->api->call(Function::buffer_element_type, element);
  state_->api->call(Function::buffer_dimensions, dims);
  return {dtype_of(element.type), Shape(dims.dims, dims.dims + dims.num_dims)};
}

void Buffer::download(Tensor to) const {
  state_->require_own_process();
  const Type own = type();
  PARTITA_CHECK(own == to.type, "{} is copied to {}", print(own), print(to.type));
  std::vector<int64_t> order;  // the last dimension first
  for (int d = own.rank(); d-- > 0;) order.push_back(d);
  HostLayout layout;
  layout.struct_size = sizeof(layout);
  layout.tiled.struct_size = sizeof(layout.tiled);
  layout.tiled.minor_to_major = order.data();
  layout.tiled.minor_to_major_size = order.size();
  BufferToHostArgs args;
  args.buffer = handle_;
  args.layout = &layout;
  args.data = to.data;
  args.size = static_cast<size_t>(own.bytes());
  state_->api->call(Function::buffer_to_host, args);
  state_->await(args.event, Function::buffer_to_host);
}

void Buffer::wait() const {
  state_->require_own_process();
  BufferReadyEventArgs args;
  args.buffer = handle_;
  state_->api->call(Function::buffer_ready_event, args);
  state_->await(args.event, Function::buffer_ready_event);
}

bool Buffer::is_donated() const {
  state_->require_own_process();
  BufferIsDeletedArgs args;
  args.buffer = handle_;
  state_->api->call(Function::buffer_is_deleted, args);
  return args.is_deleted;
}

}  // namespace partita::pjrt
