#include "training/report/collectives_note.h"

#include <fmt/format.h>

namespace partita {

bool have_devices(const RankOptions& options, const SeenDevices& devices, const HostPlace& here) {
  const bool names_one = options.device.find(':') != std::string::npos;
  return devices.platform != "cpu" && static_cast<size_t>(here.size) <= devices.count && (!names_one || here.size == 1);
}

std::string note_on_collectives(const RankOptions& options, const SeenDevices& devices, int ranks,
                                const HostPlace& here) {
  const bool is_wanted = options.collectives == CollectiveMode::whole || options.deterministic;
  if (ranks == 1 || is_wanted || !have_devices(options, devices, here)) return "";
  return fmt::format(
      "[collectives] ranks with a device each communicate through the host, got --collectives cut on {} ranks of a "
      "stage, expected whole if the devices are to do it themselves",
      ranks);
}

}  // namespace partita
