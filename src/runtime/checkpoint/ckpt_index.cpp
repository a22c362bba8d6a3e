#include "runtime/checkpoint/ckpt_index.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>

#include <algorithm>
#include <array>
#include <limits>
#include <unordered_set>

#include "base/error.h"
#include "base/files.h"
#include "base/printable.h"
#include "runtime/checkpoint/protobuf_fields.h"
#include "runtime/checkpoint/utf32.h"

namespace partita {
namespace {

using google::protobuf::io::CodedInputStream;

constexpr std::pair<DType, std::string_view> kCkptTypes[] = {
    {DType::f64, "Float64"},  {DType::f32, "Float32"}, {DType::bf16, "BFloat16"}, {DType::f16, "Float16"},
    {DType::i64, "Int64"},    {DType::i32, "Int32"},   {DType::u8, "UInt8"},      {DType::u32, "UInt32"},
    {DType::boolean, "Bool"}, {DType::i8, "Int8"},     {DType::i16, "Int16"},     {DType::u16, "UInt16"}};

constexpr int64_t kMaxMessage = std::numeric_limits<int32_t>::max() - 100;  // bytes, the limit of protobuf
constexpr size_t kMaxEntries = 1'000'000;
constexpr uint32_t kMaxName = 100'000;  // bytes

std::string shown_entry(std::string_view name) {
  return printable(name.substr(0, 80)) + (name.size() > 80 ? "..." : "");
}

/// Reads a file value by value, each by a stream of its own, since one stream counts at most 2 GiB.
class Indexer {
 public:
  Indexer(int file, int64_t bytes, const std::string& path) : input_(file), bytes_(bytes), path_(path) {}

