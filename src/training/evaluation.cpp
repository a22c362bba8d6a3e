#include "training/evaluation.h"

#include <algorithm>
#include <cmath>

#include "compiler/plan/outputs.h"
#include "frontend/data/views/part.h"
#include "frontend/network/losses.h"
#include "ir/ops/registry.h"
#include "runtime/execute/interpreter.h"
#include "runtime/execute/shard_copy.h"
#include "training/made_outputs.h"

namespace partita {
namespace {

/// Returns the number of rows of a full batch, at most `most`. It is `rows` if that is allowed and they are fewer than
/// `ranks` or a multiple of them; else a multiple of `ranks`, or any number if `most` or `rows` is below that. Of these
/// it is the largest divisor of `rows` that is more than half the largest choice, or else the largest choice.
int64_t choose_batch(int64_t rows, int64_t ranks, int64_t most) {
  if (rows <= most && (rows < ranks || rows % ranks == 0)) return rows;
  const int64_t step = std::min(most, rows) < ranks ? 1 : ranks;
  const int64_t largest = std::min(most, rows) / step * step;
  for (int64_t batch = largest; batch > largest / 2; batch -= step) {
    if (rows % batch == 0) return batch;
  }
  return largest;
}

/// Returns the labels of the rows and positions of logits in `box`. `labels` begin at row `first` of the batch. Throws
/// InternalError if they lack some of these rows.
Array labels_of(const ConstTensor& labels, const Box& box, int64_t first) {
  Type type = labels.type;
  Box own;
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

/// Returns the output of a program by which rows are counted: kLabelPlace, or "logits" where the host compares.
std::string counted_output(const Graph& graph) {
  const bool has_places =
      std::ranges::any_of(graph.outputs, [](const Output& output) { return output.name == kLabelPlace; });
  return has_places ? std::string(kLabelPlace) : "logits";
}

/// The rows of a counted output that a rank holds, and their labels in the batches that it reads.
class LabelledPart {
 public:
  LabelledPart(const Dataset& rows, const StageExecutor& stage, const std::string& output)
      : column_(find_column(rows, "label")) {
    const LocalGraph& local = stage.local();
    const ValueId counted = local.graph.output(output);
    const Sharding& sharding = local.shardings[counted];
    box_ = local_ranges(local.graph.type(counted), sharding, local.mesh, stage.coordinates());
    is_owned_ = owns_part(sharding, local.mesh, stage.coordinates());
  }
  /// Whether this rank is the one that counts these rows, of all ranks that hold them.
  bool is_owned() const { return is_owned_; }
  bool lies_in(const RowRange& rows) const {
    return box_.at(0).begin >= rows.first && box_.at(0).end <= rows.first + rows.size();
  }
  /// Returns the labels of these rows. `first`: the first row of `batch` within the global batch. Throws InternalError
  /// if `batch` lacks some of them.
  Array labels(const Batch& batch, int64_t first) const {
    return labels_of(batch.arrays[column_].tensor(), box_, first);
  }

 private:
  size_t column_;
  Box box_;
  bool is_owned_ = false;
};

}  // namespace

/// Counts of rows.
class Evaluation::Counter {
 public:
  Counter(const EvaluationOptions& options, const EvaluationProgress& progress, int64_t rows, size_t passes)
      : options_(options),
        progress_(progress),
        rows_(rows),
        passes_(static_cast<int64_t>(passes)),
        row_metrics_(options.metrics) {}

  /// Adds the rows of `logits` to the counts. `labels`: those of these rows. Rows whose id is the ignored label are no
  /// samples. Throws InvalidArgument if the labels do not fit the logits.
  void add_classified(const Array& logits, const Array& labels) {
    const std::optional<int64_t> ignored = options_.ignored_label;
    row_metrics_.add(logits, labels, ignored);
    sums_[kCorrect] += count_correct(logits.tensor(), labels.tensor(), 1, ignored);
    sums_[kCorrectInTop] += count_correct(logits.tensor(), labels.tensor(), options_.top, ignored);
    sums_[kNonFinite] += count_non_finite(logits.tensor());
    const int64_t samples = logits.type().elements() / logits.shape().back();
    const bool are_ids = labels.type() != Type{labels.type().dtype, logits.shape()};
    add(samples - (ignored && are_ids ? count_ignored(labels.tensor(), *ignored) : 0));
  }
  /// Adds rows by the places of their labels and by whether they are finite. `labels`: those of these rows. Rows whose
  /// id is the ignored label are no samples.
  void add_places(const Array& places, const Array& finite, const Array& labels) {
    const std::optional<int64_t> ignored = options_.ignored_label;
    sums_[kCorrect] += count_below(places.tensor(), labels.tensor(), 1, ignored);
    sums_[kCorrectInTop] += count_below(places.tensor(), labels.tensor(), options_.top, ignored);
    const bool* is_finite = finite.tensor().as<bool>();
    sums_[kNonFinite] += std::count(is_finite, is_finite + finite.type().elements(), false);
    add(places.type().elements() - (ignored ? count_ignored(labels.tensor(), *ignored) : 0));
  }
  void add(int64_t samples) { sums_[kSamples] += samples; }
  void report_progress(int64_t rows_of_batch) {
    done_ += rows_of_batch;
    if (progress_) progress_(std::min(done_ / passes_, rows_), rows_);
  }

