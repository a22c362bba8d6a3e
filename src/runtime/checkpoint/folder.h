#pragma once
// Folders of checkpoints: step_N for each checkpoint, .step_N.tmp while one is written. A checkpoint gets its name when
// all of it is on the disk. A folder without a manifest is not a checkpoint.

#include <functional>

#include "runtime/checkpoint/manifest.h"

namespace partita {

struct FoundCheckpoint {
  std::string path;  // path of the checkpoint's folder
  int64_t step = 0;  // from the folder's name
  int64_t sequence = -1;
  std::optional<Manifest> manifest;  // none if the checkpoint is damaged
  std::string damage;                // reason for the damage
};

/// The checkpoints of a folder, newest last: first those without a manifest, or with one that is damaged or of another
/// step, by step; then all others in the order in which they were written. Empty if there is no such folder. Reads only
/// manifests. Throws MissingFile if the folder cannot be read.
std::vector<FoundCheckpoint> list_checkpoints(const std::string& folder);

/// The sequence number for the next checkpoint of the folder: one more than the highest in manifests whose checksum is
/// right, or 0. Throws MissingFile if the folder cannot be read.
int64_t next_sequence(const std::string& folder);

/// The newest whole checkpoint. Damaged ones with a higher step in their names, or all if none is whole, are reported
/// to `warn`. None if nothing was saved, that is, if there is no manifest. Throws InvalidFile if there are manifests
/// and all of them are damaged, MissingFile if the folder cannot be read, and what `warn` throws.
std::optional<FoundCheckpoint> newest_checkpoint(const std::string& folder,
                                                 const std::function<void(const std::string&)>& warn);

/// Returns "FOLDER/step_N", where N is `step`.
std::string checkpoint_path(const std::string& folder, int64_t step);

/// Whether `path` is the folder of one checkpoint, rather than of many or something else: it has a manifest or is
/// called step_N.
bool is_checkpoint_folder(const std::string& path);

/// Checks that checkpoints can be written to `folder`, which may be missing if its parent exists. Leaves nothing in the
/// file system. Throws RuntimeFailure(cannot_write) otherwise.
void check_checkpoint_folder(const std::string& folder);

/// Creates `folder` if it is missing, and in it an empty folder for the files of a new checkpoint. Returns the path of
/// the latter, FOLDER/.step_N.tmp. Removes what killed runs left. Throws RuntimeFailure(cannot_write) if a folder
/// cannot be created, also for lack of a parent of `folder`, and MissingFile if `folder` cannot be read.
std::string begin_checkpoint(const std::string& folder, int64_t step);

/// Writes the manifest to `begun`, the folder of `begin_checkpoint` with all files in it, and renames it to step_N. A
/// checkpoint of the same step is replaced. Throws RuntimeFailure(cannot_write) if writing or renaming fails, or a file
/// of the manifest is missing or has another size.
void commit_checkpoint(const std::string& folder, const std::string& begun, const Manifest& manifest);

/// Removes the oldest checkpoints whose manifest has the right checksum, until `most` are left; 0 keeps all. Those of
/// the steps `newest` and `best` stay, `best` in addition to the newest `most`. Throws MissingFile if the folder cannot
/// be read; other errors are ignored.
void remove_old_checkpoints(const std::string& folder, int64_t most, int64_t newest, int64_t best = -1);

/// Removes the folder of a checkpoint or of a part of one, its manifest first. Ignores errors.
void remove_checkpoint(const std::string& path) noexcept;

}  // namespace partita
