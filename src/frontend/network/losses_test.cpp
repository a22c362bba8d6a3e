#include "frontend/network/losses.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ir/ops/registry.h"
#include "runtime/execute/interpreter.h"

namespace partita {
namespace {

const std::vector<double> kLogits{1, 2, 3, 0.5, -1, 4};

double loss_of(Loss loss, const std::vector<double>& numbers, const Array& label, DType dtype = DType::f64) {
  Builder builder(all_ops());
  const Value logits = builder.input("logits", {dtype, {2, 3}});
  builder.output("loss", build_loss(loss, builder, logits, builder.input("label", label.type())));
  EXPECT_TRUE(builder.graph().type(builder.graph().output("loss")).shape.empty());
  const Array given = cast(Array({2, 3}, numbers), dtype);
  return interpret(builder.graph(), all_ops(), {{"logits", given}, {"label", label}}).at(0).at(0);
}

double cross_entropy(const std::vector<double>& logits, const std::vector<double>& target) {
  double sum = 0;
  for (size_t row = 0; row < 2; ++row) {
    double total = 0;
    for (size_t c = 0; c < 3; ++c) total += std::exp(logits[3 * row + c]);
    for (size_t c = 0; c < 3; ++c) sum -= target[3 * row + c] * (logits[3 * row + c] - std::log(total));
  }
  return sum / 2;
}

const Array kClasses(Shape{2}, std::vector<int32_t>{2, 0});
const std::vector<double> kHot{0, 0, 1, 1, 0, 0};

TEST(Losses, CrossEntropiesAgree) {
  const double expected = cross_entropy(kLogits, kHot);
  for (const Loss loss : {Loss::sparse, Loss::dense, Loss::expanded}) {
    EXPECT_NEAR(loss_of(loss, kLogits, kClasses), expected, 1e-12) << name_of(loss);
    EXPECT_NEAR(loss_of(loss, kLogits, kClasses, DType::f32), expected, 1e-6) << name_of(loss);
    EXPECT_NEAR(loss_of(loss, kLogits, kClasses, DType::bf16), expected, 1e-5) << name_of(loss);  // exact in bf16
  }
}

TEST(Losses, SoftLabels) {
  const std::vector<double> soft{0.2, 0.3, 0.5, 0.9, 0.1, 0};
  for (const Loss loss : {Loss::dense, Loss::expanded}) {
    EXPECT_NEAR(loss_of(loss, kLogits, Array({2, 3}, soft)), cross_entropy(kLogits, soft), 1e-12) << name_of(loss);
  }
}

TEST(Losses, ErrorsAgainstLabels) {
  double squares = 0, distances = 0;
  for (size_t i = 0; i < 6; ++i) {
    squares += (kLogits[i] - kHot[i]) * (kLogits[i] - kHot[i]) / 6;
    distances += std::abs(kLogits[i] - kHot[i]) / 6;
  }
  EXPECT_NEAR(loss_of(Loss::mse, kLogits, kClasses), squares, 1e-12);
  EXPECT_NEAR(loss_of(Loss::mse, kLogits, Array({2, 3}, kHot)), squares, 1e-12);
  EXPECT_NEAR(loss_of(Loss::mae, kLogits, kClasses), distances, 1e-12);
}

TEST(Losses, FarLogitsStayFinite) {
  const std::vector<double> far{0, 0, -5000, -30000, 0, 20000};
  for (const Loss loss : {Loss::sparse, Loss::dense, Loss::expanded}) {
    for (DType dtype : {DType::f64, DType::f32, DType::bf16, DType::f16}) {
      EXPECT_TRUE(std::isfinite(loss_of(loss, far, kClasses, dtype))) << name_of(loss) << " " << name_of(dtype);
    }
  }
}

double ignoring_loss(Loss loss, const Array& label, int64_t ignored) {
  Builder builder(all_ops());
  const Value logits = builder.input("logits", {DType::f64, {2, 3}});
  const Value value =
      build_loss(loss, builder, logits, builder.input("label", label.type()), {.ignore_index = ignored});
  builder.output("loss", value);
  return interpret(builder.graph(), all_ops(), {{"logits", Array({2, 3}, kLogits)}, {"label", label}}).at(0).at(0);
}

TEST(Losses, IgnoredLabelsCountForNothing) {
  const Array none({2}, std::vector<int32_t>{-100, -100});
  for (const Loss loss : {Loss::sparse, Loss::dense, Loss::expanded, Loss::binary, Loss::mse, Loss::mae}) {
    const double both = loss_of(loss, kLogits, kClasses);
    const double first = ignoring_loss(loss, Array({2}, std::vector<int32_t>{2, -100}), -100);
    const double second = ignoring_loss(loss, kClasses, 2);  // a class of the logits
    EXPECT_NEAR((first + second) / 2, both, 1e-12) << name_of(loss);
    EXPECT_GT(std::abs(first - second), 1e-3) << name_of(loss);
    EXPECT_NEAR(ignoring_loss(loss, kClasses, -100), both, 1e-12) << name_of(loss);
    EXPECT_EQ(ignoring_loss(loss, none, -100), 0) << name_of(loss);
  }
}

TEST(Losses, SampleLossesAreThoseOfTheMean) {
  for (const Loss loss : {Loss::sparse, Loss::dense, Loss::expanded, Loss::binary, Loss::mse, Loss::mae}) {
    Builder builder(all_ops());
    const Value logits = builder.input("logits", {DType::f64, {2, 3}});
    const Value losses = sample_losses(loss, builder, logits, builder.input("label", kClasses.type()));
    ASSERT_EQ(losses.shape(), Shape{2}) << name_of(loss);
    builder.output("losses", losses);
    const Array of_samples =
        interpret(builder.graph(), all_ops(), {{"logits", Array({2, 3}, kLogits)}, {"label", kClasses}}).at(0);
    EXPECT_NEAR((of_samples.at(0) + of_samples.at(1)) / 2, loss_of(loss, kLogits, kClasses), 1e-12) << name_of(loss);
  }
}

TEST(Losses, WhatCannotBeIgnoredIsRefused) {
  const auto refusal = [](const Array& label, int64_t ignored) -> std::string {
    try {
      ignoring_loss(Loss::dense, label, ignored);
    } catch (const InvalidArgument& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_EQ(refusal(Array({2, 3}, kHot), 1),
            "[loss] ignore_index needs labels that are classes, got f64[2,3], expected classes (integers) or no "
            "ignore_index");
  EXPECT_EQ(refusal(cast(kClasses, DType::u8), -100),
            "[loss] ignore_index is not a possible label, got -100 for u8[2], expected 0 to 255");
  EXPECT_EQ(
      refusal(kClasses, int64_t{1} << 31),
      "[loss] ignore_index is not a possible label, got 2147483648 for i32[2], expected -2147483648 to 2147483647");
  EXPECT_EQ(refusal(kClasses, (int64_t{1} << 31) - 1), "accepted");
}

TEST(Losses, BadCallsAreRefused) {
  EXPECT_THROW(loss_of(Loss::dense, kLogits, Array(Type{DType::f64, {2, 1}})), InvalidArgument);
  EXPECT_THROW(loss_of(Loss::mse, kLogits, Array(Type{DType::i32, {3}})), InvalidArgument);
  EXPECT_THROW(loss_of(Loss::sparse, kLogits, Array({2, 3}, kHot)), InvalidArgument);
  Builder builder(all_ops());
  const Value scalar = builder.input("x", {DType::f32, {}});
  EXPECT_THROW(build_loss(Loss::mse, builder, scalar, scalar), InvalidArgument);
}

}  // namespace
}  // namespace partita
