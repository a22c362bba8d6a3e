// Laws of special numbers: NaN, infinities, the ends of each type, signed zeros and numbers below the smallest normal
// one. Each device passes them on as the reference does, in every op and in every node of its gradient.

#include "laws/special_numbers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>

#include "base/philox.h"
#include "ir/graph/builder.h"
#include "ir/ops/elementwise/attrs.h"
#include "ir/ops/registry.h"
#include "laws/checks.h"
#include "laws/emitted.h"
#include "laws/kernel_cases.h"
#include "laws/memory_layout.h"
#include "runtime/device/device.h"

namespace partita::laws {
namespace {

constexpr DType kFloats[] = {DType::f64, DType::f32, DType::bf16, DType::f16};

/// A device: its results of a node, nothing if it does not run there, and the types whose numbers below the smallest
/// normal one it may take for zeros.
struct Runner {
  std::string name;
  std::function<std::optional<std::vector<Array>>(const Case& node)> run;
  std::function<bool(DType)> flushes;
};

/// Ops that multiply what is masked or padded by zeros on some device: an infinity or NaN there spreads.
bool spreads(const std::string& op) { return op.starts_with("conv2d") || op.starts_with("attention"); }

/// Whether the reference itself may have no number where a device has one: its sums overflow in another order.
bool overflows_in_order(const std::string& op, Special special) {
  return special == Special::ends && op.starts_with("attention");
}

/// Whether a plugin takes some numbers below the smallest normal one for other numbers than zero.
bool takes_subnormals_for_others(const std::string& op) { return op == "power" || op == "pow" || op == "log"; }

Allowance allowance_of(const Case& node, Special special) {
  Allowance allowance{.tolerance = 1e-11,
                      .overflows = special == Special::ends,
                      .spreads = spreads(node.op.name),
                      .hides = overflows_in_order(node.op.name, special)};
  for (const auto* types : {&node.input_types, &node.output_types}) {
    for (const Type& type : *types) {
      if (!is_float(type.dtype) || type.dtype == DType::f64) continue;
      allowance.tolerance = std::max(allowance.tolerance, type.dtype == DType::bf16 ? 2e-2 : 1e-3);
    }
  }
  return allowance;
}

double largest_of(const std::vector<Array>& arrays) {
  double largest = 0;
  for (const Array& array : arrays) {
    for (int64_t i = 0; is_float(array.type().dtype) && i < array.type().elements(); ++i) {
      if (std::isfinite(array.at(i))) largest = std::max(largest, std::abs(array.at(i)));
    }
  }
  return largest;
}

/// "" or where a device differs from the reference.
std::string check_on(const Runner& runner, const Case& node, Special special) {
  if (special == Special::subnormal && runner.flushes(DType::f64) && takes_subnormals_for_others(node.op.name)) {
    return "";
  }
  const std::optional<std::vector<Array>> found = runner.run(node);
  if (!found) return "";
  const Case zeros(node.op, node.attrs, flushed(node.inputs, runner.flushes));
  for (size_t k = 0; k < found->size(); ++k) {
    const auto differs = [&](const Array& expected) {
      return differs_in_kind((*found)[k], expected, node.op.pointwise != nullptr, allowance_of(node, special),
                             largest_of(node.inputs));
    };
    const std::string wrong = differs(node.outputs[k]);
    if (!wrong.empty() && !differs(zeros.outputs[k]).empty()) return fmt::format("result {}: {}", k, wrong);
  }
  return "";
}

/// Visits the op on a sample, and every node of its gradient, with special numbers.
void visit_nodes(const OpDef& op, const Sample& sample, Special special, uint64_t seed,
                 const std::function<void(const Case&)>& visit) {
  const Case plain(op, sample, seed);
  const Case node(op, plain.attrs, with_specials(op, plain.inputs, special, seed));
  visit(node);
  if (!op.grad) return;
  Builder builder(all_ops());
  std::vector<Value> inputs;
  for (const Type& type : node.input_types) inputs.push_back(builder.input(fmt::format("x{}", inputs.size()), type));
  const std::vector<Value> outputs = builder.apply_all(op.name, inputs, node.attrs);
  std::vector<Value> d_outputs(outputs.size());
  const std::vector<size_t> floats = float_outputs(node);
  if (floats.empty()) return;
  d_outputs[floats[0]] = builder.input("d", node.output_types[floats[0]]);
  std::vector<Array> operands = node.inputs;
  const Array gradient = fill(SampleInput{node.output_types[floats[0]]}, random_key(seed, "d"));
  operands.push_back(with_specials(op, {gradient}, special, seed + 1)[0]);
  op.grad({{builder, node.attrs, inputs}, outputs, d_outputs});
  const std::vector<Array> values = evaluate(builder.graph(), operands, all_ops());
  for (const Node& one : builder.graph().nodes) {
    std::vector<Array> given;
    for (const ValueId id : one.inputs) given.push_back(values[id]);
    visit(Case(all_ops().at(one.op), one.attrs, std::move(given)));
  }
}

std::optional<std::vector<Array>> run_fast(const KernelDef& def, const Case& node) {
  if (std::count(def.ops.begin(), def.ops.end(), node.op.name) == 0) return std::nullopt;
  KernelQuery query{.op = node.op.name, .attrs = node.attrs, .inputs = node.input_types, .outputs = node.output_types};
  query.input_formats.resize(node.inputs.size());
  const KernelChoice choice = def.propose(query);
  if (!choice.accepted()) return std::nullopt;
  const bool is_plain = std::all_of(choice.inputs.begin(), choice.inputs.end(),
                                    [](const MemoryFormat& format) { return format.plain(); });
  if (!is_plain) return std::nullopt;
  query.input_formats = choice.inputs;
  return run_laid_out(*def.make(query, choice), choice, node.inputs, node.output_types).results;
}

class SpecialNumbers : public testing::TestWithParam<const OpDef*> {};

void check_on_samples(const OpDef& op, const Runner& runner) {
  if (op.name == "host_function") return;  // those of the samples compute one type, and run on the host alone
  std::set<std::string> told;
  for (const Sample& sample : op.samples) {
    for (const DType dtype : kFloats) {
      const Sample typed = with_floats(op, sample, dtype);
      for (const Special special : kSpecials) {
        for (uint64_t seed = 1; seed < 5; ++seed) {
          visit_nodes(op, typed, special, seed, [&](const Case& node) {
            const std::string wrong = check_on(runner, node, special);
            if (wrong.empty()) return;
            const std::string where = fmt::format("{}: {} {}{} {}", runner.name, name_of(special), node.op.name,
                                                  node.attrs.print(), print(node.input_types));
            if (told.insert(where).second) ADD_FAILURE() << where << ": " << wrong;
          });
        }
      }
    }
  }
}

// In f64 and f16 numbers below the smallest normal one are kept (docs/decisions/014).
TEST_P(SpecialNumbers, PassAlikeThroughKernels) {
  make_cpu_device(all_ops(), 1)->enter_thread();
  for (const KernelDef& def : fast_kernels()) {
    check_on_samples(*GetParam(), {.name = def.name,
                                   .run = [&](const Case& node) { return run_fast(def, node); },
                                   .flushes = [](DType dtype) { return dtype == DType::f32 || dtype == DType::bf16; }});
  }
}

TEST_P(SpecialNumbers, PassAlikeThroughPlugins) {
  if (!has_plugin()) GTEST_SKIP() << "no PARTITA_PJRT_PLUGIN: tools/xla/get_plugin.sh";
  check_on_samples(*GetParam(), {.name = plugin_platform(),
                                 .run = [](const Case& node) { return std::optional(run_emitted(node)); },
                                 .flushes = [](DType dtype) { return dtype != DType::f16; }});
}

/// Doubles around the middle of two 16-bit floats, nearer to it than a float can say.
Array near_middles(DType dtype) {
  const double digits = dtype == DType::bf16 ? 0x1p-8 : 0x1p-11;
  std::vector<double> numbers;
  for (const double size : {1.0, 1.5, 3.0, 1000.0, 0x1p-9}) {
    const double unit = std::exp2(std::floor(std::log2(size))), middle = size + unit * digits;
    for (const double x : {middle, std::nextafter(middle, 0), std::nextafter(middle, 2 * middle)}) {
      numbers.insert(numbers.end(), {x, -x});
    }
  }
  return Array({static_cast<int64_t>(numbers.size())}, numbers);
}

/// Integers of all sizes around the middle of two 16-bit floats, nearer to it than a float can say, and the ends of the
/// type.
template <class T>
Array integers_near_middles() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> numbers{Limits::lowest(), Limits::max(), 0};
  for (int bit = 8; bit < Limits::digits; ++bit) {
    for (int digits : {8, 9, 10, 11, 12}) {
      if (digits > bit) continue;
      const T middle = (T{1} << bit) + (T{1} << (bit - digits));
      for (const T offset : {T{0}, T{1}, static_cast<T>((T{1} << bit) >> 14), static_cast<T>((T{1} << bit) >> 23)}) {
        numbers.insert(numbers.end(), {static_cast<T>(middle - offset), static_cast<T>(middle + offset)});
        if constexpr (std::is_signed_v<T>) numbers.push_back(static_cast<T>(-middle - offset));
        if constexpr (std::is_signed_v<T>) numbers.push_back(static_cast<T>(offset - middle));
      }
    }
  }
  Array array(Type{DTypeOf<T>::value, {static_cast<int64_t>(numbers.size())}});
  std::copy(numbers.begin(), numbers.end(), array.as<T>());
  return array;
}

/// "" or the first element that has another number.
std::string differs_at_all(const Array& got, const Array& expected) {
  for (int64_t i = 0; i < got.type().elements(); ++i) {
    if (got.at(i) != expected.at(i)) return fmt::format("element {} is {}, expected {}", i, got.at(i), expected.at(i));
  }
  return "";
}

/// Casts numbers to 16 bits on all devices.
void expect_rounded_once(const Array& numbers, DType dtype) {
  SCOPED_TRACE(fmt::format("{} to {}", name_of(numbers.type().dtype), name_of(dtype)));
  const Case node(all_ops().at("cast"), Attrs(CastAttrs{dtype}), {numbers});
  for (const KernelDef& def : fast_kernels()) {
    const std::optional<std::vector<Array>> found = run_fast(def, node);
    if (found) EXPECT_EQ(differs_at_all((*found)[0], node.outputs[0]), "") << def.name;
  }
  if (has_plugin()) EXPECT_EQ(differs_at_all(run_emitted(node)[0], node.outputs[0]), "") << plugin_platform();
}

/// Returns an integer in the nearest float of `digits` digits, of two the one whose last digit is even.
template <class T>
double nearest_of(T integer, int digits) {
  const bool negative = integer < 0;
  const uint64_t size = negative ? uint64_t{0} - static_cast<uint64_t>(integer) : static_cast<uint64_t>(integer);
  const int dropped = std::max(0, static_cast<int>(std::bit_width(size)) - digits);
  if (dropped == 0) return static_cast<double>(integer);
  const uint64_t kept = size >> dropped, rest = size - (kept << dropped), half = uint64_t{1} << (dropped - 1);
  const uint64_t rounded = kept + (rest > half || (rest == half && kept % 2 == 1) ? 1 : 0);
  return (negative ? -1 : 1) * std::ldexp(static_cast<double>(rounded), dropped);
}

template <class T>
void expect_integers_rounded_once() {
  const Array numbers = integers_near_middles<T>();
  for (int64_t i = 0; i < numbers.type().elements(); ++i) {
    const T integer = numbers.as<T>()[i];
    EXPECT_EQ(static_cast<float>(bf16(integer)), nearest_of(integer, 8)) << integer;
    if (nearest_of(integer, 11) <= 65504 && nearest_of(integer, 11) >= -65504)
      EXPECT_EQ(static_cast<float>(f16(integer)), nearest_of(integer, 11)) << integer;
  }
  for (const DType dtype : {DType::bf16, DType::f16}) expect_rounded_once(numbers, dtype);
}

// Casts to 16 bits are no casts to f32 and then to 16 bits.
TEST(Casts, RoundOnce) {
  for (const DType dtype : {DType::bf16, DType::f16}) expect_rounded_once(near_middles(dtype), dtype);
  expect_integers_rounded_once<int64_t>();
  expect_integers_rounded_once<int32_t>();
  expect_integers_rounded_once<uint32_t>();
}

// No array has these, but other code may convert them.
TEST(Casts, OfUnsignedWordsRoundOnce) {
  for (const uint64_t integer : {uint64_t{5}, (uint64_t{1} << 60) + (uint64_t{1} << 52) + 1, ~uint64_t{0}})
    EXPECT_EQ(static_cast<float>(bf16(integer)), nearest_of(integer, 8)) << integer;
  EXPECT_EQ(static_cast<float>(f16(size_t{5})), 5);
}

INSTANTIATE_TEST_SUITE_P(Ops, SpecialNumbers, testing::ValuesIn(every_op()),
                         [](const auto& info) { return info.param->name; });

}  // namespace
}  // namespace partita::laws
