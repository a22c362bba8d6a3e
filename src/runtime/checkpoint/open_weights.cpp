#include "runtime/checkpoint/open_weights.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "runtime/checkpoint/ckpt_index.h"

namespace partita {
namespace {

/// Whether a file that begins so is a MINDIR file: a version, then the name of its producer.
bool is_mindir(std::string_view begin) {
  if (begin.size() < 2 || begin[0] != '\n') return false;
  const size_t version = 2 + static_cast<unsigned char>(begin[1]);
  return version < begin.size() && begin.substr(version).starts_with("\x12\x09MindSpore");
}

/// Recognizes weights in formats of other systems by their first bytes: pickle, NumPy, HDF5, encrypted checkpoints and
/// graphs of MindSpore. Throws InvalidFile for these and returns for all others.
void refuse_other_format(const std::string& begin, const std::string& path) {
  const auto refuse = [&](const std::string& got, const std::string& advice) {
    throw InvalidFile("[weights] {}: {}, expected a safetensors file{}", path, got,
                      advice.empty() ? "" : ": " + advice);
  };
  const bool is_zip = begin.starts_with("PK\x03\x04");
  const bool is_pickle = begin[0] == '\x80' && begin[1] >= 2 && begin[1] <= 5;
  if (is_pickle || (is_zip && begin.find(".pkl") != std::string::npos)) {
    refuse("a file of torch.save or pickle",
           "in Python, safetensors.torch.save_file(torch.load(FILE, weights_only=True), \"weights.safetensors\"), of "
           "a state_dict");
  }
  if (is_zip && begin.find(".npy") != std::string::npos) {
    refuse("a .npz file of NumPy",
           "in Python, safetensors.numpy.save_file(dict(numpy.load(FILE)), \"weights.safetensors\")");
  }
  if (begin.starts_with("\x89HDF")) refuse("a file of HDF5", "");
  if (is_encrypted_ckpt(begin)) {
    throw InvalidFile(
        "[weights] {}: an encrypted checkpoint of MindSpore, expected a plain one: in MindSpore, "
        "save_checkpoint(load_checkpoint(FILE, dec_key=KEY), \"plain.ckpt\")",
        path);
  }
  if (is_mindir(begin)) {
    throw InvalidFile(
        "[weights] {}: a MINDIR file, which holds a graph of MindSpore, expected a checkpoint: in MindSpore, "
        "save_checkpoint(nn.GraphCell(load(FILE)), \"net.ckpt\")",
        path);
  }
}

}  // namespace

OpenWeights open_weights(const std::string& path) {
  // O_NONBLOCK: opening a pipe must not wait for a writer.
  File file(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (!file.is_open()) {
    throw MissingFile("[weights] cannot open {}: {}", path, std::strerror(errno));
  }
  struct stat status {};
  if (::fstat(file.fd(), &status) != 0 || !S_ISREG(status.st_mode)) {
    throw InvalidFile("[weights] {}: not a regular file, got {}, expected a safetensors file", path,
                      S_ISDIR(status.st_mode) ? "a folder" : "a pipe or a device");
  }
  const int64_t size = status.st_size;
  std::string begin(static_cast<size_t>(std::min<int64_t>(size, 256)), '\0');
  if (read_all(file.fd(), begin.data(), begin.size(), 0) && is_ckpt(begin)) {
    return {.file = std::move(file), .bytes = size, .is_ckpt = true};
  }
  uint64_t header_bytes = 0;
  if (size < 8 || !read_all(file.fd(), &header_bytes, sizeof header_bytes, 0)) {
    throw InvalidFile("[weights] {}: too short, got {} bytes, expected at least 8", path, size);
  }
  const auto most = static_cast<uint64_t>(std::min(kMaxHeaderBytes, size - 8));
  if (header_bytes < 2 || header_bytes > most) {
    refuse_other_format(begin, path);
    if (path.ends_with(kCkptEnding)) {
      throw InvalidFile("[weights] {}: neither a checkpoint of MindSpore nor a safetensors file, got {} other bytes",
                        path, size);
    }
    throw InvalidFile("[weights] {}: wrong header length at offset 0, got {}, expected 2 to {}", path, header_bytes,
                      most);
  }
  std::string header(header_bytes, '\0');
  if (!read_all(file.fd(), header.data(), header.size(), 8)) {
    throw InvalidFile("[weights] {}: cannot read the header", path);
  }
  const int64_t data_begin = 8 + static_cast<int64_t>(header_bytes);
  SafetensorsHeader parsed = parse_safetensors_header(header, size - data_begin, path);
  return {.file = std::move(file), .bytes = size, .header = std::move(parsed), .data_begin = data_begin};
}

}  // namespace partita
