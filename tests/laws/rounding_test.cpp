// Products of 16-bit operands on any number of ranks: parts of a sum are added before the result is rounded, so it is
// that of one rank up to one unit of the 16-bit type and the error of a sum in f32.

#include "base/rounding.h"

#include <gtest/gtest.h>

#include <cmath>

#include "harness.h"
#include "ir/ops/registry.h"

namespace partita::laws {
namespace {

double rounded(double x, DType half) { return half == DType::bf16 ? round_to<kBf16>(x) : round_to<kF16>(x); }

/// The distance of neighbouring numbers of a 16-bit type around `x`.
double unit_at(double x, DType half) {
  const HalfFormat format = half == DType::bf16 ? kBf16 : kF16;
  const int exponent = x == 0 ? format.min_exponent : std::ilogb(x);
  return std::ldexp(1.0, std::max(exponent, format.min_exponent) - format.digits);
}

template <class Formula>
std::vector<Array> mapped(const std::vector<Array>& arrays, const Formula& formula, DType dtype) {
  std::vector<Array> made;
  for (const Array& array : arrays) {
    const bool is_real = is_float(array.type().dtype);
    made.emplace_back(Type{is_real ? dtype : array.type().dtype, array.type().shape});
    for (int64_t i = 0; i < array.type().elements(); ++i) {
      made.back().set(i, is_real ? formula(array.at(i)) : array.at(i));
    }
  }
  return made;
}

/// Returns the factors over which an output is a sum.
std::vector<int> summed_factors(const ShardingRule& rule, size_t output) {
  std::vector<bool> is_seen(rule.factors.size(), false);
  for (const DimMap& dim : rule.outputs[output]) {
    for (const int factor : dim.factors) is_seen[static_cast<size_t>(factor)] = true;
  }
  std::vector<int> summed;
  for (size_t f = 0; f < is_seen.size(); ++f) {
    if (!is_seen[f]) summed.push_back(static_cast<int>(f));
  }
  return summed;
}

/// Returns the sum of the magnitudes of what is added for each element of the output: that of the operands' magnitudes
/// for products of two operands, else of the results for single elements of the factors that can be cut.
Array sum_of_magnitudes(const Case& node, size_t output) {
  const auto same = [](double x) { return x; };
  const auto magnitude = [](double x) { return std::abs(x); };
  if (node.op.traits.halves.operands.size() <= 2) {
    return Case(node.op, node.attrs, mapped(node.inputs, magnitude, DType::f64)).outputs[output];
  }
  const Case exact(node.op, node.attrs, mapped(node.inputs, same, DType::f64));
  Array sum = mapped({exact.outputs[output]}, magnitude, DType::f64)[0];
  const ShardingRule rule = node.op.rule(exact.call());
  std::vector<std::pair<std::string, int64_t>> axes;
  Cut cut(rule.factors.size());
  for (const int f : summed_factors(rule, output)) {
    const Factor& factor = rule.factors[static_cast<size_t>(f)];
    if (factor.cutting != Cutting::free || factor.size == 1) continue;
    cut[static_cast<size_t>(f)] = {static_cast<int>(axes.size())};
    axes.emplace_back(std::string(1, factor.name), factor.size);
  }
  if (axes.empty()) return sum;
  const Mesh mesh = Mesh::undivided(axes);
  if (!illegal(rule, cut, mesh).empty()) return sum;
  Array parts(sum.type());
  for (int64_t rank = 0; rank < mesh.ranks(); ++rank) {
    const Shard part = shard(rule, cut, mesh, mesh.coordinates(rank), exact.call());
    std::vector<Array> inputs;
    for (size_t i = 0; i < exact.inputs.size(); ++i) inputs.push_back(slice(exact.inputs[i], part.inputs[i]));
    const Attrs attrs = exact.op.localize ? exact.op.localize(exact.attrs, part) : exact.attrs;
    const Array made = run(exact.op, attrs, inputs).at(output);
    for (int64_t i = 0; i < parts.type().elements(); ++i) parts.set(i, parts.at(i) + std::abs(made.at(i)));
  }
  return parts;
}

int64_t length_of_sum(const Case& node, size_t output) {
  const ShardingRule rule = node.op.rule(node.call());
  int64_t length = 1;
  for (const int f : summed_factors(rule, output)) length *= rule.factors[static_cast<size_t>(f)].size;
  return length;
}

/// "" or where the rounded results of some ranks are not those of one rank, for every legal cut.
std::string check_rounded(const OpDef& op, const Attrs& attrs, std::vector<Array> operands, DType half) {
  for (const int i : op.traits.halves.operands) {
    Array& operand = operands[static_cast<size_t>(i)];
    operand = mapped(
        {operand}, [&](double x) { return rounded(x, half); }, DType::f32)[0];
  }
  const Case node(op, attrs,
                  mapped(
                      operands, [](double x) { return x; }, DType::f32));
  std::vector<Array> magnitudes;
  for (int k = 0; k < op.traits.halves.results; ++k) {
    magnitudes.push_back(sum_of_magnitudes(node, static_cast<size_t>(k)));
  }
  return check_cuts(node, [&](size_t output, const Box& ranges, const Array& got) -> std::string {
    if (output >= magnitudes.size()) return "";
    const Array one = slice(node.outputs[output], ranges), sum = slice(magnitudes[output], ranges);
    const double error = 2 * static_cast<double>(length_of_sum(node, output)) * std::ldexp(1.0, -24);
    for (int64_t i = 0; i < got.type().elements(); ++i) {
      const double a = rounded(got.at(i), half), b = rounded(one.at(i), half);
      const double allowed = unit_at(std::max(std::abs(a), std::abs(b)), half) + error * sum.at(i);
      if (std::abs(a - b) <= allowed) continue;
      return fmt::format("element {} is {}, on one rank {}, which may differ by {}", i, a, b, allowed);
    }
    return "";
  });
}

class Products : public testing::TestWithParam<const OpDef*> {};

TEST_P(Products, AreThoseOfOneRankUpToAUnit) {
  for (const DType half : {DType::bf16, DType::f16}) {
    for (size_t i = 0; i < GetParam()->samples.size(); ++i) {
      const Sample& sample = GetParam()->samples[i];
      EXPECT_EQ(check_rounded(*GetParam(), sample.attrs, fill(sample), half), "") << "sample " << i;
    }
  }
}

std::vector<const OpDef*> products() {
  std::vector<const OpDef*> found;
  for (const OpDef* op : every_op()) {
    if (!op->traits.halves.operands.empty()) found.push_back(op);
  }
  return found;
}

INSTANTIATE_TEST_SUITE_P(Ops, Products, testing::ValuesIn(products()),
                         [](const auto& info) { return info.param->name; });

std::vector<Array> matrices(int64_t rows, int64_t sum, int64_t columns) {
  return {fill(SampleInput{Type{DType::f32, {rows, sum}}}, 11),
          fill(SampleInput{Type{DType::f32, {sum, columns}}}, 12)};
}

// Long sums, in which the order of additions shows.
TEST(LongProducts, AreThoseOfOneRankUpToAUnit) {
  const OpDef& op = all_ops().at("matmul");
  for (const DType half : {DType::bf16, DType::f16}) {
    EXPECT_EQ(check_rounded(op, op.attrs, matrices(4, 600, 6), half), "");
  }
}

// If each rank rounds its part, the bound is exceeded.
TEST(LongProducts, RoundedPartsExceedTheBound) {
  OpDef op = all_ops().at("matmul");
  op.kernel = [whole = op.kernel](const Attrs& attrs, Inputs in, Outputs out) {
    whole(attrs, in, out);
    if (out[0].type.dtype != DType::f32) return;
    auto* y = out[0].as<float>();
    for (int64_t i = 0; i < out[0].type.elements(); ++i) y[i] = static_cast<float>(rounded(y[i], DType::bf16));
  };
  EXPECT_NE(check_rounded(op, op.attrs, matrices(16, 64, 12), DType::bf16).find("on one rank"), std::string::npos);
}

}  // namespace
}  // namespace partita::laws
