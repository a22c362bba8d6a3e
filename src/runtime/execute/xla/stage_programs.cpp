#include "runtime/execute/xla/stage_programs.h"

#include <utility>

namespace partita {
namespace {

constexpr size_t kMaxInFlight = 64;  // runs; plugins may hold the results of all of them

}  // namespace

StagePrograms::StagePrograms(const Parts& parts, const std::vector<size_t>& borders, StagePrograms* holder)
    : parts_(parts),
      values_(parts.local, parts.schedule, parts.buffers, parts.accelerator,
              holder == nullptr ? nullptr : &holder->values_),
      by_instruction_(parts.schedule.instructions.size(), -1) {
  for (const bool flag : {false, true}) {
    flags_.push_back(parts.accelerator.client().upload(parts.accelerator.device(), {{DType::boolean, {}}, &flag}));
  }
  for (Segment& segment : segments_of(parts.schedule, borders)) {
    by_instruction_[segment.begin] = static_cast<int>(segments_.size());
    segments_.push_back(load(std::move(segment)));
  }
}

StagePrograms::Loaded StagePrograms::load(Segment segment) const {
  const std::vector<std::string> texts = modules_of(segment, parts_.schedule, parts_.local, parts_.ops, parts_.rank);
  Loaded loaded{.segment = std::move(segment), .programs = {}};
  for (const std::string& text : texts) loaded.programs.push_back(parts_.accelerator.compile(text));
  return loaded;
}

void StagePrograms::run(size_t i) {
  if (!singly_) return launch(segments_[static_cast<size_t>(by_instruction_[i])]);
  auto at = single_.find(i);
  if (at == single_.end()) at = single_.emplace(i, load(segment_of(parts_.schedule, i))).first;
  launch(at->second);
}

void StagePrograms::launch(const Loaded& loaded) {
  const int64_t micro_batch = parts_.buffers.micro_batch();
  std::vector<const pjrt::Buffer*> arguments;
  for (const int place : loaded.segment.inputs) arguments.push_back(&values_.on_device(place, micro_batch));
  if (loaded.segment.accumulates) arguments.push_back(&flags_[micro_batch == 0 ? 1 : 0]);
  const bool is_only = loaded.programs.size() == 1;
  const auto& program = loaded.programs[is_only ? 0 : static_cast<size_t>(micro_batch)];
  pjrt::Results results = program->run(parts_.accelerator.device(), arguments);
  for (size_t k = 0; k < results.buffers.size(); ++k) {
    values_.set(loaded.segment.outputs[k], micro_batch, std::move(results.buffers[k]));
  }
  in_flight_.push_back(std::move(results.done));
  if (in_flight_.size() <= kMaxInFlight) return;
  pjrt::Completion oldest = std::move(in_flight_.front());
  in_flight_.pop_front();
  oldest.wait();
}

void StagePrograms::finish() {
  while (!in_flight_.empty()) {
    pjrt::Completion oldest = std::move(in_flight_.front());
    in_flight_.pop_front();
    oldest.wait();
  }
}

}  // namespace partita
