#include "cli/tokenizers/special_tokens.h"

#include <gtest/gtest.h>

namespace partita {
namespace {

/// Bytes, with a space before each text that does not go on with another one.
class SpacedBytes : public Tokenizer {
 public:
  void encode(std::string_view text, std::vector<int32_t>& ids) override {
    ids.push_back(' ');
    encode_continued(text, ids);
  }
  void encode_continued(std::string_view text, std::vector<int32_t>& ids) override {
    ids.insert(ids.end(), text.begin(), text.end());
  }
  std::string decode(const std::vector<int32_t>& ids) const override { return {ids.begin(), ids.end()}; }
  int64_t vocabulary() const override { return 128; }
  std::optional<int32_t> id_of(const std::string& token) const override {
    return token == "<s>" ? std::optional(1) : std::nullopt;
  }
};

std::vector<int32_t> ids_in(Tokenizer& tokenizer, const std::string& text, bool is_continued = false) {
  std::vector<int32_t> ids;
  is_continued ? tokenizer.encode_continued(text, ids) : tokenizer.encode(text, ids);
  return ids;
}

TEST(SpecialTokens, AreFoundInTexts) {
  using Ids = std::vector<int32_t>;
  const std::vector<AddedToken> tokens{
      {.text = "<s>", .id = -1}, {.text = "<none>", .id = -1}, {.text = "<end>", .id = 131, .takes_right = true}};
  const auto anew = with_special_tokens(std::make_unique<SpacedBytes>(), tokens, /*begins_anew=*/true);
  EXPECT_EQ(ids_in(*anew, "<s>a<end> \nb"), (Ids{1, ' ', 'a', 131, ' ', 'b'}));
  EXPECT_EQ(ids_in(*anew, "a<s>b", /*is_continued=*/true), (Ids{'a', 1, ' ', 'b'}));
  Ids after_token{'a', 131};
  anew->encode_continued("b", after_token);
  EXPECT_EQ(after_token, (Ids{'a', 131, ' ', 'b'}));
  const auto going_on = with_special_tokens(std::make_unique<SpacedBytes>(), tokens, /*begins_anew=*/false);
  EXPECT_EQ(ids_in(*going_on, "a<s>b<end>c"), (Ids{' ', 'a', 1, 'b', 131, 'c'}));
  EXPECT_EQ(ids_in(*going_on, "<s>b"), (Ids{1, 'b'}));
  after_token = {'a', 131};
  going_on->encode_continued("b", after_token);
  EXPECT_EQ(after_token, (Ids{'a', 131, 'b'}));
  EXPECT_EQ(going_on->vocabulary(), 132);
  EXPECT_EQ(going_on->id_of("<end>"), 131);
  EXPECT_EQ(going_on->id_of("<none>"), std::nullopt);
  EXPECT_EQ(going_on->decode({1, 'a', 'b', 130, 131, 'c'}), "<s>ab<end>c");
}

TEST(SpecialTokens, AreNotFoundTwice) {
  auto once = with_special_tokens(std::make_unique<SpacedBytes>(), {{.text = "<s>", .id = -1}}, /*begins_anew=*/true);
  const Tokenizer* before = once.get();
  EXPECT_EQ(with_special_tokens(std::move(once), {{.text = "a", .id = 5}}, /*begins_anew=*/true).get(), before);
}

}  // namespace
}  // namespace partita
