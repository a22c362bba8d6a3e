#include "runtime/execute/node_kernels.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstring>

#include "base/philox.h"
#include "frontend/network/functions.h"
#include "ir/ops/conv/conv2d.h"
#include "ir/ops/registry.h"

namespace partita {
namespace {

/// A graph of one node, and its operands.
struct Call {
  std::string name;
  Graph graph;
  std::vector<Array> operands;
};

using Make = std::function<Value(const std::vector<Value>&)>;

Call call_of(const std::string& name, DType dtype, const std::vector<Shape>& shapes, const Make& make) {
  Builder builder(all_ops(), "call");
  std::vector<Value> values;
  Call call{.name = name + " in " + std::string(name_of(dtype))};
  for (size_t i = 0; i < shapes.size(); ++i) {
    const Type type{dtype, shapes[i]};
    values.push_back(builder.input("x" + std::to_string(i), type));
    call.operands.emplace_back(type);
    for (int64_t j = 0; j < type.elements(); ++j) {
      call.operands.back().set(j, random_normal(random_key(7, name), j, static_cast<uint64_t>(i)));
    }
  }
  make(values);
  call.graph = builder.graph();
  return call;
}

std::vector<Array> results_of(const Call& call, const std::function<void(Inputs, Outputs)>& run) {
  const Node& node = call.graph.nodes.at(0);
  std::vector<ConstTensor> in;
  std::vector<Tensor> out;
  std::vector<Array> results;
  for (const Array& operand : call.operands) in.push_back(operand.tensor());
  for (const ValueId id : node.outputs) results.emplace_back(call.graph.type(id));
  for (Array& result : results) out.push_back(result.tensor());
  run(in, out);
  return results;
}

std::vector<Array> by_reference(const Call& call) {
  const Node& node = call.graph.nodes[0];
  return results_of(call, [&](Inputs in, Outputs out) { all_ops().at(node.op).kernel(node.attrs, in, out); });
}

std::vector<Array> by_kernels(NodeKernels& kernels, const Call& call) {
  return results_of(call, [&](Inputs in, Outputs out) { kernels.run(call.graph, 0, in, out); });
}

double tolerance_of(DType dtype) {
  return dtype == DType::f64 ? 1e-12 : dtype == DType::f32 ? 2e-5 : dtype == DType::f16 ? 4e-3 : 3e-2;
}

void expect_near(const Call& call, const std::vector<Array>& found, const std::vector<Array>& expected) {
  for (size_t r = 0; r < expected.size(); ++r) {
    double largest = 1, difference = 0;
    for (int64_t i = 0; i < expected[r].type().elements(); ++i) {
      largest = std::max(largest, std::abs(expected[r].at(i)));
      difference = std::max(difference, std::abs(found[r].at(i) - expected[r].at(i)));
    }
    EXPECT_LE(difference / largest, tolerance_of(expected[r].type().dtype)) << call.name;
  }
}

std::vector<Call> calls() {
  std::vector<Call> made;
  for (const DType dtype : {DType::f64, DType::f32, DType::bf16, DType::f16}) {
    const auto add = [&](const std::string& name, const std::vector<Shape>& shapes, const Make& make) {
      made.push_back(call_of(name, dtype, shapes, make));
    };
    for (const int64_t groups : {1, 3}) {
      for (const int64_t window : {1, 3}) {
        add("conv2d", {{2, 21, 13, 11}, {15, 21 / groups, window, window}}, [&](const std::vector<Value>& x) {
          const int64_t pad = window / 2;
          return x[0].builder().apply("conv2d", x, Conv2dAttrs{.pads = {pad, pad, pad, pad}, .groups = groups});
        });
      }
    }
    add("matmul", {{67, 45}, {45, 83}}, [](const std::vector<Value>& x) { return matmul(x[0], x[1]); });
    add("matmul of many", {{3, 37, 45}, {3, 45, 33}}, [](const std::vector<Value>& x) { return matmul(x[0], x[1]); });
    add("exp", {{190, 301}}, [](const std::vector<Value>& x) { return exp(x[0]); });
    add("softmax", {{190, 301}}, [](const std::vector<Value>& x) { return softmax(x[0]); });
    add("transpose", {{190, 301, 5}}, [](const std::vector<Value>& x) { return transpose(x[0], {2, 0, 1}); });
    add("small", {{3, 4}, {4, 5}}, [](const std::vector<Value>& x) { return matmul(x[0], x[1]); });
  }
  return made;
}

TEST(NodeKernels, GiveWhatReferenceKernelsGive) {
  NodeKernels kernels(all_ops(), 1), more(all_ops(), 3);
  for (const Call& call : calls()) {
    const std::vector<Array> expected = by_reference(call);
    for (int repeat = 0; repeat < 2; ++repeat) {
      expect_near(call, by_kernels(kernels, call), expected);
      expect_near(call, by_kernels(more, call), expected);
    }
  }
}

TEST(NodeKernels, GiveTheSameBitsAgain) {
  NodeKernels kernels(all_ops(), 2);
  for (const Call& call : calls()) {
    const std::vector<Array> first = by_kernels(kernels, call), again = by_kernels(kernels, call);
    for (size_t r = 0; r < first.size(); ++r) {
      EXPECT_EQ(std::memcmp(first[r].data(), again[r].data(), static_cast<size_t>(first[r].type().bytes())), 0)
          << call.name;
    }
  }
}

// Shapes that differ from call to call, more of them than are kept.
TEST(NodeKernels, ForgetWhatTheyKeptLong) {
  NodeKernels kernels(all_ops(), 1);
  for (int64_t rows = 400; rows < 1000; ++rows) {
    const Call call = call_of("matmul", DType::f32, {{rows, 8}, {8, 32}},
                              [](const std::vector<Value>& x) { return matmul(x[0], x[1]); });
    expect_near(call, by_kernels(kernels, call), by_reference(call));
  }
}

// A forked process has no compute threads: a parallel loop would wait for them forever.
TEST(NodeKernels, WorkInAForkedProcess) {
  const Call call = call_of("matmul", DType::f32, {{130, 140}, {140, 150}},
                            [](const std::vector<Value>& x) { return matmul(x[0], x[1]); });
  const std::vector<Array> expected = by_reference(call);
  for (const bool is_made_before : {true, false}) {
    NodeKernels kernels(all_ops(), 3);
    if (is_made_before) expect_near(call, by_kernels(kernels, call), expected);
    const auto device = make_cpu_device(all_ops(), 3);
    device->enter_thread();
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(20);
      NodeKernels own(all_ops(), 3);
      const std::vector<Array> found = by_kernels(is_made_before ? kernels : own, call);
      bool is_refused = false;
      try {
        device->set_subnormals(SubnormalSetting::current());
      } catch (const InvalidArgument& error) {
        is_refused = std::string(error.what()).starts_with("[threads] a forked process has no compute threads, got 3");
      }
      const auto bytes = static_cast<size_t>(found[0].type().bytes());
      ::_exit(std::memcmp(found[0].data(), expected[0].data(), bytes) == 0 && is_refused ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
}

}  // namespace
}  // namespace partita
