#include "cli/tokenizers/added_tokens.h"

#include <algorithm>

#include "cli/tokenizers/unicode_text.h"

namespace partita {

void AddedTokens::add(AddedToken token) {
  std::vector<AddedToken>& alike = by_first_byte_[static_cast<uint8_t>(token.text[0])];
  const auto place =
      std::ranges::find_if(alike, [&](const AddedToken& one) { return one.text.size() < token.text.size(); });
  alike.insert(place, std::move(token));
}

void AddedTokens::split(std::string_view text, const std::function<void(std::string_view)>& rest,
                        const std::function<void(int32_t)>& token) const {
  size_t done = 0;
  for (size_t at = 0; at < text.size();) {
    const std::vector<AddedToken>& alike = by_first_byte_[static_cast<uint8_t>(text[at])];
    const auto found =
        std::ranges::find_if(alike, [&](const AddedToken& one) { return text.substr(at).starts_with(one.text); });
    if (found == alike.end()) {
      ++at;
      continue;
    }
    size_t begin = at, end = at + found->text.size();
    if (found->takes_left) begin -= trailing_space(text.substr(done, begin - done));
    if (found->takes_right) end += leading_space(text.substr(end));
    if (begin > done) rest(text.substr(done, begin - done));
    token(found->id);
    done = at = end;
  }
  if (done < text.size()) rest(text.substr(done));
}

}  // namespace partita
