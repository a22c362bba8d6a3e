#pragma once
// Readers of bytes from elsewhere, each with inputs to begin with: one file of targets/ for each of them.

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace partita {

struct FuzzTarget {
  std::string name;
  /// Right inputs.
  std::function<std::vector<std::string>()> seeds;
  /// Reads an input and calls `require` for what holds of all that is accepted. What it refuses it throws as an Error.
  std::function<void(const std::string& input)> read;
  /// Words of the format, to be put into inputs.
  std::vector<std::string> words{};
  size_t max_bytes = 20'000;  // maximum size of an input
  bool may_fail = false;       // RuntimeFailure is an answer, too
};

/// All of targets/, generated from the listing of that folder.
std::vector<FuzzTarget> listed_fuzz_targets();

/// Returns the target of this name. Throws InvalidArgument for unknown names.
const FuzzTarget& fuzz_target(std::string_view name);

/// Passes the input to the reader. Returns the text of the refusal without numbers and quoted values, "" if the input
/// is accepted. An exception other than those with which readers refuse ends the process.
std::string give(const FuzzTarget& target, const std::string& input);

/// An object of JSON with two more members: lists in one another, as deep as readers take them, and an object of many
/// keys.
std::string with_large_members(std::string object);
/// For `words`: lists that are deeper than readers take them.
std::string deep_lists();

/// Ends the process with the message `what` unless `holds`.
void require(bool holds, std::string_view what);

/// Requires that a printed value is read back and printed the same.
template <class Print, class Parse>
void require_fixed_point(const Print& print, const Parse& parse, const std::string& printed) {
  std::string again;
  try {
    again = print(parse(printed));
  } catch (const std::exception& error) {
    require(false, std::string("what was printed is refused: ") + error.what() + "\nprinted:\n" + printed);
  }
  require(again == printed, "what was printed is read as something else:\n" + printed + "\nread:\n" + again);
}

}  // namespace partita
