// Checkpoints and strategy files of MindSpore.

#include "fuzz/files.h"
#include "fuzz/target.h"
#include "runtime/checkpoint/ckpt_index.h"
#include "runtime/checkpoint/strategy_file.h"
#include "runtime/checkpoint/weights.h"

namespace partita {
namespace {

std::string some_ckpt(bool crc32) {
  const std::string path = (input_folder().path() / "seed.ckpt").string();
  save_weights(path,
               {{"fc.weight", Array({2, 3}, std::vector<float>{1, 2, 3, 4, 5, 6})},
                {"flags", Array(Type{DType::boolean, {3}})},
                {"global_step", Array({1}, std::vector<int32_t>{7})}},
               {{"text:who", "me"}, {"partita.config", "model = \"mlp\""}}, crc32);
  return bytes_of_file(path);
}

/// A file without the checksum at its end, so that changes reach what it protects.
std::string unprotected() {
  std::string bytes = some_ckpt(false);
  const size_t checksum = bytes.rfind(kCkptChecksum);
  bytes.resize(checksum - 5);  // with the tags and lengths before it
  return bytes;
}

void read_ckpt_input(const std::string& input) {
  const WeightsFile file = read_weights_file(input_folder().write("input.ckpt", input).string());
  size_t bytes = 0;
  for (const auto& [name, array] : file.tensors) bytes += static_cast<size_t>(array.type().bytes());
  require(bytes <= input.size(), "more bytes of tensors than the file has");
}

/// A strategy of two parameters.
std::string some_strategy() {
  const std::string numbers = "\x0a\x04\x08\x02\x08\x04", map = "\x12\x04\x08\x01\x08\x01";
  const std::string layout = numbers + map + "\x28\x01\x30\x04\x38\x02";
  const std::string item = "\x0a\x01w\x12" + std::string(1, static_cast<char>(layout.size())) + layout;
  const std::string one = "\x1a" + std::string(1, static_cast<char>(item.size())) + item;
  return "\x08\x01\x12\x08\x0a\x02op\x12\x02\x08\x01" + one + one;
}

void read_strategy_input(const std::string& input) {
  size_t numbers = 0;
  for (const StrategyLayout& layout : parse_strategy_file(input, "file").layouts) {
    numbers += layout.dev_matrix.size() + layout.tensor_map.size();
  }
  require(numbers <= input.size(), "more numbers than the file has");
}

}  // namespace

std::vector<FuzzTarget> ckpt_targets() {
  return {
      {.name = "ckpt",
       .seeds =
           [] {
             return std::vector{unprotected(), some_ckpt(false), some_ckpt(true)};
           },
       .read = read_ckpt_input,
       .words = {"Float16", "BFloat16", "Int8", "str", "crc_num", "\x0a\x0a\x08", "\x1a\xff\xff\xff\x7f", "\xc2\x3e"}},
      {.name = "strategy_file", .seeds = [] { return std::vector{some_strategy()}; }, .read = read_strategy_input}};
}

}  // namespace partita
