#pragma once
// Detects whether other processes of this host still run.

#include <optional>
#include <string>

namespace partita {

/// A file in which every process locks the byte of its rank. The kernel releases the lock when the process ends,
/// however it ends, so peers can detect that. Reused process numbers cannot confuse it.
class Presence {
 public:
  /// Creates a file under a new name, private to this user. None if that is impossible.
  static std::optional<Presence> create();
  /// Opens the file of another process. None if that is impossible.
  static std::optional<Presence> open(const std::string& name);
  ~Presence();
  Presence(Presence&& other) noexcept;
  Presence& operator=(Presence&& other) noexcept;

  const std::string& name() const { return name_; }
  /// Removes the name: no other process can open the file from now on.
  void unlink() const;
  /// Declares that this process is `rank` while this object lives. Returns false if the lock cannot be had.
  bool enter(int rank);
  /// Whether a rank that had entered has ended; true, too, for one that never entered. False for the rank of this
  /// object, and if it cannot be detected.
  bool is_gone(int rank) const;

 private:
  Presence(int file, std::string name) : file_(file), name_(std::move(name)) {}

  int file_;
  std::string name_;
  int own_ = -1;
};

}  // namespace partita
