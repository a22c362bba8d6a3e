#pragma once
// Whether other processes of this host still run.

#include <optional>
#include <string>

namespace partita {

/// A file in which every process locks the byte of its rank. The kernel takes the lock back when the process ends, in
/// whatever way; so a peer can see that it is gone, and no number of a process can be taken for another's.
class Presence {
 public:
  /// A file under a new name, of this user alone; none where files cannot be locked so.
  static std::optional<Presence> create();
  /// That of another process; none when it cannot be had.
  static std::optional<Presence> open(const std::string& name);
  ~Presence();
  Presence(Presence&& other) noexcept;
  Presence& operator=(Presence&& other) noexcept;

  const std::string& name() const { return name_; }
  /// Nobody else can open it from now on.
  void unlink() const;
  /// This process is `rank`, as long as the object lives. Whether that could be said.
  bool enter(int rank);
  /// Of a rank that has entered: whether it is there no more.
  bool is_gone(int rank) const;

 private:
  Presence(int file, std::string name) : file_(file), name_(std::move(name)) {}

  int file_;
  std::string name_;
  int own_ = -1;
};

}  // namespace partita
