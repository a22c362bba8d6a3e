// Products of bf16 operands by kernels of the device, where the processor has such instructions, against the reference
// in f64: results are sums in f32, rounded once.

#include <gtest/gtest.h>

#include <cmath>

#include "base/philox.h"
#include "ir/ops/attention/attention.h"
#include "ir/ops/conv/conv2d.h"
#include "ir/ops/matmul/matmul.h"
#include "ir/ops/registry.h"
#include "runtime/device/cpu/onednn/engine.h"
#include "runtime/device/device.h"

namespace partita {
namespace {

struct Bf16Case {
  std::string op;
  Attrs attrs;
  Shape a, b;
  int64_t terms = 1;  // number of products that an element of the result sums
};

Array random_halves(const Shape& shape, uint64_t key) {
  Array array(Type{DType::bf16, shape});
  for (int64_t i = 0; i < array.type().elements(); ++i) {
    array.set(i, random_normal(key, static_cast<uint64_t>(i), 0));
  }
  return array;
}

/// The op on the operands, or on their magnitudes, in f64.
Array exact(const Bf16Case& one, const Array& a, const Array& b, bool magnitudes) {
  std::vector<Array> wide;
  for (const Array* operand : {&a, &b}) {
    Array& array = wide.emplace_back(Type{DType::f64, operand->type().shape});
    for (int64_t i = 0; i < array.type().elements(); ++i) {
      array.set(i, magnitudes ? std::abs(operand->at(i)) : operand->at(i));
    }
  }
  const OpDef& op = all_ops().at(one.op);
  const std::vector<Type> types{wide[0].type(), wide[1].type()}, none;
  Array result(op.infer({one.attrs, types, none})[0]);
  const std::vector<ConstTensor> in{std::as_const(wide[0]).tensor(), std::as_const(wide[1]).tensor()};
  std::vector<Tensor> out{result.tensor()};
  op.kernel(one.attrs, in, out);
  return result;
}

/// Runs the kernel that the device chooses for operands of bf16. Returns none if that is the reference, or none.
std::optional<Array> computed(Device& device, const Bf16Case& one, const Array& a, const Array& b, const Type& type) {
  KernelQuery query{.op = one.op, .attrs = one.attrs, .inputs = {a.type(), b.type()}, .outputs = {type}};
  query.input_formats = {MemoryFormat{}, MemoryFormat{}};
  const KernelChoice choice = device.catalog().choose(query);
  if (!choice.accepted() || choice.kernel == "reference") {
    fmt::print("no kernel for {}({}) {} -> {}: {}\n", one.op, print(query.inputs), one.attrs.print(), print(type),
               choice.reason);
    return std::nullopt;
  }
  const auto reordered = [&](const Type& of, const MemoryFormat& from, const MemoryFormat& to, const void* data) {
    std::shared_ptr<void> memory = device.allocate(device.catalog().bytes(of, to));
    void* target = memory.get();
    device.make_reorder(of, from, to)->run({&data, 1}, {&target, 1}, nullptr);
    return memory;
  };
  const auto first = reordered(a.type(), {}, choice.inputs[0], a.data());
  const auto second = reordered(b.type(), {}, choice.inputs[1], b.data());
  const auto memory = device.allocate(device.catalog().bytes(type, choice.outputs[0]));
  const auto scratch = device.allocate(choice.scratch_bytes);
  const std::vector<const void*> in{first.get(), second.get()};
  const std::vector<void*> out{memory.get()};
  query.input_formats = choice.inputs;
  device.make_kernel(query, choice)->run(in, out, scratch.get());
  Array result(type);
  const void* made = memory.get();
  void* to = result.data();
  device.make_reorder(type, choice.outputs[0], {})->run({&made, 1}, {&to, 1}, nullptr);
  return result;
}

/// Distance between a number of the type and the next larger one, at the magnitude of `number`.
double unit_of(DType dtype, double number) {
  const int digits = dtype == DType::bf16 ? 8 : 24;
  return std::ldexp(1.0, std::ilogb(std::max(std::abs(number), 1e-30)) + 1 - digits);
}

/// Compares both results that a product may have with the exact ones. Returns the number that a kernel computed.
int expect_exact(Device& device, const Bf16Case& one) {
  const Array a = random_halves(one.a, 1), b = random_halves(one.b, 2);
  const Array wanted = exact(one, a, b, false), sizes = exact(one, a, b, true);
  int kernels = 0;
  for (const DType dtype : {DType::f32, DType::bf16}) {
    const std::optional<Array> got = computed(device, one, a, b, Type{dtype, wanted.type().shape});
    if (!got) continue;
    ++kernels;
    int bad = 0;
    for (int64_t i = 0; i < wanted.type().elements() && bad < 3; ++i) {
      const double sums = 2 * static_cast<double>(one.terms) * std::ldexp(1.0, -24) * sizes.at(i);
      const double limit = unit_of(dtype, wanted.at(i)) + sums;
      if (std::abs(got->at(i) - wanted.at(i)) <= limit) continue;
      ++bad;
      ADD_FAILURE() << one.op << print(a.type()) << print(b.type()) << one.attrs.print() << " in " << name_of(dtype)
                    << " at " << i << ": " << got->at(i) << ", expected " << wanted.at(i) << " up to " << limit;
    }
  }
  return kernels;
}

std::vector<Bf16Case> products() {
  std::vector<Bf16Case> all;
  const std::array<int64_t, 3> sizes[] = {{1, 1, 1},    {3, 5, 7},     {16, 16, 16},
                                          {33, 65, 47}, {64, 96, 128}, {130, 1, 70}};
  for (const auto& [m, n, k] : sizes) {
    for (const bool ta : {false, true}) {
      for (const bool tb : {false, true}) {
        const Shape a = ta ? Shape{k, m} : Shape{m, k}, b = tb ? Shape{n, k} : Shape{k, n};
        const MatmulAttrs attrs{.transpose_a = ta, .transpose_b = tb};
        all.push_back({"matmul", attrs, a, b, k});
        const auto batched = [](Shape shape) {
          shape.insert(shape.begin(), {2, 3});
          return shape;
        };
        all.push_back({"matmul", attrs, batched(a), batched(b), k});
        if (!ta) all.push_back({"matmul", attrs, batched(a), b, k});
      }
    }
    all.push_back({"matmul_rows", {}, {k, m}, {k, n}, k});
    all.push_back({"matmul_rows", {}, {2, k, m}, {2, k, n}, 2 * k});
  }
  return all;
}

struct ConvCase {
  Shape x, w;
  Conv2dAttrs attrs;
};

std::vector<ConvCase> convolutions() {
  return {
      {{2, 16, 9, 8}, {32, 16, 3, 3}, {.pads = {1, 1, 1, 1}}},
      {{2, 64, 8, 8}, {64, 64, 1, 1}, {}},
      {{1, 3, 17, 15}, {8, 3, 7, 7}, {.stride = {2, 2}, .pads = {3, 3, 3, 3}}},
      {{3, 20, 11, 7}, {24, 20, 3, 3}, {.stride = {2, 2}, .pads = {1, 1, 1, 1}}},
      {{2, 32, 10, 10}, {16, 32, 1, 1}, {.stride = {2, 2}}},
      {{2, 16, 12, 12}, {16, 16, 3, 3}, {.dilation = {2, 2}, .pads = {2, 2, 2, 2}}},
      {{2, 5, 6, 9}, {7, 5, 2, 3}, {.pads = {0, 1, 1, 0}}},
      {{2, 32, 8, 8}, {32, 8, 3, 3}, {.pads = {1, 1, 1, 1}, .groups = 4}},
      {{2, 32, 8, 8}, {32, 1, 3, 3}, {.pads = {1, 1, 1, 1}, .groups = 32}},
      {{2, 1, 28, 28}, {6, 1, 5, 5}, {.pads = {2, 2, 2, 2}}},
  };
}

/// A convolution and its two gradients.
std::vector<Bf16Case> cases_of(const ConvCase& one) {
  const std::vector<Type> types{{DType::f64, one.x}, {DType::f64, one.w}}, none;
  const Shape y = all_ops().at("conv2d").infer({Attrs(one.attrs), types, none})[0].shape;
  const Conv2dGradInputAttrs input{one.attrs, {one.x[2], one.x[3]}};
  const Conv2dGradFilterAttrs filter{one.attrs, {one.w[2], one.w[3]}};
  const int64_t window = one.w[2] * one.w[3];
  return {{"conv2d", Attrs(one.attrs), one.x, one.w, one.w[1] * window},
          {"conv2d_grad_input", Attrs(input), y, one.w, one.w[0] / one.attrs.groups * window},
          {"conv2d_grad_filter", Attrs(filter), one.x, y, one.x[0] * y[2] * y[3]}};
}

TEST(Bf16Products, AreSumsInF32RoundedOnce) {
  if (!multiplies_bf16()) GTEST_SKIP() << "the processor does not multiply bf16, or oneDNN is told to do without";
  for (const int threads : {1, 3}) {
    const auto device = make_cpu_device(all_ops(), threads);
    device->enter_thread();
    int kernels = 0;
    for (const Bf16Case& one : products()) kernels += expect_exact(*device, one);
    EXPECT_EQ(kernels, 2 * static_cast<int>(products().size())) << "some products have no kernel";
    for (const ConvCase& conv : convolutions()) {
      int own = 0;
      for (const Bf16Case& one : cases_of(conv)) own += expect_exact(*device, one);
      EXPECT_TRUE(own == 6 || conv.attrs.groups > 1 || conv.x[1] < 16) << "some convolutions have no kernel";
    }
  }
}

Array as_dtype(const Array& array, DType dtype) {
  Array result(Type{dtype, array.type().shape});
  for (int64_t i = 0; i < result.type().elements(); ++i) result.set(i, array.at(i));
  return result;
}

/// The results of an op in f64.
std::vector<Array> exact_results(const std::string& name, const Attrs& attrs, const std::vector<Array>& operands) {
  const OpDef& op = all_ops().at(name);
  std::vector<Array> wide, results;
  std::vector<Type> types, none;
  for (const Array& operand : operands) types.push_back(wide.emplace_back(as_dtype(operand, DType::f64)).type());
  for (const Type& type : op.infer({attrs, types, none})) results.emplace_back(type);
  std::vector<ConstTensor> in;
  std::vector<Tensor> out;
  for (const Array& operand : wide) in.push_back(operand.tensor());
  for (Array& result : results) out.push_back(result.tensor());
  op.kernel(attrs, in, out);
  return results;
}

/// Expects that the device's kernel of attention computes `wanted` in f32 from operands that may be of bf16.
void expect_attention(Device& device, KernelQuery query, const std::vector<Array>& operands,
                      const std::vector<Array>& wanted) {
  std::vector<Array> results;
  std::vector<const void*> in;
  std::vector<void*> out;
  for (const Array& operand : operands) {
    query.inputs.push_back(operand.type());
    in.push_back(operand.data());
  }
  for (const Array& one : wanted) {
    query.outputs.push_back(results.emplace_back(Type{DType::f32, one.type().shape}).type());
  }
  for (Array& result : results) out.push_back(result.data());
  query.input_formats.resize(operands.size());
  const KernelChoice choice = device.catalog().choose(query);
  ASSERT_EQ(choice.kernel, "onednn.attention") << choice.reason;
  const auto scratch = device.allocate(choice.scratch_bytes);
  device.make_kernel(query, choice)->run(in, out, scratch.get());
  for (size_t k = 0; k < results.size(); ++k) {
    double largest = 0, error = 0;
    for (int64_t i = 0; i < results[k].type().elements(); ++i) {
      largest = std::max(largest, std::abs(wanted[k].at(i)));
      error = std::max(error, std::abs(results[k].at(i) - wanted[k].at(i)));
    }
    EXPECT_LE(error, 1e-5 * largest) << query.op << query.attrs.print() << print(query.inputs) << " result " << k;
  }
}

// Only operands have 16 bits: probabilities that were rounded to bf16 would be 100 times as far from the reference.
TEST(Bf16Products, OfAttentionAreSumsInF32) {
  const auto device = make_cpu_device(all_ops(), 3);
  device->enter_thread();
  for (const bool causal : {false, true}) {
    for (const int64_t group : {1, 2}) {
      const Attrs attrs(AttentionAttrs{.heads = 3 * group, .causal = causal, .scale = 0.3, .kv_heads = 3});
      const std::vector<Array> operands{random_halves({2, 150, 3 * group * 17}, 1), random_halves({2, 201, 3 * 17}, 2),
                                        random_halves({2, 201, 3 * 9}, 3)};
      const std::vector<Array> results = exact_results("attention", attrs, operands);
      expect_attention(*device, {.op = "attention", .attrs = attrs}, operands, results);
      std::vector<Array> kept = operands;
      kept.push_back(as_dtype(results[0], DType::bf16));
      kept.push_back(as_dtype(results[1], DType::f32));
      kept.push_back(random_halves(results[0].type().shape, 4));
      expect_attention(*device, {.op = "attention_grad", .attrs = attrs}, kept,
                       exact_results("attention_grad", attrs, kept));
    }
  }
}

TEST(Bf16Products, AreRefusedElsewhere) {
  if (multiplies_bf16()) GTEST_SKIP() << "the processor multiplies bf16";
  const auto device = make_cpu_device(all_ops(), 1);
  const Type a{DType::bf16, {4, 4}}, y{DType::f32, {4, 4}};
  KernelQuery query{.op = "matmul", .attrs = Attrs(MatmulAttrs{}), .inputs = {a, a}, .outputs = {y}};
  query.input_formats = {MemoryFormat{}, MemoryFormat{}};
  const KernelChoice choice = device->catalog().choose(query);
  EXPECT_FALSE(choice.accepted());
  EXPECT_NE(choice.reason.find("onednn.matmul: the processor does not multiply bf16"), std::string::npos)
      << choice.reason;
  EXPECT_NE(choice.reason.find("reference: it computes in one type"), std::string::npos) << choice.reason;
}

}  // namespace
}  // namespace partita
