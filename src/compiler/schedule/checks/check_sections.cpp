#include "compiler/schedule/checks/check_sections.h"

#include "compiler/partition/sections.h"
#include "ir/sharding/micro.h"

namespace partita {
namespace {

class Sections {
 public:
  Sections(const Schedule& schedule, const LocalGraph& local)
      : schedule_(schedule), local_(local), sections_(sections_of(local)), is_added_(local.graph.nodes.size(), false) {}

  void check() {
    for (size_t k = 0; k < schedule_.inputs.size(); ++k) {
      const int input = schedule_.inputs[k];
      if (local_.graph.inputs[k].from_stage >= 0) continue;
      const Buffer& buffer = schedule_.buffers[input];
      const bool is_cut = !micro_sharding(local_.shardings[buffer.value], local_.mesh).whole();
      PARTITA_CHECK(buffer.copies == (is_cut ? local_.mesh.micro_batches() : 1),
                    "{} has {} copies for {} micro-batches", name(input), buffer.copies,
                    is_cut ? local_.mesh.micro_batches() : 1);
    }
    for (size_t i = 0; i < schedule_.instructions.size(); ++i) {
      section_ = schedule_.section_of(i);
      check_instruction(schedule_.instructions[i]);
    }
  }

 private:
  std::string name(int buffer) const { return "%" + local_.graph.values[schedule_.buffers[buffer].value].name; }

  void check_instruction(const Instruction& instruction) {
    PARTITA_CHECK(!instruction.last || is_micro(section_), "bucket {} is for the last micro-batch, and outside of it",
                  instruction.bucket);
    if (instruction.is_single_message()) return check_single_message(instruction);
    if (instruction.bucket >= 0) {
      if (instruction.kind != Instruction::wait) check_message(instruction);
      return;
    }
    const bool load = instruction.kind == Instruction::load;
    PARTITA_CHECK(!load || repeats(section_), "{} is loaded outside of the micro-batches", name(instruction.inputs[0]));
    for (int buffer : instruction.inputs) check_single(buffer, load);
    for (int buffer : instruction.outputs) check_single(buffer, false);
    if (instruction.node >= 0 && instruction.kind != Instruction::reorder) check_node(instruction);
  }

  /// Checks that a bucket is reduced in every micro-batch if its nodes run in each, else once: in the last micro-batch
  /// or after it. Throws InternalError otherwise.
  void check_message(const Instruction& instruction) const {
    for (NodeId node : schedule_.buckets[instruction.bucket].nodes) {
      const bool each = repeats(sections_[node]);
      PARTITA_CHECK(each == (repeats(section_) && !instruction.last), "bucket {} is reduced {}", instruction.bucket,
                    each ? "once, not in every micro-batch" : "in every micro-batch, not once");
    }
  }

  /// Checks that a collective without a bucket starts and is waited for in the loop of its section (`is_same_loop`). If
  /// it starts only in the last micro-batch, it must be of the late section, and its start in the micro-batches. Throws
  /// InternalError otherwise.
  void check_single_message(const Instruction& instruction) const {
    const Section own = sections_[instruction.node];
    const bool early = instruction.kind == Instruction::start && instruction.last;
    PARTITA_CHECK(early ? own == Section::late && is_micro(section_) : is_same_loop(own, section_),
                  "{} runs in section {}, expected {}", local_.graph.nodes[instruction.node].name, name_of(section_),
                  name_of(own));
  }

  void check_single(int buffer, bool load) const {
    PARTITA_CHECK(load || local_.is_stage() || schedule_.buffers[buffer].copies == 1,
                  "{} has a copy for each micro-batch, and no load takes it", name(buffer));
  }

  /// Whether both are in the micro-batches, both in the prologue, or both in neither.
  static bool is_same_loop(Section a, Section b) {
    return is_micro(a) == is_micro(b) && (a == Section::prologue) == (b == Section::prologue);
  }

  void check_node(const Instruction& instruction) {
    const std::string& node = local_.graph.nodes[instruction.node].name;
    const bool each = repeats(sections_[instruction.node]);
    PARTITA_CHECK(each == repeats(section_), "{} runs {}", node,
                  each ? "once, not in every micro-batch" : "in every micro-batch, not once");
    PARTITA_CHECK(!each || section_ == sections_[instruction.node], "{} runs in section {}, expected {}", node,
                  name_of(section_), name_of(sections_[instruction.node]));
    if (instruction.kind != Instruction::accumulate) return;
    PARTITA_CHECK(!is_added_[instruction.node], "{} adds a micro-batch twice", node);
    is_added_[instruction.node] = true;
  }

  const Schedule& schedule_;
  const LocalGraph& local_;
  const std::vector<Section> sections_;  // per node
  std::vector<bool> is_added_;           // per node
  Section section_ = Section::once;      // section of the current instruction
};

}  // namespace

void check_sections(const Schedule& schedule, const LocalGraph& local) { Sections(schedule, local).check(); }

}  // namespace partita
