#include "runtime/checkpoint/checkpoint_saving.h"

#include <omp.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/usable_cores.h"
#include "runtime/checkpoint/shard_file.h"

namespace partita {
namespace {

using SavingClock = std::chrono::steady_clock;

constexpr size_t kHeaderWords = 4;                 // words of the header checksum, 8 digits each
constexpr size_t kDigestWords = 1 + kHeaderWords;  // size and header checksum; one word per piece follows

/// Whether the ranks of this host may use cores for their compute threads and one writer thread of each, and this
/// process may use more cores than it has compute threads.
bool has_free_core(const Communicator& comm) {
  const int threads = omp_get_max_threads();
  const UsableCores cores = usable_cores();
  return cores.own() > threads && cores.shared() >= comm.host_place().size * (threads + 1);
}

std::vector<uint64_t> packed_digest(const ShardDigest& digest, size_t pieces) {
  std::vector<uint64_t> words(kDigestWords, 0);
  words[0] = static_cast<uint64_t>(digest.bytes);
  std::memcpy(&words[1], digest.header.data(), std::min(digest.header.size(), kHeaderWords * sizeof words[0]));
  words.insert(words.end(), digest.pieces.begin(), digest.pieces.end());
  words.resize(kDigestWords + pieces, 0);
  return words;
}

ShardDigest unpacked_digest(const uint64_t* words, size_t pieces) {
  const uint64_t* checksums = words + kDigestWords;
  return {.bytes = static_cast<int64_t>(words[0]),
          .header = std::string(reinterpret_cast<const char*>(words + 1), kHeaderWords * sizeof words[0]),
          .pieces = std::vector<uint64_t>(checksums, checksums + pieces)};
}

}  // namespace

std::vector<HeldState> held_states(const Program& program) {
  std::vector<HeldState> states;
  for (const State& state : program.graph.states) {
    const std::string& name = program.graph.name_of(state);
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
      HeldState& held = states[places.at(local.graph.name_of(state))];
      // A state of several stages counts for the lowest.
      if (!held.holders.empty()) continue;
      for (int member = 0; member < group.count; ++member) {
        held.holders.push_back({group.first + member, local_ranges(held.type, local.shardings[state.entry], local.mesh,
                                                                   local.mesh.coordinates(member))});
      }
    }
  }
  return states;
}

std::string print_meshes(const Program& program) {
  std::string text;
  for (const StageProgram& stage : program.stages) text += (text.empty() ? "" : "; ") + print(stage.plan.mesh);
  return text;
}

CheckpointSaving::CheckpointSaving(const CheckpointOptions& options, const Program& program, const Executor& executor,
                                   Communicator& comm, std::function<void(const std::string&)> warn, OwnerLock* owner)
    : options_(options),
      program_(program),
      executor_(executor),
      comm_(comm),
      warn_(std::move(warn)),
      owner_(owner),
      states_(held_states(program)),
      pieces_(pieces_of_ranks(
          states_, options.integrated ? give_to_first(states_) : share_states(states_, comm_.size()), comm_.size())),
      has_free_core_(has_free_core(comm)) {
  if (options.integrated) return;
  for (const ShardPiece& piece : own_pieces()) {
    readers_.emplace_back(stage_of(piece.name).state_reader(piece.name), piece.box);
  }
  // Allocates before the first save, so that no save waits for memory.
  if (options.asynchronous) copy_.emplace(own_pieces());
}

CheckpointSaving::~CheckpointSaving() = default;

void CheckpointSaving::start(std::function<void()> job) {
  writer_.write([this, job = std::move(job)] { written_ = outcome_of(job); }, options_.asynchronous);
}

RankOutcome CheckpointSaving::wait() {
  writer_.finish();
  return std::exchange(written_, {});
}

void CheckpointSaving::save(const TrainingMoment& moment) {
  const auto begin = SavingClock::now();
  finish();
  error_.clear();
  begun_.clear();
  const RankOutcome begun = agreed(outcome_of([&] {
                                     if (comm_.rank() != 0) return;
                                     require_owner();
                                     begun_ = begin_checkpoint(options_.folder, moment.position.step);
                                   }),
                                   comm_);
  if (!begun.is_good()) return end(begun);
  begun_ = fmt::format("{}/.step_{}.tmp", options_.folder, moment.position.step);
  manifest_ = Manifest{.position = moment.position, .ranks = comm_.size(), .plan = moment.plan};
  best_step_ = moment.best_step;
  phase_ = Phase::writing;
  const RankOutcome copied = outcome_of([&] {
    if (!options_.integrated) executor_.bring_states();
    if (options_.asynchronous || options_.integrated) copy_share();
  });
  start([this, copied] {
    if (!copied.is_good()) throw RuntimeFailure(copied.code, copied.error);
    write_share();
  });
  if (!options_.asynchronous) finish();
  stall_seconds_ = std::chrono::duration<double>(SavingClock::now() - begin).count();
}

