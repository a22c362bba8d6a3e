#include "training/generator.h"

#include <algorithm>

#include "base/checksum.h"
#include "base/convert_elements.h"
#include "frontend/network/build_graph.h"
#include "ir/ops/registry.h"
#include "job/program.h"
#include "runtime/launch/refusal.h"
#include "runtime/launch/run_process.h"
#include "training/fill_states.h"
#include "training/made_outputs.h"
#include "training/memory.h"
#include "training/model_fingerprint.h"
#include "training/text_contexts.h"

namespace partita {
namespace {

constexpr int64_t kChunk = 64;  // tokens of each text that one run of the program for prompts takes
constexpr std::string_view kLogits = "logits";

/// The programs of a generation. `step` gives logits. `chunk` takes several tokens of each text into the caches.
struct Programs {
  Column tokens;
  int64_t window = 0, texts = 0;
  bool has_cache = false;
  int64_t chunk_size = 0;
  Program step;
  std::optional<Program> chunk;
};

Column tokens_of(const std::vector<Column>& columns) {
  for (const Column& column : columns) {
    if (column.name == "label") continue;
    if (column.type.dtype == DType::i32 && column.type.rank() == 1 && column.type.shape[0] > 0) return column;
    throw InvalidArgument("[generate] rows are no tokens, got {} as '{}', expected i32[s]", print(column.type),
                          column.name);
  }
  throw InvalidArgument("[generate] no column of tokens, got {} columns, expected one", columns.size());
}

/// Returns the graph that takes `size` tokens of each text. Without `has_logits` it only fills the caches.
Graph build_generation(const ModelJob& job, const Programs& like, int64_t size, bool has_logits) {
  Column tokens = like.tokens;
  tokens.type.shape = {size};
  std::vector<Column> columns{tokens};
  if (like.has_cache) columns.push_back({std::string(kPositionColumn), Type{DType::i32, {size}}});
  Graph graph = build_graph(job.network, all_ops(),
                            {.batch = like.texts,
                             .columns = std::move(columns),
                             .dtype = job.config.training.dtype,
                             .purpose = Purpose::generation,
                             .seed = job.config.training.seed,
                             .cache = like.has_cache ? like.window : 0});
  const Type& logits = graph.type(graph.output(kLogits));
  if (logits.rank() != 3 || logits.shape[1] != size) {
    throw InvalidArgument("[generate] logits are not those of each token, got {}, expected [{},{},vocabulary]",
                          print(logits), like.texts, size);
  }
  std::erase_if(graph.outputs, [&](const Output& output) { return !has_logits || output.name != kLogits; });
  return remove_dead_nodes(std::move(graph));
}

/// Checks that both programs fit the memory, unless the configuration says not to. Throws RuntimeFailure(out_of_memory)
/// otherwise.
void require_room(const ModelJob& job, const Programs& programs) {
  if (job.config.force) return;
  const int64_t ranks = job.world != nullptr ? 1 : job.config.ranks.count;
  MemoryEstimate estimate = estimate_memory(programs.step, ranks);
  if (programs.chunk) estimate.arenas += estimate_memory(*programs.chunk, ranks, /*copies=*/0).arenas;
  require_memory(estimate, available_memory());
}

/// Compiles the programs. Throws as `generate_tokens` does.
Programs compiled(const ModelJob& job, const std::vector<Column>& columns, const GenerateRequest& request) {
  Programs made{
      .tokens = tokens_of(columns), .texts = static_cast<int64_t>(request.texts.size()), .has_cache = request.cache};
  made.window = made.tokens.type.shape[0];
  const int64_t ranks = job.config.ranks.count;
  const auto compile = [&](const Graph& graph, const Program* holder) {
    ProgramRequest part = job.request(columns, made.texts, ranks, Purpose::evaluation);
    part.graph = &graph;
    part.training = holder;
    return telling_refusals(job.place, [&] { return make_program(job.config, part); });
  };
  made.step = compile(build_generation(job, made, made.has_cache ? 1 : made.window, /*has_logits=*/true), nullptr);
  int64_t longest = 1;
  for (const std::vector<int32_t>& text : request.texts) {
    longest = std::max(longest, static_cast<int64_t>(text.size()));
  }
  if (made.has_cache && (longest > 1 || request.length >= made.window)) {
    made.chunk_size = std::min(kChunk, made.window);
    made.chunk = compile(build_generation(job, made, made.chunk_size, /*has_logits=*/false), &made.step);
  }
  require_room(job, made);
  return made;
}

/// Runs the programs on one rank.
class RankGenerator {
 public:
  RankGenerator(const Programs& programs, const FillState& fill, const RankOptions& options, Communicator& comm)
      : programs_(programs), step_(programs.step, fill, options, comm) {
    const bool are_shared = !step_.devices();
    for (const State& state : programs.step.graph.states) {
      const bool is_copied = state.kind == StateKind::cache && !are_shared;
      if (is_copied) copied_caches_.push_back(programs.step.graph.name_of(state));
    }
    const Graph& graph = programs.step.graph;
    vocabulary_ = graph.type(graph.output(kLogits)).shape[2];
  }

