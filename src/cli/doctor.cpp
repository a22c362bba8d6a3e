// partita doctor: what this machine has, what is wrong with it, and how to mend it.

#include <fmt/ranges.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/free_memory.h"
#include "base/version.h"
#include "cli/algorithm_table.h"
#include "cli/command_line.h"
#include "cli/findings.h"
#include "cli/options.h"

namespace partita {
namespace {

using Json = nlohmann::ordered_json;

std::string bytes_or(const std::optional<int64_t>& bytes, const char* otherwise) {
  return bytes ? print_bytes(*bytes) : otherwise;
}

std::string count_or(const std::optional<int64_t>& count, const char* otherwise) {
  return count ? fmt::to_string(*count) : otherwise;
}

const std::string& path_or(const std::string& path, const std::string& otherwise) {
  return path.empty() ? otherwise : path;
}

std::string text_of(const PluginReport& plugin) {
  if (plugin.path.empty()) return fmt::format("no plugin; to install it: {}", plugin.remedy);
  if (!plugin.missing.empty()) return fmt::format("cannot be used; plugin {}", plugin.path);
  return fmt::format("{} device{} ({}); plugin {}, PJRT {}", plugin.devices, plugin.devices == 1 ? "" : "s",
                     plugin.kind, plugin.path, plugin.version);
}

/// Formats "2 of 8 for compute threads; 4 in the affinity mask; 1.50, rounded up, by /sys/fs/cgroup/cpu.max".
std::string print_cores(const MachineFacts& facts) {
  std::string text = fmt::format("{} of {} for compute threads", facts.thread_cores, facts.cores);
  if (facts.usable_cores < facts.cores) text += fmt::format("; {} in the affinity mask", facts.usable_cores);
  if (facts.core_quota) text += fmt::format("; {:.2f}, rounded up, by {}", *facts.core_quota, facts.core_quota_file);
  return text;
}

constexpr size_t kNameWidth = 14;

void print_facts(const MachineFacts& facts) {
  const auto line = [](const char* name, const std::string& text) {
    std::cout << fmt::format("{:<{}}{}\n", name, kNameWidth, text);
  };
  static const std::string kNone = "not found";
  line("version", std::string(version()));
  line("processor", facts.processor.empty() ? "unknown" : facts.processor);
  line("cores", print_cores(facts));
  line("instructions",
       fmt::format("{}; oneDNN {} uses {}", fmt::join(facts.isa, " "), facts.onednn_version, facts.onednn_isa));
  line("memory", fmt::format("{} available of {}, control group {}", bytes_or(facts.available_memory, "unknown"),
                             bytes_or(facts.memory, "unknown"), bytes_or(facts.memory_limit, "without a limit")));
  line("shared memory",
       fmt::format("{} free of {}", bytes_or(facts.free_shared_memory, "none"), bytes_or(facts.shared_memory, "none")));
  line("limits", fmt::format("open files {}, threads {}, locked memory {}, address space {}",
                             count_or(facts.open_files, "unlimited"), count_or(facts.processes, "unlimited"),
                             bytes_or(facts.locked_memory, "unlimited"), bytes_or(facts.address_space, "unlimited")));
  line("MPI", fmt::format("{}; mpirun {}, srun {}",
                          !facts.has_mpi    ? "not built in"
                          : facts.finds_mpi ? "found"
                                            : "library not found",
                          path_or(facts.mpirun, kNone), path_or(facts.srun, kNone)));
  line("launcher", facts.launched_by.empty() ? "none: ranks are threads of one process" : facts.launched_by);
  line("ssh", path_or(facts.ssh, kNone));
  line("Python", fmt::format("{}{}{}", path_or(facts.python, kNone), facts.python_packages.empty() ? "" : " with ",
                             fmt::join(facts.python_packages, ", ")));
  for (const PluginReport& plugin : facts.plugins) line(plugin.device.c_str(), text_of(plugin));
  std::cout << print_algorithm_table(algorithm_table(facts.thread_cores), kNameWidth);
}

Json json_of(const std::optional<int64_t>& number) { return number ? Json(*number) : Json(nullptr); }

Json names_of(std::span<const Collective> collectives) {
  Json names = Json::array();
  for (const Collective one : collectives) names.push_back(name_of(one));
  return names;
}

void add_algorithms(Json& all, int cores) {
  all["algorithms"] = Json::array();
  all["collectives"] = Json::array();
  for (const AlgorithmInfo& info : runtime_algorithms()) {
    all["algorithms"].push_back({{"name", name_of(info.algorithm)},
                                 {"ranks", info.ranks},
                                 {"meaning", info.meaning},
                                 {"collectives", names_of(info.collectives)}});
  }
  for (const AlgorithmRow& row : algorithm_table(cores)) {
    Json by_bytes = Json::array();
    for (size_t i = 0; i < row.algorithms.size(); ++i)
      by_bytes.push_back({{"bytes", kTableBytes[i]}, {"algorithm", name_of(row.algorithms[i])}});
    all["collectives"].push_back({{"ranks", row.ranks},
                                  {"collective", name_of(row.collective)},
                                  {"dtype", name_of(row.dtype)},
                                  {"by_bytes", by_bytes}});
  }
}

Json json_of(const MachineFacts& facts, const std::vector<Finding>& findings) {
  Json all{{"version", version()},
           {"processor", facts.processor},
           {"isa", facts.isa},
           {"cores", facts.cores},
           {"usable_cores", facts.usable_cores},
           {"core_quota", facts.core_quota ? Json(*facts.core_quota) : Json(nullptr)},
           {"core_quota_file", facts.core_quota_file},
           {"thread_cores", facts.thread_cores},
           {"onednn", {{"version", facts.onednn_version}, {"isa", facts.onednn_isa}}},
           {"memory", json_of(facts.memory)},
           {"available_memory", json_of(facts.available_memory)},
           {"memory_limit", json_of(facts.memory_limit)},
           {"shared_memory", json_of(facts.shared_memory)},
           {"free_shared_memory", json_of(facts.free_shared_memory)},
           {"open_files", json_of(facts.open_files)},
           {"threads", json_of(facts.processes)},
           {"locked_memory", json_of(facts.locked_memory)},
           {"address_space", json_of(facts.address_space)},
           {"mpi", facts.has_mpi},
           {"mpi_library", facts.finds_mpi},
           {"mpirun", facts.mpirun},
           {"srun", facts.srun},
           {"ssh", facts.ssh},
           {"launched", facts.launched_by},
           {"python", facts.python},
           {"python_packages", facts.python_packages},
           {"devices", Json::array()},
           {"findings", Json::array()}};
  for (const PluginReport& plugin : facts.plugins) {
    all["devices"].push_back({{"name", plugin.device},
                              {"plugin", plugin.path},
                              {"pjrt", plugin.version},
                              {"count", plugin.devices},
                              {"kind", plugin.kind},
                              {"missing", plugin.missing},
                              {"remedy", plugin.remedy}});
  }
  for (const Finding& one : findings) {
    all["findings"].push_back(
        {{"broken", one.is_broken}, {"where", one.where}, {"what", one.what}, {"remedy", one.remedy}});
  }
  add_algorithms(all, facts.thread_cores);
  return all;
}

void run_doctor(bool json) {
  const MachineFacts facts = read_machine_facts();
  const std::vector<Finding> findings = findings_of(facts);
  const auto broken = std::ranges::count_if(findings, [](const Finding& one) { return one.is_broken; });
  if (json) {
    std::cout << json_of(facts, findings).dump(2, ' ', false, Json::error_handler_t::replace) << "\n";
  } else {
    print_facts(facts);
    std::cout << "\n";
    for (const Finding& one : findings) {
      std::cout << printable_lines(fmt::format("{} [{}] {}\n       to fix it: {}\n",
                                               one.is_broken ? "broken" : "note  ", one.where, one.what, one.remedy));
    }
    std::cout << fmt::format("{} broken, {} noted\n", broken, findings.size() - static_cast<size_t>(broken));
  }
  if (broken > 0) throw CLI::RuntimeError(1);
}

}  // namespace

void add_doctor(CLI::App& app) {
  const auto json = std::make_shared<bool>(false);
  CLI::App* command = app.add_subcommand("doctor", "Print what this machine has, what is wrong, and how to fix it");
  command->add_flag("--json", *json, "For programs");
  command->footer(
      "Also prints which algorithm runs which collective.\nEnds with exit code 1 if something is broken.\n"
      "Example: partita doctor");
  command->callback([json] { run_doctor(*json); });
}

}  // namespace partita
