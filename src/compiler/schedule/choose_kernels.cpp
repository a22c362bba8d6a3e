#include "compiler/schedule/choose_kernels.h"

#include <algorithm>

#include "compiler/partition/collectives.h"
#include "compiler/partition/exchange.h"
#include "compiler/schedule/fold_casts.h"
#include "compiler/schedule/keep_old_states.h"
#include "ir/sharding/micro.h"

namespace partita {
namespace {

/// Returns a kernel that adds one micro-batch to the sum in place, in the memory format of the value. Throws
/// InvalidArgument if the device has none, and what `catalog` throws.
KernelChoice choose_accumulate(const KernelCatalog& catalog, const Node& node, const Type& type, MemoryFormat format) {
  if (format.any()) format = {};
  KernelQuery query{
      .op = accumulating_op(node.attrs.as<CollectiveAttrs>().reduce), .inputs = {type, type}, .outputs = {type}};
  query.input_formats = {format, format};
  KernelChoice choice = catalog.choose(query);
  const auto& in_place = choice.in_place;
  if (choice.accepted() && choice.inputs.at(0) == choice.outputs.at(0) &&
      std::ranges::find(in_place, std::pair{0, 0}) != in_place.end()) {
    choice.in_place.clear();  // the sum's buffer is operand and result already
    return choice;
  }
  throw InvalidArgument(
      "[schedule] no kernel adds up micro-batches in place for {}, got {}, expected one that the device has: {}",
      node.name, print(type), choice.reason);
}

class Chooser {
 public:
  Chooser(const LocalGraph& local, const OpSet& ops, const KernelCatalog& catalog, const ExternalStates& external)
      : local_(local),
        catalog_(catalog),
        kernels_(local, ops, catalog),
        folded_(fold_casts(local, ops, catalog)),
        external_(external),
        made_(local.graph.values.size(), -1),
        is_reduced_(local.graph.values.size(), false) {
    for (const Node& node : local.graph.nodes) {
      if (performs(node, Collective::all_reduce)) is_reduced_[node.inputs[0]] = true;
    }
  }

  Schedule run() {
    for (size_t i = 0; i < local_.graph.inputs.size(); ++i) add_input(i);
    for (size_t s = 0; s < external_.size(); ++s) {
      if (external_[s]) add_buffer(local_.graph.states[s].entry, *external_[s]);
    }
    find_sent();
    find_loop_inputs();
    for (const auto& [section, nodes] : in_sections(local_)) {
      begin(section);
      for (const NodeId node : nodes) {
        if (folded_.is_left_out[node]) continue;
        add_node(node);
        if (!joins_micro_batches(local_.graph.nodes[node])) add_sent(values_of(node).outputs, node);
      }
    }
    add_ends();
    return std::move(schedule_);
  }

 private:
  /// Sets `is_sent_` and `joined_` for the values that other stages need, and adds plain buffers for states among them.
  /// The values must be in the plain format by the end of the section that makes them.
  void find_sent() {
    is_sent_.assign(made_.size(), false);
    for (const Output& output : local_.graph.outputs) {
      if (output.to_stages.empty()) continue;
      is_sent_[output.value] = true;
      const NodeId producer = local_.graph.values[output.value].producer;
      if (producer < 0 && made_[output.value] < 0) add_buffer(output.value, MemoryFormat{});
      if (producer >= 0 && joins_micro_batches(local_.graph.nodes[producer]))
        joined_.emplace_back(output.value, producer);
    }
  }

  void add_sent(const std::vector<ValueId>& values, NodeId maker) {
    for (const ValueId value : values) {
      if (is_sent_[value]) buffer_in(value, MemoryFormat{}, maker);
    }
  }

  void begin(Section section) {
    if (section == Section::update) add_optimizer_states();
    schedule_.begins[static_cast<size_t>(section)] = schedule_.instructions.size();
    if (section == Section::late) {
      for (const auto& [value, maker] : joined_) buffer_in(value, MemoryFormat{}, maker);
    }
    if (section == Section::joined) drop_loads();
    if (section == Section::prologue || section == Section::micro) add_loads(section);
  }

  /// Adds the buffer of an input. An input that micro-batches cut and no other stage sends has a copy for each; each
  /// micro-batch loads one of them.
  void add_input(size_t index) {
    const ValueId value = local_.graph.inputs[index].value;
    const bool is_whole = micro_sharding(local_.shardings[value], local_.mesh).whole();
    if (is_whole || local_.graph.inputs[index].from_stage >= 0) {
      schedule_.inputs.push_back(add_buffer(value, MemoryFormat{}));
      return;
    }
    schedule_.inputs.push_back(static_cast<int>(schedule_.buffers.size()));
    Buffer copies{.value = value};
    copies.bytes = catalog_.bytes(local_.largest(value), copies.format);
    copies.copies = local_.mesh.micro_batches();
    schedule_.buffers.push_back(std::move(copies));
  }

