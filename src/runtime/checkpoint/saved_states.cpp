#include "runtime/checkpoint/saved_states.h"

#include <cmath>
#include <cstring>

#include "base/convert_elements.h"
#include "base/is_folder.h"
#include "runtime/checkpoint/kinds.h"
#include "runtime/checkpoint/weights.h"

namespace partita {
namespace {

/// "3 of 8 elements differ, largest difference 0.5 at element 3", or "f32[4] instead of f32[5]" for other types; "" for
/// arrays with the same bits.
std::string difference_of(const Array& a, const Array& b) {
  if (a.type() != b.type()) return fmt::format("{} instead of {}", print(a.type()), print(b.type()));
  const auto bytes = static_cast<size_t>(a.type().bytes());
  if (bytes == 0 || std::memcmp(a.data(), b.data(), bytes) == 0) return "";
  double largest = -1;
  int64_t element = 0, count = 0;
  for (int64_t i = 0; i < a.type().elements(); ++i) {
    const double difference = std::abs(a.at(i) - b.at(i));
    count += difference != 0 ? 1 : 0;
    if (difference > largest || std::isnan(difference)) {
      largest = difference;
      element = i;
    }
  }
  return fmt::format("{} of {} elements differ, largest difference {:.3g} at element {}", count, a.type().elements(),
                     largest, element);
}

void require_same(const char* what, uint64_t got, uint64_t expected, const std::string& path) {
  if (got == expected) return;
  throw InvalidFile("[resume] {}: a training with another {}, got {}, expected {} as in the checkpoint", path, what,
                    got, expected);
}

}  // namespace

SavedStates::SavedStates(const std::string& path) : path_(path) {
  if (!is_folder(path)) {
    open_file();
    return;
  }
  if (!is_checkpoint_folder(path)) {
    const auto newest = newest_checkpoint(path, [](const std::string&) {});
    if (!newest) throw MissingFile("[checkpoint] no complete checkpoint in {}", path);
    path_ = newest->path;
  }
  open_folder(std::make_unique<CheckpointReader>(path_));
}

SavedStates::SavedStates(const CheckpointReader& reader) : path_(reader.path()) {
  open_folder(std::make_unique<CheckpointReader>(reader));
}

void SavedStates::open_folder(std::unique_ptr<CheckpointReader> reader) {
  reader_ = std::move(reader);
  for (const ManifestTensor& tensor : reader_->manifest()->tensors) {
    entries_.push_back({tensor.name, tensor.type, tensor.kind});
  }
  position_ = reader_->manifest()->position;
  metadata_ = position_->metadata;
}

void SavedStates::open_file() {
  WeightsFile file = read_weights_file(path_);
  const StateKinds kinds = take_kinds(file.metadata).value_or(StateKinds());
  metadata_ = std::move(file.metadata);
  if (is_checkpoint(file.tensors)) {
    position_ = take_position(file.tensors, path_);
    position_->metadata = std::move(metadata_);
    take_from_metadata(*position_, path_);
    metadata_ = position_->metadata;
  }
  tensors_ = std::move(file.tensors);
  for (const auto& [name, array] : tensors_) {
    const auto kind = kinds.find(name);
    entries_.push_back({name, array.type(), kind != kinds.end() ? kind->second : StateKind::parameter});
  }
}

void SavedStates::read(const std::string& name, const Box& box, DType dtype, void* to) {
  if (reader_) return reader_->read(name, box, dtype, to);
  const Array& whole = tensors_.at(name);
  for_common_runs(box, whole_box(whole.shape()), box, [&](int64_t first, int64_t place, int64_t count) {
    convert_elements(whole.type().dtype,
                     static_cast<const char*>(whole.data()) + first * static_cast<int64_t>(size_of(whole.type().dtype)),
                     dtype, static_cast<char*>(to) + place * static_cast<int64_t>(size_of(dtype)), count);
  });
}

Array SavedStates::read(const std::string& name) {
  if (reader_) return reader_->read(name);
  return tensors_.at(name);
}

const TrainingPosition& require_resumable(const SavedStates& saved, const Graph& graph, const TrainingPosition& now) {
  const std::string& path = saved.path();
  if (!saved.position()) refuse_without_position(path);
  const TrainingPosition& then = *saved.position();
  require_same("batch", static_cast<uint64_t>(now.batch), static_cast<uint64_t>(then.batch), path);
  require_same("number of rows", static_cast<uint64_t>(now.rows), static_cast<uint64_t>(then.rows), path);
  require_same("seed", now.seed, then.seed, path);
  std::map<std::string_view, const SavedState*> tensors;
  for (const SavedState& tensor : saved.entries()) tensors.emplace(tensor.name, &tensor);
  const bool has_kinds = std::any_of(saved.entries().begin(), saved.entries().end(),
                                     [](const SavedState& one) { return one.kind != StateKind::parameter; });
  for (const State& state : graph.states) {
    const std::string& name = graph.name_of(state);
    const Type& type = graph.type(state.entry);
    const auto found = tensors.find(name);
    if (found == tensors.end()) {
      throw InvalidFile("[resume] {}: no tensor for '{}', got those of another network or optimizer, expected {}", path,
                        name, print(type));
    }
    const SavedState& given = *found->second;
    const bool is_close = given.type.dtype == type.dtype || (is_float(given.type.dtype) && is_float(type.dtype));
    if (given.type.shape != type.shape || !is_close) {
      throw InvalidFile("[resume] {}: tensor '{}' does not fit, got {}, expected {}", path, name, print(given.type),
                        print(type));
    }
    if (has_kinds && given.kind != state.kind) {
      throw InvalidFile("[resume] {}: '{}' is a state of another kind, got {}, expected {}", path, name,
                        name_of(given.kind), name_of(state.kind));
    }
  }
  if (graph.states.size() == tensors.size()) return then;
  throw InvalidFile("[resume] {}: tensors of another network or optimizer, got {}, expected {}", path, tensors.size(),
                    graph.states.size());
}

void merge_states(SavedStates& states, const std::string& path, bool all) {
  if (all) {
    if (!states.position()) {
      throw InvalidArgument("[--all] {} has no state of a training, expected a checkpoint", states.path());
    }
    return write_checkpoint(
        path, states.entries(), [&](const std::string& name) { return states.read(name); }, *states.position());
  }
  std::vector<std::pair<std::string, Type>> types;
  for (const SavedState& entry : states.entries()) {
    if (is_weight(entry.kind)) types.emplace_back(entry.name, entry.type);
  }
  Metadata metadata = states.metadata();
  for (const char* key : {"partita.program", "partita.rows"}) metadata.erase(key);  // keys of a training
  save_tensors(
      path, types, [&](const std::string& name) { return states.read(name); }, metadata);
}

void convert_states(SavedStates& states, const std::string& path, std::optional<DType> dtype) {
  std::vector<SavedState> converted = states.entries();
  std::map<std::string_view, Type> types;
  for (SavedState& entry : converted) {
    if (is_float(entry.type.dtype)) entry.type.dtype = dtype.value_or(entry.type.dtype);
    types.emplace(entry.name, entry.type);
  }
  const auto read = [&](const std::string& name) {
    Array array(types.at(name));
    states.read(name, whole_box(array.shape()), array.type().dtype, array.data());
    return array;
  };
  if (states.position()) return write_checkpoint(path, converted, read, *states.position());
  std::vector<std::pair<std::string, Type>> named;
  StateKinds kinds;
  for (const SavedState& entry : converted) {
    named.emplace_back(entry.name, entry.type);
    kinds.emplace(entry.name, entry.kind);
  }
  Metadata metadata = states.metadata();
  add_kinds(metadata, kinds);
  save_tensors(path, named, read, metadata);
}

std::string split_states(SavedStates& states, const std::string& folder, const SplitTarget& target) {
  if (!states.position()) {
    throw InvalidArgument("[checkpoint] {} has only weights, expected the state of a training", states.path());
  }
  std::vector<HeldState> held;
  for (const auto& entry : states.entries()) {
    const DType dtype = is_float(entry.type.dtype) ? target.dtype.value_or(entry.type.dtype) : entry.type.dtype;
    held.push_back({entry.name, {dtype, entry.type.shape}, entry.kind, {}});
  }
  Manifest manifest = states.manifest() != nullptr ? *states.manifest() : Manifest{.position = *states.position()};
  manifest.files.clear();
  manifest.tensors = tensors_of(held);
  manifest.ranks = target.ranks;
  manifest.mesh = target.mesh;
  manifest.plan = target.plan;
  manifest.sequence = next_sequence(folder);
  const std::vector<std::vector<ShardPiece>> pieces = pieces_of_ranks(held, target.shares, target.ranks);
  const std::string begun = begin_checkpoint(folder, manifest.position.step);
  for (int rank = 0; rank < target.ranks; ++rank) {
    const std::vector<ShardPiece>& own = pieces[static_cast<size_t>(rank)];
    if (own.empty()) continue;
    ShardFileWriter file(begun + "/" + shard_name(rank), own);
    for (const size_t i : file.order()) {
      Array part(Type{own[i].type.dtype, shape_of(own[i].box)});
      states.read(own[i].name, own[i].box, own[i].type.dtype, part.data());
      file.write(i, part.data());
    }
    add_shard(manifest, rank, own, file.finish());
  }
  commit_checkpoint(folder, begun, manifest);
  return checkpoint_path(folder, manifest.position.step);
}

std::vector<StateDifference> compare_states(SavedStates& first, SavedStates& second) {
  std::vector<StateDifference> differences;
  std::map<std::string, bool> both;
  for (const auto& entry : second.entries()) both.emplace(entry.name, false);
  for (const auto& entry : first.entries()) {
    const auto other = both.find(entry.name);
    if (other == both.end()) {
      differences.push_back({entry.name, "only in " + first.path()});
      continue;
    }
    other->second = true;
    std::string what = difference_of(first.read(entry.name), second.read(entry.name));
    if (!what.empty()) differences.push_back({entry.name, std::move(what)});
  }
  for (const auto& [name, is_in_both] : both) {
    if (!is_in_both) differences.push_back({name, "only in " + second.path()});
  }
  return differences;
}

void verify_states(SavedStates& states) {
  for (const auto& entry : states.entries()) {
    // Splits large tensors along the first dimension, which bounds memory.
    constexpr int64_t kMaxBytes = int64_t{64} << 20;
    Box box = whole_box(entry.type.shape);
    const int64_t bytes = entry.type.bytes();
    const int64_t ways = box.empty() ? 1 : std::clamp<int64_t>(bytes / kMaxBytes, 1, std::max<int64_t>(1, box[0].size));
    for (int64_t part = 0; part < ways; ++part) {
      if (!box.empty()) box[0] = chunk(entry.type.shape[0], part, ways);
      Array values(Type{entry.type.dtype, shape_of(box)});
      states.read(entry.name, box, entry.type.dtype, values.data());
    }
  }
}

}  // namespace partita
