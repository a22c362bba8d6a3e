#include <utility>

#include "base/error.h"
#include "runtime/pjrt/client_state.h"

namespace partita::pjrt {

MemoryUse memory_of(const Api& api, CompiledExecutable* compiled) {
  MemoryStatsArgs args;
  args.executable = compiled;
  api.call(Function::executable_memory_stats, args);
  return {.arguments = args.arguments,
          .outputs = args.outputs,
          .aliased = args.aliased,
          .temporaries = args.temporaries,
          .code = args.code,
          .peak = args.peak};
}

std::string serialized_of(const Api& api, CompiledExecutable* compiled) {
  SerializeArgs args;
  args.executable = compiled;
  api.call(Function::executable_serialize, args);
  std::string bytes(args.bytes, args.size);
  if (args.destroy != nullptr) args.destroy(args.serialized);
  return bytes;
}

Completion::~Completion() {
  if (event_ == nullptr) return;
  try {
    wait();
  } catch (...) {  // nobody is left to be told, or this is a forked process
  }
}

void Completion::when_ended(std::function<void()> told) const {
  if (event_ == nullptr) return;
  // The plugin may call after all that belongs to the client has gone.
  state_->api->when_ready(event_, [api = state_->api, told = std::move(told)] { told(); });
}

void Completion::wait() {
  state_->require_own_process();
  state_->await(std::exchange(event_, nullptr), Function::loaded_executable_execute);
}

Executable::Executable(std::shared_ptr<const ClientState> state, LoadedExecutable* loaded, std::string serialized)
    : state_(std::move(state)), loaded_(loaded), serialized_(std::move(serialized)) {
  try {
    GetExecutableArgs compiled;
    compiled.executable = loaded_;
    state_->api->call(Function::loaded_executable_get_executable, compiled);
    compiled_ = compiled.compiled;
    NumOutputsArgs outputs;
    outputs.executable = compiled_;
    state_->api->call(Function::executable_num_outputs, outputs);
    outputs_ = outputs.num_outputs;
    LoadedExecutableDevicesArgs devices;
    devices.executable = loaded_;
    state_->api->call(Function::loaded_executable_addressable_devices, devices);
    devices_ = devices.num_devices;
  } catch (...) {
    release();
    throw;
  }
}

Executable::Executable(Executable&& other) noexcept
    : state_(std::move(other.state_)),
      loaded_(std::exchange(other.loaded_, nullptr)),
      compiled_(std::exchange(other.compiled_, nullptr)),
      serialized_(std::move(other.serialized_)),
      outputs_(other.outputs_),
      devices_(other.devices_) {}

Executable::~Executable() { release(); }

void Executable::release() noexcept {
  if (compiled_ != nullptr) {
    ExecutableArgs args;
    args.executable = std::exchange(compiled_, nullptr);
    state_->release(Function::executable_destroy, args);
  }
  if (loaded_ != nullptr) {
    LoadedExecutableArgs args;
    args.executable = std::exchange(loaded_, nullptr);
    state_->release(Function::loaded_executable_destroy, args);
  }
}

MemoryUse Executable::memory() const {
  state_->require_own_process();
  return memory_of(*state_->api, compiled_);
}

std::string Executable::serialized() const {
  state_->require_own_process();
  return serialized_.empty() ? serialized_of(*state_->api, compiled_) : serialized_;
}

Results Executable::run(size_t device, std::span<const Buffer* const> arguments, RunId launch) const {
  PARTITA_CHECK(device < state_->devices.size(), "device {} of {}", device, state_->devices.size());
  std::vector<BufferHandle*> handles;
  for (const Buffer* argument : arguments) handles.push_back(argument->handle());
  std::vector<Results> results = this->launch({&handles, 1}, state_->devices[device], launch);
  return std::move(results.front());
}

std::vector<Results> Executable::run_all(std::span<const std::vector<const Buffer*>> arguments, RunId launch) const {
  PARTITA_CHECK(!arguments.empty() && arguments.size() == devices_, "arguments of {} devices for {}", arguments.size(),
                devices_);
  std::vector<std::vector<BufferHandle*>> handles;
  for (const std::vector<const Buffer*>& of_device : arguments) {
    std::vector<BufferHandle*>& own = handles.emplace_back();
    for (const Buffer* argument : of_device) own.push_back(argument->handle());
  }
  return this->launch(handles, nullptr, launch);
}

std::vector<Results> Executable::launch(std::span<const std::vector<BufferHandle*>> arguments, Device* device,
                                        RunId launch) const {
  state_->require_own_process();
  const size_t devices = arguments.size();
  std::vector<std::vector<BufferHandle*>> outputs(devices, std::vector<BufferHandle*>(outputs_, nullptr));
  std::vector<BufferHandle* const*> argument_lists;
  std::vector<BufferHandle**> output_lists;
  std::vector<Event*> events(devices, nullptr);
  std::vector<Results> results;  // with room for all: nothing may throw once the program runs
  results.reserve(devices);
  for (size_t d = 0; d < devices; ++d) {
    results.emplace_back(Results{{}, Completion(state_, nullptr)}).buffers.reserve(outputs_);
    PARTITA_CHECK(arguments[d].size() == arguments[0].size(), "{} and {} arguments", arguments[0].size(),
                  arguments[d].size());
    argument_lists.push_back(arguments[d].data());
    output_lists.push_back(outputs[d].data());
  }
  ExecuteOptions options;
  options.struct_size = sizeof(options);
  options.launch_id = launch;
  ExecuteArgs args;
  args.executable = loaded_;
  args.options = &options;
  args.arguments = argument_lists.data();
  args.num_devices = devices;
  args.num_arguments = arguments[0].size();
  args.outputs = output_lists.data();
  args.events = events.data();
  args.device = device;
  state_->api->call(Function::loaded_executable_execute, args);
  for (size_t d = 0; d < devices; ++d) {
    results[d].done = Completion(state_, events[d]);
    for (BufferHandle* output : outputs[d]) results[d].buffers.emplace_back(state_, output);
  }
  return results;
}

}  // namespace partita::pjrt
