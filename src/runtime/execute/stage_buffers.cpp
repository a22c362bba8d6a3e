#include "runtime/execute/stage_buffers.h"

#include <unordered_map>
#include <utility>

#include "base/error.h"

namespace partita {

StageBuffers::StageBuffers(const LocalGraph& local, const Schedule& schedule, Device& device,
                           std::vector<int64_t> coordinates, const StageBuffers* holder)
    : local_(local),
      schedule_(schedule),
      device_(device),
      coordinates_(std::move(coordinates)),
      named_(local, schedule),
      arena_(device.allocate(schedule.arena_bytes)) {
  PARTITA_CHECK(holder != nullptr || schedule.external_bytes == 0, "{} has states elsewhere, and no executor with them",
                local.graph.name);
  find_copies(holder);
}

void StageBuffers::find_copies(const StageBuffers* holder) {
  std::unordered_map<int64_t, char*> external;  // address by the offset of the state
  for (const int entry : schedule_.entry) {
    if (!schedule_.is_external(entry)) continue;
    const Buffer& buffer = schedule_.buffers[entry];
    const std::string& name = local_.graph.values[buffer.value].name;
    const int held = holder->named_.state(name);
    PARTITA_CHECK(holder->type_of(held) == type_of(entry) && holder->schedule_.buffers[held].format == buffer.format,
                  "state {} lies otherwise in the executor that holds it", name);
    external.emplace(buffer.offset, holder->bases_[held]);
  }
  // Fed inputs have all their copies: these are set before the step, and `load` reads them.
  std::vector<bool> is_fed(schedule_.buffers.size(), false);
  for (size_t i = 0; i < schedule_.inputs.size(); ++i) {
    is_fed[schedule_.inputs[i]] = local_.graph.inputs[i].from_stage < 0;
  }
  roots_ = roots_of(schedule_);
  for (size_t s = 0; s < schedule_.buffers.size(); ++s) {
    const Buffer& buffer = schedule_.buffers[s];
    bases_.push_back(schedule_.is_external(static_cast<int>(s)) ? external.at(buffer.offset) : at(buffer.offset));
    if (schedule_.buffers[roots_[s]].copies > 1 && !is_fed[roots_[s]]) copied_.push_back(static_cast<int>(s));
  }
  addresses_ = bases_;
}

void StageBuffers::take_states(const StageBuffers& holder) {
  for (const int entry : schedule_.entry) {
    if (schedule_.is_external(entry)) continue;
    const Buffer& buffer = schedule_.buffers[entry];
    const int held = holder.named_.state(local_.graph.values[buffer.value].name);
    const void* from = holder.bases_[held];
    void* to = bases_[entry];
    device_.make_reorder(type_of(entry), holder.schedule_.buffers[held].format, buffer.format)
        ->run({&from, 1}, {&to, 1}, nullptr);
  }
}

int StageBuffers::input_for(std::string_view name, ConstTensor given, const Box& box, int64_t micro_batch) const {
  const int buffer = named_.input(name);
  const Type expected = type_of(buffer);
  Type part{given.type.dtype, {}};
  for (const Range& range : box) part.shape.push_back(range.count());
  if (part != expected) {
    throw InvalidArgument(ErrorKind::type, "[executor] input '{}' does not fit, got {}, expected {}", name, print(part),
                          print(expected));
  }
  for (size_t d = 0; d < box.size(); ++d) {
    const int64_t size = d < given.type.shape.size() ? given.type.shape[d] : 0;
    PARTITA_CHECK(
        box.size() == given.type.shape.size() && box[d].size == size && box[d].begin >= 0 && box[d].end <= size,
        "a box of input '{}' lies outside of {}", name, print(given.type));
  }
  const Buffer& copies = schedule_.buffers[buffer];
  PARTITA_CHECK(micro_batch >= 0 && micro_batch < copies.copies, "micro-batch {} of {}", micro_batch, copies.copies);
  return buffer;
}

void StageBuffers::begin(int64_t micro_batch) {
  micro_batch_ = micro_batch;
  for (const int buffer : copied_) addresses_[buffer] = copy_of(buffer, micro_batch);
}

char* StageBuffers::copy_of(int buffer, int64_t micro_batch) const {
  const Buffer& root = schedule_.buffers[roots_[buffer]];
  return bases_[buffer] + micro_batch % root.copies * aligned(root.bytes);
}

}  // namespace partita
