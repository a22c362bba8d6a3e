#pragma once

#include <cstdint>
#include <string>

namespace partita {

/// Options of saving a training: where, when and how.
struct CheckpointOptions {
  std::string folder{};
  int64_t every = 0;         // in steps; 0: only at the end, or per `seconds`
  double seconds = 0;        // since the last checkpoint began; 0: per `every`
  int64_t keep = 5;          // number of whole checkpoints to keep; 0: all
  bool asynchronous = true;  // write a copy of the states while the next steps run
  bool integrated = false;   // the first rank gathers and writes whole tensors
  bool stop_on_error = false;
};

}  // namespace partita
