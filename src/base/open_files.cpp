#include "base/open_files.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <thread>

namespace partita {
namespace {

constexpr int64_t kMinOpen = 4, kMaxOpen = 512;

int64_t share_of(int64_t limit) { return std::max(kMinOpen, limit / 4); }

bool are_too_many(int error) { return error == EMFILE || error == ENFILE; }

}  // namespace

OpenFiles::OpenFiles(int64_t count) : open_(std::make_shared<std::atomic<int64_t>>(0)) {
  // Another object may have raised the limit and lower it while files are open.
  int64_t share = share_of(unraised_open_file_limit());
  raises_limit_ = count > share;
  if (raises_limit_) {
    const RaisedOpenFileLimit raised;
    share = share_of(open_file_limit());
  }
  max_ = std::min(share, kMaxOpen);
}

OpenFiles::Opened OpenFiles::open(const std::string& path) {
  // An opening counts before it has a descriptor, and a file until it has none, for the thread that is refused one.
  ++*open_;
  ++begun_;
  // O_NONBLOCK: opening a pipe must not wait for a writer.
  File file(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (!file.is_open()) {
    const int error = errno;
    --*open_;
    return {.file = nullptr, .error = error};
  }
  const auto close = [open = open_](const File* closed) {
    delete closed;
    --*open;
  };
  return {.file = std::shared_ptr<const File>(new File(std::move(file)), close)};
}

OpenFiles::Opened OpenFiles::open_in_turn(const std::string& path) {
  constexpr std::chrono::milliseconds kPause{1}, kPatience{30'000};
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (true) {
    Opened result;
    bool others_have_any = false;
    {
      const std::lock_guard lock(mutex_);
      entries_.clear();
      places_.clear();
      // One that had begun and has no file now had none during this try; one that begins during it is counted after.
      const int64_t begun = begun_;
      others_have_any = *open_ > 0;
      result = open(path);
      others_have_any = others_have_any || begun_ != begun + 1;
    }
    // Other threads take files that were closed here, and close them in turn.
    if (!are_too_many(result.error) || !others_have_any || std::chrono::steady_clock::now() >= end) return result;
    std::this_thread::sleep_for(kPause);
  }
}

OpenFiles::Opened OpenFiles::get(const std::string& path) {
  {
    const std::lock_guard lock(mutex_);
    if (raises_limit_ && !raised_) raised_.emplace();
    if (const auto place = places_.find(path); place != places_.end()) {
      entries_.splice(entries_.begin(), entries_, place->second);
      return {.file = entries_.front().second};
    }
  }
  Opened result = open(path);  // without the lock, so that threads open files at the same time
  if (are_too_many(result.error)) result = open_in_turn(path);
  if (result.file == nullptr) return result;
  const std::lock_guard lock(mutex_);
  if (places_.contains(path)) return result;  // another thread has opened it, too
  entries_.emplace_front(path, result.file);
  places_.emplace(path, entries_.begin());
  if (static_cast<int64_t>(entries_.size()) > max_) {
    places_.erase(entries_.back().first);
    entries_.pop_back();
  }
  return result;
}

void OpenFiles::close() {
  const std::lock_guard lock(mutex_);
  entries_.clear();
  places_.clear();
  raised_.reset();
}

int64_t OpenFiles::size() const {
  const std::lock_guard lock(mutex_);
  return static_cast<int64_t>(entries_.size());
}

}  // namespace partita
