#include "compiler/emit/emit_rounded.h"

#include <fmt/ranges.h>

#include "base/attrs.h"
#include "base/error.h"
#include "compiler/partition/collectives.h"
#include "ir/graph/emit_call.h"

namespace partita {
namespace {

constexpr int64_t kMaxChainedRanks = 64;

/// Writes what both reductions need.
class RoundedSums {
 public:
  RoundedSums(HloBody& body, const ReplicaGroups& groups, DType wire)
      : body_(body), groups_(groups), wire_(wire), call_{body, attrs_, none_, types_} {
    PARTITA_CHECK(is_half(wire), "parts of {}", name_of(wire));
  }

  const EmitCall& call() const { return call_; }
  Hlo rounded(const Hlo& x) const { return call_.convert(x, wire_); }

  /// Returns elements [begin, end) of the first dimension.
  Hlo rows(const Hlo& x, int64_t begin, int64_t end) const {
    Type type = x.type;
    std::vector<std::string> ranges{fmt::format("{}:{}", begin, end)};
    for (int64_t d = 1; d < type.rank(); ++d) ranges.push_back(fmt::format("0:{}", type.shape[d]));
    type.shape[0] = end - begin;
    return body_.add(fmt::format("stablehlo.slice {} [{}] : ({}) -> {}", x.name, fmt::join(ranges, ", "),
                                 hlo_type(x.type), hlo_type(type)),
                     type);
  }

  /// Returns the concatenation along the first dimension of the operands of all ranks of a group.
  Hlo gathered(const Hlo& x) const {
    Type type = x.type;
    type.shape[0] *= groups_.ways;
    return moved(x, "all_gather", "all_gather_dim = 0 : i64, " + groups_.text, type);
  }

  /// Cuts the operand along `dim` into a piece for each rank, and returns the pieces that the ranks of the group have
  /// for this one, one after the other along the first dimension.
  Hlo exchanged(const Hlo& x, int64_t dim) const {
    Type type = x.type;
    type.shape[dim] /= groups_.ways;
    type.shape[0] *= groups_.ways;
    return moved(x, "all_to_all",
                 fmt::format("concat_dimension = 0 : i64, {}, split_count = {} : i64, split_dimension = {} : i64",
                             groups_.text, groups_.ways, dim),
                 type);
  }

  /// Returns the sum, rounded, of the parts that lie one after the other along the first dimension, added in `dtype`.
  Hlo sum_of_parts(const Hlo& parts, DType dtype) const {
    const int64_t count = groups_.ways, each = parts.type.shape[0] / count;
    if (count > kMaxChainedRanks) {
      Shape shape = parts.type.shape;
      shape[0] = each;
      shape.insert(shape.begin(), count);
      const Hlo wide = call_.convert(call_.reshape(parts, shape), dtype);
      return rounded(call_.reduce(wide, accumulating_op(Reduce::sum), call_.splat(0, {dtype, {}}), {0}));
    }
    Hlo sum = call_.convert(rows(parts, 0, each), dtype);
    for (int64_t i = 1; i < count; ++i) {
      sum = body_.add_same("stablehlo." + accumulating_op(Reduce::sum),
                           {sum, call_.convert(rows(parts, i * each, (i + 1) * each), dtype)});
    }
    return rounded(sum);
  }

  /// Returns the operands, rounded, as one line of elements.
  Hlo joined(const std::vector<Hlo>& operands) const {
    std::vector<Hlo> lines;
    Type type{wire_, {0}};
    for (const Hlo& operand : operands) {
      lines.push_back(call_.reshape(rounded(operand), {operand.type.elements()}));
      type.shape[0] += operand.type.elements();
    }
    if (lines.size() == 1) return lines[0];
    std::vector<std::string> names;
    for (const Hlo& line : lines) names.push_back(line.name);
    return body_.add(fmt::format("stablehlo.concatenate {}, dim = 0 : {} -> {}", fmt::join(names, ", "),
                                 hlo_types(lines), hlo_type(type)),
                     type);
  }

  /// Returns a line with zeros at its end, so that ranks have equal pieces of it.
  Hlo padded(const Hlo& line) const {
    const int64_t rest = line.type.shape[0] % groups_.ways;
    if (rest == 0) return line;
    Type type = line.type;
    type.shape[0] += groups_.ways - rest;
    const Hlo zero = call_.splat(0, {wire_, {}});
    return body_.add(fmt::format("stablehlo.pad {}, {}, low = [0], high = [{}], interior = [0] : {} -> {}", line.name,
                                 zero.name, groups_.ways - rest, hlo_types({line, zero}), hlo_type(type)),
                     type);
  }

 private:
  /// Returns the result of a collective that moves elements, with their bits as integers: compilers widen 16-bit floats
  /// on their way where a device does not compute with them.
  Hlo moved(const Hlo& x, std::string_view op, const std::string& attributes, const Type& type) const {
    const std::string from = bits_type(x.type), to = bits_type(type);
    const Hlo bits =
        body_.add(fmt::format("stablehlo.bitcast_convert {} : ({}) -> {}", x.name, hlo_type(x.type), from), x.type);
    const Hlo all =
        body_.add(fmt::format("\"stablehlo.{}\"({}) <{{{}}}> : ({}) -> {}", op, bits.name, attributes, from, to), type);
    return body_.add(fmt::format("stablehlo.bitcast_convert {} : ({}) -> {}", all.name, to, hlo_type(type)), type);
  }

  /// Returns the type of the bits of 16-bit elements: "tensor<2x3xui16>".
  static std::string bits_type(const Type& type) { return fmt::format("tensor<{}xui16>", fmt::join(type.shape, "x")); }

  HloBody& body_;
  const ReplicaGroups& groups_;
  const DType wire_;
  const Attrs attrs_{};
  const std::vector<Hlo> none_{};
  const std::vector<Type> types_{};
  const EmitCall call_;
};

}  // namespace

std::vector<Hlo> emit_rounded_all_reduce(HloBody& body, const ReplicaGroups& groups, DType wire,
                                         const std::vector<Hlo>& operands) {
  PARTITA_CHECK(!operands.empty(), "a sum of nothing over ranks");
  const RoundedSums sums(body, groups, wire);
  const DType dtype = operands[0].type.dtype;
  const Hlo line = sums.joined(operands);
  // With two ranks, the pieces and their sums are as many bytes as the parts.
  Hlo sum = groups.ways <= 2 ? sums.sum_of_parts(sums.gathered(line), dtype)
                             : sums.gathered(sums.sum_of_parts(sums.exchanged(sums.padded(line), 0), dtype));
  std::vector<Hlo> results;
  for (int64_t begin = 0; const Hlo& operand : operands) {
    const int64_t end = begin + operand.type.elements();
    const bool is_all = begin == 0 && end == sum.type.shape[0];
    results.push_back(
        sums.call().convert(sums.call().reshape(is_all ? sum : sums.rows(sum, begin, end), operand.type.shape), dtype));
    begin = end;
  }
  return results;
}

Hlo emit_rounded_reduce_scatter(HloBody& body, const ReplicaGroups& groups, DType wire, const Hlo& operand, int64_t dim,
                                const Type& result) {
  const RoundedSums sums(body, groups, wire);
  const Hlo sum = sums.sum_of_parts(sums.exchanged(sums.rounded(operand), dim), operand.type.dtype);
  PARTITA_CHECK(sum.type.shape == result.shape, "{} is no piece of {}", print(sum.type), print(operand.type));
  return sums.call().convert(sum, result.dtype);
}

}  // namespace partita
