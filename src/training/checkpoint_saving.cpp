#include "training/checkpoint_saving.h"

#include <cstring>
#include <numeric>

#include "base/resources.h"

namespace partita {
namespace {

using SavingClock = std::chrono::steady_clock;

constexpr size_t kMostErrorBytes = 1024;
constexpr size_t kHeaderWords = 4;                 // of 8 letters each
constexpr size_t kDigestWords = 1 + kHeaderWords;  // and the checksum of each piece

std::string file_of_rank(int rank) { return fmt::format("rank_{}.safetensors", rank); }

/// The elements of `box` in the array of `from`, a box around it, one behind the other.
void pack(const Box& box, const Box& from, ConstTensor values, void* to) {
  const auto size = static_cast<int64_t>(size_of(values.type.dtype));
  for_common_runs(box, from, box, [&](int64_t first, int64_t place, int64_t count) {
    std::memcpy(static_cast<char*>(to) + place * size, static_cast<const char*>(values.data) + first * size,
                static_cast<size_t>(count * size));
  });
}

/// Where the elements of `box` lie one behind the other in the array of `from`; nullptr where they do not.
const void* place_of(const Box& box, const Box& from, ConstTensor values) {
  int64_t runs = 0, begin = 0;
  for_common_runs(box, from, box, [&](int64_t first, int64_t, int64_t) {
    if (runs++ == 0) begin = first;
  });
  return runs == 1 ? static_cast<const char*>(values.data) + begin * static_cast<int64_t>(size_of(values.type.dtype))
                   : nullptr;
}

std::vector<uint64_t> packed_digest(const ShardDigest& digest, size_t pieces) {
  std::vector<uint64_t> words(kDigestWords, 0);
  words[0] = static_cast<uint64_t>(digest.bytes);
  std::memcpy(&words[1], digest.header.data(), std::min(digest.header.size(), kHeaderWords * sizeof words[0]));
  words.insert(words.end(), digest.pieces.begin(), digest.pieces.end());
  words.resize(kDigestWords + pieces, 0);
  return words;
}

}  // namespace

std::vector<HeldState> held_states(const Program& program) {
  std::vector<HeldState> states;
  for (const State& state : program.graph.states) {
    const std::string& name = program.graph.values[static_cast<size_t>(state.entry)].name;
    HeldState& held = states.emplace_back();
    held.name = name;
    held.type = program.graph.type(state.entry);
    held.kind = state.kind;
  }
  std::unordered_map<std::string_view, size_t> places;
  for (size_t i = 0; i < states.size(); ++i) places.emplace(states[i].name, i);
  for (size_t number = 0; number < program.stages.size(); ++number) {
    const LocalGraph& local = program.stages[number].local;
    const RankGroup& group = program.pipeline.group_of(static_cast<int>(number));
    for (const State& state : local.graph.states) {
      HeldState& held = states[places.at(local.graph.values[static_cast<size_t>(state.entry)].name)];
      // One that several stages have is the lowest's.
      if (!held.holders.empty()) continue;
      for (int member = 0; member < group.count; ++member) {
        held.holders.push_back({group.first + member, local_ranges(held.type, local.shardings[state.entry], local.mesh,
                                                                   local.mesh.coordinates(member))});
      }
    }
  }
  return states;
}

CheckpointSaving::CheckpointSaving(const CheckpointOptions& options, const Program& program, const Executor& executor,
                                   Communicator& comm, std::function<void(const std::string&)> warn)
    : options_(options),
      program_(program),
      executor_(executor),
      comm_(comm),
      warn_(std::move(warn)),
      states_(held_states(program)),
      shares_(options.integrated ? give_to_first(states_) : share_states(states_, comm_.size())),
      pieces_(static_cast<size_t>(comm_.size())) {
  for (size_t i = 0; i < states_.size(); ++i) {
    const std::vector<int64_t> parts = choose_parts(states_[i].type);
    for (const StateShare& share : shares_[i]) {
      pieces_[static_cast<size_t>(share.rank)].push_back({states_[i].name, states_[i].type, parts, share.box});
    }
  }
}

CheckpointSaving::~CheckpointSaving() = default;

bool CheckpointSaving::is_busy() const {
  return job_.valid() && job_.wait_for(std::chrono::seconds(0)) != std::future_status::ready;
}

CheckpointSaving::Outcome CheckpointSaving::outcome_of(const std::function<void()>& job) {
  try {
    job();
    return {};
  } catch (const Error& error) {
    return {error.code(), error.what()};
  } catch (const std::bad_alloc&) {
    return {ExitCode::out_of_memory, "[checkpoint] out of memory"};
  } catch (const std::exception& error) {
    return {ExitCode::internal, error.what()};
  }
}

void CheckpointSaving::start(std::function<void()> job) {
  auto promise = std::make_shared<std::promise<Outcome>>();
  job_ = promise->get_future();
  if (!options_.asynchronous) {
    promise->set_value(outcome_of(job));
    return;
  }
  thread_ = start_thread("a thread that writes a checkpoint",
                         [promise, job = std::move(job)] { promise->set_value(outcome_of(job)); });
}

CheckpointSaving::Outcome CheckpointSaving::wait() {
  if (!job_.valid()) return {};
  Outcome outcome = job_.get();
  if (thread_.joinable()) thread_.join();
  return outcome;
}

CheckpointSaving::Outcome CheckpointSaving::agreed(const Outcome& own) const {
  const std::vector<int64_t> ones(static_cast<size_t>(comm_.size()), 1);
  std::vector<int64_t> codes(ones.size());
  const auto code = static_cast<int64_t>(own.code);
  comm_.all_gather(&code, codes.data(), ones, DType::i64);
  const auto failed = std::find_if(codes.begin(), codes.end(), [](int64_t one) { return one != 0; });
  if (failed == codes.end()) return {};
  std::string text = own.error;
  text.resize(kMostErrorBytes, '\0');
  comm_.broadcast(text.data(), static_cast<int64_t>(text.size()), DType::u8, static_cast<int>(failed - codes.begin()));
  return {static_cast<ExitCode>(*failed), text.c_str()};
}

void CheckpointSaving::save(const TrainingMoment& moment) {
  const auto begin = SavingClock::now();
  finish();
  error_.clear();
  const Outcome begun = agreed(outcome_of([&] {
    if (comm_.rank() == 0) begun_ = begin_checkpoint(options_.folder, moment.position.step);
  }));
  if (begun.code != ExitCode::ok) return end(begun);
  begun_ = fmt::format("{}/.step_{}.tmp", options_.folder, moment.position.step);
  manifest_ = Manifest{.position = moment.position,
                       .losses = moment.losses,
                       .losses_steps = moment.losses_steps,
                       .callbacks = moment.callbacks,
                       .ranks = comm_.size()};
  phase_ = Phase::writing;
  const Outcome copied = outcome_of([&] {
    if (options_.asynchronous || options_.integrated) copy_share();
  });
  start([this, copied] {
    if (copied.code != ExitCode::ok) throw RuntimeFailure(copied.code, copied.error);
    write_share();
  });
  if (!options_.asynchronous) finish();
  stall_seconds_ = std::chrono::duration<double>(SavingClock::now() - begin).count();
}

void CheckpointSaving::copy_share() {
  if (options_.integrated) {
    copies_.clear();
    for (const HeldState& state : states_) {
      if (std::optional<Array> whole = executor_.state_on_first(state.name)) copies_.push_back(std::move(*whole));
    }
    return;
  }
  const std::vector<ShardPiece>& own = pieces_[static_cast<size_t>(comm_.rank())];
  if (copies_.empty()) {
    for (const ShardPiece& piece : own) copies_.emplace_back(Type{piece.type.dtype, shape_of(piece.box)});
  }
  for (size_t i = 0; i < own.size(); ++i) {
    const StageExecutor& stage = stage_of(own[i].name);
    if (stage.state_box(own[i].name) == own[i].box) {
      stage.read_state(own[i].name, copies_[i].data());
      continue;
    }
    const StateView view = stage.view_state(own[i].name);
    pack(own[i].box, view.box, view.values, copies_[i].data());
  }
}

const StageExecutor& CheckpointSaving::stage_of(const std::string& name) const {
  for (const auto& stage : executor_.stages()) {
    if (stage->local().graph.find_state(name) != nullptr) return *stage;
  }
  PARTITA_CHECK(false, "rank {} has no part of '{}'", comm_.rank(), name);
}

void CheckpointSaving::write_share() {
  digest_ = {};
  const std::vector<ShardPiece>& own = pieces_[static_cast<size_t>(comm_.rank())];
  if (own.empty()) return;
  ShardFileWriter file(begun_ + "/" + file_of_rank(comm_.rank()), own);
  for (size_t i = 0; i < own.size(); ++i) {
    if (copies_.empty()) {
      write_state(file, i);
    } else {
      file.write(i, copies_[i].data());
    }
  }
  digest_ = file.finish();
}

void CheckpointSaving::write_state(ShardFileWriter& file, size_t piece) const {
  const ShardPiece& what = file.pieces()[piece];
  const StateView view = stage_of(what.name).view_state(what.name);
  if (const void* dense = place_of(what.box, view.box, view.values)) return file.write(piece, dense);
  Array packed(Type{what.type.dtype, shape_of(what.box)});
  pack(what.box, view.box, view.values, packed.data());
  file.write(piece, packed.data());
}

void CheckpointSaving::advance() {
  const Outcome outcome = agreed(wait());
  if (outcome.code != ExitCode::ok || phase_ == Phase::committing) return end(outcome);
  gather_digests();
  phase_ = Phase::committing;
  if (comm_.rank() == 0) start([this] { commit(); });
}

void CheckpointSaving::gather_digests() {
  std::vector<int64_t> counts;
  for (const auto& pieces : pieces_) counts.push_back(static_cast<int64_t>(kDigestWords + pieces.size()));
  std::vector<uint64_t> all(static_cast<size_t>(std::accumulate(counts.begin(), counts.end(), int64_t{0})));
  const std::vector<uint64_t> own = packed_digest(digest_, pieces_[static_cast<size_t>(comm_.rank())].size());
  comm_.all_gather(own.data(), all.data(), counts, DType::i64);
  if (comm_.rank() != 0) return;
  for (const HeldState& state : states_) {
    manifest_.tensors.push_back(
        {.name = state.name, .type = state.type, .kind = state.kind, .parts = choose_parts(state.type), .pieces = {}});
  }
  std::unordered_map<std::string_view, ManifestTensor*> tensors;
  for (ManifestTensor& tensor : manifest_.tensors) tensors.emplace(tensor.name, &tensor);
  const uint64_t* digest = all.data();
  for (int rank = 0; rank < comm_.size(); digest += counts[static_cast<size_t>(rank++)]) {
    const auto& pieces = pieces_[static_cast<size_t>(rank)];
    if (pieces.empty()) continue;
    const auto file = static_cast<int64_t>(manifest_.files.size());
    manifest_.files.push_back(
        {.name = file_of_rank(rank),
         .bytes = static_cast<int64_t>(digest[0]),
         .header = std::string(reinterpret_cast<const char*>(digest + 1), kHeaderWords * sizeof digest[0])});
    for (size_t i = 0; i < pieces.size(); ++i) {
      tensors.at(pieces[i].name)->pieces.push_back({file, pieces[i].box, digest[kDigestWords + i]});
    }
  }
}

void CheckpointSaving::commit() {
  for (const StageProgram& stage : program_.stages) {
    manifest_.mesh += (manifest_.mesh.empty() ? "" : "; ") + print(stage.plan.mesh);
  }
  manifest_.seconds =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  const std::vector<FoundCheckpoint> before = list_checkpoints(options_.folder);
  manifest_.sequence = before.empty() ? 0 : before.back().sequence + 1;
  commit_checkpoint(options_.folder, begun_, manifest_);
  remove_old_checkpoints(options_.folder, options_.keep, manifest_.position.step);
}

void CheckpointSaving::end(const Outcome& outcome) {
  phase_ = Phase::idle;
  if (outcome.code == ExitCode::ok) {
    saved_step_ = manifest_.position.step;
    return;
  }
  error_ = outcome.error;
  if (comm_.rank() == 0) {
    if (!begun_.empty()) remove_checkpoint(begun_);
  }
  const bool of_system = outcome.code == ExitCode::cannot_write || outcome.code == ExitCode::missing_file ||
                         outcome.code == ExitCode::out_of_memory;
  if (options_.stop_on_error || !of_system) {
    throw RuntimeFailure(outcome.code, outcome.error);
  }
  if (comm_.rank() == 0 && warn_) warn_(outcome.error + "; the training goes on without this checkpoint");
}

void CheckpointSaving::finish() {
  while (phase_ != Phase::idle) advance();
}

}  // namespace partita
