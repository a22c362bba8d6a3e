// partita ops: the registry, and which kernels a model gets.

#include <iostream>
#include <memory>

#include "cli/command_line.h"
#include "cli/job_flags.h"
#include "ir/ops/registry.h"
#include "runtime/device/device.h"
#include "runtime/launch/place.h"

namespace partita {
namespace {

struct OpsFlags {
  std::string name;  // the only op to list; "": all
  JobFlags job;      // the model whose kernels are listed
};

/// Returns a call with the op's first sample, which it must have, its floats in type `dtype`. The call refers to
/// `inputs` and `outputs`, empty lists that receive its types. Throws InvalidArgument if the op does not take the type.
OpCall sample_call(const OpDef& op, DType dtype, std::vector<Type>& inputs, std::vector<Type>& outputs) {
  const Sample& sample = op.samples.at(0);
  for (const SampleInput& input : sample.inputs) {
    inputs.push_back({is_float(input.type.dtype) ? dtype : input.type.dtype, input.type.shape});
  }
  outputs = op.infer({sample.attrs, inputs, outputs});
  return {sample.attrs, inputs, outputs};
}

std::string kernel_of(const OpDef& op, const KernelCatalog& catalog, DType dtype) {
  std::vector<Type> inputs, outputs;
  try {
    const OpCall call = sample_call(op, dtype, inputs, outputs);
    const std::vector<MemoryFormat> formats(inputs.size());
    return catalog.choose({op.name, call.attrs, inputs, outputs, formats}).kernel;
  } catch (const InvalidArgument&) {
    return "";  // the op does not take this type
  }
}

std::string linear_groups(const ShardingRule& rule) {
  std::string text;
  for (const Linear& linear : rule.linear) {
    text += fmt::format("{}({})", text.empty() ? "" : " ", fmt::join(linear.operands, ","));
    for (const Reduce kind : {Reduce::max, Reduce::min}) {  // those of sums alone are the rule
      if (!linear.kinds.sum && linear.kinds.has(kind)) text += fmt::format(" for {}", name_of(kind));
    }
  }
  return text.empty() ? "none" : text;
}

void print_op(const OpDef& op, const KernelCatalog& catalog) {
  std::cout << fmt::format("{}\n  {}\n", op.name, op.summary);
  if (!op.attrs.empty()) std::cout << fmt::format("  attributes  {}\n", op.attrs.print());
  if (!op.samples.empty()) {
    std::vector<Type> inputs, outputs;
    const ShardingRule rule = op.rule(sample_call(op, DType::f64, inputs, outputs));
    std::cout << fmt::format("  rule        {}   of ({}) -> ({})\n", print(rule), print(inputs), print(outputs));
    std::cout << fmt::format("  linear in   {}\n", linear_groups(rule));
  }
  std::cout << fmt::format("  cost        {} FLOP per point of the iteration space\n", op.flops_per_point);
  std::cout << fmt::format("  gradient    {}\n", op.grad ? "yes" : "no");
  for (const DType dtype : {DType::f32, DType::f64}) {
    const std::string kernel = op.samples.empty() ? "" : kernel_of(op, catalog, dtype);
    if (!kernel.empty()) std::cout << fmt::format("  kernel {}  {}\n", name_of(dtype), kernel);
  }
}

void print_kernels(const JobFlags& flags) {
  const ZooJob job(configuration(flags), this_place().alone());
  const Program program = job.program(Purpose::training);
  std::cout << fmt::format("{:<28} {:<22} {:<24} {}\n", "node", "op", "kernel", "why no faster one");
  for (const StageProgram& stage : program.stages) {
    for (const Instruction& instruction : stage.schedule.instructions) {
      if (instruction.kind != Instruction::compute) continue;
      const Node& node = stage.local.graph.nodes[static_cast<size_t>(instruction.node)];
      std::cout << fmt::format("{:<28} {:<22} {:<24} {}\n", node.name, node.op, instruction.choice.kernel,
                               instruction.choice.reason);
    }
  }
}

const OpDef& find_op(const std::string& name) {
  if (const OpDef* op = all_ops().find(name)) return *op;
  std::vector<std::string> names;
  for (const OpDef& op : all_ops().all()) names.push_back(op.name);
  throw unknown_name("[ops] unknown op", name, fmt::format("one of {} ops", names.size()), names);
}

void run_ops(const OpsFlags& flags) {
  if (!flags.job.model.empty()) return print_kernels(flags.job);
  const auto device = make_cpu_device(all_ops(), /*threads=*/1);
  if (!flags.name.empty()) return print_op(find_op(flags.name), device->catalog());
  for (const OpDef& op : all_ops().all()) print_op(op, device->catalog());
}

}  // namespace

void add_ops(CLI::App& app) {
  const auto flags = std::make_shared<OpsFlags>();
  CLI::App* command =
      add_command(app, "ops", "List the ops: formula, sharding rule, gradient, kernels", flags, run_ops);
  command->add_option("OP", flags->name, "Only this op");
  command
      ->add_option("--kernels", flags->job.model,
                   "The kernel of every node of this model's training step, and why no faster kernel is used")
      ->type_name("MODEL");
  add_option_flags(*command, flags->job, [](const JobOption& option) {
    return decides_program(option) && option.flag != "kernels" && option.key() != "ranks.kernels";
  });
  command->footer("Example: partita ops --kernels lenet");
}

}  // namespace partita
