#include "cli/console.h"

#include <cstdlib>
#include <filesystem>

#include "base/error.h"

namespace partita {
namespace {

/// Writes to two buffers, either of which may be missing.
class Tee : public std::streambuf {
 public:
  Tee(std::streambuf* first, std::streambuf* second) : first_(first), second_(second) {}

 private:
  int overflow(int c) override {
    if (c == traits_type::eof()) return traits_type::not_eof(c);
    const auto letter = static_cast<char>(c);
    for (std::streambuf* one : {first_, second_}) {
      if (one != nullptr && traits_type::eq_int_type(one->sputc(letter), traits_type::eof())) return traits_type::eof();
    }
    return c;
  }
  int sync() override {
    int failed = 0;
    for (std::streambuf* one : {first_, second_}) {
      if (one != nullptr && one->pubsync() != 0) failed = -1;
    }
    return failed;
  }

  std::streambuf *first_, *second_;
};

}  // namespace

std::optional<LaunchedRank> this_rank() {
  return launched_rank([](const char* name) { return std::getenv(name); });
}

Console::Console(bool all, const std::string& log_dir) {
  const std::optional<LaunchedRank> rank = this_rank();
  const int number = rank ? rank->rank : 0;
  if (!log_dir.empty()) {
    std::error_code failure;
    std::filesystem::create_directories(log_dir, failure);
    const auto path = std::filesystem::path(log_dir) / fmt::format("rank_{}.log", number);
    log_.open(path, std::ios::trunc);
    if (!log_) {
      throw RuntimeFailure(ExitCode::cannot_write, fmt::format("[--log-dir] cannot write {}", path.string()));
    }
  }
  const bool heard = all || number == 0;
  if (heard && log_dir.empty()) return;
  tee_ = std::make_unique<Tee>(heard ? std::cout.rdbuf() : nullptr, log_dir.empty() ? nullptr : log_.rdbuf());
  before_ = std::cout.rdbuf(tee_.get());
}

Console::~Console() {
  if (before_ == nullptr) return;
  std::cout.flush();
  std::cout.rdbuf(before_);
}

}  // namespace partita
