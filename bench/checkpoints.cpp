// How fast checkpoints are written, and what they take from the steps of a training.
//
//   bench_checkpoints save MODEL RANKS DIR [TIMES=3]
//       Writes the states of a training to DIR at once, and the same bytes again by dd conv=fsync, in turns: MB/s of
//       both, how much memory the process took above what it had before, and what a GB costs of processor time.
//   bench_checkpoints steps MODEL BATCH RANKS THREADS DIR [ROUNDS=15] [EVERY=10] [AT_ONCE=1]
//       Steps of a training on a fixed random batch, in turns of EVERY steps: not saved, saved asynchronously, and
//       saved at once (unless AT_ONCE is 0). Each kind saves to a folder of its own that keeps one checkpoint, so that
//       every save removes one of its kind. Prints the time of a step including all writes, its processor time, which
//       other jobs of the machine change less, and how long a save stalls the training. The order of the turns is
//       reversed in every other round, since the speed of a shared machine changes for longer than one turn. Prints
//       also a comparison of the halves of a turn, which such changes affect equally: the excess of the first half,
//       which has the save, over as many steps of the second, less that excess in turns that are not saved. It holds
//       for saves that end in the first half.

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/philox.h"
#include "frontend/network/initializers.h"
#include "ir/ops/registry.h"
#include "runtime/checkpoint/checkpoint_saving.h"
#include "runtime/execute/shard_copy.h"
#include "runtime/launch/run_process.h"
#include "training/rank_run.h"
#include "usage.h"
#include "zoo/zoo_job.h"

namespace partita {
namespace {

namespace fs = std::filesystem;
using BenchClock = std::chrono::steady_clock;

double seconds_since(BenchClock::time_point begin) {
  return std::chrono::duration<double>(BenchClock::now() - begin).count();
}

/// Seconds of all threads, by themselves and in the system.
struct ProcessorTime {
  double user = 0, system = 0;
  double total() const { return user + system; }
};

ProcessorTime processor_time() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return {seconds(usage.ru_utime), seconds(usage.ru_stime)};
}

/// The value that a share of them is below, from 0 to 1.
double quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(share * static_cast<double>(values.size() - 1) + 0.5)];
}

double median(const std::vector<double>& values) { return quantile(values, 0.5); }

/// "VmRSS" or "VmHWM" of /proc/self/status, in MiB.
double memory_mib(const std::string& field) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(field + ":")) return std::strtod(line.c_str() + field.size() + 1, nullptr) / 1024;
  }
  return 0;
}

/// The largest memory from now on is counted anew.
void reset_peak() { std::ofstream("/proc/self/clear_refs") << "5"; }

Program program_of(const std::string& model, int64_t batch, int ranks, int threads) {
  JobConfig config = configured(model, {});
  config.training.batch = batch;
  config.ranks = {.count = ranks, .threads = threads};
  return ZooJob(config, this_place()).program(Purpose::training);
}

FillState initial_states(const Program& program) {
  return [&](const std::string& name, const Box& box, DType dtype, void* to) {
    fill_initial(program.graph, /*seed=*/1, name, box, dtype, to);
  };
}

/// Seconds to copy the files of a checkpoint with dd, one after the other. The system has the files in memory, so the
/// disk gets the same bytes as from a save.
double dd_seconds(const std::string& checkpoint, const std::string& target) {
  const auto begin = BenchClock::now();
  for (const auto& file : fs::directory_iterator(checkpoint)) {
    const std::string command = fmt::format("dd if='{}' of='{}' bs=1M conv=fsync 2>/dev/null", file.path().string(),
                                            target + file.path().filename().string());
    if (std::system(command.c_str()) != 0) fmt::print("dd failed\n");
  }
  return seconds_since(begin);
}

