#include "schedule/choose_kernels.h"
#include "schedule/pack_reductions.h"
#include "schedule/place_buffers.h"

namespace partita {

Schedule make_schedule(const LocalGraph& local, const OpSet& ops, const KernelCatalog& catalog,
                       const ScheduleOptions& options) {
  Schedule schedule = choose_kernels(local, ops, catalog);
  pack_reductions(schedule, local, options);
  place_buffers(schedule, local);
  return schedule;
}

}  // namespace partita
