// The manifest of a checkpoint. Its checksum is made right, so that what is behind it is reached.

#include "checkpoint/manifest.h"

#include "fuzz/target.h"

namespace {

constexpr std::string_view kChecksum = "\"checksum\":\"";

partita::Manifest some_manifest() {
  using namespace partita;
  Manifest manifest{.position = {.step = 3, .batch = 4, .rows = 9, .seed = 1, .learning_rate = 0.5}, .ranks = 2};
  manifest.position.metadata = {{"partita.config", "model = \"mlp\"\n"}};
  manifest.callbacks = {{"early_stopping", "0.5 1"}};
  manifest.files = {{"rank_0.safetensors", 100, std::string(32, '0')},
                    {"rank_1.safetensors", 90, std::string(32, 'f')}};
  manifest.tensors.push_back({"w", {DType::f32, {4, 6}}, StateKind::parameter, {2, 3}, {}});
  manifest.tensors.back().pieces = {{0, {{0, 2, 4}, {0, 6, 6}}, 1}, {1, {{2, 4, 4}, {0, 6, 6}}, 2}};
  manifest.tensors.push_back({"t", {DType::i64, {}}, StateKind::counter, {}, {{1, {}, 3}}});
  return manifest;
}

}  // namespace

std::vector<std::string> seeds() {
  const std::string text = partita::print_manifest(some_manifest());
  return {text, text.substr(0, text.rfind(kChecksum))};
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string given(reinterpret_cast<const char*>(data), size);
  const std::string body = given.substr(0, given.rfind(kChecksum));
  const std::string checked = body + std::string(kChecksum) + partita::checksum_of_text(body) + "\"}\n";
  for (const std::string& text : {given, checked}) {
    try {
      const partita::Manifest manifest = partita::parse_manifest(text, "manifest.json");
      // What is taken can be written, and says the same then.
      const std::string printed = partita::print_manifest(manifest);
      if (partita::print_manifest(partita::parse_manifest(printed, "printed")) != printed) __builtin_trap();
      for (size_t file = 0; file < manifest.files.size(); ++file) {
        for (const partita::ShardPiece& piece : manifest.pieces_of(static_cast<int64_t>(file))) {
          if (partita::elements_of(piece.box) > 0) partita::Tiles(piece.parts, piece.box).count();
        }
      }
    } catch (const partita::InvalidFile&) {
    }
  }
  return 0;
}
