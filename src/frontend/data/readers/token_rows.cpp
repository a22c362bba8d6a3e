#include "frontend/data/readers/token_rows.h"

#include <algorithm>

#include "base/philox.h"

namespace partita {
namespace {

constexpr int64_t kMaxTextBytes = int64_t{1} << 30;
constexpr double kTrainShare = 0.9;

class TokenRows : public Dataset {
 public:
  TokenRows(TextBytes bytes, const TextFormat& format)
      : columns_(token_columns(format)),
        bytes_(std::move(bytes)),
        format_(format),
        key_(random_key(format.seed, "masked_tokens")) {
    PARTITA_CHECK(format.tokens > 0 && format.labels() > 0, "rows of {} tokens and {} labels", format.tokens,
                  format.labels());
    PARTITA_CHECK(format.task != TextTask::masked || format.targets <= format.tokens, "{} of {} tokens are hidden",
                  format.targets, format.tokens);
    PARTITA_CHECK(bytes_.size() >= format.window(), "{} bytes for windows of {}", bytes_.size(), format.window());
  }

  const std::vector<Column>& columns() const override { return columns_; }
  int64_t size() const override { return (bytes_.size() - format_.window()) / format_.stride() + 1; }
  std::optional<IntegerRange> integers(size_t column) const override {
    if (columns_[column].name == "positions") return std::nullopt;  // positions within the row
    IntegerRange range = bytes_.integers((size() - 1) * format_.stride() + format_.window());
    if (format_.task == TextTask::masked && columns_[column].name == "tokens") {
      const FoundInteger mask{.value = format_.mask, .place = "hidden tokens"};
      if (mask.value < range.least.value) range.least = mask;
      if (mask.value > range.greatest.value) range.greatest = mask;
    }
    return range;
  }

 protected:
  void fill(int64_t epoch, std::span<const int64_t> indices, std::span<const Tensor> out) const override {
    int32_t *tokens = out[0].as<int32_t>(), *labels = out[1].as<int32_t>();
    int32_t* positions = format_.task == TextTask::masked ? out[2].as<int32_t>() : nullptr;
    const int64_t first_label = format_.task == TextTask::next ? 1 : format_.tokens;
    for (int64_t index : indices) {
      const int64_t from = index * format_.stride();
      bytes_.copy(from, format_.tokens, tokens);
      if (positions != nullptr) {
        hide({epoch, index}, {tokens, labels, positions});
        positions += format_.targets;
      } else {
        bytes_.copy(from + first_label, format_.labels(), labels);
      }
      tokens += format_.tokens;
      labels += format_.labels();
    }
  }

 private:
  struct RowAt {
    int64_t epoch, index;
  };
  struct MaskedRow {
    int32_t *tokens, *labels, *positions;
  };

  /// Returns a random integer in [0, bound): draw `number` of the 2 * tokens draws of a row.
  int64_t draw(const RowAt& row, int64_t number, int64_t bound) const {
    const int64_t element = row.index * 2 * format_.tokens + number;
    return static_cast<int64_t>(random_below(key_, static_cast<uint64_t>(element), static_cast<uint64_t>(row.epoch),
                                             static_cast<uint64_t>(bound)));
  }

  /// Chooses `targets` positions of a masked row at random, writes them in ascending order and the tokens there as
  /// labels. Of these tokens, on average 8 of 10 become the mask, one a random token of the row, and one stays.
  void hide(const RowAt& at, const MaskedRow& row) const {
    const int64_t tokens = format_.tokens, hidden = format_.targets;
    int64_t chosen = 0;  // each remaining token is equally likely (Knuth, volume 2, algorithm S)
    for (int64_t i = 0; i < tokens && chosen < hidden; ++i) {
      if (draw(at, i, tokens - i) < hidden - chosen) row.positions[chosen++] = static_cast<int32_t>(i);
    }
    for (int64_t k = 0; k < hidden; ++k) row.labels[k] = row.tokens[row.positions[k]];
    for (int64_t k = 0; k < hidden; ++k) {
      const int64_t kind = draw(at, tokens + row.positions[k], 10 * tokens);
      if (kind / tokens == 0) continue;
      row.tokens[row.positions[k]] = kind / tokens == 1 ? bytes_.at(at.index * format_.stride() + kind % tokens)
                                                        : static_cast<int32_t>(format_.mask);
    }
  }

  std::vector<Column> columns_;
  TextBytes bytes_;
  TextFormat format_;
  uint64_t key_;
};

}  // namespace

std::vector<Column> token_columns(const TextFormat& format) {
  const Type labels{DType::i32, {format.labels()}};
  std::vector<Column> columns{{"tokens", {DType::i32, {format.tokens}}}, {"label", labels}};
  if (format.task == TextTask::masked) columns.push_back({"positions", labels});
  return columns;
}

DatasetPtr token_rows(TextBytes bytes, const TextFormat& format) {
  return std::make_shared<TokenRows>(std::move(bytes), format);
}

DatasetPtr token_rows(std::vector<uint8_t> bytes, const TextFormat& format) {
  std::vector<std::vector<uint8_t>> pieces;
  pieces.push_back(std::move(bytes));
  return token_rows(TextBytes(std::move(pieces)), format);
}

DatasetPtr read_text(const std::filesystem::path& file, Split split, const TextFormat& format) {
  TextBytes bytes = read_text_bytes(file, kMaxTextBytes);
  const auto border = static_cast<int64_t>(static_cast<double>(bytes.size()) * kTrainShare);
  bytes.keep(split == Split::train ? 0 : border, split == Split::train ? border : bytes.size());
  if (bytes.size() < format.window()) {
    throw InvalidFile("[text] {}: too short, got {} bytes for {}, expected more than {}", file.string(), bytes.size(),
                      split == Split::train ? "training" : "testing", format.window() - 1);
  }
  return token_rows(std::move(bytes), format);
}

DatasetPtr make_synthetic_text(int64_t rows, const TextFormat& format, uint64_t seed, Split split, int64_t vocabulary) {
  constexpr int64_t kLetters = 24;
  const int64_t bytes_used = std::min<int64_t>(256, vocabulary - (format.task == TextTask::masked ? 1 : 0));
  const int64_t letters = std::clamp<int64_t>(bytes_used, 1, kLetters);
  const int64_t first = std::clamp<int64_t>(bytes_used - letters, 0, 'a');
  const uint64_t table = random_key(seed, "table"), noise = random_key(seed, split == Split::train ? "train" : "test");
  std::vector<uint8_t> bytes(static_cast<size_t>((rows - 1) * format.stride() + format.window()));
  int64_t before = 0, last = 1;
  for (size_t i = 0; i < bytes.size(); ++i) {
    const auto pair = static_cast<uint64_t>(before * kLetters + last);
    const bool stray = random_below(noise, i, 0, 10) == 0;
    const int64_t next =
        static_cast<int64_t>(stray ? random_below(noise, i, 1, letters) : random_below(table, pair, 0, letters));
    bytes[i] = static_cast<uint8_t>(first + next);
    before = last;
    last = next;
  }
  return token_rows(std::move(bytes), format);
}

}  // namespace partita
