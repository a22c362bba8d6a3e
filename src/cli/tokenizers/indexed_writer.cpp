#include "cli/tokenizers/indexed_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <limits>

#include "base/error.h"

namespace partita {
namespace {

File created(const std::string& path) {
  File file(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (!file.is_open()) throw_cannot_write("tokenize", path, std::strerror(errno));
  return file;
}

template <class Number>
void append(std::string& bytes, Number number) {
  bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
}

}  // namespace

IndexedWriter::IndexedWriter(std::string name, TokenType type)
    : name_(std::move(name)),
      bin_(name_ + ".bin.part"),
      idx_(name_ + ".idx.part"),
      type_(type),
      bin_file_(created(bin_)),
      idx_file_(created(idx_)) {}

IndexedWriter::~IndexedWriter() {
  std::error_code code;
  for (const std::string& path : {bin_, idx_}) std::filesystem::remove(path, code);
}

void IndexedWriter::write(const File& file, const std::string& path, const void* data, size_t bytes) {
  if (!write_all(file.fd(), data, bytes)) throw_cannot_write("tokenize", path, std::strerror(errno));
}

void IndexedWriter::add(const std::vector<int32_t>& ids) {
  if (ids.size() > size_t{std::numeric_limits<int32_t>::max()}) {
    throw InvalidFile("[tokenize] document too long, got {} ids, expected at most {}", ids.size(),
                      std::numeric_limits<int32_t>::max());
  }
  if (type_ == TokenType::u16) {
    const std::vector<uint16_t> narrow(ids.begin(), ids.end());
    write(bin_file_, bin_, narrow.data(), narrow.size() * sizeof(uint16_t));
  } else {
    write(bin_file_, bin_, ids.data(), ids.size() * sizeof(int32_t));
  }
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
    write(idx_file_, idx_, bytes.data(), bytes.size());
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
  for (const char* ending : {".bin", ".idx"}) {
    const std::string path = name_ + ending;
    if (::rename((path + ".part").c_str(), path.c_str()) != 0)
      throw_cannot_write("tokenize", path, std::strerror(errno));
  }
  sync_folder(folder_of(name_));
}

}  // namespace partita
