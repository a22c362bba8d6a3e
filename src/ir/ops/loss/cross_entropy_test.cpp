#include "ir/ops/loss/cross_entropy.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ir/ops/test_kernels.h"

namespace partita {
namespace {

std::vector<Array> run(std::string_view name, const Attrs& attrs, const std::vector<Array>& operands) {
  return run_kernel(all_ops().at(name), attrs, operands);
}

Array labels(const std::vector<int32_t>& values) { return {{static_cast<int64_t>(values.size())}, values}; }

TEST(CrossEntropy, StaysFiniteAtExtremeLogits) {
  const Array logits({2, 3}, std::vector<double>{1e300, -1e300, 0, -1e4, -1e4, -1e4});
  const auto results = run("cross_entropy", {}, {logits, labels({0, 2})});
  EXPECT_EQ(results[0].at(0), 0);
  EXPECT_NEAR(results[0].at(1), std::log(3.0), 1e-12);
  EXPECT_EQ(results[1].at(0), 1e300);
}

TEST(CrossEntropy, KeepsTheLossOf16BitLogitsInF32) {
  const Array logits = cast(Array({1, 2}, std::vector<double>{0, 1}), DType::bf16);
  const auto results = run("cross_entropy", {}, {logits, labels({0})});
  EXPECT_EQ(results[0].type(), (Type{DType::f32, {1}}));
  EXPECT_NEAR(results[0].at(0), 1.3132617, 1e-6);
}

TEST(CrossEntropy, RefusesLabelsOutsideTheClasses) {
  const Array logits({2, 3}, std::vector<double>(6));
  EXPECT_THROW(run("cross_entropy", {}, {logits, labels({0, 3})}), InvalidArgument);
  EXPECT_THROW(run("cross_entropy", {}, {logits, labels({-1, 0})}), InvalidArgument);
}

TEST(CrossEntropyGrad, AShardAcceptsLabelsOfOtherShards) {
  const Array logits({1, 2}, std::vector<double>(2)), lse({1, 1}, std::vector<double>{std::log(4.0)});
  const Array d({1, 1}, std::vector<double>{1});
  const Attrs attrs(CrossEntropyGradAttrs{.classes = 4, .begin = 2});
  EXPECT_NEAR(run("cross_entropy_grad", attrs, {logits, labels({0}), lse, d})[0].at(0), 0.25, 1e-12);
  EXPECT_NEAR(run("cross_entropy_grad", attrs, {logits, labels({3}), lse, d})[0].at(1), -0.75, 1e-12);
  EXPECT_THROW(run("cross_entropy_grad", attrs, {logits, labels({4}), lse, d}), InvalidArgument);
}

}  // namespace
}  // namespace partita
