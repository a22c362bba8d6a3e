#include "training/requested_files.h"

#include <algorithm>

#include "training/training_run.h"

namespace partita {

/// Whether a file gets whole states: it does unless it asks for this process's part and ranks are processes. Threads
/// share a process, which holds the whole states.
bool RequestedFiles::is_whole(const RequestedFile& file) const { return !file.own_part || !run_.own_process; }

RequestedFiles::Needed RequestedFiles::needed() const {
  if (std::ranges::none_of(files_, [&](const RequestedFile& file) { return is_whole(file); })) {
    return Needed::nothing;
  }
  return rank_.comm().rank() == 0 ? Needed::on_first : Needed::on_all;
}

void RequestedFiles::write(Needed needed, const TrainingPosition& position) {
  if (needed != Needed::nothing || !files_.empty()) writer_.finish();  // frees its copy of the states
  std::shared_ptr<const States> whole;
  if (needed != Needed::nothing) {
    whole = std::make_shared<States>(needed == Needed::on_all ? rank_.states() : rank_.states_on_first());
  }
  for (const RequestedFile& file : std::exchange(files_, {})) {
    auto part = std::make_shared<const StateParts>(is_whole(file) ? StateParts{} : rank_.own_parts());
    const auto save = [this, file, whole, part, position] {
      run_.save(file.path, is_whole(file) ? *whole : part->values, part->boxes, position);
    };
    writer_.write(save, file.background);
  }
}

}  // namespace partita
