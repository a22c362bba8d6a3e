// Ops as StableHLO on random attributes and shapes beyond those of the samples, and on numbers that are treated
// specially: infinities, NaN, equal elements, 0 as a divisor.

#include <gtest/gtest.h>

#include <array>
#include <limits>

#include "base/philox.h"
#include "ir/ops/attention/attention.h"
#include "ir/ops/elementwise/attrs.h"
#include "ir/ops/index/attrs.h"
#include "ir/ops/pool/pool.h"
#include "ir/ops/random/attrs.h"
#include "ir/ops/reduce/attrs.h"
#include "ir/ops/registry.h"
#include "ir/ops/routing/attrs.h"
#include "ir/ops/support.h"
#include "laws/emitted.h"

namespace partita::laws {
namespace {

constexpr double kExact = 1e-300;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// Random integers of a stream.
class Draw {
 public:
  explicit Draw(uint64_t key) : key_(key) {}
  /// An integer from `least` to `most`.
  int64_t operator()(int64_t least, int64_t most) {
    return least + static_cast<int64_t>(random_below(key_, at_++, 0, static_cast<uint64_t>(most - least + 1)));
  }

 private:
  uint64_t key_, at_ = 0;
};

Array array_of(DType dtype, const Shape& shape, const std::vector<double>& values) {
  Array array(Type{dtype, shape});
  for (int64_t i = 0; i < array.type().elements(); ++i) array.set(i, values[static_cast<size_t>(i) % values.size()]);
  return array;
}

/// Random elements of a few that compare in every way.
Array special_array(DType dtype, const Shape& shape, uint64_t key) {
  const double values[] = {0, -0.0, 1, 1, -2.5, kInfinity, -kInfinity, kNan};
  Array array(Type{dtype, shape});
  Draw draw(key);
  for (int64_t i = 0; i < array.type().elements(); ++i) array.set(i, values[draw(0, 7)]);
  return array;
}

Case case_of(const std::string& op, const Attrs& attrs, std::vector<Array> inputs) {
  return {all_ops().at(op), attrs, std::move(inputs)};
}

/// A pooling that is legal for planes of height x[2] and width x[3].
MaxPoolAttrs random_pool(Draw& draw, Shape& x) {
  MaxPoolAttrs attrs;
  x = {draw(0, 2), draw(1, 2), 0, 0};
  for (size_t d = 0; d < 2; ++d) {
    const int64_t taps = draw(1, 4) * draw(1, 2);
    attrs.kernel[d] = taps;
    attrs.stride[d] = draw(1, 5);
    attrs.pads[d] = draw(0, taps - 1);
    attrs.pads[d + 2] = draw(0, taps - 1);
    x[d + 2] = std::max<int64_t>(1, taps - attrs.pads[d] - attrs.pads[d + 2]) + draw(0, 7);
  }
  return attrs;
}

TEST(EmissionShapes, RandomPools) {
  if (!has_plugin()) GTEST_SKIP() << "no PARTITA_PJRT_PLUGIN: tools/xla/get_plugin.sh";
  Draw draw(3);
  for (uint64_t k = 0; k < 30; ++k) {
    Shape x;
    const MaxPoolAttrs max = random_pool(draw, x);
    const Array given = k % 2 == 0 ? fill(sample_of(x), k) : special_array(DType::f64, x, k);
    const Case pooled = case_of("max_pool", Attrs(max), {given});
    EXPECT_EQ(check_emitted(pooled, kExact), "");
    const Array d_y = fill(sample_of(pooled.outputs[0].shape()), k);
    const MaxPoolGradAttrs max_grad{max, {x[2], x[3]}};
    EXPECT_EQ(check_emitted(case_of("max_pool_grad", Attrs(max_grad), {d_y, pooled.outputs[1]}), kExact), "");
    const bool with_padding = draw(0, 1) == 1;
    const AvgPoolAttrs avg{max, with_padding};
    EXPECT_EQ(check_emitted(case_of("avg_pool", Attrs(avg), {fill(sample_of(x), k)}), 1e-14), "");
    const AvgPoolGradAttrs avg_grad{avg, {x[2], x[3]}, {0, 0}, {x[2], x[3]}};
    EXPECT_EQ(check_emitted(case_of("avg_pool_grad", Attrs(avg_grad), {d_y}), 1e-14), "");
  }
}

// Dropout keeps the same elements in all places; elements beyond 2^34 have counters of two words.
TEST(EmissionShapes, RandomNumbers) {
  if (!has_plugin()) GTEST_SKIP() << "no PARTITA_PJRT_PLUGIN: tools/xla/get_plugin.sh";
  Draw draw(4);
  const char* distributions[] = {"uniform", "normal", "truncated_normal"};
  for (int k = 0; k < 12; ++k) {
    Shape part, whole, begin;
    for (int64_t d = draw(0, 3); d > 0; --d) {
      part.push_back(draw(0, 6) * 3);
      whole.push_back(part.back() + draw(0, 3) * (int64_t{1} << 12));
      begin.push_back(draw(0, whole.back() - part.back()));
    }
    if (draw(0, 1) == 0) whole.clear(), begin.clear();
    const int64_t key = draw(0, int64_t{1} << 62) * (draw(0, 1) * 2 - 1);
    const Array step = array_of(DType::i64, {}, {static_cast<double>(draw(0, int64_t{1} << 40))});
    const DropoutAttrs dropout{0.1 * static_cast<double>(draw(0, 9)), key, whole, begin};
    for (const DType dtype : {DType::f64, DType::f32, DType::bf16}) {
      const Array x = fill({Type{dtype, part}}, 1);
      EXPECT_EQ(check_emitted(case_of("dropout", Attrs(dropout), {x, step}), kExact), "");
    }
    const std::string distribution = distributions[k % 3];
    const RandomAttrs random{distribution, key, DType::f64, part, whole, begin};
    EXPECT_EQ(check_emitted(case_of("random", Attrs(random), {step}), distribution == "uniform" ? kExact : 1e-13), "");
  }
}

TEST(EmissionShapes, RunningSums) {
  if (!has_plugin()) GTEST_SKIP() << "no PARTITA_PJRT_PLUGIN: tools/xla/get_plugin.sh";
  Draw draw(5);
  const DType dtypes[] = {DType::f64, DType::u8, DType::i32, DType::i64, DType::f16};
  for (int64_t size = 0; size < 20; ++size) {
    const CumsumAttrs attrs{.axis = draw(0, 1), .exclusive = draw(0, 1) == 1, .reverse = draw(0, 1) == 1};
    const Shape shape = attrs.axis == 0 ? Shape{size, 3} : Shape{3, size};
    const Array x = fill({Type{dtypes[size % 5], shape}}, size);
    EXPECT_EQ(check_emitted(case_of("cumsum", Attrs(attrs), {x})), "");
  }
  const Array special = special_array(DType::f64, {6, 5}, 1);
  EXPECT_EQ(check_emitted(case_of("cumsum", Attrs(CumsumAttrs{1}), {special})), "");
}

TEST(EmissionShapes, Indices) {
  if (!has_plugin()) GTEST_SKIP() << "no PARTITA_PJRT_PLUGIN: tools/xla/get_plugin.sh";
  for (const DType dtype : {DType::f64, DType::bf16, DType::i64, DType::u8, DType::boolean}) {
    const Array x =
        is_float(dtype) ? special_array(dtype, {3, 40}, 2) : fill({Type{dtype, {3, 40}}, {Fill::ids, 2}}, 2);
    EXPECT_EQ(check_emitted(case_of("top_k", Attrs(TopKAttrs{25}), {x}), kExact), "");
  }
  EXPECT_EQ(check_emitted(case_of("top_k", Attrs(TopKAttrs{2}), {Array(Type{DType::f64, {0, 4}})})), "");
  // Fewer and more indices than are compared with every column.
  for (const int64_t count : {0, 1, 64, 65, 200}) {
    const std::vector<Array> operands = fill(Sample{{sample_of({2, count}), ids_of({2, count}, 9)}});
    EXPECT_EQ(check_emitted(case_of("put_along", Attrs(PutAlongAttrs{4, 3, 9}), operands)), "");
  }
  const std::vector<Array> operands = fill(Sample{{sample_of({2, 0}), ids_of({2, 3}, 9)}});
  EXPECT_EQ(check_emitted(case_of("take_along", Attrs(TakeAlongAttrs{2, 9}), operands)), "");
}

TEST(EmissionShapes, PlacesOfLabels) {
  if (!has_plugin()) GTEST_SKIP() << "no PARTITA_PJRT_PLUGIN: tools/xla/get_plugin.sh";
  Draw draw(9);
  for (uint64_t k = 0; k < 12; ++k) {
    const DType dtype = std::array{DType::f64, DType::f32, DType::bf16, DType::f16}[k % 4];
    const int64_t rows = draw(0, 9), columns = draw(1, 7);
    Array x = k % 3 == 0 ? special_array(dtype, {rows, columns}, k) : fill({Type{dtype, {rows, columns}}}, k);
    for (int64_t i = 0; i + 1 < x.type().elements(); i += 2) x.set(i, x.at(i + 1));  // equal elements
    Array labels({DType::i64, {rows}});
    for (int64_t i = 0; i < rows; ++i) labels.set(i, static_cast<double>(draw(-2, columns + 1)));
    EXPECT_EQ(check_emitted(case_of("label_place", {}, {x, labels}), kExact), "");
  }
}

// Rows of a slot that does not exist do not count, whatever their weight.
TEST(EmissionShapes, Routing) {
  if (!has_plugin()) GTEST_SKIP() << "no PARTITA_PJRT_PLUGIN: tools/xla/get_plugin.sh";
  Draw draw(6);
  for (uint64_t k = 0; k < 12; ++k) {
    const int64_t groups = draw(1, 3), tokens = draw(0, 9), choices = draw(1, 3), size = draw(0, 4);
    const int64_t begin = draw(0, 3), total = begin + size + draw(1, 3), width = draw(0, 3);
    const Shape route{groups, tokens, choices};
    const Array slots = fill(ids_of(route, total + 1), k), weights = fill(sample_of(route), k);
    const Array x = fill(sample_of({groups, tokens, width}), k), y = fill(sample_of({groups, size, width}), k);
    const DispatchAttrs there{size, begin, total};
    const CombineAttrs back{begin, total};
    EXPECT_EQ(check_emitted(case_of("dispatch", Attrs(there), {x, slots, weights})), "");
    EXPECT_EQ(check_emitted(case_of("combine", Attrs(back), {y, slots, weights})), "");
    EXPECT_EQ(check_emitted(case_of("combine_grad_weights", Attrs(back), {y, slots, x})), "");
    const AssignSlotsAttrs assign{draw(1, 5), draw(1, 4)};
    const Array ids = fill({Type{DType::i64, route}, {Fill::ids, assign.experts}}, k);
    EXPECT_EQ(check_emitted(case_of("assign_slots", Attrs(assign), {ids})), "");
  }
  const Array none = array_of(DType::i32, {2, 1}, {3, 0}), infinite = array_of(DType::f64, {2, 1}, {kInfinity, 2});
  EXPECT_EQ(check_emitted(case_of("combine", Attrs(CombineAttrs{}), {fill(sample_of({3, 2}), 1), none, infinite})), "");
}

TEST(EmissionShapes, RelativeBuckets) {
  if (!has_plugin()) GTEST_SKIP() << "no PARTITA_PJRT_PLUGIN: tools/xla/get_plugin.sh";
  Draw draw(7);
  for (int k = 0; k < 12; ++k) {
    RelativeBucketsAttrs attrs{.queries = draw(0, 40), .keys = draw(1, 300), .both_sides = k % 2 == 1};
    attrs.buckets = attrs.both_sides ? 2 * draw(1, 16) : draw(1, 40);
    attrs.furthest = attrs.buckets + draw(1, 200);
    attrs.begin = draw(-300, 300);
    EXPECT_EQ(check_emitted(case_of("relative_buckets", Attrs(attrs), {}), kExact), "");
  }
}

TEST(EmissionShapes, Rounding) {
  if (!has_plugin()) GTEST_SKIP() << "no PARTITA_PJRT_PLUGIN: tools/xla/get_plugin.sh";
  std::vector<double> values{0, -0.0, 1, kInfinity, -kInfinity, kNan, 65519, 65520, -65536, 3.4e38, -3.4028234e38};
  Draw draw(8);
  for (int k = 0; k < 300; ++k) {
    const double digits = 1 + static_cast<double>(draw(0, 1 << 13)) / (1 << 13);
    values.push_back(std::ldexp(digits, static_cast<int>(draw(-140, 20))) * (k % 2 == 0 ? 1 : -1));
  }
  for (const DType half : {DType::bf16, DType::f16}) {
    for (const DType dtype : {DType::f64, DType::f32, DType::bf16}) {
      const Array x = array_of(dtype, {static_cast<int64_t>(values.size())}, values);
      const Case node = case_of("round", Attrs(RoundAttrs{half}), {x});
      const std::vector<Array> found = run_emitted(node);
      for (int64_t i = 0; i < x.type().elements(); ++i) {
        const double a = found[0].at(i), b = node.outputs[0].at(i);
        const bool is_same = std::isnan(b) ? std::isnan(a) : a == b && std::signbit(a) == std::signbit(b);
        EXPECT_TRUE(is_same) << name_of(half) << " in " << name_of(dtype) << ": " << x.at(i) << " is " << a << ", not "
                             << b;
      }
    }
  }
}

TEST(EmissionShapes, Division) {
  if (!has_plugin()) GTEST_SKIP() << "no PARTITA_PJRT_PLUGIN: tools/xla/get_plugin.sh";
  for (const char* op : {"floor_div", "remainder"}) {
    for (const DType dtype : {DType::i32, DType::i64, DType::u8, DType::u32, DType::i8, DType::i16, DType::u16}) {
      Array a(Type{dtype, {7, 1}}), b(Type{dtype, {7}});
      for_integer(dtype, [&](auto zero) {
        using T = decltype(zero);
        using Limits = std::numeric_limits<T>;
        if constexpr (!std::is_same_v<T, bool>) {
          const T numbers[] = {0, 1, static_cast<T>(-1), 3, static_cast<T>(-4), Limits::max(), Limits::min()};
          std::copy(std::begin(numbers), std::end(numbers), a.template as<T>());
          std::copy(std::begin(numbers), std::end(numbers), b.template as<T>());
        }
      });
      EXPECT_EQ(check_emitted(case_of(op, Attrs(), {a, b}), kExact), "");
    }
    const std::vector<double> numbers{0, -0.0, 1, -3, 2.5, -7.25, kInfinity, -kInfinity, kNan};
    for (const DType dtype : {DType::f64, DType::f32, DType::bf16}) {
      const Array a = array_of(dtype, {9, 1}, numbers), b = array_of(dtype, {9}, numbers);
      EXPECT_EQ(check_emitted(case_of(op, Attrs(), {a, b}), kExact), "");
    }
  }
}

TEST(EmissionShapes, Finiteness) {
  if (!has_plugin()) GTEST_SKIP() << "no PARTITA_PJRT_PLUGIN: tools/xla/get_plugin.sh";
  for (const double last : {1.0, kInfinity, -kInfinity, kNan}) {
    for (const DType dtype : {DType::f64, DType::f32, DType::bf16, DType::f16}) {
      const Array x = array_of(dtype, {3}, {0, -5, last});
      EXPECT_EQ(check_emitted(case_of("all_finite", Attrs(), {x}), kExact), "");
    }
  }
  EXPECT_EQ(check_emitted(case_of("all_finite", Attrs(), {Array(Type{DType::f64, {0, 2}})}), kExact), "");
}

}  // namespace
}  // namespace partita::laws
