// Gives a reader random changes of right inputs, where there is no libFuzzer:
//   fuzz_readers TARGET [SECONDS=10] [SEED=1]   ends with 1 on a finding, whose input is then in ./finding_TARGET
//   fuzz_readers TARGET --input FILE            this one alone
//   fuzz_readers --list                         the targets
// Findings: an exception that is no refusal, a property that does not hold, what the sanitizers see, an allocation of
// more than 64 MiB, an input that takes more than a second of processor time or twenty of any.

#include <fcntl.h>
#include <sanitizer/common_interface_defs.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "base/error.h"
#include "fuzz/mutator.h"
#include "fuzz/target.h"

extern "C" {
const char* __asan_default_options() {
  return "max_allocation_size_mb=64:allocator_may_return_null=0:hard_rss_limit_mb=2048:quarantine_size_mb=16:"
         "handle_abort=1:handle_sigill=1:detect_stack_use_after_return=0:malloc_context_size=12";
}
const char* __ubsan_default_options() { return "print_stacktrace=1"; }
}

namespace {

using namespace partita;

constexpr int kMaxProcessorSeconds = 1, kMaxSeconds = 20;

// State for the signal handlers.
const char* current_bytes = nullptr;
size_t current_size = 0;
char finding_path[256] = "";

/// Writes the input that is being read.
void save_input() {
  if (current_bytes == nullptr) return;
  const int file = ::open(finding_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) return;
  [[maybe_unused]] const ssize_t written = ::write(file, current_bytes, current_size);
  ::close(file);
}

void end_slow(int) {
  constexpr std::string_view kText = "FINDING: an input that takes too long\n";
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, kText.data(), kText.size());
  save_input();
  __sanitizer_print_stack_trace();
  ::_exit(1);
}

void limit_time(int processor_seconds, int seconds) {
  const itimerval processor{.it_interval = {}, .it_value = {.tv_sec = processor_seconds, .tv_usec = 0}};
  ::setitimer(ITIMER_PROF, &processor, nullptr);
  ::alarm(static_cast<unsigned>(seconds));
}

std::string give_watched(const FuzzTarget& target, const std::string& input) {
  current_bytes = input.data();
  current_size = input.size();
  limit_time(kMaxProcessorSeconds, kMaxSeconds);
  std::string kind = give(target, input);
  limit_time(0, 0);
  current_bytes = nullptr;
  return kind;
}

void run(const FuzzTarget& target, double seconds, uint64_t seed) {
  const std::vector<std::string> seeds = target.seeds();
  give(target, seeds[0]);  // for what is made once no input has to pay
  for (const std::string& input : seeds) {
    const std::string kind = give_watched(target, input);
    require(kind.empty(), fmt::format("a right input is refused: {}", kind));
  }
  Mutator mutator(seeds, target.words, target.max_bytes, seed);
  const auto begin = std::chrono::steady_clock::now();
  const auto passed = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(); };
  long count = 0, accepted = 0;
  double slowest = 0;
  for (double before = 0; before < seconds; ++count) {
    const std::string input = mutator.next();
    const std::string kind = give_watched(target, input);
    accepted += kind.empty() ? 1 : 0;
    mutator.learn(kind);
    const double after = passed();
    slowest = std::max(slowest, after - before);
    before = after;
  }
  std::printf("%s: no finding in %ld inputs, %ld of them accepted, %zu in the pool, the slowest %.3f s\n",
              target.name.c_str(), count, accepted, mutator.kinds(), slowest);
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() == 1 && arguments[0] == "--list") {
    for (const FuzzTarget& target : listed_fuzz_targets()) std::printf("%s\n", target.name.c_str());
    return 0;
  }
  try {
    if (arguments.empty()) throw InvalidArgument("[fuzz] no target, expected one of --list");
    const FuzzTarget& target = fuzz_target(arguments[0]);
    std::snprintf(finding_path, sizeof finding_path, "finding_%s", target.name.c_str());
    __sanitizer_set_death_callback(save_input);
    ::signal(SIGPROF, end_slow);
    ::signal(SIGALRM, end_slow);
    if (arguments.size() == 3 && arguments[1] == "--input") {
      std::ifstream file(arguments[2], std::ios::binary);
      const std::string input{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
      const std::string kind = give_watched(target, input);
      std::printf("%s\n", kind.empty() ? "accepted" : kind.c_str());
      return 0;
    }
    const double seconds = arguments.size() > 1 ? std::atof(arguments[1].c_str()) : 10;
    run(target, seconds, arguments.size() > 2 ? std::strtoull(arguments[2].c_str(), nullptr, 10) : 1);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
