#pragma once
// Keeps a bounded number of files open for reading, out of many.

#include <atomic>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/files.h"
#include "base/open_file_limit.h"

namespace partita {

/// Opens files for reading, and keeps the last ones open. Threads may share it.
class OpenFiles {
 public:
  struct Opened {
    std::shared_ptr<const File> file;  // open as long as this lives; null if it cannot be opened
    int error = 0;                     // number of the system's error then
  };

  /// Takes the number of files that will be read. If it is more than a quarter of the files that the process may have
  /// open without other objects that raise this limit, raises it while files are read, until `close`. Keeps at most a
  /// quarter of the limit open, and at most 512: programs that use `select` take file numbers below 1024.
  explicit OpenFiles(int64_t count);

  /// Opens the file `path`, if it is not open. If the process has too many open files, closes those that nobody uses
  /// first, and waits up to 30 seconds for other threads to release those that they use. A thread that uses several
  /// files at a time would wait for its own.
  Opened get(const std::string& path);
  /// Closes the files that nobody uses, and lowers the limit of the process to what it was.
  void close();
  /// Number of files that are kept open.
  int64_t size() const;
  int64_t max() const { return max_; }

 private:
  using Entries = std::list<std::pair<std::string, std::shared_ptr<const File>>>;

  /// Closes the files that nobody uses and opens `path`, as long as this process has too many open files.
  Opened open_in_turn(const std::string& path);
  Opened open(const std::string& path);

  bool raises_limit_ = false;
  int64_t max_ = 0;
  mutable std::mutex mutex_;
  std::optional<RaisedOpenFileLimit> raised_;
  /// Number of open files, those that users alone still have among them, and of openings that have not ended.
  std::shared_ptr<std::atomic<int64_t>> open_;
  std::atomic<int64_t> begun_ = 0;  // number of openings that were begun
  Entries entries_;                 // the last one that was asked for is the first
  std::unordered_map<std::string, Entries::iterator> places_;
};

}  // namespace partita
