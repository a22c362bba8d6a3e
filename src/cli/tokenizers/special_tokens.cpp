#include "cli/tokenizers/special_tokens.h"

#include <algorithm>
#include <unordered_map>

namespace partita {
namespace {

class SpecialTokens : public Tokenizer {
 public:
  SpecialTokens(std::unique_ptr<Tokenizer> base, std::vector<AddedToken> tokens, bool begins_anew)
      : base_(std::move(base)), begins_anew_(begins_anew), count_(base_->vocabulary()) {
    for (AddedToken& token : tokens) {
      if (token.id < 0) token.id = base_->id_of(token.text).value_or(-1);
      if (token.id < 0 || token.text.empty()) continue;
      ids_[token.text] = token.id;
      texts_[token.id] = token.text;
      count_ = std::max(count_, int64_t{token.id} + 1);
      tokens_.add(std::move(token));
    }
  }

  void encode(std::string_view text, std::vector<int32_t>& ids) override { split(text, /*is_continued=*/false, ids); }
  void encode_continued(std::string_view text, std::vector<int32_t>& ids) override {
    const bool follows_token = !ids.empty() && texts_.contains(ids.back());
    split(text, /*is_continued=*/!(follows_token && begins_anew_), ids);
  }
  std::string decode(const std::vector<int32_t>& ids) const override {
    std::string text;
    std::vector<int32_t> run;
    const auto end_run = [&] {
      if (!run.empty()) text += base_->decode(run);
      run.clear();
    };
    for (const int32_t id : ids) {
      const auto found = texts_.find(id);
      if (found == texts_.end()) {
        if (id < base_->vocabulary()) run.push_back(id);  // else between those of special tokens
        continue;
      }
      end_run();
      text += found->second;
    }
    end_run();
    return text;
  }
  int64_t vocabulary() const override { return count_; }
  std::optional<int32_t> id_of(const std::string& token) const override {
    const auto found = ids_.find(token);
    return found == ids_.end() ? base_->id_of(token) : std::optional(found->second);
  }
  bool takes_any_bytes() const override { return base_->takes_any_bytes(); }
  bool finds_special_tokens() const override { return true; }

 private:
  void split(std::string_view text, bool is_continued, std::vector<int32_t>& ids) {
    tokens_.split(
        text,
        [&](std::string_view rest) { is_continued ? base_->encode_continued(rest, ids) : base_->encode(rest, ids); },
        [&](int32_t id) {
          ids.push_back(id);
          is_continued = !begins_anew_;
        });
  }

  std::unique_ptr<Tokenizer> base_;
  AddedTokens tokens_{};
  std::unordered_map<std::string, int32_t> ids_{};
  std::unordered_map<int32_t, std::string> texts_{};
  bool begins_anew_;
  int64_t count_;
};

}  // namespace

std::unique_ptr<Tokenizer> with_special_tokens(std::unique_ptr<Tokenizer> base, std::vector<AddedToken> tokens,
                                               bool begins_anew) {
  if (base->finds_special_tokens()) return base;
  return std::make_unique<SpecialTokens>(std::move(base), std::move(tokens), begins_anew);
}

}  // namespace partita
