// An accelerator runs nodes in programs; its host runs those that cannot be written.

#include "runtime/device/xla/xla_device.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "ir/ops/registry.h"
#include "runtime/device/cpu/reference.h"

namespace partita {
namespace {

const Type kHalves{DType::bf16, {4, 4}}, kFloats{DType::f32, {4, 4}};

KernelQuery query_of(const std::string& op, std::vector<Type> inputs, const Type& output) {
  KernelQuery query{.op = op, .attrs = all_ops().at(op).attrs, .inputs = std::move(inputs), .outputs = {output}};
  query.input_formats.resize(query.inputs.size());
  return query;
}

TEST(XlaDevice, ProductsOf16BitsMayHaveWiderSums) {
  const auto device = make_device(all_ops(), {.name = "xla:cpu"});
  const auto kernel = [&](const std::string& op, const std::vector<Type>& inputs, const Type& output) {
    return device->catalog().choose(query_of(op, inputs, output)).kernel;
  };
  EXPECT_EQ(kernel("matmul", {kFloats, kFloats}, kFloats), "xla");
  EXPECT_EQ(kernel("matmul", {kHalves, kHalves}, kHalves), "xla");
  EXPECT_EQ(kernel("matmul", {kHalves, kHalves}, kFloats), "xla");
  EXPECT_EQ(kernel("matmul", {kHalves, kFloats}, kFloats), "") << "operands of two types";
  EXPECT_EQ(kernel("add", {kHalves, kHalves}, kFloats), "") << "no product";
}

// Convolutions of cuDNN give 16 bits, whatever type holds them.
TEST(XlaDevice, ConvolutionsOf16BitsRoundTheirResults) {
  const auto device = make_device(all_ops(), {.name = "xla:cpu"});
  const auto choose = [&](const std::string& op, DType from, DType to) {
    return device->catalog().choose(query_of(op, {{from, {1, 1, 4, 4}}, {from, {1, 1, 4, 4}}}, {to, {1, 1, 1, 1}}));
  };
  for (const std::string op : {"conv2d", "conv2d_grad_input", "conv2d_grad_filter"}) {
    const KernelChoice choice = choose(op, DType::bf16, DType::f32);
    EXPECT_EQ(choice.kernel, "xla");
    EXPECT_TRUE(choice.rounds) << op;
    EXPECT_EQ(choice.rounds_parts, op == "conv2d_grad_filter") << op;
    EXPECT_FALSE(choose(op, DType::f32, DType::f32).rounds) << op;
  }
  EXPECT_FALSE(device->catalog().choose(query_of("matmul", {kHalves, kHalves}, kFloats)).rounds);
}

TEST(XlaDevice, ShardsOfANodeRunAlike) {
  const auto device = make_device(all_ops(), {.name = "xla:cpu"});
  KernelQuery query = query_of("add", {kFloats, kFloats}, kFloats);
  query.like = device->catalog().choose(query);
  EXPECT_EQ(device->catalog().choose(query).kernel, "xla");
  query.like->kernel = "reference";
  const KernelChoice refused = device->catalog().choose(query);
  EXPECT_FALSE(refused.accepted());
  EXPECT_EQ(refused.reason, "another shard of the node runs as reference");
}

TEST(XlaDevice, HasOneMemoryFormat) {
  const auto device = make_device(all_ops(), {.name = "xla:cpu"});
  EXPECT_EQ(device->catalog().bytes(kFloats, {}), 64);
  EXPECT_EQ(device->catalog().bytes(kFloats, {.tag = "any"}), 64);
  try {
    device->catalog().bytes(kFloats, {.tag = "blocked"});
    ADD_FAILURE() << "no refusal";
  } catch (const InvalidArgument& error) {
    EXPECT_STREQ(error.what(), "[xla] accelerators have one memory format, got blocked, expected plain");
  }
}

// Kernels of the CPU compute for the host. No plugin is opened for them.
TEST(XlaDevice, TheHostHasKernelsOfItsOwn) {
  const auto device = make_device(all_ops(), {.name = "xla:cpu"});
  const KernelQuery query = query_of("add", {kFloats, kFloats}, kFloats);
  EXPECT_NE(device->make_kernel(query, propose_reference(all_ops().at("add"), query)), nullptr);
  EXPECT_NE(device->make_reorder(kFloats, {}, {}), nullptr);
}

}  // namespace
}  // namespace partita
