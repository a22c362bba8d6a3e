#include "training/report/seen_devices.h"

namespace partita {

bool have_devices(const RankOptions& options, const SeenDevices& devices, const HostPlace& here) {
  const bool names_one = options.device.find(':') != std::string::npos;
  return devices.platform != "cpu" && static_cast<size_t>(here.size) <= devices.count && (!names_one || here.size == 1);
}

SlowerModes slower_modes(const RankOptions& options, const SeenDevices& devices, int ranks, const HostPlace& here,
                         bool composes_attention) {
  if (options.deterministic) return {};
  const bool is_cut = options.collectives == CollectiveMode::cut && ranks > 1 && have_devices(options, devices, here);
  return {.collectives = options.left_open.collectives && is_cut,
          .attention = options.left_open.attention && options.attention == AttentionMode::composed &&
                       composes_attention && devices.platform == "cuda"};
}

}  // namespace partita
