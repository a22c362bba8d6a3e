// Ops as StableHLO compute what their reference kernels compute: all samples in f64, f32 and bf16, and parts of them.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "compiler/emit/emit_node.h"
#include "ir/ops/attention/attention.h"
#include "ir/ops/registry.h"
#include "ir/ops/support.h"
#include "ir/ops/wide.h"
#include "laws/emitted.h"
#include "laws/special_numbers.h"
#include "support/matches.h"

namespace partita::laws {
namespace {

/// Ops that accelerators do not have yet. Each that is written is taken off this list.
const std::set<std::string>& unwritten() {
  static const std::set<std::string> ops{"host_function"};
  return ops;
}

std::vector<const OpDef*> written_ops() {
  std::vector<const OpDef*> ops;
  for (const OpDef* op : every_op()) {
    if (!unwritten().contains(op->name)) ops.push_back(op);
  }
  return ops;
}

TEST(Emission, ComputesWhatTheReferenceComputes) {
  if (!has_plugin()) GTEST_SKIP() << "no PARTITA_PJRT_PLUGIN: tools/xla/get_plugin.sh";
  for (const OpDef* op : written_ops()) {
    for (const Sample& sample : op->samples) {
      for (const DType dtype : {DType::f64, DType::f32, DType::bf16}) {
        const double tolerance = dtype == DType::f64 ? 1e-12 : dtype == DType::f32 ? 1e-5 : 0;
        EXPECT_EQ(check_emitted(Case(*op, with_floats(*op, sample, dtype)), tolerance), "");
      }
    }
  }
}

// Without a plugin: what follows the operands of a line is separated from them as StableHLO wants it.
TEST(Emission, OperandsAreFollowedByASeparator) {
  for (const OpDef* op : written_ops()) {
    for (const Sample& sample : op->samples) {
      const Case node(*op, sample);
      const std::string text = module_of_node(all_ops(), node.op, node.attrs, node.input_types, node.output_types);
      for (const Match& line : matches_of(text, "= stablehlo\\.\\w+ %[\\w#]+(?:, %[\\w#]+)*(.*)")) {
        const std::string& rest = line.groups[1];
        EXPECT_TRUE(rest.starts_with(" : ") || rest.starts_with(", ") || rest.starts_with(" [")) << line.groups[0];
      }
    }
  }
}

/// A node of f32 whose program widens some operands from bf16.
struct Widened {
  Widened(const OpDef& op, const Attrs& attrs, std::vector<Array> inputs, const std::set<size_t>& halves)
      : reference(op, attrs, round(inputs, halves)), given(reference) {
    for (const size_t k : halves) {
      given.inputs[k] = Array(Type{DType::bf16, inputs[k].shape()});
      for (int64_t i = 0; i < inputs[k].type().elements(); ++i) given.inputs[k].set(i, inputs[k].at(i));
    }
    text = module_of(op.name, types_of(given.inputs), [&](HloBody& body, std::vector<Hlo> operands) {
      const EmitCall call{body, attrs, operands, reference.output_types};
      for (const size_t k : halves) operands[k] = call.convert(operands[k], DType::f32);
      return emit_node(body, all_ops(), op, attrs, operands, reference.output_types);
    });
  }

  static std::vector<Array> round(std::vector<Array>& inputs, const std::set<size_t>& halves) {
    for (const size_t k : halves) {
      Array half(Type{DType::bf16, inputs[k].shape()});
      for (int64_t i = 0; i < half.type().elements(); ++i) {
        half.set(i, inputs[k].at(i));
        inputs[k].set(i, half.at(i));
      }
    }
    return inputs;
  }

  /// Returns the largest difference of a result from the reference's, relative to the largest number.
  double error() const {
    double most = 0;
    const std::vector<Array> found = run_text(given, text);
    for (size_t k = 0; k < found.size(); ++k) {
      double difference = 0, largest = 0;
      for (int64_t i = 0; i < found[k].type().elements(); ++i) {
        difference = std::max(difference, std::abs(found[k].at(i) - reference.outputs[k].at(i)));
        largest = std::max(largest, std::abs(reference.outputs[k].at(i)));
      }
      most = std::max(most, difference / largest);
    }
    return most;
  }