void measure_save(const std::string& model, int ranks, const std::string& folder, int times) {
  const Program program = program_of(model, 2 * ranks, ranks, 1);
  int64_t bytes = 0;
  for (const State& state : program.graph.states) bytes += program.graph.type(state.entry).bytes();
  const double megabytes = static_cast<double>(bytes) / 1e6;
  fmt::print("{}: {:.0f} MB of states on {} ranks\n", model, megabytes, ranks);
  run_on_ranks(this_place(), ranks, 1, [&](Communicator& world) {
    const auto device = make_cpu_device(all_ops(), 1);
    Executor executor(program.pipeline, program.stages, all_ops(), *device, world);
    fill_states(executor, initial_states(program));
    const CheckpointOptions options{.folder = folder, .keep = 0, .asynchronous = false};
    CheckpointSaving saving(options, program, executor, world,
                            [](const std::string& text) { fmt::print("{}\n", text); });
    std::vector<double> saves, copies;
    // The first round is not counted: the system gives its file cache memory that nobody used before.
    for (int round = -1; round < times; ++round) {
      world.barrier();
      const double before = memory_mib("VmRSS");
      if (world.rank() == 0) reset_peak();
      world.barrier();
      const auto begin = BenchClock::now();
      const ProcessorTime took = processor_time();
      saving.save({.position = {.step = round + 1, .batch = 1, .rows = 1}});
      const double seconds = seconds_since(begin);
      world.barrier();
      if (world.rank() != 0) continue;
      const ProcessorTime now = processor_time();
      const double above = memory_mib("VmHWM") - before;
      fs::create_directory(folder + "/dd");
      const double copying = dd_seconds(checkpoint_path(folder, round + 1), folder + "/dd/");
      fs::remove_all(folder + "/dd");
      remove_checkpoint(checkpoint_path(folder, round + 1));
      if (round < 0) continue;
      saves.push_back(seconds);
      copies.push_back(copying);
      fmt::print(
          "save {:.2f} s, {:.0f} MB/s; dd {:.2f} s, {:.0f} MB/s; {:.0f} MiB above before; a GB takes {:.3f} s of the "
          "process and {:.3f} s of the system\n",
          saves.back(), megabytes / saves.back(), copies.back(), megabytes / copies.back(), above,
          1e3 * (now.user - took.user) / megabytes, 1e3 * (now.system - took.system) / megabytes);
    }
    if (world.rank() == 0) fmt::print("median: save / dd = {:.2f}\n", median(copies) / median(saves));
  });
  fs::remove_all(folder);
}

/// How a turn of steps is saved.
enum class Saves { none, asynchronous, at_once };

/// A rank that trains on one batch.
void feed_random(RankRun& rank, const Program& program) {
  for (const auto& stage : rank.executor().stages()) {
    for (const Input& input : stage->local().graph.inputs) {
      if (input.from_stage >= 0) continue;
      const std::string& name = stage->local().graph.values[input.value].name;
      if (name == "learning_rate") continue;
      Array whole(program.graph.type(program.graph.input(name)));
      for (int64_t i = 0; i < whole.type().elements(); ++i) {
        const auto element = static_cast<uint64_t>(i);
        whole.set(i, is_float(whole.type().dtype) ? random_normal(7, element, 0)
                                                  : static_cast<double>(random_below(7, element, 0, 10)));
      }
      stage->set_input(
          name, whole.tensor(),
          local_ranges(whole.type(), stage->local().shardings[input.value], stage->local().mesh, stage->coordinates()),
          0);
    }
  }
  rank.feed_learning_rate(1e-6);
}

/// A training that is saved in one way.
struct SavedTurns {
  Saves saves;
  CheckpointOptions options;
  CheckpointSaving saving;
  std::vector<double> steps{}, processors{}, stalls{};
  std::vector<double> halves{};  // excess of the first half over the second, as a share of the turn
  int longer = 0;                // number of saves that continued in the second half

  SavedTurns(Saves kind, const std::string& folder, const Program& program, RankRun& rank, Communicator& world)
      : saves(kind),
        options{.folder = folder, .keep = 1, .asynchronous = kind == Saves::asynchronous},
        saving(options, program, rank.executor(), world, [](const std::string& text) { fmt::print("{}\n", text); }) {}
};

/// One turn of `count` steps, the first of which is saved.
void run_turn(SavedTurns& turns, RankRun& rank, Communicator& world, int64_t first, int64_t count) {
  CheckpointSaving& saving = turns.saving;
  world.barrier();
  const auto begin = BenchClock::now();
  const double took = processor_time().total();
  double half = 0;  // until the second begins
  std::vector<double> second;
  for (int64_t step = 0; step < count; ++step) {
    const auto step_begin = BenchClock::now();
    if (step == count / 2) {
      half = seconds_since(begin);
      turns.longer += saving.is_open() ? 1 : 0;
    }
    rank.executor().step();
    double busy = saving.is_busy() ? 1 : 0;
    world.all_reduce(&busy, 1, DType::f64, Reduce::max);
    if (saving.is_open() && busy == 0) saving.advance();
    if (step >= count / 2) second.push_back(seconds_since(step_begin));
    if (turns.saves == Saves::none || step != 0) continue;
    saving.save({.position = {.step = first, .batch = 1, .rows = 1}});
  }
  const double usual = median(second);
  turns.halves.push_back((half / usual - static_cast<double>(count / 2)) / static_cast<double>(count));
  saving.finish();
  world.barrier();
  turns.steps.push_back(seconds_since(begin) / static_cast<double>(count));
  turns.processors.push_back((processor_time().total() - took) / static_cast<double>(count));
  turns.stalls.push_back(saving.stall_seconds());
}

