#include "base/open_files.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>

namespace partita {
namespace {

constexpr int64_t kMinOpen = 4, kMaxOpen = 512;

int64_t share_of_limit() { return std::max(kMinOpen, open_file_limit() / 4); }

// O_NONBLOCK: opening a pipe must not wait for a writer.
OpenFiles::Opened opened(const std::string& path) {
  File file(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (!file.is_open()) return {.file = nullptr, .error = errno};
  return {.file = std::make_shared<const File>(std::move(file))};
}

}  // namespace

OpenFiles::OpenFiles(int64_t count) : raises_limit_(count > share_of_limit()) {
  std::optional<RaisedOpenFileLimit> raised;
  if (raises_limit_) raised.emplace();
  max_ = std::min(share_of_limit(), kMaxOpen);
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
  Opened result = opened(path);  // other threads go on meanwhile
  if (result.error == EMFILE || result.error == ENFILE) {
    const std::lock_guard lock(mutex_);
    entries_.clear();
    places_.clear();
    result = opened(path);
  }
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
