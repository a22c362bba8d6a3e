#include "frontend/data/source.h"

#include <algorithm>
#include <filesystem>

#include "frontend/data/readers/cifar10.h"
#include "frontend/data/readers/folder_images.h"
#include "frontend/data/readers/mnist.h"

namespace partita {
namespace {

constexpr std::string_view kForms =
    "mnist:DIR, cifar10:DIR, images:DIR, text:FILE, tokens:FILE, csv:FILE, npz:FILE, npy:INPUTS,LABELS, synthetic, or "
    "a "
    "folder or file of one of these";

std::vector<std::string> split_paths(std::string_view text) {
  std::vector<std::string> paths;
  while (true) {
    const size_t comma = text.find(',');
    paths.emplace_back(text.substr(0, comma));
    if (comma == std::string_view::npos) return paths;
    text.remove_prefix(comma + 1);
  }
}

/// Removes the type of ids and its colon from the start of a text, if it begins with one, and returns it.
std::optional<TokenType> take_token_type(std::string_view& text) {
  const size_t colon = text.find(':');
  const auto found = std::ranges::find(kNames<TokenType>, text.substr(0, colon));
  if (colon == std::string_view::npos || found == kNames<TokenType>.end()) return std::nullopt;
  text.remove_prefix(colon + 1);
  return static_cast<TokenType>(found - kNames<TokenType>.begin());
}

bool has_right_paths(const DataSource& source) {
  for (const std::string& path : source.paths) {
    if (path.empty()) return false;
  }
  const size_t count = source.paths.size();
  switch (source.kind) {
    case DataKind::synthetic: return count == 0;
    case DataKind::csv:
    case DataKind::tokens:
    case DataKind::npz: return count == 1 || count == 2;
    case DataKind::npy: return count == 2 || count == 4;
    default: return count == 1;
  }
}

/// Returns the source that a bare path stands for: mnist or cifar10 for a folder with such files, npz, tokens, text
/// or csv for a file with such an ending. Throws InvalidArgument for a folder without a known data set and for a path
/// with another ending.
DataSource recognise(std::string_view where, std::string_view text) {
  const std::string path(text);
  std::error_code failure;
  if (std::filesystem::is_directory(path, failure)) {
    for (const Split split : {Split::train, Split::test}) {
      if (has_mnist(path, split)) return {DataKind::mnist, {path}};
      if (has_cifar10(path, split)) return {DataKind::cifar10, {path}};
    }
    if (has_folder_images(path, Split::train)) return {DataKind::images, {path}};
    throw InvalidArgument(
        "[{}] a folder without a known data set, got '{}', expected the files of MNIST (train-images-idx3-ubyte) or "
        "CIFAR-10 (data_batch_1.bin), also .gz or .xz, or folders of images (CLASS/NAME.jpg)",
        where, text);
  }
  if (path.ends_with(".npz")) return {DataKind::npz, {path}};
  const bool is_indexed =
      path.ends_with(".bin") && std::filesystem::exists(path.substr(0, path.size() - 4) + ".idx", failure);
  if (is_indexed || path.ends_with(".idx") || path.ends_with(".u16") || path.ends_with(".u32")) {
    return {DataKind::tokens, {path}};
  }
  for (const char* packed : {"", ".gz", ".xz"}) {
    if (path.ends_with(std::string(".txt") + packed)) return {DataKind::text, {path}};
    if (path.ends_with(std::string(".csv") + packed)) return {DataKind::csv, {path}};
  }
  throw InvalidArgument("[{}] unknown data, got '{}', expected {}", where, text, kForms);
}

}  // namespace

std::string print(const DataSource& source) {
  std::string text(name_of(source.kind));
  if (source.token_type) text += fmt::format(":{}", name_of(*source.token_type));
  for (size_t i = 0; i < source.paths.size(); ++i) text += (i == 0 ? ":" : ",") + source.paths[i];
  return text;
}

DataSource parse_data_source(std::string_view where, std::string_view text) {
  const size_t colon = text.find(':');
  const std::string_view kind = text.substr(0, colon);
  std::error_code failure;
  const bool is_path = colon == std::string_view::npos && kind != name_of(DataKind::synthetic) &&
                       (text.find_first_of("/.") != std::string_view::npos || std::filesystem::exists(text, failure));
  if (is_path) return recognise(where, text);
  DataSource source{parse_name<DataKind>(where, kind)};
  std::string_view rest = colon == std::string_view::npos ? "" : text.substr(colon + 1);
  if (source.kind == DataKind::tokens) source.token_type = take_token_type(rest);
  if (colon != std::string_view::npos) source.paths = split_paths(rest);
  if (has_right_paths(source)) return source;
  throw InvalidArgument("[{}] wrong form, got '{}', expected {}", where, text, kForms);
}

}  // namespace partita