  bool is_loaded(size_t input) const {
    return schedule_.buffers[schedule_.inputs[input]].copies > 1 && local_.graph.inputs[input].from_stage < 0;
  }

  /// Sets for each value whether the prologue reads it, and whether any other section does: a loop over micro-batches
  /// has to load the inputs that it reads.
  void find_loop_inputs() {
    read_in_prologue_.assign(made_.size(), false);
    read_after_prologue_.assign(made_.size(), false);
    const std::vector<Section> sections = sections_of(local_);
    for (size_t n = 0; n < sections.size(); ++n) {
      for (const ValueId input : local_.graph.nodes[n].inputs) {
        (sections[n] == Section::prologue ? read_in_prologue_ : read_after_prologue_)[input] = true;
      }
    }
  }

  void add_loads(Section section) {
    for (size_t i = 0; i < schedule_.inputs.size(); ++i) {
      const int input = schedule_.inputs[i];
      const Buffer copies = schedule_.buffers[input];
      if (!is_loaded(i)) continue;
      const bool in_prologue = read_in_prologue_[copies.value];
      if (section == Section::prologue ? !in_prologue : in_prologue && !read_after_prologue_[copies.value]) continue;
      const int one = add_buffer(copies.value, MemoryFormat{});
      schedule_.instructions.push_back({.kind = Instruction::load, .inputs = {input}, .outputs = {one}});
    }
  }

  /// Forgets what the prologue loaded and reordered, which belongs to its own micro-batches.
  void drop_loads() {
    for (size_t i = 0; i < schedule_.inputs.size(); ++i) {
      if (!is_loaded(i)) continue;
      const ValueId value = local_.graph.inputs[i].value;
      std::erase_if(buffers_, [&](const auto& entry) { return entry.first.first == value; });
      made_[value] = -1;
    }
  }

  int add_buffer(ValueId value, MemoryFormat format) {
    const int buffer = static_cast<int>(schedule_.buffers.size());
    const int64_t bytes = catalog_.bytes(local_.largest(value), format);
    if (!format.plain()) format.bytes = bytes;
    schedule_.buffers.push_back({value, format, 0, bytes});
    buffers_[{value, format.tag}] = buffer;
    if (made_[value] < 0) made_[value] = buffer;
    return buffer;
  }

  /// Memory format of the value as it was made; "any" for a state that no kernel has used.
  MemoryFormat format_of(ValueId value) const {
    if (made_[value] >= 0) return schedule_.buffers[made_[value]].format;
    return MemoryFormat{.tag = "any"};
  }

  /// Returns the index of a value's buffer in a memory format. If there is none, adds one and, unless the value is a
  /// state before its first use, the reorder that fills it. `user`: the node that the reorder serves, or -1.
  int buffer_in(ValueId value, const MemoryFormat& format, NodeId user) {
    if (made_[value] < 0) return add_buffer(value, format);  // a state before its first use
    if (const auto found = buffers_.find({value, format.tag}); found != buffers_.end()) return found->second;
    const int from = made_[value];
    const int to = add_buffer(value, format);
    schedule_.instructions.push_back({.kind = Instruction::reorder, .node = user, .inputs = {from}, .outputs = {to}});
    return to;
  }

  /// The values that the instruction of a node takes and makes.
  NodeValues values_of(NodeId id) const {
    if (const FoldedNode* folded = folded_.find(id)) return folded->values;
    return {local_.graph.nodes[id].inputs, local_.graph.nodes[id].outputs};
  }

  KernelChoice kernel_of(NodeId id) const {
    const auto format = [&](ValueId input) { return format_of(input); };
    const FoldedNode* folded = folded_.find(id);
    if (folded == nullptr) return kernels_.choose(id, format);
    // The kernel was found for plain operands. Given the formats that they really have, it may choose others.
    const std::optional<KernelChoice> choice = kernels_.find(id, folded->values, format);
    return choice && choice->kernel == folded->choice.kernel ? *choice : folded->choice;
  }

