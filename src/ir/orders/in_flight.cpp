#include "ir/orders/in_flight.h"

#include <algorithm>

namespace partita {

int64_t copies(const Sequence& sequence, int from_stage, StageSection from, int to_stage, StageSection to) {
  int64_t begun = 0, finished = 0, most = 0;  // counts suffice, since micro-batches of a section increase
  for (const Slot& slot : sequence) {
    if (slot.stage == from_stage && slot.section == from) most = std::max(most, ++begun - finished);
    if (slot.stage == to_stage && slot.section == to) ++finished;
  }
  return most;
}

}  // namespace partita
