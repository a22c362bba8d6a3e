#include "frontend/data/readers/npy_file.h"

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "frontend/data/readers/numpy_files.h"

namespace partita {
namespace {

constexpr uint64_t kMaxNpyInMemory = uint64_t{64} << 20;  // bytes of a plain file
constexpr int64_t kMaxRowBytes = int64_t{16} << 30;
constexpr int64_t kElementsAtOnce = 1 << 16;

}  // namespace

NpyFile::NpyFile(const std::filesystem::path& path) : file_(path) {
  const std::string where = path.string();
  const NpyLayout layout = read_npy_layout(path);
  element_ = &npy_element(layout.descr, where);
  first_byte_ = layout.first_byte;
  type_ = {element_->dtype, layout.shape};
  if (layout.column_major && layout.shape.size() > 1) {
    throw InvalidFile("[npy] column-major order in '{}', got it in a file that is read in place, expected row-major",
                      where);
  }
  const auto width = static_cast<int64_t>(element_->bytes);
  int64_t left = std::max(kMaxRowBytes, file_.size());  // a zero must not hide other large dimensions
  for (const int64_t size : layout.shape) {
    if (size > left) {
      throw InvalidFile("[npy] too large in '{}', got {}, expected at most the size of the file", where, print(type_));
    }
    left /= std::max<int64_t>(1, size);
  }
  const int64_t bytes = first_byte_ + elements(layout.shape) * width;
  if (file_.size() == bytes) return;
  throw InvalidFile("[npy] {} in '{}', got {} bytes, expected {}", file_.size() < bytes ? "cut file" : "file too long",
                    where, file_.size(), bytes);
}

void NpyFile::read(int64_t first, int64_t count, void* to) const {
  const auto width = static_cast<int64_t>(element_->bytes);
  if (element_->widen == nullptr) {
    file_.read(first_byte_ + first * width, to, count * width);
    if (element_->dtype == DType::boolean) normalize_bools(to, count);
    return;
  }
  std::vector<uint8_t> part(static_cast<size_t>(std::min(count, kElementsAtOnce) * width));
  for (int64_t done = 0; done < count;) {
    const int64_t now = std::min(count - done, kElementsAtOnce);
    file_.read(first_byte_ + (first + done) * width, part.data(), now * width);
    element_->widen(part.data(), now, static_cast<int32_t*>(to) + done);
    done += now;
  }
}

std::optional<NpyFile> open_large_npy(const std::filesystem::path& path) {
  std::error_code code;
  const bool is_packed = path.extension() == ".gz" || path.extension() == ".xz";
  if (is_packed || file_size(path, code) <= kMaxNpyInMemory || code) return std::nullopt;
  const NpyLayout layout = read_npy_layout(path);
  if (layout.column_major && layout.shape.size() > 1) return std::nullopt;
  return NpyFile(path);
}

}  // namespace partita
