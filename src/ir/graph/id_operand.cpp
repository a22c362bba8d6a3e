#include "ir/graph/id_operand.h"

namespace partita {

void require_ids(const IdOperand& checked, const OpCall& call, ConstTensor ids) {
  const std::optional<int64_t> limit = checked.limit(call);
  if (!limit) return;
  const auto require_all = [&](const auto* given) {
    for (int64_t at = 0; at < ids.type.elements(); ++at) {
      const auto id = static_cast<int64_t>(given[at]);
      if (id < 0 || id >= *limit) checked.require(call, id, at);
    }
  };
  ids.type.dtype == DType::i32 ? require_all(ids.as<int32_t>()) : require_all(ids.as<int64_t>());
}

}  // namespace partita
