#pragma once
// Memory that processes of one host share. Its name is unlinked once all have opened it.

#include <cstddef>
#include <optional>
#include <string>

namespace partita {

/// Unlinks the names, of segments and presences, that an ended process created and had no time to unlink. `process` is
/// its process number. Ignores those that cannot be unlinked.
void unlink_segments_of(int process);

class SharedSegment {
 public:
  /// Creates zeroed pages under a new name, private to this user. None if that fails, for example for lack of memory.
  static std::optional<SharedSegment> create(size_t bytes);
  /// Opens the pages that another process created. None if that is impossible.
  static std::optional<SharedSegment> open(const std::string& name, size_t bytes);
  ~SharedSegment();
  SharedSegment(SharedSegment&& other) noexcept;
  SharedSegment& operator=(SharedSegment&& other) noexcept;

  /// Address of the segment, at the beginning of a page.
  void* data() const { return data_; }
  const std::string& name() const { return name_; }
  /// Removes the name: no other process can open the segment from now on.
  void unlink() const;

 private:
  SharedSegment(void* data, size_t bytes, std::string name) : data_(data), bytes_(bytes), name_(std::move(name)) {}

  void* data_;
  size_t bytes_;
  std::string name_;
};

}  // namespace partita