void CheckpointSaving::copy_share() {
  if (options_.integrated) {
    gathered_.clear();
    for (const HeldState& state : states_) {
      if (std::optional<Array> whole = executor_.state_on_first(state.name)) gathered_.push_back(std::move(*whole));
    }
    return;
  }
  const auto threads = static_cast<size_t>(omp_get_max_threads());
  if (memories_.size() < threads) memories_.resize(threads);
  const auto copy = [&](size_t piece, int64_t first, int64_t last, void* to) {
    return readers_[piece].copy(first, last, memories_[static_cast<size_t>(omp_get_thread_num())], to);
  };
  copy_->fill(copy, /*with_checksums=*/!has_free_core_);
}

const StageExecutor& CheckpointSaving::stage_of(const std::string& name) const {
  for (const auto& stage : executor_.stages()) {
    if (stage->local().graph.find_state(name) != nullptr) return *stage;
  }
  PARTITA_CHECK(false, "rank {} has no part of '{}'", comm_.rank(), name);
}

void CheckpointSaving::write_share() {
  digest_ = {};
  const std::vector<ShardPiece>& own = own_pieces();
  if (own.empty()) return;
  const std::string path = begun_ + "/" + shard_name(comm_.rank());
  if (copy_) {
    if (has_free_core_) copy_->compute_checksums();
    digest_ = copy_->write(path);
    return;
  }
  ShardFileWriter file(path, own);
  for (const size_t i : file.order())
    file.write(i, options_.integrated ? gathered_[i].data() : readers_[i].read(memories_[0]));
  digest_ = file.finish();
}

void CheckpointSaving::advance() {
  const RankOutcome outcome = agreed(wait(), comm_);
  if (!outcome.is_good() || phase_ == Phase::committing) return end(outcome);
  gather_digests();
  phase_ = Phase::committing;
  if (comm_.rank() == 0) start([this] { commit(); });
}

void CheckpointSaving::gather_digests() {
  std::vector<int64_t> counts;
  for (const auto& pieces : pieces_) counts.push_back(static_cast<int64_t>(kDigestWords + pieces.size()));
  std::vector<uint64_t> all(static_cast<size_t>(std::accumulate(counts.begin(), counts.end(), int64_t{0})));
  const std::vector<uint64_t> own = packed_digest(digest_, own_pieces().size());
  comm_.all_gather(own.data(), all.data(), counts, DType::i64);
  if (comm_.rank() != 0) return;
  manifest_.tensors = tensors_of(states_);
  const uint64_t* words = all.data();
  for (int rank = 0; rank < comm_.size(); words += counts[static_cast<size_t>(rank++)]) {
    const auto& pieces = pieces_[static_cast<size_t>(rank)];
    add_shard(manifest_, rank, pieces, unpacked_digest(words, pieces.size()));
  }
}

void CheckpointSaving::require_owner() {
  if (owner_ == nullptr) return;
  try {
    owner_->renew();
  } catch (const Error&) {
    begun_.clear();  // the folder of this name belongs to the other job
    throw;
  }
}

void CheckpointSaving::commit() {
  require_owner();
  manifest_.mesh = print_meshes(program_);
  manifest_.seconds =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  manifest_.sequence = next_sequence(options_.folder);
  commit_checkpoint(options_.folder, begun_, manifest_);
  remove_old_checkpoints(options_.folder, options_.keep, manifest_.position.step, best_step_);
}

void CheckpointSaving::end(const RankOutcome& outcome) {
  phase_ = Phase::idle;
  if (outcome.is_good()) {
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
  if (comm_.rank() == 0 && warn_) warn_(outcome.error + "; the training continues without this checkpoint");
}

void CheckpointSaving::finish() {
  while (phase_ != Phase::idle) advance();
}

}  // namespace partita
