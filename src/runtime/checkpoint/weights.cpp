// The safetensors format: 8 bytes N, little endian; N bytes of JSON, padded by spaces; the elements of
// all tensors, without holes. The JSON maps a name to {"dtype", "shape", "data_offsets": [begin, end]}.

#include "runtime/checkpoint/weights.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

#include "base/checksum.h"
#include "base/files.h"

namespace partita {
namespace {

static_assert(std::endian::native == std::endian::little, "elements are written as they lie in memory");

constexpr int kMaxLinks = 40;  // the limit of Linux

[[noreturn]] void cannot_write(const std::string& path, const std::string& reason) {
  throw_cannot_write("save", path, reason);
}

/// Returns the final target of a symbolic link, whether or not it exists; `path` itself if it is none. Throws
/// RuntimeFailure(cannot_write) if a link cannot be read or there are more than 40.
std::string follow_links(const std::string& path) {
  std::filesystem::path target = path;
  std::error_code failure;
  for (int links = 0; std::filesystem::is_symlink(target, failure); ++links) {
    if (links == kMaxLinks) cannot_write(path, std::strerror(ELOOP));
    const std::filesystem::path next = std::filesystem::read_symlink(target, failure);
    if (failure) cannot_write(path, failure.message());
    target = target.parent_path() / next;
  }
  return target.string();
}

/// Returns the permissions of the file `target`, or those that a new file gets if there is none. Throws
/// RuntimeFailure(cannot_write), naming `path`, if there is something other than a regular file, or that cannot be
/// found out.
mode_t mode_of(const std::string& path, const std::string& target) {
  struct stat status {};
  if (::stat(target.c_str(), &status) == 0) {
    if (S_ISDIR(status.st_mode)) cannot_write(path, "it is a folder");
    if (!S_ISREG(status.st_mode)) cannot_write(path, "it is not a regular file");
    return status.st_mode & 0777;
  }
  if (errno != ENOENT) cannot_write(path, std::strerror(errno));
  const mode_t mask = ::umask(0);  // can only be read by setting it
  ::umask(mask);
  return 0666 & ~mask;
}

constexpr std::string_view kTemporary = ".tmp-";  // follows the name of the target
constexpr std::string_view kUnique = "-XXXXXX";   // follows the process number

/// The process that wrote a temporary file of `target`, from the file's name; none for other files.
std::optional<pid_t> writer_of(std::string_view name, const std::string& target) {
  if (!name.starts_with(target) || !name.substr(target.size()).starts_with(kTemporary)) return std::nullopt;
  name.remove_prefix(target.size() + kTemporary.size());
  pid_t writer = 0;
  const auto [rest, failure] = std::from_chars(name.data(), name.data() + name.size(), writer);
  const std::string_view unique(rest, static_cast<size_t>(name.data() + name.size() - rest));
  if (failure != std::errc() || writer < 1 || unique.size() != kUnique.size() || unique[0] != '-') return std::nullopt;
  return writer;
}

bool is_running(pid_t process) { return ::kill(process, 0) == 0 || errno != ESRCH; }

/// Removes the temporary files of `target` that killed processes left: no other process on this host has the number in
/// the name, and none holds the lock that a process holds on the file it writes, which other hosts and containers see
/// even if they cannot see the process. Ignores errors.
void remove_leftovers(const std::string& target) {
  const std::string own = std::filesystem::path(target).filename().string();
  std::error_code failure;
  for (std::filesystem::directory_iterator entry(folder_of(target), failure), end; !failure && entry != end;
       entry.increment(failure)) {
    const std::optional<pid_t> writer = writer_of(entry->path().filename().string(), own);
    if (!writer || (*writer != ::getpid() && is_running(*writer))) continue;
    const File file(entry->path().string(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file.is_open() && ::flock(file.fd(), LOCK_EX | LOCK_NB) == 0) ::unlink(entry->path().c_str());
  }
}

/// Removes the temporary files of `target` that killed processes left. Then creates a new file, whose name replaces the
/// last letters of `name`, and locks it. Returns its descriptor, or -1 with errno.
int create(const std::string& target, std::string& name) {
  remove_leftovers(target);
  const int fd = ::mkostemp(name.data(), O_CLOEXEC);
  if (fd >= 0) ::flock(fd, LOCK_EX | LOCK_NB);  // leftovers stay on file systems without locks
  return fd;
}

/// A file next to its target that is removed unless it was renamed to the target. The constructor first removes files
/// of killed processes. Every function throws RuntimeFailure(cannot_write).
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& path)
      : path_(path),
        target_(follow_links(path)),
        mode_(mode_of(path_, target_)),
        name_(fmt::format("{}{}{}{}", target_, kTemporary, ::getpid(), kUnique)),
        file_(create(target_, name_)) {
    if (!file_.is_open()) fail();
  }
  TemporaryFile& operator=(TemporaryFile&&) = delete;
  ~TemporaryFile() {
    if (!name_.empty()) ::unlink(name_.c_str());
  }
  void write(const void* data, size_t bytes) {
    if (!write_all(file_.fd(), data, bytes)) fail();
  }
  /// Overwrites bytes that were written before. Throws as the class says.
  void rewrite(const void* data, size_t bytes, int64_t offset) {
    if (!write_all_at(file_.fd(), data, bytes, offset)) fail();
  }
  void commit() {
    finish();
    replace();
  }
  /// Gives the file its permissions, forces it to the disk and closes it. Throws as the class says.
  void finish() {
    // Fails on file systems without permissions, which is no reason to lose the weights.
    ::fchmod(file_.fd(), mode_);
    if (::fsync(file_.fd()) != 0 || !file_.close()) fail();
  }
  /// Renames the file to its target, and forces the name to the disk. Throws as the class says.
  void replace() {
    if (::rename(name_.c_str(), target_.c_str()) != 0) fail();
    name_.clear();
    if (!sync_folder(folder_of(target_))) fail();
  }

