#include "checkpoint/direct_output.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include "checkpoint/files.h"

namespace partita {
namespace {

constexpr size_t kBlockBytes = size_t{4} << 20;

}  // namespace

DirectOutput::DirectOutput(int fd, int64_t offset)
    : fd_(fd),
      offset_(offset),
      is_direct_(set_direct(true)),
      block_(new (std::align_val_t{kAlignment}) std::byte[kBlockBytes]) {}

bool DirectOutput::set_direct(bool direct) {
  const int flags = ::fcntl(fd_, F_GETFL);
  return flags >= 0 && ::fcntl(fd_, F_SETFL, direct ? flags | O_DIRECT : flags & ~O_DIRECT) == 0 && direct;
}

bool DirectOutput::write(const void* bytes, size_t count) {
  const auto* next = static_cast<const std::byte*>(bytes);
  while (count > 0) {
    const size_t some = std::min(count, kBlockBytes - used_);
    std::memcpy(block_.get() + used_, next, some);
    used_ += some;
    next += some;
    count -= some;
    if (used_ == kBlockBytes && !write_block(used_)) return false;
  }
  return true;
}

bool DirectOutput::write_block(size_t count) {
  bool is_good = write_all_at(fd_, block_.get(), count, offset_);
  if (!is_good && errno == EINVAL && is_direct_) {
    // The file system, or what a short write has left, asks for another alignment.
    is_direct_ = set_direct(false);
    is_good = write_all_at(fd_, block_.get(), count, offset_);
  }
  offset_ += static_cast<int64_t>(count);
  used_ -= count;
  return is_good;
}

bool DirectOutput::finish() {
  const size_t whole = used_ / kAlignment * kAlignment, rest = used_ - whole;
  if (!write_block(whole)) return false;
  is_direct_ = set_direct(false);
  return rest == 0 || write_all_at(fd_, block_.get() + whole, rest, offset_);
}

}  // namespace partita
