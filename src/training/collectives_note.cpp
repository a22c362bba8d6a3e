#include "training/collectives_note.h"

#include <fmt/format.h>

namespace partita {

std::string note_on_collectives(const RankOptions& options, const SeenDevices& devices, int ranks,
                                const HostPlace& here) {
  const bool names_one = options.device.find(':') != std::string::npos;
  const bool could = ranks > 1 && devices.platform != "cpu" && static_cast<size_t>(here.size) <= devices.count;
  if (options.collectives == CollectiveMode::whole || options.deterministic || names_one || !could) return "";
  return fmt::format(
      "[collectives] {} ranks with a device each communicate through the host, got --collectives cut; with "
      "--collectives whole the devices do it themselves, which has not been tried on several GPUs yet",
      ranks);
}

}  // namespace partita