  /// Returns the logits [texts, vocabulary] of the tokens after the texts, on each rank. Collective.
  std::vector<float> next_logits(Contexts& contexts) {
    if (programs_.has_cache) {
      fill_caches(contexts);
      run(step_, contexts.take_last(), 1);
    } else {
      run(step_, {.tokens = contexts.whole(), .positions = {}}, programs_.window);
    }
    std::vector<float> all(contexts.count() * static_cast<size_t>(vocabulary_), 0);
    const StageExecutor* maker = stage_that_makes(programs_.step, step_.executor(), kLogits);
    if (maker != nullptr) take_logits(*maker, contexts, all);
    if (step_.comm().size() > 1) {  // a sum of one part and of zeros
      step_.comm().all_reduce(all.data(), static_cast<int64_t>(all.size()), DType::f32, Reduce::sum);
    }
    return all;
  }
  int64_t vocabulary() const { return vocabulary_; }

 private:
  /// Copies the logits of the last tokens that this rank has, if it is the one of those with this part that passes it
  /// on, to their places in [texts, vocabulary].
  void take_logits(const StageExecutor& maker, const Contexts& contexts, std::vector<float>& all) const {
    const LocalGraph& local = maker.local();
    const ValueId value = local.graph.output(kLogits);
    const Sharding& sharding = local.shardings[static_cast<size_t>(value)];
    if (!owns_part(sharding, local.mesh, maker.coordinates())) return;
    const Box box = local_ranges(local.graph.type(value), sharding, local.mesh, maker.coordinates());
    const Array logits = cast(maker.read(maker.named().output(kLogits)), DType::f32);
    const Range &texts = box[0], &tokens = box[1], &words = box[2];
    for (int64_t text = texts.begin; text < texts.end; ++text) {
      const int64_t place = programs_.has_cache ? 0 : contexts.length(static_cast<size_t>(text)) - 1;
      if (place < tokens.begin || place >= tokens.end) continue;
      const int64_t row = (text - texts.begin) * tokens.count() + place - tokens.begin;
      std::copy_n(logits.as<float>() + row * words.count(), words.count(),
                  all.data() + text * vocabulary_ + words.begin);
    }
  }

  /// Takes all tokens but the last of each text into the caches.
  void fill_caches(Contexts& contexts) {
    if (contexts.missing_at_most() <= 1) return;
    const bool is_new = !chunk_;
    if (is_new) chunk_.emplace(*programs_.chunk, step_);
    if (!is_new) copy_caches(step_, *chunk_);  // a new one has taken them
    while (contexts.missing_at_most() > 1) run(*chunk_, contexts.take(programs_.chunk_size), programs_.chunk_size);
    copy_caches(*chunk_, step_);
  }

  /// Copies what the programs do not share: on accelerators the caches.
  void copy_caches(RankRun& from, RankRun& to) {
    for (const std::string& name : copied_caches_) to.executor().set_state(name, from.executor().state(name));
  }

  void run(RankRun& rank, const TokenRows& rows, int64_t size) {
    feed(rank, programs_.tokens.name, rows.tokens, size);
    if (programs_.has_cache) feed(rank, std::string(kPositionColumn), rows.positions, size);
    rank.executor().run();
  }

  void feed(RankRun& rank, const std::string& name, const std::vector<int32_t>& numbers, int64_t size) const {
    Array array(Type{DType::i32, {programs_.texts, size}});
    std::ranges::copy(numbers, array.as<int32_t>());
    rank.feed(name, array.tensor());
  }

