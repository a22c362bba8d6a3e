#pragma once
// Inputs as files, for readers that open them.

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace partita {

/// Makes this the only file of a folder of this process, in memory where there is a place for that.
class InputFolder {
 public:
  InputFolder();
  ~InputFolder();
  InputFolder(const InputFolder&) = delete;
  InputFolder& operator=(const InputFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  /// Replaces what it has; folders in between are made.
  std::filesystem::path write(std::string_view name, std::string_view bytes);
  void remove(std::string_view name);

 private:
  std::filesystem::path path_;
};

/// One for the process, which goes with it.
InputFolder& input_folder();

/// The parts of an input of several, as `joined` writes it; what is missing is empty.
std::vector<std::string> split_parts(std::string_view input, size_t count);
std::string joined(const std::vector<std::string>& parts);

/// The bytes of a file.
std::string bytes_of_file(const std::filesystem::path& path);

}  // namespace partita
