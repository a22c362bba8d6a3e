#pragma once
// Compiled programs as files of one folder, which processes share.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/files.h"

namespace partita {

/// A folder of programs, each under a key: any text that says all that the program depends on. A file has the key and
/// checksums, and gets its name when it is complete. Threads and processes may use the folder at the same time.
class ProgramFiles {
 public:
  /// Opens the folder, and makes it with mode 0700 if there is none. Throws RuntimeFailure(cannot_write) if it cannot
  /// be made or opened, and if others could have put programs there: it is another user's, or others may write there.
  ProgramFiles(const std::string& folder, int64_t max_bytes);

  struct Found {
    std::optional<std::string> program;  // none: there is no sound one
    std::string damage;                  // describes a file that is not sound; "" if there is no file
  };
  /// Returns the program of a key, and marks it as used.
  Found read(std::string_view key) const;
  /// Keeps a program, and removes the programs that were not used for longest while all take more than the folder's
  /// bytes; one that is larger than these is not kept. Throws RuntimeFailure(cannot_write).
  void write(std::string_view key, std::string_view program) const;
  void remove(std::string_view key) const;
  /// Returns the path of a folder in place of the key's file, which nobody here has made; "" if there is none. Removes
  /// an empty one.
  std::string obstacle(std::string_view key) const;

  /// The right to make the program of a key. Released by the destructor, and by the system if the process ends.
  class Lock {
   public:
    Lock(Lock&& other) noexcept = default;
    Lock& operator=(Lock&&) = delete;
    ~Lock();
    /// Whether another one had it first.
    bool has_waited() const { return has_waited_; }

   private:
    friend class ProgramFiles;
    Lock(int folder, std::string name) : folder_(folder), name_(std::move(name)) {}

    int folder_;
    std::string name_;
    File file_;  // not open: there is no lock, as in a folder that cannot be written
    bool has_waited_ = false;
  };
  /// Waits until nobody else makes the program of the key, for at most `patience`.
  Lock lock(std::string_view key, std::chrono::milliseconds patience) const;

 private:
  bool hold(Lock& lock) const;
  void trim() const;

  const std::string path_;
  const int64_t max_bytes_;
  const File folder_;
};

}  // namespace partita
