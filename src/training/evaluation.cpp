#include "training/evaluation.h"

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
  for (const Output& output : graph().outputs) {
    if (graph().type(output.value).rank() == 0) scalars_.push_back(output.name);
  }
}

/// What ranks add up, batch by batch.
class Evaluation::Adder {
 public:
  Adder(const std::vector<std::string>& scalars, bool classifies, int64_t top, const EvaluationProgress& progress,
        int64_t rows)
      : scalars_(scalars),
        classifies_(classifies),
        top_(top),
        progress_(progress),
        rows_(rows),
        sums_(kCounts + scalars.size()) {}

  void add(Executor& executor, const Batch& batch, const Dataset& rows) {
    auto samples = static_cast<double>(batch.arrays[0].shape()[0]);
    if (classifies_) {
      const Array logits = executor.output("logits");
      const ConstTensor labels = batch.arrays[find_column(rows, "label")].tensor();
      samples = static_cast<double>(logits.type().elements() / logits.shape().back());
      sums_[kCorrect] += static_cast<double>(count_correct(logits.tensor(), labels));
      sums_[kCorrectInTop] += static_cast<double>(count_correct(logits.tensor(), labels, top_));
      sums_[kNonFinite] += static_cast<double>(count_non_finite(logits.tensor()));
    }
    sums_[kSamples] += samples;
    for (size_t i = 0; i < scalars_.size(); ++i) {
      sums_[kCounts + i] += executor.output(scalars_[i]).at(0) * samples;  // the mean over the rows of all ranks
    }
  }
  void tell(int64_t rows_of_batch) {
    done_ += rows_of_batch;
    if (progress_) progress_(std::min(done_, rows_), rows_);
  }

  Metrics reduced(Communicator& comm) {
    comm.all_reduce(sums_.data(), static_cast<int64_t>(sums_.size()), DType::f64, Reduce::sum);
    const auto count = [&](Count which) { return static_cast<int64_t>(sums_[which]); };
    Metrics metrics{.samples = count(kSamples),
                    .classified = classifies_,
                    .correct = count(kCorrect),
                    .correct_in_top = count(kCorrectInTop),
                    .top = top_,
                    .non_finite = count(kNonFinite),
                    .loss = sums_[kCounts] / sums_[kSamples]};
    for (size_t i = 1; i < scalars_.size(); ++i) {
      metrics.others.emplace_back(scalars_[i], sums_[kCounts + i] / sums_[kSamples]);
    }
    return metrics;
  }

 private:
  enum Count { kSamples, kCorrect, kCorrectInTop, kNonFinite, kCounts };

  const std::vector<std::string>& scalars_;
  bool classifies_;
  int64_t top_;
  const EvaluationProgress& progress_;
  int64_t rows_, done_ = 0;
  Sums sums_;
};
bool Evaluation::classifies() const {
  const auto& columns = parts_.front().rows->columns();
  const auto& outputs = graph().outputs;
  return std::any_of(columns.begin(), columns.end(), [](const Column& column) { return column.name == "label"; }) &&
         std::any_of(outputs.begin(), outputs.end(), [](const Output& output) { return output.name == "logits"; });
}

Metrics Evaluation::run(const States& states, const RankOptions& options, Communicator& comm,
                        const EvaluationProgress& progress) const {
  int64_t rows = 0;
  for (const Part& part : parts_) rows += part.rows->size();
  Adder adder(scalars_, classifies(), options_.top, progress, rows);
  for (const Part& part : parts_) {
    if (part.ranks == comm.size()) {
      add(part, adder, states, options, comm);
    } else if (comm.rank() == 0) {
      const auto alone = make_inproc_world(1);
      add(part, adder, states, options, *alone[0]);
    }
  }
  return adder.reduced(comm);
}

void Evaluation::add(const Part& part, Adder& adder, const States& states, const RankOptions& options,
                     Communicator& comm) const {
  RankRun rank(part.program, states, options, comm);
  const Batcher rows = rank.rows(part.rows, part.batch);
  Batch batch;
  for (int64_t i = 0; i < rows.batches(); ++i) {
    rows.read(/*epoch=*/0, i, batch);
    rank.feed(batch);
    rank.executor().run();
    adder.tell(part.batch);
    if (rows.options().ranks != comm.size() && comm.rank() != 0) continue;  // every rank has the same rows
    adder.add(rank.executor(), batch, *part.rows);
  }
}

}  // namespace partita
