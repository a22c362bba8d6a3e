// The time of pointwise ops by the device's kernel, in microseconds.
//
//   bench_pointwise [THREADS=1] [OP=all]
//
// Every op with a formula on 262,144 elements in f32 and f64, the smallest of 15 times; those with two operands also
// with a row that is broadcast. A formula that is not vector code stands out by a factor of ten.

#include <algorithm>
#include <chrono>

#include "ir/ops/registry.h"
#include "runtime/device/device.h"
#include "usage.h"

namespace partita {
namespace {

constexpr int64_t kRows = 512, kColumns = 512;

/// Memory of a type with numbers from 0.1 to 3.7, which every op takes.
std::shared_ptr<void> filled(Device& device, const Type& type) {
  const std::shared_ptr<void> memory = device.allocate(type.bytes());
  const Tensor tensor{type, memory.get()};
  for_float(type.dtype, [&](auto zero) {
    for (int64_t i = 0; i < type.elements(); ++i) {
      tensor.as<decltype(zero)>()[i] = static_cast<float>(i % 37) * 0.1F + 0.1F;
    }
  });
  return memory;
}

double microseconds(Device& device, const OpDef& op, const std::vector<Type>& inputs) {
  const std::vector<Type> none, outputs = op.infer({op.attrs, inputs, none});
  const std::vector<MemoryFormat> formats(inputs.size());
  const KernelQuery query{op.name, op.attrs, inputs, outputs, formats};
  const std::unique_ptr<Kernel> kernel = device.make_kernel(query, device.catalog().choose(query));
  std::vector<std::shared_ptr<void>> memory;
  for (const Type& type : inputs) memory.push_back(filled(device, type));
  memory.push_back(device.allocate(outputs[0].bytes()));
  std::vector<const void*> from;
  for (size_t i = 0; i < inputs.size(); ++i) from.push_back(memory[i].get());
  void* to[] = {memory.back().get()};
  double best = 1e30;
  for (int run = 0; run < 15; ++run) {
    const auto start = std::chrono::steady_clock::now();
    kernel->run(from, to, nullptr);
    best = std::min(best, std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

void measure(Device& device, const OpDef& op) {
  const size_t operands = op.samples.at(0).inputs.size();
  fmt::print("{:<24}", op.name);
  for (const DType dtype : {DType::f32, DType::f64}) {
    const Type whole{dtype, {kRows, kColumns}}, row{dtype, {kColumns}};
    fmt::print(" {} {:9.1f}", name_of(dtype), microseconds(device, op, std::vector<Type>(operands, whole)));
    if (operands == 2) fmt::print(" row {:9.1f}", microseconds(device, op, {whole, row}));
  }
  fmt::print("\n");
}

}  // namespace
}  // namespace partita

int main(int argc, char** argv) {
  return partita::run_benchmark(argc, argv, "[THREADS] [OP]", /*required=*/0, [](const partita::Arguments& given) {
    using namespace partita;
    const std::string wanted = given.text(2, "all");
    const auto device = make_cpu_device(all_ops(), given.number(1, 1));
    device->enter_thread();
    for (const OpDef& op : all_ops().all()) {
      if (op.pointwise && (wanted == "all" || wanted == op.name)) measure(*device, op);
    }
  });
}
