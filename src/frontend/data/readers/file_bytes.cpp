#include "frontend/data/readers/file_bytes.h"

#include <lzma.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/error.h"

namespace partita {

/// Decompresses one format.
class Unpacker {
 public:
  enum class State { more, ended, corrupt, too_large };  // too_large: unpacking needs more memory than kXzMemory
  virtual ~Unpacker() = default;
  /// Unpacks some bytes of `in` to `out`, and moves the start of both spans past what was used. `last`: nothing follows
  /// `in`. Returns `ended` once all is unpacked, `corrupt` or `too_large` for data that cannot be unpacked, else
  /// `more`.
  virtual State step(std::span<const uint8_t>& in, std::span<uint8_t>& out, bool last) = 0;
};

namespace {

constexpr size_t kBuffer = 64 << 10;
constexpr size_t kUnpackStep = 1 << 20;    // memory grows by what has really been unpacked
constexpr int64_t kUsualRatio = 16;        // ratio of unpacked to packed bytes, for the first reservation
constexpr uint64_t kXzMemory = 256 << 20;  // maximum memory of a decoder's dictionary
constexpr size_t kMaxOut = 1 << 30;        // zlib counts in 32 bits
// Maximum ratio of unpacked to packed bytes: an LZMA match stands for at most 273 bytes and takes at least about 0.3
// bits.
constexpr int64_t kMaxXzRatio = 10'000;

class Plain : public Unpacker {
 public:
  State step(std::span<const uint8_t>& in, std::span<uint8_t>& out, bool last) override {
    const size_t count = std::min(in.size(), out.size());
    std::copy_n(in.begin(), count, out.begin());
    in = in.subspan(count);
    out = out.subspan(count);
    return in.empty() && last ? State::ended : State::more;
  }
};

class Gzip : public Unpacker {
 public:
  Gzip() {
    constexpr int kGzipWindow = 15 + 16;
    if (inflateInit2(&stream_, kGzipWindow) != Z_OK) throw std::bad_alloc();
  }
  ~Gzip() override { inflateEnd(&stream_); }

  State step(std::span<const uint8_t>& in, std::span<uint8_t>& out, bool last) override {
    if (between_members_) {
      if (in.empty()) return last ? State::ended : State::more;
      inflateReset(&stream_);
      between_members_ = false;
    }
    const size_t room = std::min(out.size(), kMaxOut);
    stream_.next_in = const_cast<Bytef*>(in.data());
    stream_.avail_in = static_cast<uInt>(in.size());
    stream_.next_out = out.data();
    stream_.avail_out = static_cast<uInt>(room);
    const int code = inflate(&stream_, Z_NO_FLUSH);
    in = in.last(stream_.avail_in);
    out = out.subspan(room - stream_.avail_out);
    if (code == Z_MEM_ERROR) throw std::bad_alloc();
    between_members_ = code == Z_STREAM_END;
    if (between_members_ && in.empty() && last) return State::ended;
    const bool fine = code == Z_OK || code == Z_STREAM_END || code == Z_BUF_ERROR;
    return fine ? State::more : State::corrupt;
  }

 private:
  z_stream stream_ = {};
  bool between_members_ = false;
};

class Xz : public Unpacker {
 public:
  Xz() {
    if (lzma_stream_decoder(&stream_, kXzMemory, LZMA_CONCATENATED) != LZMA_OK) {
      throw std::bad_alloc();
    }
  }
  ~Xz() override { lzma_end(&stream_); }

  State step(std::span<const uint8_t>& in, std::span<uint8_t>& out, bool last) override {
    stream_.next_in = in.data();
    stream_.avail_in = in.size();
    stream_.next_out = out.data();
    stream_.avail_out = out.size();
    const lzma_ret code = lzma_code(&stream_, last ? LZMA_FINISH : LZMA_RUN);
    in = in.last(stream_.avail_in);
    out = out.last(stream_.avail_out);
    if (code == LZMA_MEM_ERROR) throw std::bad_alloc();
    if (code == LZMA_MEMLIMIT_ERROR) return State::too_large;
    if (code == LZMA_STREAM_END) return State::ended;
    return code == LZMA_OK || code == LZMA_BUF_ERROR ? State::more : State::corrupt;
  }

