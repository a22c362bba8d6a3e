// The manifest of a checkpoint. Its checksum is corrected, so that inputs get past the check.

#include "runtime/checkpoint/manifest.h"

#include "fuzz/target.h"

namespace partita {
namespace {

constexpr std::string_view kChecksum = "\"checksum\":\"";

Manifest some_manifest() {
  Manifest manifest{.position = {.step = 3, .batch = 4, .rows = 9, .seed = 1, .learning_rate = 0.5}, .ranks = 2};
  manifest.position.metadata = {{"partita.config", "model = \"mlp\"\n"}};
  manifest.position.callbacks = {{"early_stopping", {"0.5 1", "lowest loss"}}};
  manifest.position.measures = {{"losses", "sparse loss"}};
  manifest.files = {{"rank_0.safetensors", 100, std::string(32, '0')},
                    {"rank_1.safetensors", 90, std::string(32, 'f')}};
  manifest.tensors.push_back({"w", {DType::f32, {4, 6}}, StateKind::parameter, {2, 3}, {}});
  manifest.tensors.back().pieces = {{0, {{0, 2, 4}, {0, 6, 6}}, 1}, {1, {{2, 4, 4}, {0, 6, 6}}, 2}};
  manifest.tensors.push_back({"t", {DType::i64, {}}, StateKind::counter, {}, {{1, {}, 3}}});
  return manifest;
}

/// Up to the checksum.
std::string body_of(const std::string& text) { return text.substr(0, text.rfind(kChecksum)); }

void read_manifest_body(const std::string& input) {
  const std::string text = input + std::string(kChecksum) + checksum_of_text(input) + "\"}\n";
  const ManifestOrder order = parse_manifest_order(text, "manifest.json");
  const Manifest manifest = parse_manifest(text, "manifest.json");
  require(order == ManifestOrder{manifest.sequence, manifest.position.step}, "the order is another one");
  const auto parse = [](const std::string& printed) { return parse_manifest(printed, "printed"); };
  require_fixed_point(print_manifest, parse, print_manifest(manifest));
  for (const ManifestTensor& tensor : manifest.tensors) {
    for (const ManifestPiece& piece : tensor.pieces) {
      if (elements_of(piece.box) > 0) Tiles(tensor.parts, piece.box).count();
    }
  }
}

/// The losses of an epoch in the metadata of a file.
void read_losses(const std::string& input) {
  TrainingPosition position{.metadata = {{"partita.losses", input}}};
  take_from_metadata(position, "f");
  TrainingPosition again{.metadata = metadata_of(position)};
  take_from_metadata(again, "f");
  require(again.epoch == position.epoch, "the losses are others");
}

}  // namespace

std::vector<FuzzTarget> manifest_targets() {
  return {{.name = "manifest",
           .seeds =
               [] {
                 const std::string body = body_of(print_manifest(some_manifest()));
                 return std::vector{body, with_large_members(body)};
               },
           .read = read_manifest_body,
           .words = {deep_lists(), "\"tensors\":[", "\"parts\":", "\"pieces\":", "\"shape\":[", "\"files\":[",
                     "\"box\":", "0:2"}},
          // As it stands, with the checksum.
          {.name = "manifest_text",
           .seeds = [] { return std::vector{print_manifest(some_manifest())}; },
           .read = [](const std::string& input) { parse_manifest(input, "manifest.json"); }},
          {.name = "epoch_losses",
           .seeds =
               [] {
                 return std::vector<std::string>{"0.5 3 1", "-1e-300 9007199254740992 0"};
               },
           .read = read_losses}};
}

}  // namespace partita