  void add_node(NodeId id) {
    if (is_collective(local_.graph.nodes[id])) return add_collective(id);
    const NodeValues node = values_of(id);
    const KernelChoice choice = kernel_of(id);
    Instruction instruction{.kind = Instruction::compute, .node = id, .choice = choice};
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      instruction.inputs.push_back(buffer_in(node.inputs[i], choice.inputs[i], id));
    }
    for (size_t k = 0; k < node.outputs.size(); ++k) {
      instruction.outputs.push_back(add_buffer(node.outputs[k], choice.outputs[k]));
    }
    // Bytes of memory formats are those of the largest shard.
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      instruction.choice.inputs[i] = schedule_.buffers[instruction.inputs[i]].format;
    }
    for (size_t k = 0; k < node.outputs.size(); ++k) {
      instruction.choice.outputs[k] = schedule_.buffers[instruction.outputs[k]].format;
    }
    // An all-reduce works in place, so its operand must not share the memory of another value.
    if (choice.view && !is_reduced_[node.outputs[0]]) {
      schedule_.buffers[instruction.outputs[0]].view_of = instruction.inputs[0];
      return;
    }
    if (choice.view) instruction.kind = Instruction::copy;
    schedule_.instructions.push_back(std::move(instruction));
  }

  void add_accumulate(NodeId id) {
    const Node& node = local_.graph.nodes[id];
    KernelChoice choice = choose_accumulate(catalog_, node, local_.largest(node.inputs[0]), format_of(node.inputs[0]));
    const int input = buffer_in(node.inputs[0], choice.inputs[1], id);
    const int output = add_buffer(node.outputs[0], choice.outputs[0]);
    choice.inputs = {schedule_.buffers[output].format, schedule_.buffers[input].format};
    choice.outputs = {schedule_.buffers[output].format};
    schedule_.instructions.push_back({.kind = Instruction::accumulate,
                                      .node = id,
                                      .choice = std::move(choice),
                                      .inputs = {input},
                                      .outputs = {output}});
  }

  void add_collective(NodeId id) {
    const Node& node = local_.graph.nodes[id];
    if (performs(node, Collective::accumulate)) return add_accumulate(id);
    MemoryFormat format = format_of(node.inputs[0]);
    if (!performs(node, Collective::all_reduce) || format.any()) format = MemoryFormat{};
    const int input = buffer_in(node.inputs[0], format, id);
    const int output = add_buffer(node.outputs[0], format);
    Instruction instruction{.kind = Instruction::collective, .node = id, .inputs = {input}, .outputs = {output}};
    if (performs(node, Collective::all_reduce)) instruction.choice.in_place = {{0, 0}};
    instruction.choice.scratch_bytes = largest_staging(local_, id).bytes();
    schedule_.instructions.push_back(std::move(instruction));
  }

  /// Adds a buffer for each state that has an owner and that nothing has used before the update, in the memory format
  /// of the owner if it has its shape. Does nothing for a state whose owner has no buffer yet.
  void add_optimizer_states() {
    const auto places = local_.graph.states_by_name();
    for (const State& state : local_.graph.states) {
      if (made_[state.entry] >= 0 || state.owner.empty()) continue;
      const auto owner = places.find(state.owner);
      if (owner == places.end()) continue;
      const ValueId parameter = local_.graph.states[owner->second].entry;
      const bool is_alike = local_.graph.type(state.entry).shape == local_.graph.type(parameter).shape;
      if (made_[parameter] >= 0) add_buffer(state.entry, is_alike ? format_of(parameter) : MemoryFormat{});
    }
  }

  void add_ends() {
    for (const State& state : local_.graph.states) {
      if (made_[state.entry] < 0) add_buffer(state.entry, MemoryFormat{});
      schedule_.entry.push_back(made_[state.entry]);
    }
    for (size_t s = 0; s < local_.graph.states.size(); ++s) {
      const State& state = local_.graph.states[s];
      schedule_.exit.push_back(-1);
      if (state.exit < 0) continue;
      const MemoryFormat format = schedule_.buffers[schedule_.entry[s]].format;
      schedule_.exit.back() = buffer_in(state.exit, format, /*user=*/-1);
    }
    for (const Output& output : local_.graph.outputs) {
      schedule_.outputs.push_back(buffer_in(output.value, MemoryFormat{}, /*user=*/-1));
    }
    keep_old_states(schedule_, local_);
  }

  const LocalGraph& local_;
  const KernelCatalog& catalog_;
  const ShardKernels kernels_;
  const FoldedCasts folded_;
  const ExternalStates& external_;
  Schedule schedule_;
  std::vector<int> made_;                                     // per value: the buffer in which it was made, or -1
  std::vector<bool> is_reduced_;                              // per value: whether it is the operand of an all-reduce
  std::vector<bool> read_in_prologue_, read_after_prologue_;  // per value
  std::vector<bool> is_sent_;                                 // per value: whether another stage receives it
  std::vector<std::pair<ValueId, NodeId>> joined_;            // sums over micro-batches that are sent, with their nodes
  std::map<std::pair<ValueId, std::string>, int> buffers_;
};

}  // namespace

Schedule choose_kernels(const LocalGraph& local, const OpSet& ops, const KernelCatalog& catalog,
                        const ExternalStates& external) {
  return Chooser(local, ops, catalog, external).run();
}

}  // namespace partita
