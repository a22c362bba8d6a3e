#include "train/evaluation.h"

#include <algorithm>

#include "comm/inproc/inproc.h"
#include "data/views/skip.h"
#include "data/views/take.h"

namespace partita {
namespace {

/// Rows per batch: at most `most`, a multiple of the ranks; one that leaves no rest when there is one that is not
/// much smaller. 0 when there are fewer rows than ranks.
int64_t choose_batch(int64_t rows, int64_t ranks, int64_t most) {
  const int64_t largest = std::min(std::max(most, ranks), rows) / ranks * ranks;
  for (int64_t batch = largest; batch > largest / 4; batch -= ranks) {
    if (rows % batch == 0) return batch;
  }
  return largest;
}

}  // namespace

Evaluation::Evaluation(DatasetPtr dataset, const EvaluationOptions& options, const MakeProgram& make)
    : options_(options) {
  const int64_t rows = dataset->size();
  if (rows == 0) throw InvalidArgument("[eval] no rows, got 0, expected at least 1");
  const int64_t batch = choose_batch(rows, options.ranks, options.most_rows);
  const int64_t whole = batch > 0 ? rows / batch * batch : 0;
  if (whole > 0) parts_.push_back({take(dataset, whole), batch, options.ranks, make(batch, options.ranks)});
  if (whole < rows) parts_.push_back({skip(dataset, whole), rows - whole, 1, make(rows - whole, 1)});
}

Metrics Evaluation::run(const States& states, const RankOptions& options, Communicator& comm) const {
  Sums sums{};
  for (const Part& part : parts_) {
    if (part.ranks == comm.size()) {
      add(part, states, options, comm, sums);
    } else if (comm.rank() == 0) {
      const auto alone = make_inproc_world(1);
      add(part, states, options, *alone[0], sums);
    }
  }
  comm.all_reduce(sums.data(), kSums, DType::f64, Reduce::sum);
  const auto count = [&](Sum sum) { return static_cast<int64_t>(sums[sum]); };
  return {.samples = count(kSamples),
          .correct = count(kCorrect),
          .correct_in_top = count(kCorrectInTop),
          .top = options_.top,
          .non_finite = count(kNonFinite),
          .loss = sums[kLoss] / sums[kSamples]};
}

void Evaluation::add(const Part& part, const States& states, const RankOptions& options, Communicator& comm,
                     Sums& sums) const {
  RankRun rank(part.program, states, options, comm);
  const Batcher rows = rank.rows(part.rows, part.batch);
  const size_t label = find_column(*part.rows, "label");
  Batch batch;
  for (int64_t i = 0; i < rows.batches(); ++i) {
    rows.read(/*epoch=*/0, i, batch);
    rank.feed(batch);
    rank.executor().run();
    const ConstTensor labels = std::as_const(batch.arrays[label]).tensor();
    const Array logits = rank.executor().output("logits");
    if (rows.options().ranks != comm.size() && comm.rank() != 0) continue;  // every rank has the same rows
    const auto samples = static_cast<double>(logits.type().elements() / logits.shape().back());
    sums[kSamples] += samples;
    sums[kCorrect] += static_cast<double>(count_correct(logits.tensor(), labels));
    sums[kCorrectInTop] += static_cast<double>(count_correct(logits.tensor(), labels, options_.top));
    sums[kNonFinite] += static_cast<double>(count_non_finite(logits.tensor()));
    sums[kLoss] += rank.executor().output("loss").at(0) * samples;  // the mean over the rows of all ranks
  }
}

}  // namespace partita