  CkptIndex read() {
    while (at_ < bytes_) read_field();
    for (const CkptEntry& entry : index_.entries) require_size(entry);
    index_.message_bytes = bytes_;
    return std::move(index_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    const std::string where = name_.empty() ? "" : fmt::format("parameter '{}' ", shown_entry(name_));
    throw InvalidFile("[weights] {}: {}at offset {}: {}, expected a checkpoint of MindSpore", path_, where, begin_,
                      what);
  }
  [[noreturn]] void fail_wire() const { fail("the file is truncated or damaged"); }

  /// Reads the length of bytes that follow, which end before the message around them does.
  int length(CodedInputStream& in) const {
    uint32_t bytes = 0;
    if (!in.ReadVarint32(&bytes) || bytes > static_cast<uint32_t>(std::max(0, in.BytesUntilLimit()))) fail_wire();
    return static_cast<int>(bytes);
  }
  std::string text(CodedInputStream& in, uint32_t most) const {
    const int bytes = length(in);
    if (static_cast<uint32_t>(bytes) > most) fail(fmt::format("a name of {} bytes", bytes));
    std::string result;
    if (!in.ReadString(&result, bytes)) fail_wire();
    if (!is_utf8(result)) fail(fmt::format("the text '{}' is not UTF-8", shown_entry(result)));
    return result;
  }
  /// Calls `read(tag)` for each field of the message, which has `bytes` bytes.
  template <class Read>
  void fields(CodedInputStream& in, int bytes, const Read& read) const {
    if (!read_fields(in, bytes, read)) fail_wire();
  }

  void read_field() {
    name_.clear();
    begin_ = at_;
    CodedInputStream in(&input_);
    in.SetTotalBytesLimit(std::numeric_limits<int>::max());
    uint64_t bytes = 0;
    const uint32_t tag = in.ReadTag();
    if (tag != CkptTag::kValue && tag != CkptTag::kText) fail(fmt::format("unknown field {}", tag >> 3));
    if (!in.ReadVarint64(&bytes)) fail_wire();
    if (bytes > static_cast<uint64_t>(bytes_ - at_ - in.CurrentPosition())) {
      fail(fmt::format("a value of {} bytes, of which the file has {}", bytes, bytes_ - at_ - in.CurrentPosition()));
    }
    if (bytes > static_cast<uint64_t>(kMaxMessage)) fail(fmt::format("a value of {} bytes", bytes));
    if (tag == CkptTag::kValue) {
      read_value(in, static_cast<int>(bytes));
    } else {
      read_text(in, static_cast<int>(bytes));
    }
    at_ += in.CurrentPosition();
  }

  void read_text(CodedInputStream& in, int bytes) {
    std::string key, value;
    fields(in, bytes, [&](uint32_t tag) {
      if (tag != CkptTag::kKey && tag != CkptTag::kTextOf) return false;
      (tag == CkptTag::kKey ? key : value) =
          text(in, tag == CkptTag::kKey ? kMaxName : static_cast<uint32_t>(kMaxMessage));
      return true;
    });
    if (index_.metadata.size() == 2 * kMaxEntries) fail(fmt::format("more than {} texts", 2 * kMaxEntries));
    if (key == kCkptChecksum) {
      if (at_ + in.CurrentPosition() != bytes_) fail("the checksum is not at the end");
      index_.checksum = value;
      index_.checksum_begin = at_;
    } else if (!index_.metadata.emplace(key, value).second) {
      fail(fmt::format("the text '{}' appears twice", shown_entry(key)));
    }
  }

  struct ReadTensor {
    std::vector<int64_t> dims;
    std::string dtype;
    FileRange content;
    bool has_content = false;
  };

  void read_value(CodedInputStream& in, int bytes) {
    std::optional<ReadTensor> tensor;
    bool is_map = false;
    fields(in, bytes, [&](uint32_t tag) {
      if (tag == CkptTag::kName) {
        name_ = text(in, kMaxName);
      } else if (tag == CkptTag::kTensor) {
        tensor = read_tensor(in, length(in));
      } else {
        is_map |= tag == CkptTag::kMapTensor;
        return false;
      }
      return true;
    });
    if (is_map) fail("it is a hash table (MapParameter), which is not supported");
    if (name_.empty() || !tensor) fail("a value without a name or a tensor");
    add(*tensor);
  }

  ReadTensor read_tensor(CodedInputStream& in, int bytes) const {
    ReadTensor tensor;
    const auto read_dim = [&] {
      uint64_t size = 0;
      if (!in.ReadVarint64(&size)) fail_wire();
      if (tensor.dims.size() == static_cast<size_t>(kMaxDims)) fail(fmt::format("more than {} dimensions", kMaxDims));
      tensor.dims.push_back(static_cast<int64_t>(size));
      return true;
    };
    fields(in, bytes, [&](uint32_t tag) {
      if (tag == CkptTag::kDim) return read_dim();
      if (tag == CkptTag::kDims) {
        const auto limit = in.PushLimit(length(in));
        while (in.BytesUntilLimit() > 0) read_dim();
        in.PopLimit(limit);
      } else if (tag == CkptTag::kElementType) {
        tensor.dtype = text(in, kMaxName);
      } else if (tag == CkptTag::kContent) {
        const int content = length(in);
        tensor.content = {at_ + in.CurrentPosition(), content};
        tensor.has_content = true;
        if (!in.Skip(content)) fail_wire();
      } else {
        return false;
      }
      return true;
    });
    if (tensor.dtype.empty() || !tensor.has_content) fail("a tensor without a type or elements");
    return tensor;
  }

  /// Adds a tensor, or the next part of the one before.
  void add(const ReadTensor& tensor) {
    CkptEntry entry{.name = name_, .is_text = tensor.dtype == kCkptText, .type = {}, .parts = {tensor.content}};
    if (!entry.is_text) {
      const auto found = std::ranges::find(kCkptTypes, tensor.dtype, [](const auto& one) { return one.second; });
      if (found == std::end(kCkptTypes)) {
        fail(fmt::format("elements of the type {}, which is not supported", shown_entry(tensor.dtype)));
      }
      entry.type = {found->first, tensor.dims};
      if (!is_countable(tensor.dims)) fail(fmt::format("a bad shape {}", print(tensor.dims)));
      // Some writers give a scalar the dimensions of an empty tensor.
      if (tensor.dims == std::vector<int64_t>{0} && tensor.content.bytes > 0) entry.type.shape.clear();
    }
    std::vector<CkptEntry>& entries = index_.entries;
    if (!entries.empty() && entries.back().name == name_) {
      CkptEntry& last = entries.back();
      if (entry.is_text || last.is_text || entry.type != last.type) fail("parts of different types");
      last.parts.push_back(tensor.content);
      return;
    }
    if (!names_.insert(name_).second) fail("the name appears twice");
    if (entries.size() == kMaxEntries) fail(fmt::format("more than {} parameters", kMaxEntries));
    entries.push_back(std::move(entry));
  }

  void require_size(const CkptEntry& entry) {
    name_ = entry.name;
    begin_ = entry.parts.front().begin;
    if (entry.is_text || entry.bytes() == entry.type.bytes()) return;
    fail(
        fmt::format("{} bytes of elements for {}, which has {}", entry.bytes(), print(entry.type), entry.type.bytes()));
  }

  google::protobuf::io::FileInputStream input_;
  const int64_t bytes_;
  const std::string& path_;
  int64_t at_ = 0;     // offset of the next field
  int64_t begin_ = 0;  // for messages: offset of the field that is read
  std::string name_;   // for messages: its parameter
  CkptIndex index_;
  std::unordered_set<std::string> names_;
};

/// Returns the checksum that ends the file; none if there is none.
std::optional<uint64_t> crc_at_end(int file, int64_t bytes) {
  std::array<unsigned char, kCkptCrc.size() + kCkptCrcBytes> end{};
  if (bytes < std::ssize(end) || !read_all(file, end.data(), end.size(), bytes - std::ssize(end))) return std::nullopt;
  if (!std::equal(kCkptCrc.begin(), kCkptCrc.end(), end.begin())) return std::nullopt;
  uint64_t crc = 0;
  for (size_t i = kCkptCrc.size(); i < end.size(); ++i) crc = crc << 8 | end[i];
  return crc;
}

}  // namespace

int64_t CkptEntry::bytes() const {
  int64_t sum = 0;
  for (const FileRange& part : parts) sum += part.bytes;
  return sum;
}

bool is_encrypted_ckpt(std::string_view begin) {
  // AES in the modes GCM and CBC, and SM4 in the mode CBC.
  return begin.starts_with("\xd8\x5e\x3a\x7f") || begin.starts_with("\xd9\x5e\x3a\x7f") ||
         begin.starts_with("\xda\x5e\x3a\x7f");
}

bool is_ckpt(std::string_view begin) {
  CodedInputStream in(reinterpret_cast<const uint8_t*>(begin.data()), static_cast<int>(begin.size()));
  uint64_t value = 0, name = 0;
  const uint32_t field = in.ReadTag();
  if (field == CkptTag::kText) return true;
  if (field != CkptTag::kValue || !in.ReadVarint64(&value)) return false;
  if (in.ReadTag() != CkptTag::kName || !in.ReadVarint64(&name) || name == 0 || name >= value) return false;
  const auto left = begin.size() - static_cast<size_t>(in.CurrentPosition());
  const std::string_view known = begin.substr(static_cast<size_t>(in.CurrentPosition()), name);
  if (known.find('\0') != std::string_view::npos) return false;
  if (name >= left) return true;
  in.Skip(static_cast<int>(name));
  const uint32_t next = in.ReadTag();
  return next == CkptTag::kTensor || next == CkptTag::kMapTensor;
}

CkptIndex index_ckpt(int file, int64_t bytes, const std::string& path) {
  const std::optional<uint64_t> crc = crc_at_end(file, bytes);
  CkptIndex index =
      Indexer(file, crc ? bytes - static_cast<int64_t>(kCkptCrc.size()) - kCkptCrcBytes : bytes, path).read();
  index.crc = crc;
  return index;
}

std::string_view ckpt_type_of(DType dtype) {
  return std::ranges::find(kCkptTypes, dtype, [](const auto& one) { return one.first; })->second;
}

}  // namespace partita
