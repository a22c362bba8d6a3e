#include "checkpoint/direct_output.h"

#include <fcntl.h>

#include <cerrno>
#include <cstring>
#include <new>

#include "checkpoint/files.h"

namespace partita {
namespace {

constexpr size_t kLeastBytes = size_t{4} << 20;  // of a write, but the last

}  // namespace

DirectOutput::Memory DirectOutput::allocate(size_t bytes) {
  Memory memory(new (std::align_val_t{kAlignment}) std::byte[bytes]);
  std::memset(memory.get(), 0, bytes);
  return memory;
}

DirectOutput::DirectOutput(int fd, int64_t offset, const std::byte* memory)
    : fd_(fd), offset_(offset), memory_(memory), is_direct_(set_direct(true)) {}

bool DirectOutput::set_direct(bool direct) {
  const int flags = ::fcntl(fd_, F_GETFL);
  return flags >= 0 && ::fcntl(fd_, F_SETFL, direct ? flags | O_DIRECT : flags & ~O_DIRECT) == 0 && direct;
}

bool DirectOutput::write_until(size_t end) { return end < written_ + kLeastBytes || write_blocks(end); }

/// The whole blocks in front of `end`.
bool DirectOutput::write_blocks(size_t end) {
  const size_t count = (end - written_) / kAlignment * kAlignment;
  const auto put = [&] {
    return write_all_at(fd_, memory_ + written_, count, offset_ + static_cast<int64_t>(written_));
  };
  bool is_good = put();
  if (!is_good && errno == EINVAL && is_direct_) {
    // The file system, or what a short write has left, asks for another alignment.
    is_direct_ = set_direct(false);
    is_good = put();
  }
  written_ += count;
  return is_good;
}

bool DirectOutput::finish(size_t end) {
  if (!write_blocks(end)) return false;
  is_direct_ = set_direct(false);
  return write_all_at(fd_, memory_ + written_, end - written_, offset_ + static_cast<int64_t>(written_));
}

}  // namespace partita
