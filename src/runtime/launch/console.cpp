#include "runtime/launch/console.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <vector>

#include "base/error.h"
#include "runtime/launch/warn.h"

namespace partita {

/// Writes to the console and to a log; either may be missing. If the log cannot be written any more, warns once and
/// drops it.
class Console::Tee : public std::streambuf {
 public:
  Tee(std::streambuf* console, std::streambuf* log, std::string path)
      : console_(console), log_(log), path_(std::move(path)) {}

  /// Writes to `before` alone from now on.
  void retire(std::streambuf* before) {
    console_ = before;
    log_ = nullptr;
  }

 private:
  int overflow(int c) override {
    if (c == traits_type::eof()) return traits_type::not_eof(c);
    const auto letter = static_cast<char>(c);
    const auto fails = [&](std::streambuf* one) {
      return one != nullptr && traits_type::eq_int_type(one->sputc(letter), traits_type::eof());
    };
    if (fails(log_)) drop_log();
    return fails(console_) ? traits_type::eof() : c;
  }
  int sync() override {
    if (log_ != nullptr && log_->pubsync() != 0) drop_log();
    return console_ != nullptr ? console_->pubsync() : 0;
  }
  void drop_log() {
    const std::string reason = std::strerror(errno);
    log_ = nullptr;
    warn_of_rank(fmt::format("[--log-dir] cannot write {}: {}; the run continues without it", path_, reason));
  }

  std::streambuf *console_, *log_;
  std::string path_;
};

std::optional<LaunchedRank> this_rank() {
  return launched_rank([](const char* name) { return std::getenv(name); });
}

void open_standard_streams() {
  // In this order, since each takes the lowest free descriptor.
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    const int flags = stream == STDIN_FILENO || stream == STDERR_FILENO ? O_WRONLY : O_RDONLY;
    if (::fcntl(stream, F_GETFD) < 0) ::open("/dev/null", flags);
  }
}

Console::Console(int rank, bool all, const std::string& log_dir) {
  std::filesystem::path path;
  if (!log_dir.empty()) {
    std::error_code failure;
    std::filesystem::create_directories(log_dir, failure);
    path = std::filesystem::path(log_dir) / fmt::format("rank_{}.log", rank);
    lock_.emplace(owned_file("--log-dir", path.string()), /*waits=*/false, warn_of_rank);
    log_.open(path, std::ios::trunc);
    if (!log_) {
      throw RuntimeFailure(ExitCode::cannot_write, "[--log-dir] cannot write {}", path.string());
    }
  }
  const bool heard = all || rank == 0;
  if (heard && log_dir.empty()) return;
  tee_ = std::make_unique<Tee>(heard ? std::cout.rdbuf() : nullptr, log_dir.empty() ? nullptr : log_.rdbuf(),
                               path.string());
  before_ = std::cout.rdbuf(tee_.get());
}

Console::~Console() {
  if (before_ == nullptr) return;
  std::cout.flush();
  if (std::cout.rdbuf() == tee_.get()) {
    std::cout.rdbuf(before_);
    return;
  }
  // Another console, or a buffer of the caller, was stacked on this one and writes through it for the rest of the
  // process.
  tee_->retire(before_);
  static auto& retired = *new std::vector<std::unique_ptr<Tee>>;
  retired.push_back(std::move(tee_));
}

}  // namespace partita
