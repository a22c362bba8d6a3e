#pragma once
// Memory that processes of one host share, by a name that is unlinked once all have it.

#include <cstddef>
#include <optional>
#include <string>

namespace partita {

/// Names that a process, which has ended, made and had no time to unlink; of presences, too.
void unlink_segments_of(int process);

class SharedSegment {
 public:
  /// Zeroed pages under a new name, of this user alone; none when there is too little memory for them.
  static std::optional<SharedSegment> create(size_t bytes);
  /// The pages that another process made; none when they cannot be had.
  static std::optional<SharedSegment> open(const std::string& name, size_t bytes);
  ~SharedSegment();
  SharedSegment(SharedSegment&& other) noexcept;
  SharedSegment& operator=(SharedSegment&& other) noexcept;

  /// At the beginning of a page.
  void* data() const { return data_; }
  const std::string& name() const { return name_; }
  /// Nobody else can open it from now on.
  void unlink() const;

 private:
  SharedSegment(void* data, size_t bytes, std::string name) : data_(data), bytes_(bytes), name_(std::move(name)) {}

  void* data_;
  size_t bytes_;
  std::string name_;
};

}  // namespace partita
