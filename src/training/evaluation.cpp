#include "training/evaluation.h"

#include <algorithm>

#include "data/views/skip.h"
#include "data/views/take.h"
#include "execute/shard_copy.h"

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

/// The labels of the rows and positions of logits that lie in `box`; `labels` begin at row `first` of the batch.
Array labels_of(const ConstTensor& labels, const std::vector<Range>& box, int64_t first) {
  Type type = labels.type;
  std::vector<Range> own;
  for (size_t d = 0; d < type.shape.size(); ++d) {
    const int64_t size = type.shape[d], before = d == 0 ? first : 0;
    Range range = d < box.size() ? box[d] : Range{0, size, size};
    range = {range.begin - before, range.end - before, size};
    PARTITA_CHECK(range.begin >= 0 && range.end <= size, "rows of logits {} to {} without their labels {}", range.begin,
                  range.end, print(type));
    type.shape[d] = range.count();
    own.push_back(range);
  }
  Array part(type);
  copy_part(labels, own, part.data());
  return part;
}

/// This rank's executor of the stage that makes the logits; null: it is another rank's.
const StageExecutor* stage_with_logits(const Program& program, const Executor& executor) {
  const auto makes_logits = [](const Graph& graph) {
    return std::any_of(graph.outputs.begin(), graph.outputs.end(), [&](const Output& output) {
      return output.name == "logits" && graph.values[static_cast<size_t>(output.value)].producer >= 0;
    });
  };
  for (const StageProgram& stage : program.stages) {
    if (!makes_logits(stage.graph)) continue;
    const auto own = std::find_if(executor.stages().begin(), executor.stages().end(),
                                  [&](const auto& one) { return &one->local() == &stage.local; });
    return own == executor.stages().end() ? nullptr : own->get();
  }
  return nullptr;
}

/// The logits that a rank holds, and their labels in the batches that it reads.
class LabelledPart {
 public:
  LabelledPart(const Dataset& rows, const StageExecutor& stage) : column_(find_column(rows, "label")) {
    const LocalGraph& local = stage.local();
    const ValueId logits = local.graph.output("logits");
    const Sharding& sharding = local.shardings[logits];
    box_ = local_ranges(local.graph.type(logits), sharding, local.mesh, stage.coordinates());
    is_owned_ = owns_part(sharding, local.mesh, stage.coordinates());
  }
  /// Of the ranks that hold the same logits one owns them.
  bool is_owned() const { return is_owned_; }
  bool lies_in(const RowRange& rows) const {
    return box_.at(0).begin >= rows.first && box_.at(0).end <= rows.first + rows.size();
  }
  /// `first`: the row of the whole batch that `batch` begins with.
  Array labels(const Batch& batch, int64_t first) const {
    return labels_of(batch.arrays[column_].tensor(), box_, first);
  }

 private:
  size_t column_;
  std::vector<Range> box_;
  bool is_owned_ = false;
};

}  // namespace

Evaluation::Evaluation(DatasetPtr dataset, const EvaluationOptions& options, const MakeProgram& make)
    : options_(options) {
  const int64_t rows = dataset->size();
  if (rows == 0) throw InvalidArgument("[eval] no rows, got 0, expected at least 1");
  const int64_t batch = choose_batch(rows, options.ranks, options.most_rows);
  const int64_t whole = batch > 0 ? rows / batch * batch : 0;
  if (whole > 0) parts_.push_back({take(dataset, whole), batch, make(batch)});
  if (whole < rows) parts_.push_back({skip(dataset, whole), rows - whole, make(rows - whole)});
  for (const Output& output : graph().outputs) {
    if (graph().type(output.value).rank() == 0) scalars_.push_back(output.name);
  }
  std::stable_partition(scalars_.begin(), scalars_.end(), [](const std::string& name) { return name == "loss"; });
}

/// What ranks add up, batch by batch.
class Evaluation::Adder {
 public:
  Adder(const std::vector<std::string>& scalars, bool classifies, const EvaluationOptions& options,
        const EvaluationProgress& progress, int64_t rows)
      : scalars_(scalars),
        classifies_(classifies),
        options_(options),
        progress_(progress),
        rows_(rows),
        sums_(kCounts + scalars.size()) {}