/// "+1.2 % (-0.3 to +2.0)": the median of the rounds' ratios, and what half of them lie between.
std::string print_ratios(const std::vector<double>& values, const std::vector<double>& base) {
  std::vector<double> ratios;
  for (size_t i = 0; i < values.size(); ++i) ratios.push_back(100 * (values[i] / base[i] - 1));
  return fmt::format("{:+.1f} % ({:+.1f} to {:+.1f})", median(ratios), quantile(ratios, 0.25), quantile(ratios, 0.75));
}

void measure_steps(const std::string& model, int64_t batch, int ranks, int threads, const std::string& folder,
                   int rounds, int64_t every, bool at_once) {
  const Program program = program_of(model, batch, ranks, threads);
  int64_t bytes = 0;
  for (const State& state : program.graph.states) bytes += program.graph.type(state.entry).bytes();
  fmt::print("{}, batch {}, {} ranks x {} threads: {:.0f} MB of states, saved every {} steps\n", model, batch, ranks,
             threads, static_cast<double>(bytes) / 1e6, every);
  fs::create_directories(folder);
  run_on_ranks(this_place(), ranks, threads, [&](Communicator& world) {
    RankRun rank(program, initial_states(program), {.threads = threads}, world);
    feed_random(rank, program);
    std::vector<std::unique_ptr<SavedTurns>> kinds;
    for (const auto& [kind, name] :
         {std::pair{Saves::none, "never"}, {Saves::asynchronous, "asynchronous"}, {Saves::at_once, "at_once"}}) {
      if (kind == Saves::at_once && !at_once) continue;
      kinds.push_back(std::make_unique<SavedTurns>(kind, folder + "/" + name, program, rank, world));
    }
    // The first round is not counted.
    for (int round = -1; round < rounds; ++round) {
      for (size_t k = 0; k < kinds.size(); ++k) {
        SavedTurns& turns = *kinds[round % 2 == 0 ? k : kinds.size() - 1 - k];
        run_turn(turns, rank, world, (round + 1) * every, every);
        if (round >= 0) continue;
        for (auto* values : {&turns.steps, &turns.processors, &turns.stalls, &turns.halves}) values->clear();
        turns.longer = 0;
      }
    }
    if (world.rank() != 0) return;
    const SavedTurns& never = *kinds[0];
    for (const auto& turns : kinds) {
      fmt::print(
          "{:<13} step {:8.2f} ms, {}, by halves {:+.1f} %, of processors {:8.2f} ms, {}, a save stops it for {:.1f} "
          "ms{}\n",
          fs::path(turns->options.folder).filename().string(), 1e3 * median(turns->steps),
          print_ratios(turns->steps, never.steps), 100 * (median(turns->halves) - median(never.halves)),
          1e3 * median(turns->processors), print_ratios(turns->processors, never.processors),
          1e3 * median(turns->stalls),
          turns->longer == 0 ? "" : fmt::format(", {} saves went on in the second half", turns->longer));
    }
  });
  fs::remove_all(folder);
}

}  // namespace
}  // namespace partita

int main(int argc, char** argv) {
  constexpr auto kUsage =
      "save MODEL RANKS DIR [TIMES=3] | steps MODEL BATCH RANKS THREADS DIR [ROUNDS=15] [EVERY=10] [AT_ONCE=1]";
  const bool takes_steps = argc > 1 && std::string_view(argv[1]) == "steps";
  return partita::run_benchmark(argc, argv, kUsage, takes_steps ? 6 : 4, [&](const partita::Arguments& given) {
    if (takes_steps) {
      partita::measure_steps(given.text(2, ""), given.number(3, 32), given.number(4, 1), given.number(5, 1),
                             given.text(6, ""), given.number(7, 15), given.number(8, 10),
                             given.number(9, 1, /*least=*/0) != 0);
    } else if (given.text(1, "") != "save") {
      throw partita::InvalidArgument(
          fmt::format("[argument 1] unknown measurement, got '{}', expected save or steps", given.text(1, "")));
    } else {
      partita::measure_save(given.text(2, ""), given.number(3, 1), given.text(4, ""), given.number(5, 3));
    }
  });
}