  const Programs& programs_;
  RankRun step_;
  std::optional<RankRun> chunk_;
  std::vector<std::string> copied_caches_;
  int64_t vocabulary_ = 0;
};

/// Lengthens the texts on one rank. The first rank chooses tokens and passes them on.
void run_rank(const Programs& programs, const GenerateRequest& request, const FillState& fill,
              const RankOptions& options, const ChooseToken& choose, Communicator& comm) {
  RankGenerator generator(programs, fill, options, comm);
  Contexts contexts(request.texts, programs.window);
  for (int64_t step = 0; step < request.length && !contexts.have_all_ended(); ++step) {
    const std::vector<float> logits = generator.next_logits(contexts);
    constexpr int32_t kEnded = -1;
    std::vector<int32_t> chosen(contexts.count(), kEnded);
    for (size_t text = 0; text < contexts.count() && comm.rank() == 0; ++text) {
      if (contexts.has_ended(text)) continue;
      const auto size = static_cast<size_t>(generator.vocabulary());
      chosen[text] = choose(text, std::span(logits).subspan(text * size, size)).value_or(kEnded);
    }
    if (comm.size() > 1) comm.broadcast(chosen.data(), static_cast<int64_t>(chosen.size()), DType::i32, 0);
    for (size_t text = 0; text < contexts.count(); ++text) {
      contexts.add(text, chosen[text] == kEnded ? std::nullopt : std::optional(chosen[text]));
    }
  }
}

void require_texts(const GenerateRequest& request) {
  if (request.texts.empty()) throw InvalidArgument("[generate] no texts, got 0, expected at least 1");
  for (size_t text = 0; text < request.texts.size(); ++text) {
    if (!request.texts[text].empty()) continue;
    throw InvalidArgument("[generate] a text has no tokens, got 0 in text {}, expected at least 1", text);
  }
}

/// Returns a digest of what has to be the same in all processes.
std::string digest_of_texts(const GenerateRequest& request) {
  std::string all = fmt::format("{} {}\n", request.length, request.cache);
  for (const std::vector<int32_t>& text : request.texts) all += fmt::format("{}\n", fmt::join(text, " "));
  return checksum_of_text(all);
}

/// Returns the graph with the states that are kept, without nodes and caches.
Graph kept_states(const Graph& graph) {
  Graph kept = states_of(graph);
  std::erase_if(kept.states, [](const State& state) { return state.kind == StateKind::cache; });
  return kept;
}

}  // namespace

void generate_tokens(const ModelJob& job, ModelStates& states, bool resumes, const std::vector<Column>& columns,
                     const GenerateRequest& request, const ChooseToken& choose) {
  require_texts(request);
  const Programs programs = compiled(job, columns, request);
  const Graph kept = kept_states(programs.step.graph);
  const uint64_t seed = job.config.training.seed;
  const Graph& graph = programs.step.graph;
  std::unique_ptr<WeightSource> source;
  std::optional<States> averaged;
  FillState fill;
  if (states.have_source()) {
    source = states.source(kept);
    fill = fresh_states(graph, seed, source.get());
  } else {
    states.prepare(kept, seed, /*makes_them=*/true, resumes);
    averaged = states.averaged();
    const States* whole = averaged ? &*averaged : &states.all();
    fill = [&, whole, known = states_from(*whole)](const std::string& name, const Box& box, DType dtype, void* to) {
      if (whole->contains(name)) return known(name, box, dtype, to);
      fill_initial(graph, seed, name, box, dtype, to);  // a cache
    };
  }
  const bool processes = job.world != nullptr && job.config.ranks.count > 1;
  LaunchFingerprint fingerprint;
  if (processes) {
    fingerprint = fingerprint_of(job, programs.step, /*rows=*/nullptr, states.all());
    if (source != nullptr) fingerprint.emplace_back("weights that are read", print_checksum(source->digest()));
    fingerprint.emplace_back("texts", digest_of_texts(request));
  }
  run_on_ranks(job.place, static_cast<int>(job.config.ranks.count), job.config.ranks.threads, [&](Communicator& comm) {
    if (processes) require_same_fingerprint(fingerprint, comm);
    run_rank(programs, request, fill, job.rank_options(), choose, comm);
  });
}

}  // namespace partita
