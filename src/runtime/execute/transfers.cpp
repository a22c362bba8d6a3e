#include "runtime/execute/transfers.h"

#include <algorithm>
#include <cstring>

#include "compiler/emit/uneven_shards.h"

namespace partita {
namespace {

constexpr uint8_t kArrayIsThere = 1;  // the message that follows an array in the mail

/// Returns the intersection of the boxes that two ranks hold, relative to `own`. They must share an element.
Box common_part(const Box& own, const Box& other) {
  Box part = *common_box(own, other);
  for (size_t d = 0; d < own.size(); ++d) {
    part[d] = {part[d].begin - own[d].begin, part[d].end - own[d].begin, own[d].count()};
  }
  return part;
}

/// The parts of a value on the ranks of a stage, in the first micro-batch.
struct Held {
  const LocalGraph& local;
  ValueId value;
  RankGroup group;

  Box box(int member) const {
    return local_ranges(local.graph.type(value), local.shardings[value], local.mesh, local.mesh.coordinates(member));
  }
};

/// A part of a value that a rank of the sending stage holds, of which a receiver gets what it needs. One of the ranks
/// that hold a part sends it; receivers are distributed over these ranks.
struct Parcel {
  int sender;  // index in the sending group
  Box whole;
};
std::vector<Parcel> parcels_for(const Held& from, const Held& to, int receiver) {
  std::map<std::vector<std::pair<int64_t, int64_t>>, std::vector<int>> holders;
  const Box wanted = to.box(receiver);
  std::vector<std::vector<std::pair<int64_t, int64_t>>> order;
  for (int member = 0; member < from.group.count; ++member) {
    const Box box = from.box(member);
    bool meets = true;
    std::vector<std::pair<int64_t, int64_t>> key;
    for (size_t d = 0; d < box.size(); ++d) {
      meets = meets && std::max(box[d].begin, wanted[d].begin) < std::min(box[d].end, wanted[d].end);
      key.emplace_back(box[d].begin, box[d].end);
    }
    if (!meets) continue;
    auto& list = holders[key];
    if (list.empty()) order.push_back(key);
    list.push_back(member);
  }
  std::vector<Parcel> parcels;
  for (const auto& key : order) {
    const std::vector<int>& list = holders.at(key);
    // If the receiver holds the part itself, nothing is sent over a link.
    const int same = to.group.first + receiver - from.group.first;
    const auto self = std::ranges::find(list, same);
    const int sender = self != list.end() ? *self : list[static_cast<size_t>(receiver) % list.size()];
    parcels.push_back({sender, from.box(sender)});
  }
  return parcels;
}

}  // namespace

Transfers::Transfers(const Pipeline& pipeline, const std::vector<StageProgram>& stages,
                     const std::vector<StageExecutor*>& own, Communicator& world, const DeviceMail* mail)
    : pipeline_(pipeline),
      stages_(stages),
      own_(own),
      world_(world),
      messages_(world),
      mail_(mail),
      points_(send_points(pipeline, stages)),
      relayed_(relayed_transfers(pipeline, stages)),
      ends_(pipeline.transfers.size()) {
  for (size_t t = 0; t < pipeline.transfers.size(); ++t) {
    const Transfer& transfer = pipeline.transfers[t];
    if (transfer.verdict) continue;
    find_ends(t);
    if (!ends_[t].sends.empty()) {
      if (points_[t]) {
        sends_[{transfer.from_stage, *points_[t]}].push_back(t);
      } else {
        at_begin_[{transfer.from_stage, transfer.sent}].push_back(t);
      }
    }
    if (!ends_[t].comes_here) continue;
    const int group = pipeline.shape.groups[static_cast<size_t>(transfer.from_stage)];
    if (!sources_.contains(group)) sources_.emplace(group, Source{.runs = timeline(pipeline, stages, group)});
  }
  for (size_t stage = 0; stage < stages.size(); ++stage) {
    if (own[stage] == nullptr) continue;
    const auto reads = transfers_read(pipeline, stages, static_cast<int>(stage));
    for (size_t i = 0; i < reads.size(); ++i) {
      for (const size_t t : reads[i]) {
        if (!pipeline.transfers[t].verdict) reads_[{static_cast<int>(stage), i}].push_back(t);
      }
    }
  }
  find_verdict();
}

void Transfers::find_ends(size_t t) {
  const Transfer& transfer = pipeline_.transfers[t];
  const StageProgram &sender = stages_[static_cast<size_t>(transfer.from_stage)],
                     &receiver = stages_[static_cast<size_t>(transfer.to_stage)];
  const Held from{sender.local, sender.local.graph.outputs[transfer.output].value,
                  pipeline_.group_of(transfer.from_stage)};
  const Held to{receiver.local, receiver.local.graph.inputs[transfer.input].value,
                pipeline_.group_of(transfer.to_stage)};
  Ends& ends = ends_[t];
  ends.comes_here = to.group.contains(world_.rank());
  const bool is_sender = from.group.contains(world_.rank());
  // Programs of all ranks of a stage may have padding, as much as shards there ask for: it stays on their devices.
  const bool may_pad = is_padded(from.local, from.value) || is_padded(to.local, to.value);
  for (int member = 0; member < to.group.count; ++member) {
    const int rank = to.group.first + member;
    if (!is_sender && rank != world_.rank()) continue;
    const Box wanted = to.box(member);
    for (const Parcel& parcel : parcels_for(from, to, member)) {
      const int source = from.group.first + parcel.sender;
      const bool is_mail = mail_ != nullptr && !may_pad && mail_->reaches(source, rank) && parcel.whole == wanted;
      if (source == world_.rank()) {
        const Box box = common_part(parcel.whole, wanted);
        ends.sends.push_back({rank, box, elements_of(box), is_mail});
      }
      if (rank == world_.rank()) {
        const Box box = common_part(wanted, parcel.whole);
        ends.receives.push_back({source, box, elements_of(box), is_mail});
      }
    }
  }
}

void Transfers::find_verdict() {
  verdict_bytes_.assign(static_cast<size_t>(world_.size()), 0);
  std::map<std::pair<int, size_t>, int64_t> offsets;  // offset within its rank's part, by stage and output
  for (const Transfer& transfer : pipeline_.transfers) {
    if (!transfer.verdict || offsets.contains({transfer.from_stage, transfer.output})) continue;
    const LocalGraph& local = stages_[static_cast<size_t>(transfer.from_stage)].local;
    const int leader = pipeline_.group_of(transfer.from_stage).first;
    int64_t& bytes = verdict_bytes_[static_cast<size_t>(leader)];
    offsets[{transfer.from_stage, transfer.output}] = bytes;
    bytes += local.graph.type(local.graph.outputs[transfer.output].value).bytes();
    if (leader != world_.rank()) continue;
    StageExecutor* stage = own_[static_cast<size_t>(transfer.from_stage)];
    verdict_given_.emplace_back(stage, stage->schedule().outputs[transfer.output]);
  }
  std::vector<int64_t> begins{0};
  for (const int64_t bytes : verdict_bytes_) begins.push_back(begins.back() + bytes);
  for (const Transfer& transfer : pipeline_.transfers) {
    StageExecutor* stage = own_[static_cast<size_t>(transfer.to_stage)];
    if (!transfer.verdict || stage == nullptr) continue;
    const int buffer = stage->schedule().inputs[transfer.input];
    const int leader = pipeline_.group_of(transfer.from_stage).first;
    verdict_taken_.push_back({begins[static_cast<size_t>(leader)] + offsets.at({transfer.from_stage, transfer.output}),
                              stage->type_of(buffer).bytes(), stage, buffer});
  }
  verdict_own_.resize(static_cast<size_t>(verdict_bytes_[static_cast<size_t>(world_.rank())]));
  verdict_all_.resize(static_cast<size_t>(begins.back()));
}

void Transfers::begin_step() {
  messages_.begin_step();
  for (Ends& ends : ends_) ends.received = 0;
  for (auto& [group, source] : sources_) {
    source.run = 0;
    source.begun = false;
    source.open.clear();
  }
}

void Transfers::begin(const Run& run) {
  if (!run.begins_section) return;
  const auto found = at_begin_.find({run.stage, run.section});
  if (found == at_begin_.end()) return;
  for (const size_t t : found->second) {
    if (relayed_[t]) await(*relayed_[t], run.micro_batch);
    send(t, run.micro_batch);
  }
}

void Transfers::before(const Run& run, size_t instruction) {
  const auto found = reads_.find({run.stage, instruction});
  if (found == reads_.end()) return;
  for (const size_t t : found->second) await(t, run.micro_batch);
}

void Transfers::after(const Run& run, size_t instruction) {
  const auto found = sends_.find({run.stage, instruction});
  if (found == sends_.end()) return;
  for (const size_t t : found->second) {
    if (pipeline_.transfers[t].sent == run.section) send(t, run.micro_batch);
  }
}

Span Transfers::span_of(Span::Kind kind, size_t t, int64_t micro_batch) const {
  const Transfer& transfer = pipeline_.transfers[t];
  return {.kind = kind,
          .stage = kind == Span::send ? transfer.from_stage : transfer.to_stage,
          .index = static_cast<int32_t>(t),
          .micro_batch = static_cast<int32_t>(micro_batch),
          .exposed = 1};
}

void Transfers::send(size_t t, int64_t micro_batch) {
  const Transfer& transfer = pipeline_.transfers[t];
  StageExecutor& stage = *own_[static_cast<size_t>(transfer.from_stage)];
  const int buffer = stage.schedule().outputs[transfer.output];
  stage.await_value(buffer, micro_batch);
  const Recorded recorded(recorder_, span_of(Span::send, t, micro_batch));
  for (const Piece& piece : ends_[t].sends) {
    if (!piece.is_mail) {
      const ConstTensor value{stage.type_of(buffer), stage.value_of(buffer, micro_batch)};
      messages_.send(value, piece.box, piece.elements, piece.peer);
      continue;
    }
    stage.values().on_device()->send(buffer, micro_batch, *mail_, piece.peer);
    world_.post(&kArrayIsThere, 1, DType::u8, piece.peer);
  }
}

void Transfers::receive(size_t t, int64_t micro_batch) {
  const Recorded recorded(recorder_, span_of(Span::receive, t, micro_batch));
  const Transfer& transfer = pipeline_.transfers[t];
  StageExecutor& stage = *own_[static_cast<size_t>(transfer.to_stage)];
  const int buffer = stage.schedule().inputs[transfer.input];
  ++ends_[t].received;
  const std::vector<Piece>& pieces = ends_[t].receives;
  if (pieces.size() == 1 && pieces[0].is_mail) {
    uint8_t is_there = 0;
    world_.recv(&is_there, 1, DType::u8, pieces[0].peer);
    DeviceValues& values = *stage.values().on_device();
    values.set(values.place_of(buffer), micro_batch, mail_->take(pieces[0].peer));
    return;
  }
  for (const Piece& piece : pieces) {
    const Tensor value{stage.type_of(buffer), stage.place_of(buffer, micro_batch)};
    messages_.receive(value, piece.box, piece.elements, piece.peer);
  }
  stage.written(buffer, micro_batch);
}

void Transfers::await(size_t t, int64_t micro_batch) {
  const Transfer& transfer = pipeline_.transfers[t];
  const int64_t wanted = transfer.in_micro_batches() ? micro_batch : 0;
  Source& source = sources_.at(pipeline_.shape.groups[static_cast<size_t>(transfer.from_stage)]);
  while (ends_[t].received <= wanted) {
    PARTITA_CHECK(receive_next(source), "a stage waits for a value that nobody sends");
  }
}

bool Transfers::receive_next(Source& source) {
  for (; source.run < source.runs.size(); ++source.run) {
    const Run& run = source.runs[source.run];
    if (!std::exchange(source.begun, true)) source.open = sent_by(run, pipeline_, points_);
    while (!source.open.empty()) {
      const size_t next = source.open.front();
      source.open.erase(source.open.begin());
      if (!ends_[next].comes_here) continue;
      receive(next, run.micro_batch);
      return true;
    }
    source.begun = false;
  }
  return false;
}

void Transfers::share_verdict() {
  for (auto& [group, source] : sources_) {  // values that only the update or the outputs use
    while (receive_next(source)) continue;
  }
  if (verdict_all_.empty()) return;
  for (const auto& [stage, buffer] : verdict_given_) stage->await_value(buffer, 0);
  const Recorded recorded(recorder_, {.kind = Span::verdict, .exposed = 1});
  std::byte* at = verdict_own_.data();
  for (const auto& [stage, buffer] : verdict_given_) {
    const auto bytes = static_cast<size_t>(stage->type_of(buffer).bytes());
    at = static_cast<std::byte*>(std::memcpy(at, stage->value_of(buffer, 0), bytes)) + bytes;
  }
  world_.all_gather(verdict_own_.data(), verdict_all_.data(), verdict_bytes_, DType::u8);
  for (const VerdictPart& part : verdict_taken_) {
    std::memcpy(part.stage->place_of(part.buffer, 0), verdict_all_.data() + part.offset,
                static_cast<size_t>(part.bytes));
    part.stage->written(part.buffer, 0);
  }
}

}  // namespace partita
