#include "runtime/pjrt/plugin.h"

#include <dlfcn.h>

#include "base/error.h"
#include "runtime/pjrt/key_value_callbacks.h"

namespace partita::pjrt {
namespace {

/// Returns the structs of the options, which borrow names, texts and lists.
std::vector<NamedValue> named_values(const NamedOptions& options) {
  std::vector<NamedValue> values;
  for (const auto& [name, flag] : options) {
    NamedValue& value = values.emplace_back();
    value.struct_size = sizeof(value);
    value.name = name.data();
    value.name_size = name.size();
    value.value_size = 1;
    if (const auto* text = std::get_if<std::string>(&flag)) {
      value.kind = NamedValue::string;
      value.string_value = text->data();
      value.value_size = text->size();
    } else if (const auto* list = std::get_if<std::vector<int64_t>>(&flag)) {
      value.kind = NamedValue::int64_list;
      value.int64_values = list->data();
      value.value_size = list->size();
    } else if (const auto* number = std::get_if<float>(&flag)) {
      value.kind = NamedValue::float32;
      value.float_value = *number;
    } else if (const auto* on = std::get_if<bool>(&flag)) {
      value.kind = NamedValue::boolean;
      value.bool_value = *on;
    } else {
      value.kind = NamedValue::int64;
      value.int64_value = std::get<int64_t>(flag);
    }
  }
  return values;
}

const Table* table_of(const std::string& path) {
  const auto refuse = [&](const std::string& why) {
    throw RuntimeFailure(ExitCode::usage, "[device] no PJRT plugin, got {}, expected the path of a plugin's library",
                         why);
  };
  // Its symbols stay its own: several plugins contain the same libraries.
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* why = ::dlerror();
    refuse(why == nullptr ? path : why);
  }
  void* get = ::dlsym(library, "GetPjrtApi");
  if (get == nullptr) refuse(fmt::format("{} without GetPjrtApi", path));
  return reinterpret_cast<const Table* (*)()>(get)();
}

}  // namespace

Plugin Plugin::load(const std::string& path) { return {table_of(path), path}; }

Plugin::Plugin(const Table* table, const std::string& path) : api_(std::make_shared<const Api>(table, path)) {
  InitializeArgs args;
  api_->call(Function::plugin_initialize, args, Purpose::setup);
}

Client Plugin::make_client(const NamedOptions& options, std::shared_ptr<KeyValueStore> store) const {
  const std::vector<NamedValue> values = named_values(options);
  ClientCreateArgs args;
  args.options = values.data();
  args.num_options = values.size();
  if (store != nullptr) set_callbacks(args, *store);
  api_->call(Function::client_create, args, Purpose::setup);
  return {api_, args.client, std::move(store)};
}

Topology Plugin::topology(std::string_view name, const NamedOptions& options) const {
  const std::vector<NamedValue> values = named_values(options);
  TopologyCreateArgs args;
  args.name = name.data();
  args.name_size = name.size();
  args.options = values.data();
  args.num_options = values.size();
  api_->call(Function::topology_create, args, Purpose::setup);
  return {api_, args.topology};
}

Topology::~Topology() {
  if (handle_ == nullptr) return;
  TopologyArgs args;
  args.topology = handle_;
  api_->release(Function::topology_destroy, args);
}

std::string Topology::platform() const {
  TopologyTextArgs args;
  args.topology = handle_;
  api_->call(Function::topology_platform_name, args);
  return {args.text, args.size};
}

Compiled Topology::compile(std::string_view text, const CompileOptions& options) const {
  const ProgramText program = program_text(text);
  const std::string bytes = pjrt::serialized(options);
  CompileArgs args;
  args.topology = handle_;
  args.program = &program;
  args.options = bytes.data();
  args.options_size = bytes.size();
  api_->call(Function::compile, args);
  return {api_, args.executable};
}

Compiled::~Compiled() {
  if (compiled_ == nullptr) return;
  ExecutableArgs args;
  args.executable = compiled_;
  api_->release(Function::executable_destroy, args);
}

Optimized Compiled::optimized() const {
  ProgramText program;
  program.struct_size = sizeof(program);
  OptimizedProgramArgs args;
  args.executable = compiled_;
  args.program = &program;
  api_->call(Function::executable_optimized_program, args);  // its size
  std::string text(program.code_size, '\0');
  program.code = text.data();
  api_->call(Function::executable_optimized_program, args);
  text.resize(program.code_size);
  return {.format = std::string(program.format, program.format_size), .bytes = std::move(text)};
}

}  // namespace partita::pjrt
