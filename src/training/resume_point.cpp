#include "training/resume_point.h"

#include <filesystem>

#include "base/is_folder.h"
#include "runtime/checkpoint/saved_states.h"
#include "training/configuration.h"
#include "training/measures.h"
#include "training/model_job.h"

namespace partita {

void ResumePoint::find_latest(const std::string& folder, const Tell& warn, const Tell& tell) {
  if (path_ != kLatestCheckpoint) return;
  std::vector<std::string> damaged;
  if (newest_checkpoint(folder, [&](const std::string& message) { damaged.push_back(message); })) {
    path_ = folder;
    return;
  }
  path_.clear();
  for (const std::string& message : damaged) warn(message);
  tell(fmt::format("no checkpoint in {} yet: the training begins\n", folder));
}

std::vector<FoundCheckpoint> ResumePoint::folders(const Tell& warn) const {
  if (path_.empty()) return {};
  std::error_code failure;
  if (!std::filesystem::exists(path_, failure)) {
    throw MissingFile("[resume] no checkpoint {}: {}", path_, failure ? failure.message() : "no such file or folder");
  }
  if (!is_folder(path_)) return {};
  if (is_checkpoint_folder(path_)) {
    FoundCheckpoint one{.path = path_, .manifest = read_manifest(path_), .damage = ""};
    return {std::move(one)};
  }
  if (!newest_checkpoint(path_, warn)) {
    throw MissingFile("[resume] no complete checkpoint in {}, expected a folder of --checkpoint", path_);
  }
  std::vector<FoundCheckpoint> found = list_checkpoints(path_);
  std::erase_if(found, [](const FoundCheckpoint& one) { return !one.manifest; });
  return found;
}

TrainingPosition ResumePoint::position(const ModelJob& job, const Graph& graph, const CheckpointReader* reader,
                                       const TrainingPosition& fresh, States& states) const {
  if (reader == nullptr && path_.empty()) return fresh;
  SavedStates saved = reader != nullptr ? SavedStates(*reader) : SavedStates(path_);
  const std::string& path = saved.path();
  TrainingPosition position = require_resumable(saved, graph, fresh);
  const std::string own_update = job.own_update ? job.own_update_name : "";
  std::vector<std::string> begun_anew;  // said after the checks, one of which may refuse the checkpoint
  position = comparable_part(std::move(position), {job.config, job.network.precisions(), own_update, fresh.metadata},
                             path, [&](const std::string& message) { begun_anew.push_back(message); });
  require_same_training(job.config, fresh.metadata, position, path);
  if (!describes_training(position.metadata)) {
    job.warn(
        fmt::format("[resume] {}: the checkpoint does not describe its training, got no configuration, program "
                    "and rows: only tensors, batch, number of rows and seed are compared",
                    path));
  }
  for (const std::string& message : begun_anew) job.warn(message);
  if (reader == nullptr) {
    for (const State& state : graph.states) {
      Array value(graph.type(state.entry));
      saved.read(graph.name_of(state), whole_box(value.shape()), value.type().dtype, value.data());
      states.insert_or_assign(graph.name_of(state), std::move(value));
    }
  }
  position.metadata = fresh.metadata;
  position.measures = fresh.measures;
  return position;
}

void CheckpointHold::hold(const std::string& folder, bool waits, const OwnerLock::Warn& warn) {
  if (folder == folder_) return;
  lock_.reset();
  folder_.clear();
  lock_.emplace(owned_checkpoints(folder), waits, warn);
  folder_ = folder;
}

}  // namespace partita
