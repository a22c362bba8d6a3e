#include "cli/command_line.h"

#include <malloc.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <iostream>
#include <span>
#include <thread>

#include "base/error.h"
#include "base/version.h"
#include "cli/help.h"
#include "cli/job_flags.h"
#include "cli/options.h"
#include "runtime/launch/console.h"

namespace partita {
namespace {

/// Returns this process's rank, or nullopt if no launcher started it or the launcher's environment is invalid. Reports
/// no error itself, as it is called while one is reported.
std::optional<LaunchedRank> launched() {
  try {
    return this_rank();
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// Delay of the errors of all ranks but the first. An error common to all ranks is printed by the first, whose end
/// makes the launcher end the others.
constexpr std::chrono::milliseconds kPatience{300};

int report_shortage() {
  std::cout.flush();
  std::cerr << "partita: error: [memory] out of memory" << std::endl;
  return static_cast<int>(ExitCode::out_of_memory);
}

void print_error(ExitCode code, const std::string& message) {
  std::cout.flush();
  std::string who;
  if (const auto rank = launched(); rank && rank->rank > 0) {
    // Each rank reports at once which rank it misses.
    if (code != ExitCode::peer_lost && code != ExitCode::peer_stalled) std::this_thread::sleep_for(kPatience);
    who = fmt::format("rank {}: ", rank->rank);
  }
  std::cerr << "partita: error: " << who << printable(message) << std::endl;
}

int report(ExitCode code, const std::string& message) {
  try {
    print_error(code, message);
  } catch (const std::bad_alloc&) {
    return report_shortage();
  }
  return static_cast<int>(code);
}

std::vector<std::string> flags_of(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

/// Returns what to use in place of a flag that only other systems have, or "" if the flag is not known.
std::string_view advice_for(std::string_view name) {
  constexpr std::pair<std::string_view, std::string_view> kAdvice[] = {
      {"cuda", "; --device cuda computes on GPUs of NVIDIA"},
      {"gpu", "; --device NAME computes on an accelerator, such as cuda or rocm"},
      {"wandb", "; --run DIR records the training for partita report, and --tensorboard DIR writes event files"},
      {"tensorboard", "; train --tensorboard DIR writes event files"}};
  for (const auto& [flag, text] : kAdvice) {
    if (flag == name) return text;
  }
  return "";
}

/// Returns what to write in place of the unknown `flag`: advice if only other systems have it, unless `value`, the word
/// after it, is a whole number; ", did you mean '--batch'?" for --batch-size and for --bacth if `names`, the flags of
/// the command, include --batch; "" if nothing is known.
std::string suggestion(const std::string& flag, const std::string& value, const std::vector<std::string>& names) {
  const std::string name = flag.substr(std::min(flag.find_first_not_of('-'), flag.size()));
  const bool is_count = !value.empty() && value.find_first_not_of("0123456789") == std::string::npos;
  if (const std::string_view advice = advice_for(name); !advice.empty() && !is_count) return std::string(advice);
  const std::string meant = name.empty() ? "" : flag_by_synonym(name);
  if (std::ranges::find(names, meant) != names.end()) return fmt::format(", did you mean '{}'?", meant);
  // Dashes are left out: all flags have them, so they would make any two names look alike.
  std::vector<std::string> bare;
  for (const std::string& one : names) bare.push_back(one.substr(2));
  const std::string best = nearest(name, bare);
  return best.empty() ? "" : fmt::format(", did you mean '--{}'?", best);
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App* one) { return !one->get_group().empty(); })) {
    names.push_back(command->get_name());
  }
  return names;
}

/// Refuses the words that were not parsed, of which there must be at least one. Throws InvalidArgument: if no command
/// was parsed, for the first word as an unknown command; else for the first word that begins with '-' as an unknown
/// flag, with a suggestion; else for the first word.
[[noreturn]] void refuse_rest(const CLI::App& app) {
  const auto commands = app.get_subcommands();
  const std::vector<std::string> rest = app.remaining(true);
  if (commands.empty()) {
    const std::vector<std::string> names = command_names(app);
    throw unknown_name("[command line] unknown command", rest.at(0), fmt::format("one of {}", fmt::join(names, " ")),
                       names, ErrorKind::value);
  }
  const auto actions = commands[0]->get_subcommands();
  const CLI::App& command = actions.empty() ? *commands[0] : *actions[0];
  for (size_t i = 0; i < rest.size(); ++i) {
    const std::string& word = rest[i];
    if (word.rfind("-", 0) != 0) continue;
    const size_t equals = word.find('=');
    const std::string flag = word.substr(0, equals);
    const std::string value = equals != std::string::npos ? word.substr(equals + 1)
                              : i + 1 < rest.size()       ? rest[i + 1]
                                                          : "";
    const auto names = flags_of(command);
    throw InvalidArgument("[{}] unknown flag, got '{}', expected one that --help lists{}", command.get_name(), flag,
                          suggestion(flag, value, names));
  }
  throw InvalidArgument("[{}] unexpected argument, got '{}', expected none", command.get_name(), rest.at(0));
}

/// Checks that `text` is a number: whole and of 64 bits if `whole`, else a finite or infinite double or NaN. Throws
/// InvalidArgument if it is none or out of range.
void check_number(const std::string& flag, const std::string& text, bool whole) {
  const std::string_view digits = std::string_view(text).substr(text.starts_with('+') ? 1 : 0);
  const auto read = [&](auto value) { return std::from_chars(digits.data(), digits.data() + digits.size(), value); };
  const auto [rest, failure] = whole ? read(int64_t{}) : read(double{});
  if (rest != digits.data() + digits.size() || failure == std::errc::invalid_argument) {
    throw InvalidArgument("[{}] not a number, got '{}', expected a {}number", flag, text, whole ? "whole " : "");
  }
  if (failure == std::errc()) return;
  throw InvalidArgument("[{}] out of range, got {}, expected a number of 64 bits", flag, text);
}

void check_numbers(CLI::App& command) {
  for (CLI::Option* option : command.get_options()) {
    const std::string type = option->get_type_name();
    if (type != "INT" && type != "FLOAT") continue;
    // The short name, where there is one, is the one in examples.
    const std::string name = option->get_snames().empty() ? option->get_name() : "-" + option->get_snames()[0];
    option->check([name, whole = type == "INT"](const std::string& text) {
      if (!text.empty()) check_number(name, text, whole);
      return std::string();
    });
  }
}

/// Checks that no switch of the command of `app` that `words` begin with is given a value after "=". Other words and
/// commands are not checked. Throws InvalidArgument otherwise.
void refuse_values_of_flags(const CLI::App& app, std::span<char*> words) {
  const std::vector<const CLI::App*> commands = app.get_subcommands([](const CLI::App*) { return true; });
  const auto command = std::ranges::find_if(
      commands, [&](const CLI::App* one) { return !words.empty() && one->get_name() == words[0]; });
  if (command == commands.end()) return;
  for (const std::string_view word : words) {
    const size_t sign = word.find('=');
    if (sign == std::string_view::npos || !word.starts_with("-")) continue;
    const std::string flag(word.substr(0, sign));
    const CLI::Option* option = (*command)->get_option_no_throw(flag);
    if (option == nullptr || option->get_items_expected_max() != 0) continue;
    throw InvalidArgument("[{0}] this flag takes no value, got '{1}', expected {0} alone", flag, word.substr(sign + 1));
  }
}

void run(CLI::App& app, int argc, char** argv) {
  for (CLI::App* command : app.get_subcommands({})) {
    check_numbers(*command);
    for (CLI::App* action : command->get_subcommands({})) check_numbers(*action);
  }
  if (argc > 1) refuse_values_of_flags(app, {argv + 1, argv + argc});
  try {
    app.parse(argc, argv);
  } catch (const CLI::ExtrasError&) {
    refuse_rest(app);
  } catch (const CLI::RuntimeError&) {
    throw;  // a command ends with its own exit code
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {
      app.exit(error, std::cout, std::cerr);
      return;
    }
    const auto commands = app.get_subcommands();
    throw InvalidArgument("[{}] {}", commands.empty() ? "command line" : commands[0]->get_name(), error.what());
  }
  if (app.get_subcommands().empty()) {
    throw InvalidArgument("[command line] no command, expected one of {}; see --help",
                          fmt::join(command_names(app), " "));
  }
}

/// Touches a MiB of the stack of the first thread, since the stack grows only by use.
__attribute__((noinline)) void grow_stack() {
  constexpr size_t kPage = 4096;
  volatile char used[1 << 20];
  for (size_t i = 0; i < sizeof used; i += kPage) used[i] = 0;
}

/// If the address space is limited, restricts malloc to one arena and grows the stack. Each arena would need 64 MiB per
/// thread, and a stack that cannot grow later would end the process by a signal.
void spare_addresses() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
  ::mallopt(M_ARENA_MAX, 1);
  grow_stack();
}

/// Whether standard output is a pipe that nobody reads any more.
bool reader_has_left() {
  pollfd output{.fd = STDOUT_FILENO, .events = POLLOUT, .revents = 0};
  return ::poll(&output, 1, 0) == 1 && (output.revents & POLLERR) != 0;
}

int run_commands(int argc, char** argv) {
  CLI::App app("Trains a neural network on many ranks from a program written for one.", "partita");
  app.formatter(std::make_shared<HelpFormatter>());
  app.set_version_flag("--version", fmt::format("partita {}", version()));
  app.footer("Example: partita train lenet --data mnist:data/mnist --ranks 8");
  add_commands(app);
  try {
    run(app, argc, argv);
  } catch (const CLI::RuntimeError& end) {
    return end.get_exit_code();
  }
  std::cout.flush();
  if (std::cout) return static_cast<int>(ExitCode::ok);
  if (reader_has_left()) return static_cast<int>(ExitCode::cannot_write);  // as `| head` does: no message
  return report(ExitCode::cannot_write, "[output] cannot write to stdout");
}

}  // namespace

