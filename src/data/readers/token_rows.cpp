#include "data/readers/token_rows.h"

#include <algorithm>

#include "base/philox.h"
#include "data/readers/file_bytes.h"

namespace partita {
namespace {

constexpr int64_t kMostTextBytes = int64_t{1} << 30;
constexpr double kTrainShare = 0.9;

class TokenRows : public Dataset {
 public:
  TokenRows(std::vector<uint8_t> bytes, int64_t length)
      : columns_(token_columns(length)), bytes_(std::move(bytes)), length_(length) {
    PARTITA_CHECK(length > 0 && static_cast<int64_t>(bytes_.size()) > length, "{} bytes for windows of {}",
                  bytes_.size(), length);
  }

  const std::vector<Column>& columns() const override { return columns_; }
  int64_t size() const override { return (static_cast<int64_t>(bytes_.size()) - 1) / length_; }

 protected:
  void fill(int64_t, std::span<const int64_t> indices, std::span<const Tensor> out) const override {
    int32_t *tokens = out[0].as<int32_t>(), *labels = out[1].as<int32_t>();
    for (int64_t index : indices) {
      const uint8_t* from = bytes_.data() + index * length_;
      tokens = std::copy_n(from, length_, tokens);
      labels = std::copy_n(from + 1, length_, labels);
    }
  }

 private:
  std::vector<Column> columns_;
  std::vector<uint8_t> bytes_;
  int64_t length_;
};

}  // namespace

std::vector<Column> token_columns(int64_t length) {
  return {{"tokens", {DType::i32, {length}}}, {"label", {DType::i32, {length}}}};
}

DatasetPtr token_rows(std::vector<uint8_t> bytes, int64_t length) {
  return std::make_shared<TokenRows>(std::move(bytes), length);
}

DatasetPtr read_text(const std::filesystem::path& file, Split split, int64_t length) {
  std::vector<uint8_t> bytes = read_file(file, kMostTextBytes);
  const auto border = static_cast<std::ptrdiff_t>(static_cast<double>(bytes.size()) * kTrainShare);
  bytes.erase(split == Split::train ? bytes.begin() + border : bytes.begin(),
              split == Split::train ? bytes.end() : bytes.begin() + border);
  if (static_cast<int64_t>(bytes.size()) <= length) {
    throw InvalidFile(fmt::format("[text] {}: too short, got {} bytes for {}, expected more than {}", file.string(),
                                  bytes.size(), split == Split::train ? "training" : "testing", length));
  }
  return token_rows(std::move(bytes), length);
}

DatasetPtr make_synthetic_text(int64_t rows, int64_t length, uint64_t seed, Split split) {
  constexpr int64_t kLetters = 24;
  const uint64_t table = random_key(seed, "table"), noise = random_key(seed, split == Split::train ? "train" : "test");
  std::vector<uint8_t> bytes(static_cast<size_t>(rows * length + 1));
  int64_t before = 0, last = 1;
  for (size_t i = 0; i < bytes.size(); ++i) {
    const auto pair = static_cast<uint64_t>(before * kLetters + last);
    const bool stray = random_below(noise, i, 0, 10) == 0;
    const int64_t next =
        static_cast<int64_t>(stray ? random_below(noise, i, 1, kLetters) : random_below(table, pair, 0, kLetters));
    bytes[i] = static_cast<uint8_t>('a' + next);
    before = last;
    last = next;
  }
  return token_rows(std::move(bytes), length);
}

}  // namespace partita
