#include "ir/ops/registry.h"

#include <algorithm>

namespace partita {

std::vector<OpDef> listed_ops();     // generated from the list of this folder and its families
std::vector<OpDef> optimizer_ops();  // defined in ir/optimizers

const OpSet& all_ops() {
  static const OpSet ops = [] {
    std::vector<OpDef> all = listed_ops();
    for (OpDef& op : optimizer_ops()) all.push_back(std::move(op));
    std::ranges::sort(all, [](const OpDef& a, const OpDef& b) { return a.name < b.name; });
    return OpSet(std::move(all));
  }();
  return ops;
}

}  // namespace partita
