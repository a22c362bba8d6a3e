#pragma once
// Tables that give the weights of a network the names of another program:
//
//   # ours            theirs                    how
//   wte.weight        model.embed.weight
//   h.{i}.q.weight    model.layers.{i}.qkv.weight   transposed 0/3
//   ignored model.layers.{i}.rotary.inv_freq
//   optional model.
//
// A line is a rule: a pattern of names here, one of names there, and how the tensor lies there. Words in braces stand
// for numbers; {s+1} here is one more than {s} there. A number that only the other name has, {e}, counts the first
// dimension of the tensor here, whose parts are tensors of their own there. Several rules for a name are tried in
// order.
//
// `transposed`: the last two dimensions are exchanged there.
// `K/N`: it is part K of N equal ones there, along the first dimension of the tensor here.
// `ones:N`: there it has N dimensions of size 1 before its own when it is written; they may be missing when it is read.
//
// Tensors that match `ignored` are not missed. `same A B`: A may be there unless a weight uses it, and equals B. Names
// there may lack the text after `optional` at their start.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace partita {

/// A pattern of names, such as "h.{i}.weight".
class NamePattern {
 public:
  using Numbers = std::map<std::string, int64_t>;

  /// Parses a pattern. Throws InvalidFile, naming `where`, for braces without a word or a number at their
  /// end, and for a digit or a brace right after them.
  NamePattern(std::string_view text, const std::string& where);

  /// Returns the numbers of the words in `name`; nothing if it does not match.
  std::optional<Numbers> match(std::string_view name) const;
  /// Returns the name with these numbers, which are those of all words.
  std::string name(const Numbers& numbers) const;
  /// Words, in order.
  std::vector<std::string> words() const;

 private:
  struct Part {
    std::string text;  // precedes the number
    std::string word;  // "" at the end
    int64_t plus = 0;
  };
  std::vector<Part> parts_;
};

/// A line of a table.
struct NameRule {
  NamePattern ours, theirs;
  bool is_transposed = false;
  int64_t part = 0, parts = 1;
  int64_t ones = 0;                      // dimensions of size 1 before the others there
  std::optional<std::string> stacked{};  // the word that counts the first dimension here
};

struct NameTable {
  std::vector<NameRule> rules;
  std::vector<NamePattern> ignored;
  std::vector<std::pair<std::string, std::string>> same{};  // a tensor that may be there, and the one that it equals
  std::string optional;                                     // may be missing at the begin of names there
};

/// Parses a table. Throws InvalidFile, naming `path` and the line, for a malformed one.
NameTable parse_name_table(std::string_view text, const std::string& path);

}  // namespace partita
