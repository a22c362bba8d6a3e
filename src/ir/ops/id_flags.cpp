#include "ir/ops/id_flags.h"

#include <limits>

#include "ir/ops/emission.h"

namespace partita {

Hlo emit_id_flag(HloBody& body, const Hlo& ids, int64_t limit) {
  const EmitCall call = call_in(body);
  const int64_t count = ids.type.elements();
  if (count == 0) return call.splat_integer(0, {DType::i64, {2}});
  const Hlo flat = call.reshape(ids, {count});
  Hlo outside = call.compare("LT", flat, call.splat_integer(0, flat.type));
  if (flat.type.dtype != DType::i32 || limit <= std::numeric_limits<int32_t>::max()) {
    const Hlo beyond = call.compare("GE", flat, call.splat_integer(limit, flat.type));
    outside = body.add_same("stablehlo.or", {outside, beyond});
  }
  const Type list{DType::i64, {count}}, number{DType::i64, {}};
  const Hlo places = hlo_iota(call, 0, list);
  const Hlo rest = body.add_same("stablehlo.subtract", {call.splat_integer(count, list), places});
  const Hlo zero = call.splat_integer(0, number);
  const Hlo from = call.reduce(call.select(outside, rest, call.splat_integer(0, list)), "maximum", zero, {0});
  // Without such an id this begins after the last one, and the slice takes that one.
  const Hlo begin = body.add_same("stablehlo.subtract", {call.splat_integer(count, number), from});
  const Hlo first = body.add_typed("stablehlo.dynamic_slice", {flat, begin}, ", sizes = [1]", {flat.type.dtype, {1}});
  return emit_id_flags(body, {call.reshape(from, {1}), call.convert(first, DType::i64)});
}

Hlo emit_id_flags(HloBody& body, const std::vector<Hlo>& flags) {
  if (flags.size() == 1) return flags[0];
  int64_t count = 0;
  for (const Hlo& one : flags) count += one.type.elements();
  return body.add_typed("stablehlo.concatenate", flags, ", dim = 0", {DType::i64, {count}});
}

}  // namespace partita
