#include "compiler/partition/collectives.h"
#include "compiler/schedule/schedule.h"

namespace partita {
namespace {

class Printer {
 public:
  Printer(const Schedule& schedule, const LocalGraph& local) : schedule_(schedule), local_(local) {}

  std::string run() {
    text_ = fmt::format("partita schedule 1\ngraph {}\narena {} kept {} scratch {} @{}{}\n", local_.graph.name,
                        schedule_.arena_bytes, schedule_.state_bytes, schedule_.scratch_bytes, schedule_.scratch_offset,
                        schedule_.external_bytes > 0 ? fmt::format(" external {}", schedule_.external_bytes) : "");
    for (const Buffer& buffer : schedule_.buffers) add_name(buffer);
    for (size_t s = 0; s < schedule_.buffers.size(); ++s) add_buffer(static_cast<int>(s));
    add_ends();
    for (size_t b = 0; b < schedule_.buckets.size(); ++b) add_bucket(b);
    const SectionSet marked = marked_sections(local_);
    for (size_t i = 0; i <= schedule_.instructions.size(); ++i) {
      for (const Section section : kSections) {
        if (marked[static_cast<size_t>(section)] && i == schedule_.begin(section))
          text_ += fmt::format("{}\n", name_of(section));
      }
      if (i < schedule_.instructions.size()) text_ += instruction(schedule_.instructions[i]) + "\n";
    }
    return std::move(text_);
  }

 private:
  /// Names a buffer "%value:tag"; the tag "plain" is left out. The second buffer of a value in the same memory format
  /// is "%value#2" or "%value:tag#2".
  void add_name(const Buffer& buffer) {
    std::string name = "%" + local_.graph.values[buffer.value].name;
    if (!buffer.format.plain()) name += ":" + buffer.format.tag;
    const int count = ++counts_[name];
    names_.push_back(count == 1 ? name : fmt::format("{}#{}", name, count));
  }

  const std::string& name(int buffer) const { return names_[buffer]; }

  std::string names(const std::vector<int>& buffers) const {
    std::string text;
    for (int buffer : buffers) text += (text.empty() ? "" : ", ") + name(buffer);
    return text;
  }

  std::string node(NodeId id) const { return id < 0 ? "" : " ; " + local_.graph.nodes[id].name; }

  void add_buffer(int index) {
    const Buffer& buffer = schedule_.buffers[index];
    text_ += fmt::format("buffer {} bytes={}", name(index), buffer.bytes);
    if (buffer.format.bytes != (buffer.format.plain() ? 0 : buffer.bytes))
      text_ += fmt::format("/{}", buffer.format.bytes);
    text_ += fmt::format(" @{}", buffer.offset);
    if (buffer.copies > 1) text_ += fmt::format(" copies={}", buffer.copies);
    if (buffer.view_of >= 0) text_ += " view=" + name(buffer.view_of);
    text_ += "\n";
  }

  void add_ends() {
    for (int buffer : schedule_.inputs) text_ += fmt::format("input {}\n", name(buffer));
    for (size_t s = 0; s < schedule_.entry.size(); ++s) {
      text_ += "state " + name(schedule_.entry[s]);
      if (schedule_.exit[s] >= 0) text_ += " store " + name(schedule_.exit[s]);
      text_ += "\n";
    }
    for (size_t k = 0; k < schedule_.outputs.size(); ++k) {
      text_ += fmt::format("output {} = {}\n", local_.graph.outputs[k].name, name(schedule_.outputs[k]));
    }
  }

  void add_bucket(size_t index) {
    const Bucket& bucket = schedule_.buckets[index];
    text_ += fmt::format("bucket {} {} {}{} over {{{}}} bytes={} @{} of", index, name_of(bucket.reduce),
                         name_of(bucket.dtype), bucket.wire ? fmt::format(" as {}", name_of(*bucket.wire)) : "",
                         local_.mesh.print(bucket.axes), bucket.bytes, bucket.offset);
    for (size_t i = 0; i < bucket.nodes.size(); ++i) {
      text_ += fmt::format(" {}={}", local_.graph.nodes[bucket.nodes[i]].name, name(bucket.buffers[i]));
    }
    text_ += "\n";
  }

  std::string instruction(const Instruction& instruction) const {
    const auto line = [&](const std::string& what) {
      const int64_t scratch = instruction.choice.scratch_bytes;
      return fmt::format("{} = {}({}){}{}", names(instruction.outputs), what, names(instruction.inputs),
                         scratch > 0 ? fmt::format(" scratch={}", scratch) : "", node(instruction.node));
    };
    switch (instruction.kind) {
      case Instruction::compute: return line(instruction.choice.kernel);
      case Instruction::reorder: return line("reorder");
      case Instruction::copy: return line("copy");
      case Instruction::load: return line("load");
      case Instruction::accumulate: return line("accumulate " + instruction.choice.kernel);
      case Instruction::collective: return line(local_.graph.nodes[instruction.node].op);
      case Instruction::reduce:
        return fmt::format("reduce bucket {}{}", instruction.bucket, instruction.last ? " last" : "");
      case Instruction::start:
        if (instruction.is_single_message()) {
          return line(
              fmt::format("start {}{}", instruction.last ? "last " : "", local_.graph.nodes[instruction.node].op));
        }
        return fmt::format("start bucket {}{}", instruction.bucket, instruction.last ? " last" : "");
      case Instruction::wait:
        if (instruction.is_single_message()) return "wait " + local_.graph.nodes[instruction.node].name;
        return fmt::format("wait bucket {}", instruction.bucket);
    }
    return "";
  }

  const Schedule& schedule_;
  const LocalGraph& local_;
  std::vector<std::string> names_;  // per buffer
  std::map<std::string, int> counts_;
  std::string text_;
};

}  // namespace

std::string print(const Schedule& schedule, const LocalGraph& local) { return Printer(schedule, local).run(); }

}  // namespace partita