  Case reference, given;
  std::string text;
};

// Sums of numbers that were rounded to 16 bits are sums of f32, and keep their digits far from 0.
TEST(Emission, MomentsOf16BitsAreSumsOfF32) {
  if (!has_plugin()) GTEST_SKIP() << "no PARTITA_PJRT_PLUGIN: tools/xla/get_plugin.sh";
  const Shape shape{32, 3, 5, 4}, statistics{1, 3};
  const auto statistic = [&](DType dtype, double value) {
    Array array(Type{dtype, statistics});
    for (int64_t c = 0; c < 3; ++c) array.set(c, value);
    return array;
  };
  Array x(Type{DType::f32, shape});
  for (int64_t i = 0; i < x.type().elements(); ++i) x.set(i, 20096 + 128.0 * static_cast<double>(i * i % 11 - i % 3));
  const Array gradient = fill(SampleInput{{DType::f32, shape}}, /*key=*/3);
  const auto op = [](const char* name) -> const OpDef& { return all_ops().at(name); };
  for (const Widened& node :
       {Widened(op("moments_sum"), op("moments_sum").attrs, {x}, {0}),
        Widened(op("moments_deviations"), Attrs(), {x, statistic(DType::f64, 20100.25)}, {0}),
        Widened(op("batch_norm_grad_sums"), Attrs(),
                {x, statistic(DType::f32, 20200), statistic(DType::f32, 0.0025), gradient}, {0})}) {
    EXPECT_EQ(node.text.find("xf64>, tensor<f64>)"), std::string::npos) << "a sum of f64: " << node.text;
    EXPECT_LE(node.error(), 2e-6) << node.reference.op.name;
  }
}

// Products of numbers that were rounded to 16 bits are made of these: exact if both have 16 bits, else within 2^-17.
TEST(Emission, AttentionOf16BitsMultipliesThem) {
  if (!has_plugin()) GTEST_SKIP() << "no PARTITA_PJRT_PLUGIN: tools/xla/get_plugin.sh";
  const Attrs attrs(AttentionAttrs{.heads = 4, .causal = true, .kv_heads = 2});
  const auto filled = [](const Shape& shape, uint64_t key) { return fill(SampleInput{{DType::f32, shape}}, key); };
  const Shape q{2, 12, 4 * 8}, k{2, 12, 2 * 8};
  std::vector<Array> operands{filled(q, 1), filled(k, 2), filled(k, 3)};
  const Widened forward(all_ops().at("attention"), attrs, operands, {0, 1, 2});
  EXPECT_EQ(forward.text.find("HIGHEST"), std::string::npos) << forward.text;
  EXPECT_LE(forward.error(), 1e-5);
  operands.insert(operands.end(), forward.reference.outputs.begin(), forward.reference.outputs.end());
  operands.push_back(filled(q, 9));
  const Widened backward(all_ops().at("attention_grad"), attrs, operands, {0, 1, 2, 3, 5});
  EXPECT_EQ(backward.text.find("HIGHEST"), std::string::npos) << backward.text;
  EXPECT_LE(backward.error(), 2e-5);
}

// Parts have other attributes: where they begin, how far windows reach beyond them.
TEST(Emission, ComputesWhatTheReferenceComputesOnParts) {
  if (!has_plugin()) GTEST_SKIP() << "no PARTITA_PJRT_PLUGIN: tools/xla/get_plugin.sh";
  const Mesh mesh({{"x", 3}});
  for (const OpDef* op : written_ops()) {
    if (!op->localize) continue;
    for (const Sample& sample : op->samples) {
      const Case node(*op, sample);
      const ShardingRule rule = op->rule(node.call());
      for_cuts(rule, mesh, [&](const Cut& cut) {
        const bool is_whole = std::all_of(cut.begin(), cut.end(), [](const Axes& axes) { return axes.empty(); });
        if (is_whole || !illegal(rule, cut, mesh).empty() || needs_expansion(rule, cut)) return;
        for (const int64_t rank : {1, 2}) {
          EXPECT_EQ(check_emitted(part_of(node, shard(rule, cut, mesh, {rank}, node.call())), 1e-12), "");
        }
      });
    }
  }
}

/// The module of a node as a call of cuDNN.
std::string text_of_call(const Case& node) {
  EXPECT_EQ(node.op.cudnn->refusal({node.attrs, node.input_types, node.output_types}), "");
  return module_of("call", node.input_types, [&](HloBody& body, const std::vector<Hlo>& arguments) {
    return node.op.cudnn->emit({body, node.attrs, arguments, node.output_types});
  });
}

/// Compares the results of a call with those of the reference, which are rounded once. cuDNN rounds probabilities, too.
void expect_near(const Case& node) {
  const std::vector<Array> found = run_text(node, text_of_call(node));
  ASSERT_EQ(found.size(), node.outputs.size());
  for (size_t k = 0; k < found.size(); ++k) {
    ASSERT_EQ(found[k].type(), node.outputs[k].type());
    double largest = 0, difference = 0;
    for (int64_t i = 0; i < found[k].type().elements(); ++i) {
      ASSERT_TRUE(std::isfinite(found[k].at(i))) << node.op.name << " result " << k << " at " << i;
      largest = std::max(largest, std::abs(node.outputs[k].at(i)));
      difference = std::max(difference, std::abs(node.outputs[k].at(i) - found[k].at(i)));
    }
    EXPECT_LE(difference, 0.02 * largest) << node.op.name << node.attrs.print() << " result " << k;
  }
}

TEST(Emission, CallsOfCudnnComputeWhatTheReferenceComputes) {
  if (plugin_platform() != "cuda") GTEST_SKIP() << "no PARTITA_PJRT_PLUGIN for a GPU of NVIDIA";
  for (const bool causal : {false, true}) {
    for (const int64_t kv_heads : {1, 2, 4}) {
      const Attrs attrs(AttentionAttrs{.heads = 4, .causal = causal, .kv_heads = kv_heads});
      const Shape q{2, 128, 4 * 64}, k{2, causal ? 128 : 64, kv_heads * 64};
      const OpDef &attention = all_ops().at("attention"), &gradient = all_ops().at("attention_grad");
      for (const DType dtype : {DType::bf16, DType::f16}) {
        const Case forward(attention, Sample{{{{dtype, q}}, {{dtype, k}}, {{dtype, k}}}, attrs});
        expect_near(forward);
        std::vector<Array> operands = forward.inputs;
        operands.insert(operands.end(), forward.outputs.begin(), forward.outputs.end());
        operands.push_back(fill(SampleInput{{dtype, q}}, /*key=*/9));
        expect_near(Case(gradient, attrs, std::move(operands)));
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
