#pragma once
// What golden texts of plans, partitions and schedules print. Their input is a line of words, as after the name of a
// command (MODEL and flags; --training, --forward and --rank, too), the text of a graph in place of a model, and the
// text of its plan. Each may be absent.

#include <string>

namespace partita {

/// Returns the completed plan of every stage.
std::string plan_of_golden(const std::string& input);
/// Returns the program of --rank.
std::string partition_of_golden(const std::string& input);
/// Returns the schedule of a graph's program or, for a model, what `partita schedule` prints.
std::string schedule_of_golden(const std::string& input);
/// Returns the moves of a rank from one sharding to another, and the bytes that it receives.
std::string reshard_of_golden(const std::string& input);

}  // namespace partita
