#include "runtime/device/cpu/onednn/isa.h"

#include <fmt/format.h>

#include <dnnl.hpp>
#include <utility>

namespace partita {

OneDnnFacts onednn_facts() {
  constexpr std::pair<dnnl_cpu_isa_t, const char*> kNewestFirst[] = {
      {dnnl_cpu_isa_avx512_core_amx, "avx512_core_amx"},
      {dnnl_cpu_isa_avx512_core_bf16, "avx512_core_bf16"},
      {dnnl_cpu_isa_avx512_core_vnni, "avx512_core_vnni"},
      {dnnl_cpu_isa_avx512_core, "avx512_core"},
      {dnnl_cpu_isa_avx2_vnni, "avx2_vnni"},
      {dnnl_cpu_isa_avx2, "avx2"},
      {dnnl_cpu_isa_avx, "avx"},
      {dnnl_cpu_isa_sse41, "sse41"},
  };
  const dnnl_version_t* version = dnnl_version();
  OneDnnFacts facts{fmt::format("{}.{}.{}", version->major, version->minor, version->patch), "generic"};
  const auto used = static_cast<unsigned>(dnnl_get_effective_cpu_isa());
  for (const auto& [isa, name] : kNewestFirst) {
    const auto bits = static_cast<unsigned>(isa);
    if ((used & bits) != bits) continue;
    facts.isa = name;
    break;
  }
  return facts;
}

}  // namespace partita
