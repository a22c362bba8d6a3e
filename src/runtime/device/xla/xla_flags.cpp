#include "runtime/device/xla/xla_flags.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/files.h"
#include "base/plain_text.h"
#include "base/text_file.h"

namespace partita {
namespace {

constexpr std::string_view kSpaces = " \t\r\n", kVariable = "XLA_FLAGS";  // spaces as XLA has them

/// The bytes of a file, in memory that the system reads when it is looked at.
class MappedFile {
 public:
  explicit MappedFile(const std::string& path) {
    const File file(path, O_RDONLY | O_CLOEXEC);
    struct stat status {};
    if (!file.is_open() || ::fstat(file.fd(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_size == 0) return;
    size_ = static_cast<size_t>(status.st_size);
    void* const address = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.fd(), 0);
    if (address != MAP_FAILED) address_ = static_cast<const char*>(address);
  }
  MappedFile& operator=(MappedFile&&) = delete;
  ~MappedFile() {
    if (address_ != nullptr) ::munmap(const_cast<char*>(address_), size_);
  }

  /// Returns the bytes; none if the file cannot be read.
  std::string_view bytes() const {
    return address_ == nullptr ? std::string_view() : std::string_view(address_, size_);
  }

 private:
  const char* address_ = nullptr;
  size_t size_ = 0;
};

/// Returns the position of `text` in `bytes` from `begin` on, or npos.
size_t position_of(std::string_view bytes, std::string_view text, size_t begin = 0) {
  if (bytes.size() < begin + text.size()) return std::string_view::npos;  // `bytes` may be null
  const void* const found = ::memmem(bytes.data() + begin, bytes.size() - begin, text.data(), text.size());
  return found == nullptr ? std::string_view::npos
                          : static_cast<size_t>(static_cast<const char*>(found) - bytes.data());
}

/// Whether a name stands in the bytes as the end of a string of C.
bool has_string(std::string_view bytes, const std::string& name) {
  return position_of(bytes, std::string_view(name.c_str(), name.size() + 1)) != std::string_view::npos;
}

/// Returns the strings "xla_.." in the bytes, which are names of flags for the most part.
std::vector<std::string> names_in(std::string_view bytes) {
  constexpr std::string_view kPrefix = "xla_";
  std::vector<std::string> names;
  for (size_t at = position_of(bytes, kPrefix); at != std::string_view::npos;) {
    size_t end = at;
    while (end < bytes.size() && (is_lower(bytes[end]) || is_digit(bytes[end]) || bytes[end] == '_')) ++end;
    if (end < bytes.size() && bytes[end] == '\0') names.emplace_back(bytes.substr(at, end - at));
    at = position_of(bytes, kPrefix, end);
  }
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

[[noreturn]] void refuse(std::string_view got, const std::string& expected) {
  throw XlaFlagsFailure(fmt::format("[device] {} has a flag that the plugin does not know, got '{}', expected {}",
                                    kVariable, got, expected));
}

/// Returns the name in a word of flags: "xla_dump_to" for "--xla_dump_to=/tmp". The word begins with "--".
std::string name_in(std::string_view word) { return std::string(word.substr(2, word.find('=') - 2)); }

}  // namespace

std::vector<std::string> words_of_flags(std::string_view text) {
  std::vector<std::string> words;
  for (size_t at = text.find_first_not_of(kSpaces); at < text.size(); at = text.find_first_not_of(kSpaces, at)) {
    size_t end = at;
    while (end < text.size() && (is_letter_or_digit(text[end]) || text[end] == '-' || text[end] == '_')) ++end;
    if (end + 1 < text.size() && text[end] == '=' && (text[end + 1] == '\'' || text[end + 1] == '"')) {
      const char quote = text[end + 1];
      for (end += 2; end < text.size() && text[end] != quote; ++end) {
        if (quote == '"' && text[end] == '\\') ++end;
      }
      end = std::min(end + 1, text.size());
    } else {
      end = std::min(text.size(), text.find_first_of(kSpaces, end));
    }
    words.emplace_back(text.substr(at, end - at));
    at = end;
  }
  return words;
}

std::optional<std::string> text_of_flags(const std::string& value) {
  const size_t begin = value.find_first_not_of(kSpaces);
  if (value.empty() || (begin != std::string::npos && value[begin] == '-')) return value;
  try {
    return read_text_file(value, {.where = "device", .purpose = "flags", .max_bytes = int64_t{1} << 20});
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::set<std::string, std::less<>> given_flags() {
  std::set<std::string, std::less<>> names;
  const char* const value = std::getenv(kVariable.data());
  for (const std::string& word : words_of_flags(text_of_flags(value == nullptr ? "" : value).value_or(""))) {
    if (word.starts_with("--")) names.insert(name_in(word));
  }
  return names;
}

bool knows_flag(const std::string& plugin, const std::string& name) {
  return has_string(MappedFile(plugin).bytes(), name);
}

std::string require_known_flags(std::string_view device, const std::string& plugin) {
  const char* const value = std::getenv(kVariable.data());
  if (value == nullptr || device == "tpu") return "";
  const std::optional<std::string> flags = text_of_flags(value);
  if (!flags) {
    throw XlaFlagsFailure(
        fmt::format("[device] {} names a file that cannot be read, got '{}', expected flags that begin with '--', or a "
                    "file of them",
                    kVariable, value));
  }
  const std::vector<std::string> words = words_of_flags(*flags);
  if (words.empty()) return "";
  const MappedFile file(plugin);
  if (file.bytes().empty()) return value;
  for (const std::string& word : words) {
    if (!word.starts_with("--")) refuse(word, "flags that begin with '--'");
    const std::string name = name_in(word);
    if (!name.empty() && has_string(file.bytes(), name)) continue;
    refuse(word, fmt::format("a flag named in {}{}", plugin, did_you_mean(name, names_in(file.bytes()))));
  }
  return value;
}

void pass_on_flags(std::string_view device, const std::string& plugin,
                   const std::function<void(std::string_view)>& warn) {
  const std::string flags = require_known_flags(device, plugin);
  if (!flags.empty() && warn) warn(fmt::format("[device] {} goes to the plugin: {}", kVariable, flags));
}

}  // namespace partita
