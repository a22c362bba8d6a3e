#include "frontend/data/readers/token_rows.h"

#include <algorithm>

#include "base/philox.h"
#include "frontend/data/readers/token_file.h"

namespace partita {
namespace {

constexpr uint64_t kMaxTextInMemory = uint64_t{64} << 20;  // bytes of a plain file
constexpr int64_t kMaxPackedText = int64_t{1} << 30;       // bytes of a packed file, unpacked
constexpr double kTrainShare = 0.9;

/// The bytes of a text as tokens.
class TextTokens : public TokenSource {
 public:
  explicit TextTokens(TextBytes bytes) : bytes_(std::move(bytes)) {}
  int64_t size() const override { return bytes_.size(); }
  void copy(int64_t, int64_t first, int64_t count, int32_t* to) const override { bytes_.copy(first, count, to); }
  std::optional<IntegerRange> integers(int64_t count) const override { return bytes_.integers(count); }

 private:
  TextBytes bytes_;
};

class TokenRows : public Dataset {
 public:
  TokenRows(TokenSourcePtr source, const TextFormat& format)
      : columns_(token_columns(format)),
        source_(std::move(source)),
        format_(format),
        key_(random_key(format.seed, "masked_tokens")) {
    PARTITA_CHECK(format.tokens > 0 && format.labels() > 0, "rows of {} tokens and {} labels", format.tokens,
                  format.labels());
    PARTITA_CHECK(format.task != TextTask::masked || format.targets <= format.tokens, "{} of {} tokens are hidden",
                  format.targets, format.tokens);
    PARTITA_CHECK(!format.separates_documents || (format.task == TextTask::next && source_->has_documents()),
                  "documents of '{}' cannot be separated", name_of(format.task));
    PARTITA_CHECK(source_->size() >= format.window(), "{} tokens for windows of {}", source_->size(), format.window());
  }

  const std::vector<Column>& columns() const override { return columns_; }
  int64_t size() const override { return (source_->size() - format_.window()) / format_.stride() + 1; }
  std::optional<IntegerRange> integers(size_t column) const override {
    if (column > 1) return std::nullopt;  // places within the row
    std::optional<IntegerRange> range = source_->integers((size() - 1) * format_.stride() + format_.window());
    if (range && format_.task == TextTask::masked && columns_[column].name == "tokens") {
      const FoundInteger mask{.value = format_.mask, .place = "hidden tokens"};
      if (mask.value < range->least.value) range->least = mask;
      if (mask.value > range->greatest.value) range->greatest = mask;
    }
    return range;
  }

 protected:
  void fill(int64_t epoch, std::span<const int64_t> indices, std::span<const Tensor> out) const override {
    int32_t *tokens = out[0].as<int32_t>(), *labels = out[1].as<int32_t>();
    int32_t* positions = format_.task == TextTask::masked ? out[2].as<int32_t>() : nullptr;
    int32_t* begins = format_.separates_documents ? out[2].as<int32_t>() : nullptr;
    const int64_t first_label = format_.task == TextTask::next ? 1 : format_.tokens;
    std::vector<int32_t> window(static_cast<size_t>(format_.window()));
    const auto mask = std::make_unique<bool[]>(window.size());
    for (int64_t index : indices) {
      source_->copy(epoch, index * format_.stride(), format_.window(), window.data());
      std::copy_n(window.begin(), format_.tokens, tokens);
      if (positions != nullptr) {
        hide({epoch, index}, {window, tokens, labels, positions});
        positions += format_.targets;
      } else {
        std::copy_n(window.begin() + first_label, format_.labels(), labels);
      }
      if (source_->has_mask()) {
        source_->copy_mask(epoch, index * format_.stride(), format_.window(), mask.get());
        for (int64_t k = 0; k < format_.labels(); ++k) {
          const int64_t at = positions != nullptr ? positions[k - format_.targets] : first_label + k;
          if (!mask[static_cast<size_t>(at)]) labels[k] = format_.masked_label;
        }
      }
      if (format_.separates_documents) {
        source_->copy_starts(epoch, index * format_.stride(), format_.window(), mask.get());
        separate(mask.get(), begins, labels);
        begins += format_.tokens;
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
    const std::vector<int32_t>& whole;
    int32_t *tokens, *labels, *positions;
  };

  /// Writes where the document of each token begins, and hides the labels that are tokens of the next document.
  /// `are_first`: whether the tokens of the window are the first of a document.
  void separate(const bool* are_first, int32_t* begins, int32_t* labels) const {
    int32_t begin = 0;
    for (int64_t i = 0; i < format_.tokens; ++i) {
      if (are_first[i]) begin = static_cast<int32_t>(i);
      begins[i] = begin;
      if (are_first[i + 1]) labels[i] = format_.masked_label;
    }
  }

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
      row.tokens[row.positions[k]] =
          kind / tokens == 1 ? row.whole[static_cast<size_t>(kind % tokens)] : static_cast<int32_t>(format_.mask);
    }
  }

  std::vector<Column> columns_;
  TokenSourcePtr source_;
  TextFormat format_;
  uint64_t key_;
};

}  // namespace

std::vector<Column> token_columns(const TextFormat& format) {
  const Type labels{DType::i32, {format.labels()}};
  std::vector<Column> columns{{"tokens", {DType::i32, {format.tokens}}}, {"label", labels}};
  if (format.task == TextTask::masked) columns.push_back({"positions", labels});
  if (format.separates_documents) columns.push_back({std::string(kDocumentColumn), columns[0].type});
  return columns;
}

DatasetPtr token_rows(TokenSourcePtr tokens, const TextFormat& format) {
  return std::make_shared<TokenRows>(std::move(tokens), format);
}

DatasetPtr token_rows(TextBytes bytes, const TextFormat& format) {
  return token_rows(std::make_shared<TextTokens>(std::move(bytes)), format);
}

DatasetPtr token_rows(std::vector<uint8_t> bytes, const TextFormat& format) {
  std::vector<std::vector<uint8_t>> pieces;
  pieces.push_back(std::move(bytes));
  return token_rows(TextBytes(std::move(pieces)), format);
}

DatasetPtr read_text(const std::filesystem::path& file, Split split, const TextFormat& format) {
  std::error_code code;
  const bool is_packed = file.extension() == ".gz" || file.extension() == ".xz";
  const bool is_read_in_place = !is_packed && file_size(file, code) > kMaxTextInMemory && !code;
  const auto part_of = [&](int64_t bytes) {
    const auto border = static_cast<int64_t>(static_cast<double>(bytes) * kTrainShare);
    const auto [begin, end] = split == Split::train ? std::pair(int64_t{0}, border) : std::pair(border, bytes);
    if (end - begin >= format.window()) return std::pair(begin, end);
    throw InvalidFile("[text] {}: too short, got {} bytes for {}, expected more than {}", file.string(), end - begin,
                      split == Split::train ? "training" : "testing", format.window() - 1);
  };
  if (is_read_in_place) {
    const RandomAccessFile opened(file);
    const auto [begin, end] = part_of(opened.size());
    opened.expect_random_reads();
    const TokenFile whole(opened, {.type = TokenType::u8, .tokens = opened.size()}, format.vocabulary);
    return token_rows(std::make_shared<TokenFile>(whole.part(begin, end - begin)), format);
  }
  TextBytes bytes = read_text_bytes(file, kMaxPackedText);
  const auto [begin, end] = part_of(bytes.size());
  bytes.keep(begin, end);
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