  /// Returns the counts summed over the ranks, without the scalars, with `classified` set to `classifies`. Collective.
  /// Throws as Communicator does.
  Metrics reduced(bool classifies, Communicator& comm) {
    std::vector<double> sums(sums_.begin(), sums_.end());  // exact: counts fit the 53 bits of a double
    comm.all_reduce(sums.data(), static_cast<int64_t>(sums.size()), DType::f64, Reduce::sum);
    const auto count = [&](Count which) { return static_cast<int64_t>(sums[which]); };
    return {.samples = count(kSamples),
            .classified = classifies,
            .correct = count(kCorrect),
            .correct_in_top = count(kCorrectInTop),
            .top = options_.top,
            .non_finite = count(kNonFinite)};
  }
  RowMetrics& row_metrics() { return row_metrics_; }

 private:
  enum Count { kSamples, kCorrect, kCorrectInTop, kNonFinite, kCounts };

  const EvaluationOptions& options_;
  const EvaluationProgress& progress_;
  int64_t rows_, passes_, done_ = 0;
  std::array<int64_t, kCounts> sums_{};
  RowMetrics row_metrics_;
};

/// Joins the results of a pass over its batches, then passes them to all ranks.
class Evaluation::Joiner {
 public:
  explicit Joiner(const RowPasses::Pass& pass) : pass_(pass) {
    for (const RowPasses::Result& result : pass.results) {
      const double first = result.join == Reduce::max   ? -std::numeric_limits<double>::infinity()
                           : result.join == Reduce::min ? std::numeric_limits<double>::infinity()
                                                        : 0;
      joined_.emplace_back(static_cast<size_t>(result.type.elements()), first);
      is_own_.push_back(false);
    }
  }

  /// Joins the results of the batch that `executor` has just run to those of earlier batches. Only the first rank of
  /// the stage that makes a result does so.
  void add(const Program& program, const Executor& executor) {
    for (size_t i = 0; i < joined_.size(); ++i) {
      const RowPasses::Result& result = pass_.results[i];
      const StageExecutor* maker = stage_that_makes(program, executor, result.name);
      if (maker == nullptr || !is_first(*maker)) continue;
      is_own_[i] = true;
      const Array part = maker->read(maker->named().output(result.name));
      for (size_t k = 0; k < joined_[i].size(); ++k) {
        joined_[i][k] = join(result.join, joined_[i][k], part.at(static_cast<int64_t>(k)));
      }
    }
  }

  void hand_on(Communicator& comm, Values& values) {
    std::vector<double> all;
    for (size_t i = 0; i < joined_.size(); ++i) {
      for (const double value : joined_[i]) all.push_back(is_own_[i] ? value : 0);
    }
    comm.all_reduce(all.data(), static_cast<int64_t>(all.size()), DType::f64, Reduce::sum);
    size_t at = 0;
    for (const RowPasses::Result& result : pass_.results) {
      Array value(result.type);
      for (int64_t k = 0; k < result.type.elements(); ++k) value.set(k, all[at++]);
      values.insert_or_assign(result.name, std::move(value));
    }
  }

 private:
  static double join(Reduce kind, double all, double part) {
    switch (kind) {
      case Reduce::sum: return all + part;
      case Reduce::max: return part > all || std::isnan(part) ? part : all;
      case Reduce::min: return part < all || std::isnan(part) ? part : all;
      default: return part;
    }
  }

