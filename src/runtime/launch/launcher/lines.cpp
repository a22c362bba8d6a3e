#include "runtime/launch/launcher/lines.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

namespace partita {

bool Lines::read(int file) {
  constexpr size_t kMaxLine = size_t{1} << 20;
  std::array<char, 65536> bytes;
  const ssize_t received = ::read(file, bytes.data(), bytes.size());
  if (received < 0) return errno == EINTR || errno == EAGAIN;
  if (received == 0) return false;
  text_.erase(0, std::exchange(begin_, 0));
  text_.append(bytes.data(), static_cast<size_t>(received));
  return text_.size() <= kMaxLine || text_.find('\n') != std::string::npos;
}

std::optional<std::string> Lines::next() {
  const size_t end = text_.find('\n', begin_);
  if (end == std::string::npos) return std::nullopt;
  const size_t begin = std::exchange(begin_, end + 1);
  return text_.substr(begin, end - begin);
}

}  // namespace partita
