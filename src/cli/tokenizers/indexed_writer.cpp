#include "cli/tokenizers/indexed_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <limits>

#include "base/error.h"
#include "frontend/data/readers/token_mask.h"

namespace partita {
namespace {

File created(const std::string& path) {
  ::unlink(path.c_str());  // a part that an earlier call has left, or a link of somebody
  File file(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (!file.is_open()) throw_cannot_write("tokenize", path, std::strerror(errno));
  return file;
}

template <class Number>
void append(std::string& bytes, Number number) {
  bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
}

void write_to(const File& file, const std::string& path, const void* data, size_t bytes) {
  if (!write_all(file.fd(), data, bytes)) throw_cannot_write("tokenize", path, std::strerror(errno));
}

}  // namespace

MaskWriter::MaskWriter(const std::string& path, int64_t tokens) : path_(path), file_(created(path)) {
  bytes_ = kMaskMagic;
  append(bytes_, kMaskVersion);
  append(bytes_, uint64_t{0});  // the number of tokens, which `finish` writes
  for (int64_t i = 0; i < tokens; ++i) add(true);
}

void MaskWriter::add(bool is_target) {
  constexpr size_t kPiece = 1 << 20;
  last_ = static_cast<uint8_t>(last_ | (is_target ? 1 : 0) << tokens_ % 8);
  if (++tokens_ % 8 != 0) return;
  bytes_ += static_cast<char>(last_);
  last_ = 0;
  if (bytes_.size() >= kPiece) flush();
}

void MaskWriter::flush() {
  write_to(file_, path_, bytes_.data(), bytes_.size());
  bytes_.clear();
}

void MaskWriter::finish() {
  if (tokens_ % 8 != 0) bytes_ += static_cast<char>(last_);
  flush();
  const int64_t place = kMaskHeader - static_cast<int64_t>(sizeof tokens_);
  if (!write_all_at(file_.fd(), &tokens_, sizeof tokens_, place) || ::fsync(file_.fd()) != 0 || !file_.close()) {
    throw_cannot_write("tokenize", path_, std::strerror(errno));
  }
}

IndexedWriter::IndexedWriter(std::string name, TokenType type)
    : name_(std::move(name)),
      bin_(name_ + ".bin.part"),
      idx_(name_ + ".idx.part"),
      mask_(name_ + ".mask.part"),
      type_(type),
      bin_file_(created(bin_)),
      idx_file_(created(idx_)) {}

IndexedWriter::~IndexedWriter() {
  std::error_code code;
  for (const std::string& path : {bin_, idx_}) std::filesystem::remove(path, code);
  if (mask_writer_ != nullptr) std::filesystem::remove(mask_, code);
}

void IndexedWriter::add_mask(const std::vector<bool>& is_target, size_t ids) {
  const bool is_masked = std::ranges::find(is_target, false) != is_target.end();
  if (is_masked && mask_writer_ == nullptr) mask_writer_ = std::make_unique<MaskWriter>(mask_, tokens_);
  for (size_t i = 0; i < ids; ++i) {
    const bool counts = is_target.empty() || is_target[i];
    targets_ += counts;
    if (mask_writer_ != nullptr) mask_writer_->add(counts);
  }
}

void IndexedWriter::add(const std::vector<int32_t>& ids, const std::vector<bool>& is_target) {
  if (ids.size() > size_t{std::numeric_limits<int32_t>::max()}) {
    throw InvalidFile("[tokenize] document too long, got {} ids, expected at most {}", ids.size(),
                      std::numeric_limits<int32_t>::max());
  }
  if (type_ == TokenType::u16) {
    const std::vector<uint16_t> narrow(ids.begin(), ids.end());
    write_to(bin_file_, bin_, narrow.data(), narrow.size() * sizeof(uint16_t));
  } else {
    write_to(bin_file_, bin_, ids.data(), ids.size() * sizeof(int32_t));
  }
  add_mask(is_target, ids.size());
  lengths_.push_back(static_cast<int32_t>(ids.size()));
  tokens_ += static_cast<int64_t>(ids.size());
}

void IndexedWriter::finish() {
  constexpr size_t kPiece = 1 << 20;
  std::string bytes("MMIDIDX\0\0", 9);
  append(bytes, uint64_t{1});
  append(bytes, static_cast<uint8_t>(type_ == TokenType::u16 ? 8 : 4));
  append(bytes, uint64_t{lengths_.size()});
  append(bytes, uint64_t{lengths_.size()} + 1);
  const auto flush = [&](size_t least) {
    if (bytes.size() < least) return;
    write_to(idx_file_, idx_, bytes.data(), bytes.size());
    bytes.clear();
  };
  for (const int32_t length : lengths_) append(bytes, length), flush(kPiece);
  int64_t byte = 0;
  for (const int32_t length : lengths_) {
    append(bytes, byte), flush(kPiece);
    byte += length * width_of(type_);
  }
  for (uint64_t document = 0; document <= lengths_.size(); ++document) append(bytes, document), flush(kPiece);
  flush(0);
  for (const auto& [file, path] : {std::pair(&bin_file_, &bin_), std::pair(&idx_file_, &idx_)}) {
    if (::fsync(file->fd()) != 0 || !file->close()) throw_cannot_write("tokenize", *path, std::strerror(errno));
  }
  if (mask_writer_ != nullptr) mask_writer_->finish();
  // The mask is there before the new ids, and an older one is there after them: it never seems to be missing.
  for (const char* ending : {".mask", ".bin", ".idx"}) {
    const std::string path = name_ + ending;
    if (ending == std::string_view(".mask") && mask_writer_ == nullptr) continue;
    if (::rename((path + ".part").c_str(), path.c_str()) != 0)
      throw_cannot_write("tokenize", path, std::strerror(errno));
  }
  const std::string mask = name_ + ".mask";
  if (mask_writer_ == nullptr && ::unlink(mask.c_str()) != 0 && errno != ENOENT) {
    throw_cannot_write("tokenize", mask, std::strerror(errno));
  }
  sync_folder(folder_of(name_));
}

}  // namespace partita