 private:
  lzma_stream stream_ = LZMA_STREAM_INIT;
};

std::unique_ptr<Unpacker> unpacker_for(const std::filesystem::path& path) {
  if (path.extension() == ".gz") return std::make_unique<Gzip>();
  if (path.extension() == ".xz") return std::make_unique<Xz>();
  return std::make_unique<Plain>();
}

}  // namespace

PackedFile::PackedFile(std::filesystem::path path) : path_(std::move(path)) {
  std::error_code code;
  const std::filesystem::file_status status = std::filesystem::status(path_, code);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    throw InvalidFile("[data] not a regular file, got '{}', expected a file of data", path_.string());
  }
  stream_.open(path_, std::ios::binary);
  if (!stream_) {
    throw MissingFile("[data] cannot open a file, got '{}', expected a readable file", path_.string());
  }
  packed_size_ = static_cast<int64_t>(std::filesystem::file_size(path_, code));
  if (code) packed_size_ = 0;
  unpacker_ = unpacker_for(path_);
  buffer_.resize(kBuffer);
}

PackedFile::~PackedFile() = default;

std::vector<uint8_t> PackedFile::read(int64_t limit) {
  const size_t most = static_cast<size_t>(std::max<int64_t>(limit, 0));
  std::vector<uint8_t> bytes;
  bytes.reserve(std::min(most, static_cast<size_t>(packed_size_ * kUsualRatio)));
  while (bytes.size() < most && !ended_) {
    const size_t have = bytes.size();
    bytes.resize(std::min(most, have + kUnpackStep));
    const size_t got = unpack(std::span(bytes).subspan(have));
    bytes.resize(have + got);
  }
  return bytes;
}

int64_t PackedFile::max_bytes() const {
  const std::filesystem::path extension = path_.extension();
  const int64_t ratio = extension == ".gz" ? kMaxDeflateRatio : extension == ".xz" ? kMaxXzRatio : 1;
  return packed_size_ > std::numeric_limits<int64_t>::max() / ratio ? std::numeric_limits<int64_t>::max()
                                                                    : packed_size_ * ratio;
}

size_t PackedFile::unpack(std::span<uint8_t> out) {
  const size_t wanted = out.size();
  while (!out.empty() && !ended_) {
    if (input_.empty() && !last_) refill();
    const size_t before = input_.size() + out.size();
    const Unpacker::State state = unpacker_->step(input_, out, last_);
    ended_ = state == Unpacker::State::ended;
    if (state == Unpacker::State::too_large) {
      throw InvalidFile(
          "[data] packed data in '{}' take too much memory, got a dictionary of more than {} MiB, expected a smaller "
          "one (xz -9 or less)",
          path_.string(), kXzMemory >> 20);
    }
    const bool stuck = last_ && !ended_ && input_.size() + out.size() == before;
    if (state != Unpacker::State::corrupt && !stuck) continue;
    throw InvalidFile("[data] {} packed data in '{}', got {} at byte {}, expected {}", stuck ? "truncated" : "corrupt",
                      path_.string(), stuck ? "the end of the file" : "an invalid block",
                      packed_read_ - static_cast<int64_t>(input_.size()),
                      path_.extension() == ".gz" ? "whole gzip data" : "whole xz data");
  }
  return wanted - out.size();
}

void PackedFile::refill() {
  stream_.read(reinterpret_cast<char*>(buffer_.data()), static_cast<std::streamsize>(kBuffer));
  if (stream_.bad()) {
    throw InvalidFile("[data] cannot read '{}', got an error at byte {}, expected data", path_.string(), packed_read_);
  }
  const size_t count = static_cast<size_t>(stream_.gcount());
  last_ = stream_.eof();
  packed_read_ += static_cast<int64_t>(count);
  input_ = std::span(buffer_).first(count);
}

std::filesystem::path find_packed(const std::filesystem::path& directory, std::string_view name) {
  for (const char* suffix : {"", ".gz", ".xz"}) {
    const std::filesystem::path path = directory / (std::string(name) + suffix);
    std::error_code code;
    if (std::filesystem::exists(path, code)) return path;
  }
  return {};
}

std::filesystem::path require_packed(const std::filesystem::path& directory, std::string_view name) {
  const std::filesystem::path path = find_packed(directory, name);
  if (!path.empty()) return path;
  throw MissingFile("[data] no such file, got directory '{}', expected '{}' in it, plain, .gz or .xz",
                    directory.string(), name);
}

std::vector<uint8_t> read_file(const std::filesystem::path& path, int64_t limit) {
  std::vector<uint8_t> bytes = PackedFile(path).read(limit + 1);
  if (static_cast<int64_t>(bytes.size()) <= limit) return bytes;
  throw InvalidFile("[data] file too large: '{}', got more than {} bytes unpacked, expected at most that",
                    path.string(), limit);
}

}  // namespace partita
