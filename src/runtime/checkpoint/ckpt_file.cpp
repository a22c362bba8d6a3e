#include "runtime/checkpoint/ckpt_file.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <zlib.h>

#include <algorithm>

#include "base/checksum.h"
#include "base/files.h"
#include "base/printable.h"
#include "runtime/checkpoint/ckpt_index.h"
#include "runtime/checkpoint/temporary_file.h"
#include "runtime/checkpoint/utf32.h"

namespace partita {
namespace {

constexpr size_t kBlock = size_t{1} << 20;  // bytes that are read at once for checksums

/// Verifies the checksums of a file. Throws InvalidFile if one differs.
void verify_ckpt(int file, const CkptIndex& index, const std::string& path) {
  if (!index.crc && index.checksum.empty()) return;
  const int64_t end = index.crc ? index.message_bytes : index.checksum_begin;
  std::vector<char> block(std::min<size_t>(kBlock, static_cast<size_t>(end)));
  uLong crc = ::crc32(0, nullptr, 0);
  Checksum checksum;
  for (int64_t at = 0; at < end;) {
    const int64_t bytes = std::min<int64_t>(end - at, static_cast<int64_t>(block.size()));
    if (!read_all(file, block.data(), static_cast<size_t>(bytes), at)) {
      throw InvalidFile("[weights] {}: the file ended at offset {}", path, at);
    }
    if (index.crc) crc = ::crc32(crc, reinterpret_cast<const Bytef*>(block.data()), static_cast<uInt>(bytes));
    if (at < index.checksum_begin) {
      checksum.add(block.data(), static_cast<size_t>(std::min(bytes, index.checksum_begin - at)));
    }
    at += bytes;
  }
  if (index.crc && *index.crc != crc) {
    throw InvalidFile("[weights] {}: the file is damaged, got the checksum {}, expected {}", path, crc, *index.crc);
  }
  if (const std::string got = print_checksum(checksum.take()); !index.checksum.empty() && got != index.checksum) {
    throw InvalidFile("[weights] {}: the file is damaged, got the checksum {}, expected {}", path, got, index.checksum);
  }
}

/// Reads the elements of an entry to `to`. Throws InvalidFile if the file ends before.
void read_parts(int file, const CkptEntry& entry, char* to, const std::string& path) {
  for (const FileRange& part : entry.parts) {
    if (!read_all(file, to, static_cast<size_t>(part.bytes), part.begin)) {
      throw InvalidFile("[weights] {}: parameter '{}' at offset {}: the file ended", path, entry.name, part.begin);
    }
    to += part.bytes;
  }
}

/// Requires that each element of a tensor of bool is 0 or 1. Throws InvalidFile otherwise.
void require_bool(const Array& array, const CkptEntry& entry, const std::string& path) {
  if (array.type().dtype != DType::boolean) return;
  const auto* elements = static_cast<const unsigned char*>(array.data());
  if (std::all_of(elements, elements + array.type().elements(), [](unsigned char one) { return one < 2; })) return;
  throw InvalidFile("[weights] {}: parameter '{}' of the type Bool has an element that is neither 0 nor 1", path,
                    entry.name);
}

/// Returns the strings of a file as texts of metadata, and its other metadata. Throws InvalidFile for a string that is
/// not UTF-32, or that metadata have, too.
Metadata texts_of(int file, CkptIndex& index, const std::string& path) {
  Metadata metadata = std::move(index.metadata);
  for (const CkptEntry& entry : index.entries) {
    if (!entry.is_text) continue;
    std::string bytes(static_cast<size_t>(entry.bytes()), '\0');
    read_parts(file, entry, bytes.data(), path);
    const std::optional<std::string> text = utf8_of(bytes);
    if (!text || !metadata.emplace(kTextKey + entry.name, *text).second) {
      throw InvalidFile("[weights] {}: parameter '{}' is {}, expected a string", path, entry.name,
                        text ? "there twice" : "not UTF-32");
    }
  }
  return metadata;
}

/// Writes the bytes of a file and adds them to its checksums.
class CkptWriter {
 public:
  CkptWriter(const std::string& path, bool crc32) : file_(path), has_crc_(crc32) {}

  /// Writes a value whose elements `data` are, or a part of them.
  void value(std::string_view name, std::string_view type, const Shape& dims, const char* data, int64_t bytes) {
    using google::protobuf::io::CodedOutputStream;
    std::string tensor, value, field;
    add(tensor, [&](CodedOutputStream& out) {
      for (const int64_t size : dims) {
        out.WriteTag(CkptTag::kDim);
        out.WriteVarint64(static_cast<uint64_t>(size));
      }
      text(out, CkptTag::kElementType, type);
      out.WriteTag(CkptTag::kContent);
      out.WriteVarint64(static_cast<uint64_t>(bytes));
    });
    add(value, [&](CodedOutputStream& out) {
      text(out, CkptTag::kName, name);
      out.WriteTag(CkptTag::kTensor);
      out.WriteVarint64(tensor.size() + static_cast<uint64_t>(bytes));
    });
    add(field, [&](CodedOutputStream& out) {
      out.WriteTag(CkptTag::kValue);
      out.WriteVarint64(value.size() + tensor.size() + static_cast<uint64_t>(bytes));
    });
    const std::string header = field + value + tensor;
    write(header.data(), header.size());
    write(data, static_cast<size_t>(bytes));
  }

