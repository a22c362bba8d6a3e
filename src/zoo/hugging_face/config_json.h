#pragma once
// The config.json of a model in a folder of Hugging Face.

#include <nlohmann/json.hpp>
#include <string>

namespace partita {

/// Reads values by name. Every function throws InvalidFile, naming the file and the value, for a value of another type.
/// A value that is null is as if it were not there.
class ConfigJson {
 public:
  /// Reads the file. Throws MissingFile if it cannot be read, InvalidFile if it is no JSON object.
  explicit ConfigJson(const std::string& path);

  const std::string& path() const { return path_; }
  bool has(const std::string& name) const;
  /// Number of values.
  int64_t size() const { return static_cast<int64_t>(values_.size()); }
  /// Returns a whole number of at least 0. Throws InvalidFile if it is not there.
  int64_t integer(const std::string& name) const;
  int64_t integer(const std::string& name, int64_t otherwise) const;
  double number(const std::string& name, double otherwise) const;
  bool flag(const std::string& name, bool otherwise) const;
  std::string text(const std::string& name, const std::string& otherwise) const;
  /// Returns a text that is one of `values`. Throws InvalidFile for another one.
  std::string one_of(const std::string& name, const std::vector<std::string>& values,
                     const std::string& otherwise) const;
  /// Returns a list of whole numbers. Throws InvalidFile if it is not there.
  std::vector<int64_t> integers(const std::string& name) const;
  /// Returns the object `name`; an empty one if it is not there.
  ConfigJson object(const std::string& name) const;
  /// Refuses a value: throws InvalidFile with it and with `expected`.
  [[noreturn]] void refuse(const std::string& name, const std::string& expected) const;
  /// Check that the text, number or flag has this value or is not there. Throw InvalidFile otherwise.
  void require(const std::string& name, const std::string& value) const;
  void require_number(const std::string& name, double value) const;
  void require_flag(const std::string& name, bool value) const;

 private:
  ConfigJson(std::string path, nlohmann::json values) : path_(std::move(path)), values_(std::move(values)) {}
  const nlohmann::json* find(const std::string& name) const;

  std::string path_;
  nlohmann::json values_;
};

}  // namespace partita