  /// `labels`: of the logits that this rank holds.
  void add_classified(Executor& executor, const Array& labels) {
    const Array logits = executor.output("logits");
    const std::optional<int64_t> ignored = options_.ignored_label;
    sums_[kCorrect] += static_cast<double>(count_correct(logits.tensor(), labels.tensor(), 1, ignored));
    sums_[kCorrectInTop] += static_cast<double>(count_correct(logits.tensor(), labels.tensor(), options_.top, ignored));
    sums_[kNonFinite] += static_cast<double>(count_non_finite(logits.tensor()));
    const int64_t samples = logits.type().elements() / logits.shape().back();
    add_scalars(executor, samples - (ignored ? count_ignored(labels.tensor(), *ignored) : 0));
  }
  void add_scalars(Executor& executor, int64_t samples) {
    const auto weight = static_cast<double>(samples);
    sums_[kSamples] += weight;
    for (size_t i = 0; i < scalars_.size(); ++i) {
      sums_[kCounts + i] += executor.output(scalars_[i]).at(0) * weight;  // the mean over the rows of all ranks
    }
  }
  void report_progress(int64_t rows_of_batch) {
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
                    .top = options_.top,
                    .non_finite = count(kNonFinite),
                    .loss = mean(0)};
    for (size_t i = 1; i < scalars_.size(); ++i) {
      metrics.others.emplace_back(scalars_[i], mean(i));
    }
    return metrics;
  }

 private:
  /// Of a scalar over the samples; 0 where all are ignored.
  double mean(size_t scalar) const { return sums_[kSamples] > 0 ? sums_[kCounts + scalar] / sums_[kSamples] : 0; }

  enum Count { kSamples, kCorrect, kCorrectInTop, kNonFinite, kCounts };

  const std::vector<std::string>& scalars_;
  bool classifies_;
  const EvaluationOptions& options_;
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
  return run([&](const Program& program) { return std::make_unique<RankRun>(program, states, options, comm); }, comm,
             progress);
}

Metrics Evaluation::run(const RankRun& training, const EvaluationProgress& progress) const {
  return run([&](const Program& program) { return std::make_unique<RankRun>(program, training); }, training.comm(),
             progress);
}

Metrics Evaluation::run(const MakeRank& make, Communicator& comm, const EvaluationProgress& progress) const {
  int64_t rows = 0;
  for (const Part& part : parts_) rows += part.rows->size();
  Adder adder(scalars_, classifies(), options_, progress, rows);
  for (const Part& part : parts_) add(part, adder, *make(part.program));
  return adder.reduced(comm);
}

void Evaluation::add(const Part& part, Adder& adder, RankRun& rank) const {
  const StageExecutor* maker = classifies() ? stage_with_logits(part.program, rank.executor()) : nullptr;
  std::optional<LabelledPart> labelled;
  if (maker != nullptr) labelled.emplace(*part.rows, *maker);
  // Each row is counted once: where its logits are or, without labels, on the first rank.
  const bool counts = classifies() ? labelled && labelled->is_owned() : rank.comm().rank() == 0;
  const bool reads = rank.reads_rows() || labelled;
  Batcher rows = rank.rows(part.rows, part.batch);
  RowRange own = rows_of_rank(part.batch, rows.options().rank, rows.options().ranks);
  if (labelled && !labelled->lies_in(own)) {  // feed() takes what is needed of all
    rows = Batcher(part.rows, {.batch = part.batch});
    own = rows_of_rank(part.batch, 0, 1);
  }
  Batch batch;
  for (int64_t i = 0; i < rows.batches(); ++i) {
    if (reads) {
      rows.read(/*epoch=*/0, i, batch);
      rank.feed(batch);
    }
    rank.executor().run();
    adder.report_progress(part.batch);
    if (!counts) continue;
    if (labelled) {
      adder.add_classified(rank.executor(), labelled->labels(batch, own.first));
    } else {
      adder.add_scalars(rank.executor(), part.batch);
    }
  }
}

}  // namespace partita
