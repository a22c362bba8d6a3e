#include "cli/options.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <thread>

#include "base/error.h"
#include "cli/console.h"
#include "device/cpu/team.h"

namespace partita {
namespace {

int cores() { return std::max(1, static_cast<int>(std::thread::hardware_concurrency())); }

/// Bytes of the character that begins here: its length in UTF-8, or 0 when it is none or a control character.
size_t printable_length(std::string_view text) {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const auto continues = [&](size_t i) { return (byte(i) & 0xc0u) == 0x80u; };
  const unsigned first = byte(0), second = byte(1);
  if (first < 0x80) return first >= 0x20 && first != 0x7f ? 1 : 0;
  if (!continues(1)) return 0;
  if (first >= 0xc2 && first <= 0xdf) return first == 0xc2 && second < 0xa0 ? 0 : 2;
  if (!continues(2)) return 0;
  if (first == 0xe0 && second < 0xa0) return 0;   // longer than it need be
  if (first == 0xed && second >= 0xa0) return 0;  // half of a pair of UTF-16
  if ((first & 0xf0u) == 0xe0) return 3;
  if (!continues(3) || first < 0xf0 || first > 0xf4) return 0;
  return (first == 0xf0 && second < 0x90) || (first == 0xf4 && second >= 0x90) ? 0 : 4;
}

/// Absolute, with the links resolved as far as the path is there, also a last one that leads to nothing yet.
std::filesystem::path real_path(std::filesystem::path path) {
  std::error_code failure;
  for (int links = 0; links < 40 && std::filesystem::is_symlink(path, failure); ++links) {
    path = path.parent_path() / std::filesystem::read_symlink(path, failure);
  }
  return std::filesystem::weakly_canonical(std::filesystem::absolute(path, failure), failure);
}

void print_warning(std::string_view message) {
  std::cout.flush();
  std::cerr << fmt::format("partita: warning: {}\n", printable(shortened(message)));
}

}  // namespace

DataSpec parse_data_spec(std::string_view text) {
  const size_t colon = text.find(':');
  DataSpec spec{std::string(text.substr(0, colon)), ""};
  check_choice("--data", spec.kind, {"mnist", "cifar10", "text", "synthetic"});
  if (colon != std::string_view::npos) spec.folder = text.substr(colon + 1);
  if ((spec.kind == "synthetic") != spec.folder.empty()) {
    throw InvalidArgument(
        fmt::format("[--data] wrong form, got '{}', expected mnist:DIR, cifar10:DIR, text:FILE or synthetic", text));
  }
  return spec;
}

void check_choice(std::string_view flag, const std::string& value, const std::vector<std::string>& names) {
  if (std::find(names.begin(), names.end(), value) != names.end()) return;
  throw InvalidArgument(fmt::format("[{}] unknown name, got '{}', expected one of {}{}", flag, value,
                                    fmt::join(names, " "), did_you_mean(value, names)));
}

void check_range(std::string_view flag, int64_t value, int64_t least, int64_t most) {
  if (value >= least && value <= most) return;
  throw InvalidArgument(fmt::format("[{}] out of range, got {}, expected {} to {}", flag, value, least, most));
}

uint64_t parse_whole(std::string_view flag, std::string_view text, uint64_t least, uint64_t most) {
  uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, failure] = std::from_chars(text.data(), end, value);
  if (rest == end && failure == std::errc() && value >= least && value <= most) return value;
  throw InvalidArgument(
      fmt::format("[{}] not a whole number in range, got {}, expected {} to {}", flag, text, least, most));
}

std::string printable(std::string_view text) {
  std::string shown;
  while (!text.empty()) {
    const size_t length = printable_length(text);
    shown += length > 0 ? text.substr(0, length) : "?";
    text.remove_prefix(std::max<size_t>(1, length));
  }
  return shown;
}

bool same_file(const std::string& one, const std::string& other) {
  std::error_code failure;
  return std::filesystem::equivalent(one, other, failure) || real_path(one) == real_path(other);
}

int most_threads() { return std::max(64, 8 * cores()); }

int threads_per_rank(int asked, int ranks) {
  return asked > 0 ? asked : std::max(1, std::min(cores() / ranks, most_team_threads()));
}

void warn(std::string_view message) {
  if (const auto rank = this_rank(); rank && rank->rank > 0) return;
  print_warning(message);
}

void warn_of_rank(std::string_view message) {
  const auto rank = this_rank();
  print_warning(rank ? fmt::format("rank {}: {}", rank->rank, message) : std::string(message));
}

void warn_of_crowd(int ranks, int threads) {
  if (ranks * threads <= cores()) return;
  warn(fmt::format("[threads] {} ranks x {} threads share {} cores", ranks, threads, cores()));
}

void wait_passively(int ranks, int threads) {
  if (ranks <= 1 || threads <= 1 || std::getenv("OMP_WAIT_POLICY") != nullptr) return;
  // The arguments as the kernel has them, so that no command has to pass them on.
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string words{std::istreambuf_iterator<char>(file), {}};
  std::vector<char*> arguments;
  for (size_t begin = 0; begin < words.size(); begin = words.find('\0', begin) + 1) {
    arguments.push_back(words.data() + begin);
  }
  arguments.push_back(nullptr);
  if (arguments.size() < 2 || ::setenv("OMP_WAIT_POLICY", "passive", 1) != 0) return;
  ::execv("/proc/self/exe", arguments.data());
  throw RuntimeFailure(ExitCode::internal, fmt::format("[threads] cannot start the program anew, error {}", errno));
}

}  // namespace partita
