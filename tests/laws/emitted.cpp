#include "laws/emitted.h"

#include <cmath>
#include <cstdlib>
#include <map>

#include "compiler/emit/emit_node.h"
#include "ir/ops/registry.h"
#include "runtime/device/xla/plugin_search.h"
#include "runtime/pjrt/plugin.h"

namespace partita::laws {
namespace {

const pjrt::Client* plugin_client() {
  static const std::unique_ptr<const pjrt::Client> client = []() -> std::unique_ptr<const pjrt::Client> {
    const char* path = std::getenv("PARTITA_PJRT_PLUGIN");
    if (path == nullptr || *path == '\0') return nullptr;
    return std::make_unique<const pjrt::Client>(pjrt::Plugin::load(path).make_client());
  }();
  return client.get();
}

/// Puts a number where both have NaN.
void drop_common_nans(Array& a, Array& b) {
  if (!is_float(a.type().dtype) || a.type() != b.type()) return;
  for (int64_t i = 0; i < a.type().elements(); ++i) {
    if (!std::isnan(a.at(i)) || !std::isnan(b.at(i))) continue;
    a.set(i, 0);
    b.set(i, 0);
  }
}

}  // namespace

bool has_plugin() { return plugin_client() != nullptr; }

std::string plugin_platform() { return has_plugin() ? std::string(plugin_client()->platform()) : ""; }

std::vector<Array> run_emitted(const Case& node) {
  return run_text(node, module_of_node(all_ops(), node.op, node.attrs, node.input_types, node.output_types));
}

std::vector<Array> run_text(const Case& node, const std::string& text) {
  const std::string device = plugin_platform() == "cpu" ? "xla:cpu" : plugin_platform();
  pjrt::CompileOptions options{.flags = compile_flags(device, std::getenv("PARTITA_PJRT_PLUGIN"))};
  // CPU plugins compile faster without optimisation. Whoever tries flags wants the programs of trainings.
  if (plugin_client()->platform() == "cpu" && std::getenv("XLA_FLAGS") == nullptr) {
    options.flags["xla_backend_optimization_level"] = int64_t{0};
  }
  // Special numbers meet one program many times.
  static auto& programs = *new std::map<std::string, pjrt::Executable>;  // it outlives the plugin's threads
  if (programs.size() > 256) programs.clear();
  const auto known = programs.find(text);
  const pjrt::Executable& program = known != programs.end()
                                        ? known->second
                                        : programs.emplace(text, plugin_client()->compile(text, options)).first->second;
  std::vector<pjrt::Buffer> buffers;
  std::vector<const pjrt::Buffer*> arguments;
  buffers.reserve(node.inputs.size());
  for (const Array& input : node.inputs) {
    buffers.push_back(plugin_client()->upload(0, input.tensor()));
    arguments.push_back(&buffers.back());
  }
  pjrt::Results results = program.run(0, arguments);
  std::vector<Array> outputs;
  for (size_t k = 0; k < results.buffers.size(); ++k) {
    results.buffers[k].download(outputs.emplace_back(node.output_types[k]).tensor());
  }
  return outputs;
}

std::string check_emitted(const Case& node, double tolerance) {
  const std::string name = fmt::format("{}{} {}", node.op.name, node.attrs.print(), print(node.input_types));
  try {
    std::vector<Array> found = run_emitted(node), expected = node.outputs;
    if (found.size() != expected.size()) return fmt::format("{}: {} results", name, found.size());
    for (size_t k = 0; k < found.size(); ++k) {
      drop_common_nans(found[k], expected[k]);
      const std::string wrong = differs(found[k], expected[k], tolerance);
      if (!wrong.empty()) return fmt::format("{}: result {}: {}", name, k, wrong);
    }
  } catch (const Error& error) {
    return fmt::format("{}: {}", name, error.what());
  }
  return "";
}

}  // namespace partita::laws