  /// Writes a text of metadata.
  void metadata(std::string_view key, std::string_view value) {
    using google::protobuf::io::CodedOutputStream;
    std::string inner, field;
    add(inner, [&](CodedOutputStream& out) {
      text(out, CkptTag::kKey, key);
      text(out, CkptTag::kTextOf, value);
    });
    add(field, [&](CodedOutputStream& out) {
      out.WriteTag(CkptTag::kText);
      out.WriteVarint64(inner.size());
    });
    field += inner;
    write(field.data(), field.size());
  }

  void commit() {
    metadata(kCkptChecksum, print_checksum(checksum_.take()));
    if (has_crc_) {
      std::string end(kCkptCrc);
      for (int64_t i = kCkptCrcBytes - 1; i >= 0; --i) {
        end.push_back(i < static_cast<int64_t>(sizeof crc_) ? static_cast<char>(crc_ >> (8 * i)) : '\0');
      }
      file_.write(end.data(), end.size());
    }
    file_.commit();
  }

 private:
  using Stream = google::protobuf::io::CodedOutputStream;

  template <class Fill>
  static void add(std::string& to, const Fill& fill) {
    google::protobuf::io::StringOutputStream stream(&to);
    Stream out(&stream);
    fill(out);
  }
  static void text(Stream& out, uint32_t tag, std::string_view text) {
    out.WriteTag(tag);
    out.WriteVarint64(text.size());
    out.WriteRaw(text.data(), static_cast<int>(text.size()));
  }
  void write(const char* data, size_t bytes) {
    if (bytes == 0) return;  // crc32 would start anew
    file_.write(data, bytes);
    checksum_.add(data, bytes);
    if (has_crc_) crc_ = ::crc32_z(crc_, reinterpret_cast<const Bytef*>(data), bytes);
  }

  TemporaryFile file_;
  const bool has_crc_;
  Checksum checksum_;
  uLong crc_ = ::crc32(0, nullptr, 0);
};

/// Requires that names and texts are UTF-8, as readers of the format expect. Throws InvalidArgument otherwise.
void require_utf8(std::string_view text) {
  if (is_utf8(text)) return;
  throw InvalidArgument("[save] a name or a text is not UTF-8, got '{}'", printable(text.substr(0, 80)));
}

}  // namespace

WeightsFile read_ckpt(int file, int64_t bytes, const std::string& path) {
  CkptIndex index = index_ckpt(file, bytes, path);
  verify_ckpt(file, index, path);
  WeightsFile weights{.tensors = {}, .metadata = texts_of(file, index, path), .is_ckpt = true};
  for (const CkptEntry& entry : index.entries) {
    if (entry.is_text) continue;
    Array& array = weights.tensors.emplace(entry.name, Array(entry.type)).first->second;
    read_parts(file, entry, static_cast<char*>(array.data()), path);
    require_bool(array, entry, path);
  }
  return weights;
}

Metadata read_ckpt_metadata(int file, int64_t bytes, const std::string& path) {
  CkptIndex index = index_ckpt(file, bytes, path);
  return texts_of(file, index, path);
}

void write_ckpt(
    const std::string& path, const std::vector<std::pair<std::string, Type>>& types,
    const std::function<void(const std::string& name, const std::function<void(const Array&)>& write)>& give,
    const Metadata& metadata, bool crc32, int64_t part_bytes) {
  for (const auto& [name, type] : types) require_utf8(name);
  for (const auto& [key, text] : metadata) {
    require_utf8(key);
    require_utf8(text);
  }
  CkptWriter writer(path, crc32);
  for (const auto& entry : types) {  // clang before 16 lets no lambda capture the names of a structured binding
    const std::string& name = entry.first;
    const Type& type = entry.second;
    give(name, [&](const Array& array) {
      PARTITA_CHECK(array.type() == type, "tensor {} is {}, not {}", name, print(array.type()), print(type));
      int64_t at = 0;
      do {
        const int64_t bytes = std::min(part_bytes, type.bytes() - at);
        writer.value(name, ckpt_type_of(type.dtype), type.shape, static_cast<const char*>(array.data()) + at, bytes);
        at += bytes;
      } while (at < type.bytes());
    });
  }
  for (const auto& [key, text] : metadata) {
    if (!key.starts_with(kTextKey)) {
      writer.metadata(key, text);
      continue;
    }
    std::string utf32 = *utf32_of(text);
    if (utf32.empty()) utf32.assign(4, '\0');  // NumPy has no strings without characters
    writer.value(std::string_view(key).substr(std::string_view(kTextKey).size()), kCkptText, {0}, utf32.data(),
                 std::ssize(utf32));
  }
  writer.commit();
}

}  // namespace partita
