#pragma once
// Sources of rows, as written in flags and configuration files.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/names.h"
#include "frontend/data/token_type.h"

namespace partita {

enum class DataKind { synthetic, mnist, cifar10, images, text, npz, npy, csv, tokens };
constexpr auto value_names(DataKind) {
  return names("synthetic", "mnist", "cifar10", "images", "text", "npz", "npy", "csv", "tokens");
}

/// Where rows come from.
struct DataSource {
  DataKind kind = DataKind::synthetic;
  /// mnist, cifar10, images: one folder. text: one file. npz, csv, tokens: one file, or two, the first for training and
  /// the second for testing. npy: inputs and labels, optionally followed by those for testing. synthetic: none.
  std::vector<std::string> paths{};
  std::optional<TokenType> token_type = std::nullopt;  // type of the ids in files of tokens
  bool operator==(const DataSource&) const = default;
};

/// Returns "synthetic", "mnist:DIR", "cifar10:DIR", "images:DIR", "text:FILE", "npz:FILE[,TEST]", "csv:FILE[,TEST]",
/// "npy:INPUTS,LABELS[,INPUTS,LABELS]", "tokens:FILE[,TEST]" or, for example, "tokens:u16:FILE[,TEST]".
std::string print(const DataSource& source);
/// Parses what `print` writes; paths must not contain commas. Also takes a bare path without a colon: a folder with the
/// files of MNIST or CIFAR-10 or with folders of images, or a file, which need not exist, that ends in .npz, .u16,
/// .u32 or .idx, or in .txt or .csv, also with .gz or .xz after it, or one that ends in .bin with an .idx next to it.
/// Throws InvalidArgument that begins with "[where]" for other texts.
DataSource parse_data_source(std::string_view where, std::string_view text);

}  // namespace partita