void add_commands(CLI::App& app) {
  add_train(app);
  add_eval(app);
  add_report(app);
  add_compare(app);
  add_sweep(app);
  add_generate(app);
  add_graph(app);
  add_partition(app);
  add_plan(app);
  add_explain(app);
  add_diff(app);
  add_calibrate(app);
  add_cluster(app);
  add_schedule(app);
  add_compile(app);
  add_ops(app);
  add_summary(app);
  add_checkpoint(app);
  add_exchange(app);
  add_launch(app);
  add_diagnose(app);
  add_doctor(app);
  add_tokenize(app);
  add_completion(app);
}

void refuse_empty(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& text : option->results()) {
      if (!text.empty()) continue;
      throw InvalidArgument("[{}] empty, got '', expected a value", option->get_name());
    }
  }
}

int run_command_line(int argc, char** argv) {
  open_standard_streams();
  std::signal(SIGXFSZ, SIG_IGN);  // a write beyond the file size limit then fails as on a full disk
  std::signal(SIGPIPE, SIG_IGN);  // a write to a closed pipe fails, so that files are still saved
  spare_addresses();
  try {
    return run_commands(argc, argv);
  } catch (const Error& error) {
    return report(error.code(), error.what());
  } catch (const std::bad_alloc&) {
    return report_shortage();
  } catch (const std::exception& error) {
    return report(ExitCode::internal, shortened(fmt::format("[internal] {}", error.what())));
  }
}

}  // namespace partita
