#pragma once
// Where the parameters of a MindSpore checkpoint (.ckpt) are in their file. The format is one protobuf message:
//
//   message Checkpoint { repeated Value value = 1; repeated Text text = 1000; }
//   message Value { required string tag = 1; optional Tensor tensor = 2; optional MapTensor maptensor = 3; }
//   message Tensor { repeated int64 dims = 1; required string tensor_type = 2; required bytes tensor_content = 3; }
//   message Text { required string key = 1; required string text = 2; }
//
// A parameter of more than 512 MiB is several values of one tag, one after the other, each with a part of the elements.
// A string is a value of the type "str" in UTF-32. Texts are metadata of Partita, which MindSpore skips. With crc_check
// 17 bytes follow the message: "crc_num" and the CRC-32 of the message, 10 bytes, big endian.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/checkpoint/safetensors_header.h"

namespace partita {

/// Tags of the fields: the number of a field times 8, plus 0 for a number or 2 for bytes that follow their length.
namespace CkptTag {
constexpr uint32_t kValue = 1 << 3 | 2, kText = 1000 << 3 | 2;
constexpr uint32_t kName = 1 << 3 | 2, kTensor = 2 << 3 | 2, kMapTensor = 3 << 3 | 2;
constexpr uint32_t kDim = 1 << 3, kDims = 1 << 3 | 2, kElementType = 2 << 3 | 2, kContent = 3 << 3 | 2;
constexpr uint32_t kKey = 1 << 3 | 2, kTextOf = 2 << 3 | 2;
}  // namespace CkptTag

constexpr std::string_view kCkptText = "str";     // element type of strings
constexpr std::string_view kCkptCrc = "crc_num";  // begins the CRC-32
constexpr int64_t kCkptCrcBytes = 10;             // length of its number
/// Key of the text that has the checksum of everything before it, in files of Partita.
constexpr const char* kCkptChecksum = "partita.checksum";

/// Bytes of a file.
struct FileRange {
  int64_t begin = 0, bytes = 0;
};

/// A parameter, or a string, of a checkpoint.
struct CkptEntry {
  std::string name;
  bool is_text = false;
  Type type;                     // shape and element type; not used for a string
  std::vector<FileRange> parts;  // its elements, in their order

  int64_t bytes() const;
};

struct CkptIndex {
  std::vector<CkptEntry> entries;  // in the order of the file, each name once
  Metadata metadata;               // without the checksum
  std::string checksum;            // checksum of the bytes before `checksum_begin`, "" if there is none
  int64_t checksum_begin = 0;
  int64_t message_bytes = 0;    // before the checksum
  std::optional<uint64_t> crc;  // stored checksum of the message
};

/// Whether a file that begins with `begin` (all of it, or its first 64 bytes or more) is a MindSpore checkpoint, whole
/// or truncated. No safetensors file is one.
bool is_ckpt(std::string_view begin);

/// Whether a file that begins so is a MindSpore checkpoint that was written with `enc_key`.
bool is_encrypted_ckpt(std::string_view begin);

/// Reads where the parameters are. Reads nothing of their elements, and allocates no more than the file has bytes.
/// `file` is open at its begin and has `bytes` bytes. Throws InvalidFile, naming `path`, the parameter and the offset,
/// if the file is no such message, a name is not UTF-8 or appears twice, an element type is none of this library, or
/// the elements are not as many as the shape says.
CkptIndex index_ckpt(int file, int64_t bytes, const std::string& path);

/// Returns the word of the format for an element type: "Float32".
std::string_view ckpt_type_of(DType dtype);

}  // namespace partita
