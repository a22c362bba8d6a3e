// Files of weights and of checkpoints: their headers alone, and as files with tensors.

#include <cstring>

#include "fuzz/files.h"
#include "fuzz/target.h"
#include "runtime/checkpoint/shard_file.h"
#include "runtime/checkpoint/weights.h"

namespace partita {
namespace {

constexpr size_t kLength = sizeof(int64_t);

std::string bytes_of_number(int64_t number) {
  std::string bytes(kLength, '\0');
  std::memcpy(bytes.data(), &number, kLength);
  return bytes;
}

std::string some_header() {
  return print_safetensors_header({{"fc.weight", {DType::f32, {2, 3}}, 0, 24}, {"id", {DType::u8, {5}}, 24, 29}},
                                  {{"format", "pt"}, {"box:fc.weight", "0:2,0:3 of 4,3"}});
}

/// The first 8 bytes say how many bytes of tensors follow the header.
void read_header(const std::string& input) {
  if (input.size() < kLength) return;
  int64_t bytes = 0;
  std::memcpy(&bytes, input.data(), kLength);
  const SafetensorsHeader parsed = parse_safetensors_header(std::string_view(input).substr(kLength), bytes, "file");
  int64_t last = 0;
  for (const TensorPlace& place : parsed.places) {
    require(place.begin == last && place.end - place.begin == place.type.bytes(), "tensors have holes");
    last = place.end;
  }
  require(last == bytes, "tensors do not fill the file");
}

std::string some_weights() {
  const std::string path = (input_folder().path() / "seed.safetensors").string();
  save_weights(path, {{"fc.weight", Array({2, 3}, std::vector<float>{1, 2, 3, 4, 5, 6})},
                      {"id", Array({2}, std::vector<int64_t>{7, 8})}});
  return bytes_of_file(path);
}

void read_weights(const std::string& input) {
  const WeightsFile file = read_weights_file(input_folder().write("input.safetensors", input).string());
  size_t bytes = 0;
  for (const auto& [name, array] : file.tensors) bytes += static_cast<size_t>(array.type().bytes());
  require(bytes <= input.size(), "more bytes of tensors than the file has");
}

const std::vector<ShardPiece>& pieces() {
  static const std::vector<ShardPiece> pieces{{"w", {DType::f32, {4, 6}}, {2, 3}, {{0, 2, 4}, {0, 6, 6}}},
                                              {"t", {DType::i64, {}}, {}, {}}};
  return pieces;
}

std::string some_shard() {
  const std::string path = (input_folder().path() / "seed.shard").string();
  input_folder().remove("seed.shard");
  ShardFileWriter writer(path, pieces());
  const std::vector<float> w(12, 0.5F);
  const int64_t t = 3;
  writer.write(0, w.data());
  writer.write(1, &t);
  writer.finish();
  return bytes_of_file(path);
}

/// The manifest has the right checksum of the header.
void read_shard(const std::string& input) {
  const std::string path = input_folder().write("input.shard", input).string();
  uint64_t length = 0;
  std::memcpy(&length, input.data(), std::min(input.size(), kLength));
  const std::string header = input.size() < kLength ? "" : input.substr(kLength, length);
  int64_t bytes_read = 0;
  OpenFiles files(1);
  const ShardFileReader reader(path, static_cast<int64_t>(input.size()), checksum_of_text(header), pieces(), files,
                               bytes_read);
  std::vector<float> w(12);
  reader.read("w", pieces()[0].box, pieces()[0].box, DType::f32, w.data());
  int64_t t = 0;
  reader.read("t", {}, {}, DType::i64, &t);
}

}  // namespace

std::vector<FuzzTarget> safetensors_targets() {
  const std::vector<std::string> words{"\"dtype\":\"BF16\"", "\"shape\":[0]",  "\"data_offsets\":[0,0]",
                                       "__metadata__",       "\"tiles:w\":\"", "partita.checksums",
                                       deep_lists()};
  return {{.name = "safetensors_header",
           .seeds =
               [] {
                 Metadata many;
                 for (int i = 0; i < 200; ++i) many.emplace(fmt::format("key {}", i), "");
                 return std::vector{bytes_of_number(29) + some_header(),
                                    bytes_of_number(0) + print_safetensors_header({}, many)};
               },
           .read = read_header,
           .words = words},
          {.name = "weights",
           .seeds =
               [] {
                 return std::vector{some_weights(), bytes_of_number(static_cast<int64_t>(some_header().size())) +
                                                        some_header() + std::string(29, 'x')};
               },
           .read = read_weights,
           .words = words},
          {.name = "shard", .seeds = [] { return std::vector{some_shard()}; }, .read = read_shard, .words = words}};
}

}  // namespace partita
