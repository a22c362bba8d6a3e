#pragma once
// A folder with checkpoints: step_N for each, and .step_N.tmp while one is written. A checkpoint gets its name when all
// of it is on the disk; what has no manifest is none.

#include <functional>

#include "runtime/checkpoint/manifest.h"

namespace partita {

struct FoundCheckpoint {
  std::string path;  // of its folder
  int64_t step = 0;  // by its name
  int64_t sequence = -1;
  std::optional<Manifest> manifest;  // none: it is damaged
  std::string damage;                // why
};

/// Those of a folder, the newest last: those that are damaged first, then as they were written. None where there is no
/// folder. Throws MissingFile when it cannot be read. Only manifests are looked at.
std::vector<FoundCheckpoint> list_checkpoints(const std::string& folder);

/// Of the next one that is written to the folder, behind those whose manifest has the right checksum.
int64_t next_sequence(const std::string& folder);

/// The newest whole one; damaged ones that are newer by their names are told to `warn`. None where nothing was saved:
/// there is no manifest. Throws InvalidFile when there are manifests and all of them are damaged.
std::optional<FoundCheckpoint> newest_checkpoint(const std::string& folder,
                                                 const std::function<void(const std::string&)>& warn);

/// "step_N" of `folder`.
std::string checkpoint_path(const std::string& folder, int64_t step);

/// Whether `path` is the folder of one checkpoint, rather than of many or something else.
bool is_checkpoint_folder(const std::string& path);

/// Throws RuntimeFailure(cannot_write) when no checkpoint could be written to `folder`, which may be missing in a
/// folder that is there; leaves nothing behind.
void check_checkpoint_folder(const std::string& folder);

/// Makes `folder` and an empty one for the files of a new checkpoint, and gives its path; what killed runs left is
/// removed. Throws RuntimeFailure(cannot_write).
std::string begin_checkpoint(const std::string& folder, int64_t step);

/// Writes the manifest to the folder of `begin_checkpoint`, in which the files are, and gives it its name; a checkpoint
/// of the same step is replaced. Throws RuntimeFailure(cannot_write), also when a file of the manifest is not there.
void commit_checkpoint(const std::string& folder, const std::string& begun, const Manifest& manifest);

/// Removes the oldest of those whose manifest has the right checksum but for `most`; 0 keeps all. That of step `newest`
/// stays.
void remove_old_checkpoints(const std::string& folder, int64_t most, int64_t newest);

/// Removes a folder with a checkpoint or a part of one: its manifest first.
void remove_checkpoint(const std::string& path) noexcept;

}  // namespace partita
