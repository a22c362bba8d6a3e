#pragma once
// Runs the inputs of golden texts. An input of a plan, partition or schedule is a line of words, as after the name of a
// command (MODEL and flags; --training, --forward and --rank, too), the text of a graph in place of a model, and the
// text of its plan. Any of them may be left out.

#include <string>

namespace partita {

/// Returns the completed plan of every stage.
std::string plan_of_golden(const std::string& input);
/// Returns the program of --rank.
std::string partition_of_golden(const std::string& input);
/// Returns the schedule of a graph's program or, for a model, what `partita schedule` prints.
std::string schedule_of_golden(const std::string& input);
/// Returns the programs of --rank in StableHLO, as accelerators run them. --counts: in place of each text, the types of
/// its arguments and results, and its operations, with their counts.
std::string programs_of_golden(const std::string& input);
/// Returns the moves of a rank from one sharding to another, and the bytes that a rank receives, by which they are
/// chosen: a mean where parts differ. The input has lines "mesh ..", "from TYPE", "to TYPE" and, if the rank is not 0,
/// "rank N".
std::string reshard_of_golden(const std::string& input);

}  // namespace partita