 private:
  [[noreturn]] void fail() {
    const std::string reason = std::strerror(errno);
    if (!name_.empty() && file_.is_open()) ::unlink(std::exchange(name_, "").c_str());
    cannot_write(path_, reason);
  }

  std::string path_, target_;
  mode_t mode_;
  std::string name_;
  File file_;
};

/// The contents that a path has before it is replaced.
class FormerFile {
 public:
  /// Reads the file, if there is one. Throws RuntimeFailure(cannot_write) if a link leads nowhere.
  explicit FormerFile(const std::string& path) : target_(follow_links(path)) {
    std::error_code failure;
    exists_ = std::filesystem::exists(target_, failure);
    std::ifstream file(target_, std::ios::binary);
    if (file) text_.emplace(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  /// Brings the file back, or removes the new one if there was none. Ignores errors.
  void restore() const {
    if (!exists_) ::unlink(target_.c_str());
    if (!text_) return;
    try {
      save_text(target_, *text_);
    } catch (const RuntimeFailure&) {  // the failure that led here is reported
    }
  }

 private:
  std::string target_;
  bool exists_ = false;
  std::optional<std::string> text_;  // none: there is no file, or it cannot be read
};

/// Metadata key of the checksums: one of the header, then one per tensor in the order of their places.
constexpr const char* kChecksums = "partita.checksums";

/// Returns checksums as text: that of the header's content (not of its formatting) and of the tensors' checksums, then,
/// each after a space, the checksums of the tensors, given as `tensors` in the order of `places`.
std::string print_checksums(const std::vector<TensorPlace>& places, const Metadata& metadata,
                            const std::vector<uint64_t>& tensors) {
  std::string header, digits;
  for (const auto& [key, value] : metadata) {
    if (key != kChecksums) header += fmt::format("{} {} {} {}\n", key.size(), value.size(), key, value);
  }
  for (size_t i = 0; i < places.size(); ++i) {
    const TensorPlace& place = places[i];
    header += fmt::format("{} {} {} {} {}\n", place.name.size(), place.name, print(place.type), place.begin, place.end);
    digits += " " + print_checksum(tensors[i]);
  }
  return checksum_of_text(header + digits) + digits;
}

/// Returns the places of the tensors in the order of the file: wide elements first, so that each is aligned to its
/// element, and of equally wide ones in the order of `types`.
std::vector<TensorPlace> place_tensors(const std::vector<std::pair<std::string, Type>>& types) {
  std::vector<TensorPlace> places;
  for (const auto& [name, type] : types) places.push_back({name, type, 0, 0});
  std::ranges::stable_sort(
      places, [](const TensorPlace& a, const TensorPlace& b) { return size_of(a.type.dtype) > size_of(b.type.dtype); });
  int64_t offset = 0;
  for (TensorPlace& place : places) {
    place.begin = offset;
    place.end = offset += place.type.bytes();
  }
  return places;
}

/// Writes a file of tensors. `give(name, write)` calls write(array) once. The checksums are put into the header at the
/// end. Throws RuntimeFailure(cannot_write) if the file cannot be written, InternalError if an array has another type,
/// and what `give` throws.
template <class Give>
void write_tensors(const std::string& path, const std::vector<std::pair<std::string, Type>>& types, Metadata metadata,
                   const Give& give) {
  const std::vector<TensorPlace> places = place_tensors(types);
  std::vector<uint64_t> checksums(places.size(), 0);
  metadata[kChecksums] = print_checksums(places, metadata, checksums);
  std::string header = print_safetensors_header(places, metadata);
  const uint64_t header_bytes = header.size();
  TemporaryFile file(path);
  file.write(&header_bytes, sizeof header_bytes);
  file.write(header.data(), header.size());
  for (size_t i = 0; i < places.size(); ++i) {
    give(places[i].name, [&](const Array& array) {
      PARTITA_CHECK(array.type() == places[i].type, "tensor {} is {}, not {}", places[i].name, print(array.type()),
                    print(places[i].type));
      const auto bytes = static_cast<size_t>(array.type().bytes());
      checksums[i] = checksum_of(array.data(), bytes);
      file.write(array.data(), bytes);
    });
  }
  metadata[kChecksums] = print_checksums(places, metadata, checksums);
  header = print_safetensors_header(places, metadata);
  PARTITA_CHECK(header.size() == header_bytes, "the header of {} has changed its length", path);
  file.rewrite(header.data(), header.size(), sizeof header_bytes);
  file.commit();
}

/// Verifies the checksums of a file and removes their entry. Files without checksums pass. Throws InvalidFile, naming
/// the first tensor that is damaged, or the header.
void verify_checksums(WeightsFile& file, const std::vector<TensorPlace>& places, const std::string& path) {
  const auto given = file.metadata.find(kChecksums);
  if (given == file.metadata.end()) return;
  std::vector<uint64_t> checksums;
  for (const TensorPlace& place : places) {
    const Array& array = file.tensors.at(place.name);
    checksums.push_back(checksum_of(array.data(), static_cast<size_t>(array.type().bytes())));
  }
  const std::string expected = print_checksums(places, file.metadata, checksums), got = given->second;
  if (got != expected) {
    for (size_t i = 0, digits = expected.find(' '); got.size() == expected.size() && i < places.size(); ++i) {
      constexpr size_t kWord = 17;  // hexadecimal digits and a space
      if (got.compare(digits + i * kWord, kWord, expected, digits + i * kWord, kWord) == 0) continue;
      throw InvalidFile("[weights] {}: tensor '{}' is damaged: its checksum differs", path, places[i].name);
    }
    throw InvalidFile("[weights] {}: the header is damaged: its checksum differs", path);
  }
  file.metadata.erase(given);
}

}  // namespace

void check_writable(const std::string& path) { const TemporaryFile probe(path); }

void save_text(const std::string& path, std::string_view text) {
  TemporaryFile file(path);
  file.write(text.data(), text.size());
  file.commit();
}

void save_texts(const std::vector<std::pair<std::string, std::string>>& texts) {
  std::deque<TemporaryFile> files;
  std::vector<FormerFile> former;
  for (const auto& [path, text] : texts) {
    former.emplace_back(path);
    files.emplace_back(path).write(text.data(), text.size());
    files.back().finish();
  }
  for (size_t i = 0; i < files.size(); ++i) {
    try {
      files[i].replace();
    } catch (const RuntimeFailure&) {
      for (size_t k = 0; k <= i; ++k) former[k].restore();
      throw;
    }
  }
}

void save_tensors(const std::string& path, const std::vector<std::pair<std::string, Type>>& types,
                  const std::function<Array(const std::string& name)>& make, const Metadata& metadata) {
  write_tensors(path, types, metadata, [&](const std::string& name, const auto& write) { write(make(name)); });
}

void save_weights(const std::string& path, const std::vector<std::pair<std::string, Array>>& weights,
                  const Metadata& metadata) {
  std::vector<std::pair<std::string, Type>> types;
  std::map<std::string_view, const Array*> arrays;
  for (const auto& [name, array] : weights) {
    types.emplace_back(name, array.type());
    arrays.emplace(name, &array);
  }
  write_tensors(path, types, metadata, [&](const std::string& name, const auto& write) { write(*arrays.at(name)); });
}

namespace {

struct OpenWeights {
  File file;
  SafetensorsHeader header;
  int64_t data_begin = 0;  // in bytes from the start of the file
};

/// Recognizes weights in formats of other systems by their first bytes: pickle, NumPy and HDF5. Throws InvalidFile for
/// these and returns for all others.
void refuse_other_format(const File& file, int64_t size, const std::string& path) {
  std::string begin(static_cast<size_t>(std::min<int64_t>(size, 256)), '\0');
  if (!read_all(file.fd(), begin.data(), begin.size(), 0)) return;
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
}

/// Opens a file and parses its header. Throws MissingFile if it cannot be opened, InvalidFile if it is not a regular
/// file, is too short, or its header is not valid.
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
  uint64_t header_bytes = 0;
  if (size < 8 || !read_all(file.fd(), &header_bytes, sizeof header_bytes, 0)) {
    throw InvalidFile("[weights] {}: too short, got {} bytes, expected at least 8", path, size);
  }
  const auto most = static_cast<uint64_t>(std::min(kMaxHeaderBytes, size - 8));
  if (header_bytes < 2 || header_bytes > most) {
    refuse_other_format(file, size, path);
    throw InvalidFile("[weights] {}: wrong header length at offset 0, got {}, expected 2 to {}", path, header_bytes,
                      most);
  }
  std::string header(header_bytes, '\0');
  if (!read_all(file.fd(), header.data(), header.size(), 8)) {
    throw InvalidFile("[weights] {}: cannot read the header", path);
  }
  const int64_t data_begin = 8 + static_cast<int64_t>(header_bytes);
  SafetensorsHeader parsed = parse_safetensors_header(header, size - data_begin, path);
  return {std::move(file), std::move(parsed), data_begin};
}

}  // namespace

Metadata read_weights_metadata(const std::string& path) {
  Metadata metadata = open_weights(path).header.metadata;
  metadata.erase(kChecksums);
  return metadata;
}

WeightsFile read_weights_file(const std::string& path) {
  auto [file, parsed, data_begin] = open_weights(path);
  WeightsFile weights{.metadata = std::move(parsed.metadata)};
  for (const TensorPlace& place : parsed.places) {
    Array& array = weights.tensors.emplace(place.name, Array(place.type)).first->second;
    if (!read_all(file.fd(), array.data(), static_cast<size_t>(place.type.bytes()), data_begin + place.begin)) {
      throw InvalidFile("[weights] {}: tensor '{}' at offset {}: the file ended", path, place.name,
                        data_begin + place.begin);
    }
  }
  verify_checksums(weights, parsed.places, path);
  return weights;
}

std::map<std::string, Array> load_weights(const std::string& path) { return read_weights_file(path).tensors; }

}  // namespace partita
