#include "frontend/data/views/source_view.h"

namespace partita {

int64_t IndexView::sample(int64_t epoch, int64_t index) const {
  const SourceRow found = source_row(epoch, index);
  return source_->sample(found.epoch, found.index);
}

void IndexView::fill(int64_t epoch, std::span<const int64_t> indices, std::span<const Tensor> out) const {
  // Reads the source once per run of rows of one epoch, which is nearly always all of them.
  std::vector<int64_t> run;
  run.reserve(indices.size());
  for (size_t first = 0; first < indices.size(); first += run.size()) {
    run.clear();
    SourceRow next = source_row(epoch, indices[first]);
    const int64_t run_epoch = next.epoch;
    size_t end = first;
    while (next.epoch == run_epoch) {
      run.push_back(next.index);
      if (++end == indices.size()) break;
      next = source_row(epoch, indices[end]);
    }
    if (run.size() == indices.size()) return source_->read(run_epoch, run, out);
    source_->read(run_epoch, run, slice_rows(out, static_cast<int64_t>(first), static_cast<int64_t>(run.size())));
  }
}

}  // namespace partita