  const RowPasses::Pass& pass_;
  std::vector<std::vector<double>> joined_;  // values of each result
  std::vector<bool> is_own_;                 // per result: whether this rank has it
};

Evaluation::Evaluation(DatasetPtr dataset, const EvaluationOptions& options, const Maker& make)
    : options_(options), rows_(dataset->size()) {
  if (rows_ == 0) throw InvalidArgument("[eval] no rows, got 0, expected at least 1");
  const auto& columns = dataset->columns();
  const bool has_labels = std::ranges::any_of(columns, [](const Column& column) { return column.name == "label"; });
  int64_t batch = choose_batch(rows_, options.ranks, options.max_rows);
  const bool reads_rows = RowMetrics(options.metrics).reads_rows();
  const auto passes_of = [&](int64_t rows_of_batch) {
    return RowPasses(make.build, all_ops(),
                     {.rows = rows_, .batch = rows_of_batch, .labels = has_labels, .places = !reads_rows});
  };
  try {
    row_passes_.emplace(passes_of(batch));
  } catch (const InvalidArgument&) {  // all rows in one batch, if they fit
    if (batch == rows_ || rows_ > options.max_rows) throw;
    batch = rows_;
    row_passes_.emplace(passes_of(batch));
  }
  const int64_t whole = rows_ / batch * batch;
  for (size_t pass = 0; pass < row_passes_->passes().size(); ++pass) {
    std::vector<Part>& parts = passes_.emplace_back();
    const auto add_part = [&](DatasetPtr rows, int64_t size) {
      parts.push_back({std::move(rows), size, make.compile(row_passes_->batch_graph(pass, size), size)});
    };
    add_part(whole < rows_ ? take(dataset, whole) : dataset, batch);
    if (whole < rows_) add_part(skip(dataset, whole), rows_ - whole);
    classifies_ = classifies_ || row_passes_->passes()[pass].compares_labels;
  }
  if (reads_rows) require_metrics();
  if (!options_.ignored_label) options_.ignored_label = find_ignored_class(row_passes_->whole());
}

void Evaluation::require_metrics() const {
  if (!classifies_) {
    throw InvalidArgument(
        "[metrics] nothing to compare, got a network or rows without it, expected an output 'logits' and a column "
        "'label'");
  }
  const Graph& whole = row_passes_->whole();
  const Type& logits = whole.type(whole.output("logits"));
  for (const Input& input : whole.inputs) {
    const ValueInfo& value = whole.values[static_cast<size_t>(input.value)];
    if (value.name == "label") RowMetrics(options_.metrics).require_fit(logits, value.type);
  }
}

std::vector<const Program*> Evaluation::programs() const {
  std::vector<const Program*> programs;
  for (const std::vector<Part>& parts : passes_) {
    for (const Part& part : parts) programs.push_back(&part.program);
  }
  return programs;
}

Metrics Evaluation::run(const States& states, const RankOptions& options, Communicator& comm,
                        const EvaluationProgress& progress) const {
  return run([&](const Program& program) { return std::make_unique<RankRun>(program, states, options, comm); }, comm,
             progress);
}

Metrics Evaluation::run(RankRun& training, const EvaluationProgress& progress) const {
  training.executor().keep_states_alone();
  return run([&](const Program& program) { return std::make_unique<RankRun>(program, training); }, training.comm(),
             progress);
}

Metrics Evaluation::run(const MakeRank& make, Communicator& comm, const EvaluationProgress& progress) const {
  Counter counter(options_, progress, rows_, passes_.size());
  Values values;
  for (size_t pass = 0; pass < passes_.size(); ++pass) run_pass(pass, make, comm, counter, values);
  if (!classifies_ && comm.rank() == 0) counter.add(rows_);
  Metrics metrics = counter.reduced(classifies_, comm);
  const auto& scalars = row_passes_->scalars();
  for (const auto& [name, value] : scalars) {
    const double number = values.at(value).at(0);
    if (&value == &scalars.front().second) {
      metrics.loss = number;
    } else {
      metrics.others.emplace_back(name, number);
    }
  }
  metrics.measured = counter.row_metrics().reduced(metrics, comm);
  return metrics;
}

void Evaluation::run_pass(size_t pass, const MakeRank& make, Communicator& comm, Counter& counter,
                          Values& values) const {
  const RowPasses::Pass& what = row_passes_->passes()[pass];
  Joiner joiner(what);
  for (const Part& part : passes_[pass]) {
    const std::unique_ptr<RankRun> rank = make(part.program);
    for (const Input& input : part.program.graph.inputs) {
      const std::string& name = part.program.graph.values[static_cast<size_t>(input.value)].name;
      for (const auto& [known, value] : values) {
        if (name == RowPasses::given_name(known)) rank->feed(name, value.tensor());
      }
    }
    run_part(part, *rank, what.compares_labels, counter, joiner);
  }
  joiner.hand_on(comm, values);
  for (auto& [name, value] : interpret_all(row_passes_->joined_graph(pass), all_ops(), values).outputs) {
    values.insert_or_assign(name, std::move(value));
  }
}

void Evaluation::run_part(const Part& part, RankRun& rank, bool compares_labels, Counter& counter,
                          Joiner& joiner) const {
  const std::string counted = counted_output(part.program.graph);
  const StageExecutor* maker = compares_labels ? stage_that_makes(part.program, rank.executor(), counted) : nullptr;
  std::optional<LabelledPart> labelled;
  if (maker != nullptr) labelled.emplace(*part.rows, *maker, counted);
  const bool reads = rank.reads_rows() || labelled;
  Batcher rows = rank.rows(part.rows, part.batch);
  RowRange own = rows_of_rank(part.batch, rows.options().rank, rows.options().ranks);
  if (labelled && !labelled->lies_in(own)) {  // feed() selects the needed rows
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
    counter.report_progress(part.batch);
    joiner.add(part.program, rank.executor());
    // Only one of the ranks that hold the same rows counts them.
    if (!labelled || !labelled->is_owned()) continue;
    const Array result = rank.executor().output(counted), labels = labelled->labels(batch, own.first);
    if (counted == "logits") {
      counter.add_classified(result, labels);
    } else {
      counter.add_places(result, rank.executor().output(std::string(kFiniteRow)), labels);
    }
  }
}

}  // namespace partita
