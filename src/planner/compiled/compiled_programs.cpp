#include "planner/compiled/compiled_programs.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/free_memory.h"
#include "runtime/checkpoint/weights.h"

namespace partita {
namespace {

using OrderedJson = nlohmann::ordered_json;

/// Compiles the text. If the plugin refuses, saves the text to `path` and says so.
pjrt::Compiled compile_or_save(const pjrt::Topology& topology, const pjrt::Target& target, const RankProgram& program,
                               const std::string& path) {
  pjrt::CompileOptions options{.replicas = program.replicas, .flags = target.flags};
  for (int64_t chip = 0; chip < program.replicas && program.replicas > 1; ++chip) options.devices.push_back(chip);
  try {
    return topology.compile(program.text, options);
  } catch (const Error& error) {
    save_text(path, program.text);
    throw RuntimeFailure(error.code(), "{}; the program is in {}", error.what(), path);
  }
}

/// Returns the path of a program in the folder, or one in the folder of temporary files if there is none.
std::string path_of_text(const std::string& folder, size_t index) {
  if (!folder.empty()) return std::filesystem::path(folder) / fmt::format("program_{}.mlir", index);
  return std::filesystem::temp_directory_path() / fmt::format("partita_program_{}.{}.mlir", index, ::getpid());
}

/// Writes the optimised program and returns the name of its file.
std::string save_optimized(const pjrt::Optimized& optimized, const std::string& folder, size_t index) {
  const auto module = pjrt::hlo_module(optimized);
  const std::string name = fmt::format("program_{}.{}", index, module ? "hlo.pb" : optimized.format);
  save_text(std::filesystem::path(folder) / name, module ? *module : std::string_view(optimized.bytes));
  return name;
}

std::string mebibytes(int64_t bytes) { return fmt::format("{:.1f}", static_cast<double>(bytes) / (1 << 20)); }

constexpr std::string_view kRow =
    "{:>7} {:>5} {:<9} {:>5} {:>10} {:>10} {:>10} {:>11} {:>8} {:>6} {:>7} {:>8} {:>8}  {}\n";

std::string print_row(const std::string& index, const CompiledProgram& one, const std::string& rank,
                      const std::string& nodes) {
  const auto count = [&](int64_t pjrt::KernelCounts::*member) {
    return one.kernels ? fmt::format("{}", (*one.kernels).*member) : "?";
  };
  const bool is_sum = rank.empty();
  return fmt::format(fmt::runtime(kRow), index, rank, is_sum ? "" : name_of(one.program.section), one.program.ops,
                     mebibytes(one.memory.arguments), mebibytes(one.memory.outputs), mebibytes(one.memory.aliased),
                     mebibytes(one.memory.temporaries), mebibytes(one.memory.code), count(&pjrt::KernelCounts::fused),
                     count(&pjrt::KernelCounts::library), count(&pjrt::KernelCounts::executed),
                     fmt::format("{:.1f}", one.seconds), nodes);
}

/// Returns the sums over all programs.
CompiledProgram sum_of(const std::vector<CompiledProgram>& programs) {
  CompiledProgram sum;
  sum.program.ops = 0;
  sum.kernels = pjrt::KernelCounts();
  for (const CompiledProgram& one : programs) {
    sum.program.ops += one.program.ops;
    sum.memory.arguments += one.memory.arguments;
    sum.memory.outputs += one.memory.outputs;
    sum.memory.aliased += one.memory.aliased;
    sum.memory.temporaries += one.memory.temporaries;
    sum.memory.code += one.memory.code;
    sum.seconds += one.seconds;
    if (!one.kernels) sum.kernels.reset();
    if (!sum.kernels) continue;
    sum.kernels->fused += one.kernels->fused;
    sum.kernels->library += one.kernels->library;
    sum.kernels->executed += one.kernels->executed;
    sum.kernels->unknown_loops += one.kernels->unknown_loops;
  }
  return sum;
}

OrderedJson json_of(const CompiledProgram& one) {
  OrderedJson json{{"arguments", one.memory.arguments},
                   {"outputs", one.memory.outputs},
                   {"aliased", one.memory.aliased},
                   {"temporaries", one.memory.temporaries},
                   {"code", one.memory.code},
                   {"ops", one.program.ops},
                   {"fused_kernels", OrderedJson(nullptr)},
                   {"library_calls", OrderedJson(nullptr)},
                   {"executed_kernels", OrderedJson(nullptr)},
                   {"unknown_loops", OrderedJson(nullptr)},
                   {"seconds", one.seconds}};
  if (!one.kernels) return json;
  json["fused_kernels"] = one.kernels->fused;
  json["library_calls"] = one.kernels->library;
  json["executed_kernels"] = one.kernels->executed;
  json["unknown_loops"] = one.kernels->unknown_loops;
  return json;
}

}  // namespace

const CompiledProgram& CompiledJob::largest() const {
  PARTITA_CHECK(!programs.empty(), "no programs");
  return *std::ranges::max_element(
      programs, [](const CompiledProgram& one, const CompiledProgram& other) { return one.bytes() < other.bytes(); });
}

size_t CompiledJob::peak() const {
  PARTITA_CHECK(!programs.empty(), "no programs");
  const auto most = std::ranges::max_element(programs, [](const CompiledProgram& one, const CompiledProgram& other) {
    return one.bytes_of_step() < other.bytes_of_step();
  });
  return static_cast<size_t>(most - programs.begin());
}

CompiledProgram compile_program(const pjrt::Topology& topology, const pjrt::Target& target, int64_t rank,
                                RankProgram program, size_t index, const std::string& folder) {
  const std::string path = path_of_text(folder, index);
  if (!folder.empty()) save_text(path, program.text);
  const auto begin = std::chrono::steady_clock::now();
  const pjrt::Compiled compiled = compile_or_save(topology, target, program, path);
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
  const pjrt::Optimized optimized = compiled.optimized();
  CompiledProgram made{.rank = rank,
                       .program = std::move(program),
                       .memory = compiled.memory(),
                       .kernels = pjrt::count_kernels(optimized),
                       .seconds = passed.count()};
  if (folder.empty()) return made;
  made.text_file = std::filesystem::path(path).filename();
  made.optimized_file = save_optimized(optimized, folder, index);
  return made;
}

std::string print_table(const CompiledJob& job) {
  std::string text = fmt::format("{} for {} ({}, {}), PJRT {}; collectives {}, attention {}; memory in MiB\n",
                                 job.model, job.target.name, job.target.chip, print_bytes(job.target.memory),
                                 job.plugin, name_of(job.modes.collectives), name_of(job.modes.attention));
  text += fmt::format(fmt::runtime(kRow), "program", "rank", "section", "ops", "arguments", "outputs", "aliased",
                      "temporaries", "code", "fused", "library", "executed", "seconds", "nodes");
  for (size_t i = 0; i < job.programs.size(); ++i) {
    const CompiledProgram& one = job.programs[i];
    const std::string& first = one.program.first;
    const std::string& last = one.program.last;
    text += print_row(fmt::format("{}", i), one, fmt::format("{}", one.rank),
                      first == last ? first : fmt::format("{} to {}", first, last));
  }
  if (job.programs.empty()) return text + "no programs\n";
  const CompiledProgram sum = sum_of(job.programs);
  text += print_row("sum", sum, "", "");
  if (sum.kernels && sum.kernels->unknown_loops > 0) {
    text += fmt::format("loops whose passes are not known, which count as one pass: {}\n", sum.kernels->unknown_loops);
  }
  const CompiledProgram& largest = job.largest();
  text +=
      fmt::format("largest program: {} ({:.1f} % of the chip), {} of it temporaries\n", print_bytes(largest.bytes()),
                  100 * static_cast<double>(largest.bytes()) / static_cast<double>(job.target.memory),
                  print_bytes(largest.memory.temporaries));
  const CompiledProgram& peak = job.programs[job.peak()];
  text += fmt::format(
      "peak of the step: {} ({:.1f} % of the chip) on rank {} in program {}, with {} of states, {} of values "
      "that are kept between programs, and {} of temporaries\n",
      print_bytes(peak.bytes_of_step()),
      100 * static_cast<double>(peak.bytes_of_step()) / static_cast<double>(job.target.memory), peak.rank, job.peak(),
      print_bytes(peak.program.held.states), print_bytes(peak.program.held.values),
      print_bytes(peak.memory.temporaries));
  return text + fmt::format("on the host: {} ops, {} messages; values sent to other stages: {}\n", job.host_ops,
                            job.messages, job.sent);
}

std::string to_json(const CompiledJob& job) {
  OrderedJson all{{"model", job.model},
                  {"target", job.target.name},
                  {"chip", job.target.chip},
                  {"memory", job.target.memory},
                  {"pjrt", job.plugin},
                  {"collectives", name_of(job.modes.collectives)},
                  {"attention", name_of(job.modes.attention)},
                  {"programs", OrderedJson::array()}};
  for (const CompiledProgram& one : job.programs) {
    OrderedJson json{
        {"rank", one.rank},           {"stage", one.program.stage}, {"section", name_of(one.program.section)},
        {"first", one.program.first}, {"last", one.program.last},   {"segments", one.program.segments}};
    json.update(json_of(one));
    if (!one.text_file.empty()) {
      json["text"] = one.text_file;
      json["optimized"] = one.optimized_file;
    }
    all["programs"].push_back(std::move(json));
  }
  all["sum"] = json_of(sum_of(job.programs));
  all["largest_program"] = job.programs.empty() ? 0 : job.largest().bytes();
  if (!job.programs.empty()) {
    const CompiledProgram& peak = job.programs[job.peak()];
    all["step"] = {{"rank", peak.rank},
                   {"program", job.peak()},
                   {"bytes", peak.bytes_of_step()},
                   {"states", peak.program.held.states},
                   {"values", peak.program.held.values},
                   {"temporaries", peak.memory.temporaries}};
  }
  all["host_ops"] = job.host_ops;
  all["messages"] = job.messages;
  all["sent"] = job.sent;
  return all.dump(2, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

}  // namespace partita
