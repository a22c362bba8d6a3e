#include "train/evaluation.h"

#include <algorithm>

#include "comm/inproc/inproc.h"
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

/// How the value of a plan lies that is no sum over ranks any more.
std::vector<Axes> dims_of(const Plan& plan, const Graph& graph, const OpSet& ops, ValueId value) {
  if (const auto placed = plan.results.find(value); placed != plan.results.end()) return placed->second;
  const NodeId maker = graph.values[value].producer;
  if (maker < 0) return std::vector<Axes>(graph.type(value).shape.size());
  return output_sharding(rule_of(graph, graph.nodes[maker], ops), plan.cuts[maker], graph.values[value].output).dims;
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

}  // namespace

Plan with_logits_in_rows(Plan plan, const Graph& graph, const OpSet& ops) {
  const ValueId logits = graph.output("logits"), label = graph.input("label");
  size_t input = 0;
  while (graph.inputs[input].value != label) ++input;
  std::vector<Axes> dims = dims_of(plan, graph, ops, logits);
  const int64_t rows = graph.type(logits).shape.at(0);
  Axes by_rows = plan.inputs[input].at(0);
  for (Axes& axes : dims) {
    const Axes before = std::exchange(axes, {});
    for (int axis : before) {
      const bool used = std::find(by_rows.begin(), by_rows.end(), axis) != by_rows.end();
      if (!used && plan.mesh.ways(by_rows) * plan.mesh.ways({axis}) <= rows) by_rows.push_back(axis);
    }
  }
  dims[0] = by_rows;
  plan.outputs["logits"] = std::move(dims);
  return plan;
}

Evaluation::Evaluation(DatasetPtr dataset, const EvaluationOptions& options, const MakeProgram& make)
    : options_(options) {
  const int64_t rows = dataset->size();
  if (rows == 0) throw InvalidArgument("[eval] no rows, got 0, expected at least 1");
  const int64_t batch = choose_batch(rows, options.ranks, options.most_rows);
  const int64_t whole = batch > 0 ? rows / batch * batch : 0;
  if (whole > 0) parts_.push_back({take(dataset, whole), batch, options.ranks, make(batch, options.ranks)});
  if (whole < rows) parts_.push_back({skip(dataset, whole), rows - whole, 1, make(rows - whole, 1)});
  require_columns(graph(), *dataset);
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
          .loss = sums[kLoss] / sums[kSamples]};
}

void Evaluation::add(const Part& part, const States& states, const RankOptions& options, Communicator& comm,
                     Sums& sums) const {
  RankRun rank(part.program, states, options, comm);
  const Batcher rows = rank.rows(part.rows, part.batch);
  const size_t label = find_column(*part.rows, "label");
  const LocalGraph& local = part.program.local;
  const ValueId output = local.graph.output("logits");
  const std::vector<int64_t> coordinates = local.mesh.coordinates(comm.rank());
  const std::vector<Range> box = held(local.graph.type(output), local.shardings[output], local.mesh, coordinates);
  const bool counts = owns_part(local.shardings[output], local.mesh, coordinates);  // each row is counted once
  const int64_t first = rows_of_rank(part.batch, rows.options().rank, rows.options().ranks).first;
  Batch batch;
  for (int64_t i = 0; i < rows.batches(); ++i) {
    rows.read(/*epoch=*/0, i, batch);
    rank.feed(batch);
    rank.executor().run();
    if (!counts) continue;
    const Array labels = labels_of(std::as_const(batch.arrays[label]).tensor(), box, first);
    const Array logits = rank.executor().output("logits");
    const auto samples = static_cast<double>(logits.type().elements() / logits.shape().back());
    sums[kSamples] += samples;
    sums[kCorrect] += static_cast<double>(count_correct(logits.tensor(), labels.tensor()));
    sums[kCorrectInTop] += static_cast<double>(count_correct(logits.tensor(), labels.tensor(), options_.top));
    sums[kLoss] += rank.executor().output("loss").at(0) * samples;  // the mean over the rows of all ranks
  }
}

}  // namespace partita
