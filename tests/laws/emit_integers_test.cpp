// Ops on integers of all types as StableHLO: casts between all pairs, and sums and products that wrap around.

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "ir/ops/elementwise/attrs.h"
#include "ir/ops/reduce/attrs.h"
#include "ir/ops/registry.h"
#include "ir/ops/support.h"
#include "laws/emitted.h"

namespace partita::laws {
namespace {

std::vector<DType> integer_types() {
  std::vector<DType> types;
  for (const DType dtype : kAllDTypes) {
    if (!is_float(dtype) && dtype != DType::boolean) types.push_back(dtype);
  }
  return types;
}

/// The ends of an integer type, and numbers at the ends of the others; special numbers of a float type.
Array numbers_of(DType dtype) {
  std::vector<double> values{0, 1, -1, 2, 3, 127, 128, -128, -129, 255, 256, 32767, 32768, -32768, 65535, 65536};
  if (is_float(dtype)) {
    const double infinity = std::numeric_limits<double>::infinity();
    for (const double more : {-0.0, 2.5, -7.75, 127.5, -128.5, 1e9, -1e9, std::nan(""), infinity, -infinity}) {
      values.push_back(more);
    }
  }
  Array array(Type{dtype, {static_cast<int64_t>(values.size()) + 2}});
  for (size_t i = 0; i < values.size(); ++i) array.set(static_cast<int64_t>(i), values[i]);
  if (is_float(dtype)) return array;
  for_integer(dtype, [&](auto zero) {
    using Limits = std::numeric_limits<decltype(zero)>;
    array.as<decltype(zero)>()[values.size()] = Limits::min();
    array.as<decltype(zero)>()[values.size() + 1] = Limits::max();
  });
  return array;
}

std::string emitted(const std::string& op, const Attrs& attrs, std::vector<Array> inputs) {
  return check_emitted(Case{all_ops().at(op), attrs, std::move(inputs)}, /*tolerance=*/1e-300);
}

TEST(EmittedIntegers, AreCastFromAllTypes) {
  if (!has_plugin()) GTEST_SKIP() << "no PARTITA_PJRT_PLUGIN: tools/xla/get_plugin.sh";
  for (const DType from : kAllDTypes) {
    for (const DType to : kAllDTypes) {
      if (from == to || (is_float(from) && is_float(to))) continue;
      EXPECT_EQ(emitted("cast", CastAttrs{.dtype = to}, {numbers_of(from)}), "")
          << name_of(from) << " to " << name_of(to);
    }
  }
}

TEST(EmittedIntegers, WrapAround) {
  if (!has_plugin()) GTEST_SKIP() << "no PARTITA_PJRT_PLUGIN: tools/xla/get_plugin.sh";
  for (const DType dtype : integer_types()) {
    const Array a = numbers_of(dtype);
    Array b(Type{dtype, {a.type().elements(), 1}});
    std::memcpy(b.data(), a.data(), static_cast<size_t>(a.type().bytes()));
    for (const char* op : {"add", "sub", "mul", "maximum", "minimum", "less", "equal"}) {
      EXPECT_EQ(emitted(op, Attrs(), {a, b}), "") << op << " of " << name_of(dtype);
    }
    for (const Reduce kind : {Reduce::sum, Reduce::max, Reduce::min}) {
      EXPECT_EQ(emitted("reduce", ReduceAttrs{.kind = kind, .axes = {0}}, {a}), "") << name_of(dtype);
    }
  }
}

TEST(EmittedIntegers, ArePicked) {
  if (!has_plugin()) GTEST_SKIP() << "no PARTITA_PJRT_PLUGIN: tools/xla/get_plugin.sh";
  for (const DType dtype : kAllDTypes) {
    const Array numbers = numbers_of(dtype);
    const int64_t rows = numbers.type().elements();
    Array table(Type{dtype, {rows, 1}}), line(Type{dtype, {1, rows}});
    for (Array* one : {&table, &line}) {
      std::memcpy(one->data(), numbers.data(), static_cast<size_t>(numbers.type().bytes()));
    }
    const Array ids(Shape{3}, std::vector<int64_t>{rows - 1, 0, rows - 2}), places(Shape{1, 2}, std::vector{4, 1});
    EXPECT_EQ(emitted("embedding", Attrs(), {table, ids}), "") << name_of(dtype);
    EXPECT_EQ(emitted("take_along", Attrs(), {line, places}), "") << name_of(dtype);
    EXPECT_EQ(emitted("reverse", Attrs(), {numbers}), "") << name_of(dtype);
  }
}

}  // namespace
}  // namespace partita::laws
