// Ops as StableHLO compute what their reference kernels compute: on the first device of the plugin that
// PARTITA_PJRT_PLUGIN names (tools/xla/get_plugin.sh brings one for CPUs), all samples in f64 and f32.

#include <gtest/gtest.h>

#include <cstdlib>

#include "compiler/emit/emit_node.h"
#include "ir/ops/registry.h"
#include "laws/harness.h"
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

/// Ops that accelerators do not have yet. Each that is written is taken off this list.
const std::set<std::string>& unwritten() {
  static const std::set<std::string> ops{
      "host_function",
  };
  return ops;
}

std::vector<const OpDef*> written_ops() {
  std::vector<const OpDef*> ops;
  for (const OpDef* op : every_op()) {
    if (!unwritten().contains(op->name)) ops.push_back(op);
  }
  return ops;
}

/// The sample with floats of another type.
Sample with_floats(Sample sample, DType dtype) {
  for (SampleInput& input : sample.inputs) {
    if (input.type.dtype == DType::f64) input.type.dtype = dtype;
  }
  for (const auto& [name, text] : sample.attrs.texts()) {
    if (name == "dtype" && text == "f64") sample.attrs = sample.attrs.with({{name, std::string(name_of(dtype))}});
  }
  return sample;
}

std::vector<Array> run_emitted(const Case& node) {
  pjrt::CompileOptions options;  // CPU plugins compile faster without optimisation
  if (plugin_client()->platform() == "cpu") options.flags = {{"xla_backend_optimization_level", int64_t{0}}};
  const pjrt::Executable program = plugin_client()->compile(
      module_of_node(all_ops(), node.op, node.attrs, node.input_types, node.output_types), options);
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

TEST(Emission, ComputesWhatTheReferenceComputes) {
  if (plugin_client() == nullptr) GTEST_SKIP() << "no PARTITA_PJRT_PLUGIN: tools/xla/get_plugin.sh";
  for (const OpDef* op : written_ops()) {
    for (const Sample& sample : op->samples) {
      for (const DType dtype : {DType::f64, DType::f32}) {
        const Sample typed = with_floats(sample, dtype);
        const Attrs& attrs = typed.attrs.empty() ? op->attrs : typed.attrs;
        SCOPED_TRACE(fmt::format("{}{} in {}", op->name, attrs.print(), name_of(dtype)));
        if (dtype != DType::f64 && op->name == "moments_finish") continue;  // its sums are f64
        try {
          const Case node(*op, typed);
          const std::vector<Array> found = run_emitted(node);
          ASSERT_EQ(found.size(), node.outputs.size());
          for (size_t k = 0; k < found.size(); ++k) {
            EXPECT_EQ(differs(found[k], node.outputs[k], dtype == DType::f64 ? 1e-12 : 1e-5), "");
          }
        } catch (const Error& error) {
          ADD_FAILURE() << error.what();
        }
      }
    }
  }
}

// The list of what is missing is neither longer nor shorter than what is missing.
TEST(Emission, OpsAreWrittenOrListed) {
  for (const OpDef* op : every_op()) {
    const Sample& sample = op->samples.front();
    const Case node(*op, sample);
    bool is_written = true;
    try {
      module_of_node(all_ops(), *op, node.attrs, node.input_types, node.output_types);
    } catch (const InvalidArgument& error) {
      is_written = false;
      EXPECT_TRUE(std::string_view(error.what()).starts_with("[emit] an op that cannot be written as StableHLO, got "))
          << error.what();
    }
    EXPECT_EQ(is_written, !unwritten().contains(op->name)) << op->name;
  }
}

}  // namespace
}  // namespace partita::laws
