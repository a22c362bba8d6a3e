#include "harness.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <numeric>

#include "base/number.h"
#include "base/philox.h"
#include "ir/ops/registry.h"

namespace partita::laws {

namespace {

/// A random order of 0 .. count-1.
std::vector<int64_t> shuffled(int64_t count, uint64_t key) {
  std::vector<int64_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  for (int64_t i = count - 1; i > 0; --i) std::swap(order[i], order[random_below(key, i, 0, i + 1)]);
  return order;
}

double value_of(const Fill& fill, uint64_t key, int64_t element) {
  const double normal = random_normal(key, element, 0);
  const uint32_t word = random_word(key, element, 0);
  switch (fill.kind) {
    case Fill::normal: return normal + std::copysign(0.1, normal);
    case Fill::positive: return 0.5 + std::abs(normal);
    case Fill::above_one: return 1.5 + std::abs(normal);
    case Fill::unit: return 0.05 + 0.9 * uniform_of(word);
    case Fill::within: return 1.8 * uniform_of(word) - 0.9;
    case Fill::ids: return static_cast<double>(random_below(key, element, 0, std::max<int64_t>(fill.below, 1)));
    case Fill::boolean: return word & 1;
    case Fill::step: return 3;
    case Fill::distinct: break;
  }
  PARTITA_CHECK(false, "kind of filling {}", static_cast<int>(fill.kind));
}

}  // namespace

Array fill(const SampleInput& input, uint64_t key) {
  Array array(input.type);
  const int64_t count = input.type.elements();
  const bool real = is_float(input.type.dtype);
  if (input.fill.kind == Fill::distinct) {
    // Apart from each other, and by the offset from other operands and from 0.
    const std::vector<int64_t> order = shuffled(count, key);
    const double offset = 0.05 + 0.25 * uniform_of(random_word(key, 0, 1));
    for (int64_t i = 0; i < count; ++i) {
      const double centred = static_cast<double>(order[i] - count / 2);
      array.set(i, real ? 0.37 * centred + offset : static_cast<double>(order[i]));
    }
    return array;
  }
  for (int64_t i = 0; i < count; ++i) {
    const double value = value_of(input.fill, key, i);
    array.set(i, real || input.fill.kind != Fill::normal ? value : std::floor(std::abs(3 * value)));
  }
  return array;
}

std::vector<const OpDef*> every_op() {
  std::vector<const OpDef*> ops;
  for (const OpDef& op : all_ops().all()) ops.push_back(&op);
  return ops;
}

std::vector<Array> fill(const Sample& sample, uint64_t seed) {
  std::vector<Array> arrays;
  for (const SampleInput& input : sample.inputs) {
    arrays.push_back(fill(input, random_key(seed, fmt::format("operand{}", arrays.size()))));
  }
  return arrays;
}

Array slice(const Array& array, const Box& ranges) {
  Type type{array.type().dtype, {}};
  for (const Range& range : ranges) type.shape.push_back(range.count());
  Array part(type);
  if (part.type().elements() == 0) return part;
  const size_t rank = ranges.size(), size = size_of(type.dtype);
  if (rank == 0) {
    std::memcpy(part.data(), array.data(), size);
    return part;
  }
  const Shape strides = strides_of(array.shape());
  const int64_t row = type.shape.back();
  std::vector<int64_t> index(rank, 0);
  auto* to = static_cast<std::byte*>(part.data());
  const auto* from = static_cast<const std::byte*>(array.data());
  for (int64_t copied = 0; copied < type.elements(); copied += row) {
    int64_t at = 0;
    for (size_t d = 0; d < rank; ++d) at += (ranges[d].begin + index[d]) * strides[d];
    std::memcpy(to + copied * size, from + at * size, row * size);
    for (size_t d = rank - 1; d-- > 0;) {
      if (++index[d] < type.shape[d]) break;
      index[d] = 0;
    }
  }
  return part;
}

void reduce_into(Array& into, const Array& other, Reduce kind) {
  PARTITA_CHECK(into.type() == other.type(), "{} and {}", print(into.type()), print(other.type()));
  for_dtype(into.type().dtype, [&](auto zero) {
    using T = decltype(zero);
    T* to = into.as<T>();
    const T* from = other.as<T>();
    for (int64_t i = 0; i < into.type().elements(); ++i) {
      switch (kind) {
        case Reduce::sum: to[i] = static_cast<T>(to[i] + from[i]); break;
        case Reduce::max: to[i] = to[i] < from[i] || is_nan(from[i]) ? from[i] : to[i]; break;
        case Reduce::min: to[i] = from[i] < to[i] || is_nan(from[i]) ? from[i] : to[i]; break;
        case Reduce::none: PARTITA_CHECK(false, "no reduction");
      }
    }
  });
}

std::string differs(const Array& got, const Array& expected, double tolerance) {
  if (got.type() != expected.type()) {
    return fmt::format("type {}, expected {}", print(got.type()), print(expected.type()));
  }
  const int64_t count = got.type().elements();
  const DType dtype = got.type().dtype;
  if (tolerance == 0 && is_float(dtype)) tolerance = dtype == DType::f64 ? 1e-11 : dtype == DType::f32 ? 1e-5 : 2e-2;
  double scale = 1e-3;
  for (int64_t i = 0; i < count; ++i) {
    const double value = std::abs(expected.at(i));
    // A mask of -1e9 must not hide what happens next to it.
    if (value < 1e6) scale = std::max(scale, value);
  }
  for (int64_t i = 0; i < count; ++i) {
    const double a = got.at(i), b = expected.at(i);
    if (a == b) continue;
    if (!(std::abs(a - b) <= tolerance * std::max(scale, std::abs(b)))) {
      return fmt::format("element {} is {}, expected {}", i, a, b);
    }
  }
  return "";
}

Case part_of(const Case& node, const Shard& shard) {
  std::vector<Array> inputs;
  for (size_t i = 0; i < node.inputs.size(); ++i) inputs.push_back(slice(node.inputs[i], shard.inputs[i]));
  return {node.op, node.op.localize ? node.op.localize(node.attrs, shard) : node.attrs, std::move(inputs)};
}

std::vector<Type> types_of(const std::vector<Array>& arrays) {
  std::vector<Type> types;
  for (const Array& array : arrays) types.push_back(array.type());
  return types;
}

std::vector<Array> run(const OpDef& op, const Attrs& attrs, const std::vector<Array>& inputs) {
  const std::vector<Type> input_types = types_of(inputs), none;
  std::vector<Array> outputs;
  std::vector<ConstTensor> in;
  std::vector<Tensor> out;
  for (const Type& type : op.infer({attrs, input_types, none})) outputs.emplace_back(type);
  for (const Array& input : inputs) in.push_back(input.tensor());
  for (Array& output : outputs) {
    // What a kernel does not write shows up as a NaN.
    if (output.type().dtype != DType::boolean && output.type().elements() > 0) {
      std::memset(output.data(), 0xff, output.type().bytes());
    }
    out.push_back(output.tensor());
  }
  op.kernel(attrs, in, out);
  return outputs;
}

Case::Case(const OpDef& definition, const Attrs& attributes, std::vector<Array> operands)
    : op(definition), attrs(attributes.empty() ? definition.attrs : attributes), inputs(std::move(operands)) {
  outputs = run(op, attrs, inputs);
  input_types = types_of(inputs);
  output_types = types_of(outputs);
}

Case::Case(const OpDef& definition, const Sample& sample, uint64_t seed)
    : Case(definition, sample.attrs, fill(sample, seed)) {}

const std::vector<Mesh>& meshes() {
  static const std::vector<Mesh> all = [] {
    std::vector<Mesh> list;
    const std::vector<std::vector<int64_t>> shapes{{2}, {3}, {5}, {2, 2}, {2, 3}, {3, 2}, {2, 2, 2}};
    for (const std::vector<int64_t>& sizes : shapes) {
      std::vector<std::pair<std::string, int64_t>> named;
      for (size_t i = 0; i < sizes.size(); ++i) named.emplace_back(std::string(1, "xyz"[i]), sizes[i]);
      list.emplace_back(named);
    }
    return list;
  }();
  return all;
}

void for_cuts(const ShardingRule& rule, const Mesh& mesh, const std::function<void(const Cut&)>& visit) {
  const int factors = static_cast<int>(rule.factors.size());
  const int axes = static_cast<int>(mesh.axes().size());
  std::vector<int> choice(axes, 0);  // 0: the axis cuts nothing
  while (true) {
    Cut cut(factors);
    for (int axis = 0; axis < axes; ++axis) {
      if (choice[axis] > 0) cut[choice[axis] - 1].push_back(axis);
    }
    visit(cut);
    Cut reversed = cut;
    for (Axes& one : reversed) std::reverse(one.begin(), one.end());
    if (reversed != cut) visit(reversed);
    int axis = 0;
    while (axis < axes && ++choice[axis] > factors) choice[axis++] = 0;
    if (axis == axes) return;
  }
}

std::string print(const ShardingRule& rule, const Cut& cut, const Mesh& mesh) {
  std::string text;
  for (size_t f = 0; f < cut.size(); ++f) {
    if (!cut[f].empty()) text += fmt::format(" {}{{{}}}", rule.factors[f].name, mesh.print(cut[f]));
  }
  return fmt::format("{} on {}:{}", partita::print(rule), partita::print(mesh), text);
}

namespace {

/// One rank's part of a node: its shard and the outputs that it computed.
struct Part {
  Shard shard;
  std::vector<Array> outputs;
};

/// "" or why a rank cannot compute its part.
std::string compute(const Case& node, const ShardingRule& rule, const Cut& cut, const Mesh& mesh, int64_t rank,
                    Part& part) {
  part.shard = shard(rule, cut, mesh, mesh.coordinates(rank), node.call());
  std::vector<Array> inputs;
  for (size_t i = 0; i < node.inputs.size(); ++i) inputs.push_back(slice(node.inputs[i], part.shard.inputs[i]));
  const Attrs attrs = node.op.localize ? node.op.localize(node.attrs, part.shard) : node.attrs;
  const std::vector<Type> types = types_of(inputs), none;
  const std::vector<Type> inferred = node.op.infer({attrs, types, none});
  for (size_t k = 0; k < node.outputs.size(); ++k) {
    Type expected{node.output_types[k].dtype, {}};
    for (const Range& range : part.shard.outputs[k]) expected.shape.push_back(range.count());
    if (inferred.at(k) != expected) {
      return fmt::format("rank {} infers {}, holds {}", rank, partita::print(inferred[k]), partita::print(expected));
    }
  }
  part.outputs = run(node.op, attrs, inputs);
  return "";
}

/// "" or where the parts of one output do not make up the whole, as `compare` says of each of them.
std::string combine(const Case& node, const ShardingRule& rule, const Cut& cut, const Mesh& mesh,
                    const std::vector<Part>& parts, size_t output, const ComparePart& compare) {
  const Sharding sharding = output_sharding(rule, cut, static_cast<int>(output));
  std::map<std::pair<int64_t, std::vector<int64_t>>, const Array*> seen;
  for (int64_t rank = 0; rank < mesh.ranks(); ++rank) {
    const std::vector<int64_t> at = mesh.coordinates(rank);
    const Box& ranges = parts[rank].shard.outputs[output];
    if (ranges != local_ranges(node.output_types[output], sharding, mesh, at))
      return "the local range is not that of dims_from_factors";
    const Array& piece = parts[rank].outputs[output];
    std::vector<int64_t> begins;
    for (const Range& range : ranges) begins.push_back(range.begin);
    const auto [replica, first] = seen.try_emplace({mesh.index_on(at, sharding.partial), begins}, &piece);
    if (!first && std::memcmp(replica->second->data(), piece.data(), piece.type().bytes()) != 0) {
      return fmt::format("rank {} differs from its replica", rank);
    }
    if (mesh.index_on(at, sharding.partial) != 0) continue;
    Array sum = piece;
    for (int other : mesh.group(rank, sharding.partial)) {
      if (other != rank) reduce_into(sum, parts[other].outputs[output], sharding.kind);
    }
    const std::string wrong = compare(output, ranges, sum);
    if (!wrong.empty()) return fmt::format("output {} of rank {}: {}", output, rank, wrong);
  }
  return "";
}

/// The largest part of a factor that a rank has under a cut.
int64_t largest_part(const ShardingRule& rule, const Cut& cut, const Mesh& mesh, int factor) {
  const int64_t ways = mesh.ways(cut[factor]);
  return (rule.factors[factor].size + ways - 1) / ways;
}

/// "" or which operand of a rank is larger than its share; under a window it has a halo besides.
std::string check_operands(const Case& node, const ShardingRule& rule, const Cut& cut, const Mesh& mesh,
                           const Part& part) {
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    int64_t local = 1, share = 1;
    for (size_t d = 0; d < rule.inputs[i].size(); ++d) {
      const DimMap& dim = rule.inputs[i][d];
      local *= part.shard.inputs[i][d].count();
      if (dim.window) {
        share *= part.shard.inputs[i][d].count();
        continue;
      }
      for (const int factor : dim.factors) share *= largest_part(rule, cut, mesh, factor);
    }
    if (local > share) return fmt::format("a rank has {} elements of operand {}, its share is {}", local, i, share);
  }
  return "";
}

/// Law 8: the points of all ranks are those of the whole, once per replica, and no rank has more than its share, of
/// points and of each operand.
std::string check_cost(const Case& node, const ShardingRule& rule, const Cut& cut, const Mesh& mesh,
                       const std::vector<Part>& parts) {
  int64_t whole = 1, ways = 1, sum = 0, share = 1;
  for (size_t f = 0; f < cut.size(); ++f) {
    if (!rule.factors[f].contributes_flops) continue;
    share *= largest_part(rule, cut, mesh, static_cast<int>(f));
    whole *= rule.factors[f].size;
    ways *= mesh.ways(cut[f]);
  }
  for (const Part& part : parts) {
    std::vector<Type> inputs;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      inputs.push_back({node.input_types[i].dtype, {}});
      for (const Range& range : part.shard.inputs[i]) inputs[i].shape.push_back(range.count());
    }
    const std::vector<Type> outputs = types_of(part.outputs);
    const Attrs attrs = node.op.localize ? node.op.localize(node.attrs, part.shard) : node.attrs;
    int64_t points = 1;
    for (const Factor& factor : node.op.rule({attrs, inputs, outputs}).factors) {
      if (factor.contributes_flops) points *= factor.size;
    }
    sum += points;
    if (points > share) return fmt::format("a rank computes {} points, its share is {}", points, share);
    if (const std::string wrong = check_operands(node, rule, cut, mesh, part); !wrong.empty()) return wrong;
  }
  const int64_t expected = whole * (mesh.ranks() / ways);
  return sum == expected ? "" : fmt::format("{} points on all ranks, expected {}", sum, expected);
}

}  // namespace

std::string check_cut(const Case& node, const ShardingRule& rule, const Cut& cut, const Mesh& mesh) {
  return check_cut(node, rule, cut, mesh, [&](size_t output, const Box& ranges, const Array& got) {
    return differs(got, slice(node.outputs[output], ranges));
  });
}

std::string check_cut(const Case& node, const ShardingRule& rule, const Cut& cut, const Mesh& mesh,
                      const ComparePart& compare) {
  try {
    std::vector<Part> parts(mesh.ranks());
    for (int64_t rank = 0; rank < mesh.ranks(); ++rank) {
      const std::string wrong = compute(node, rule, cut, mesh, rank, parts[rank]);
      if (!wrong.empty()) return wrong;
    }
    for (size_t k = 0; k < node.outputs.size(); ++k) {
      const std::string wrong = combine(node, rule, cut, mesh, parts, k, compare);
      if (!wrong.empty()) return wrong;
    }
    return check_cost(node, rule, cut, mesh, parts);
  } catch (const std::exception& error) {
    return error.what();
  }
}

std::string check_cuts(const Case& node) {
  return check_cuts(node, [&](size_t output, const Box& ranges, const Array& got) {
    return differs(got, slice(node.outputs[output], ranges));
  });
}

std::string check_cuts(const Case& node, const ComparePart& compare) {
  const ShardingRule rule = node.op.rule(node.call());
  std::string wrong = verify(rule, node.call(), node.op.expand != nullptr);
  if (!wrong.empty()) return fmt::format("{}: {}: {}", node.op.name, partita::print(rule), wrong);
  for (const Mesh& mesh : meshes()) {
    for_cuts(rule, mesh, [&](const Cut& cut) {
      if (!wrong.empty() || !illegal(rule, cut, mesh).empty() || needs_expansion(rule, cut)) return;
      wrong = check_cut(node, rule, cut, mesh, compare);
      if (!wrong.empty()) wrong = fmt::format("{}: {}: {}", node.op.name, print(rule, cut, mesh), wrong);
    });
  }
  return wrong;
}

std::vector<Array> evaluate(const Graph& graph, const std::vector<Array>& inputs, const OpSet& ops) {
  PARTITA_CHECK(inputs.size() == graph.inputs.size(), "{} inputs of {}", inputs.size(), graph.inputs.size());
  std::vector<Array> values(graph.values.size());
  for (size_t i = 0; i < inputs.size(); ++i) values[graph.inputs[i].value] = inputs[i];
  for (const Node& node : graph.nodes) {
    std::vector<Array> operands;
    for (ValueId input : node.inputs) operands.push_back(values[input]);
    std::vector<Array> results = run(ops.at(node.op), node.attrs, operands);
    for (size_t k = 0; k < node.outputs.size(); ++k) values[node.outputs[k]] = std::move(results.at(k));
  }
  return values;
}

std::string check_nodes(const Graph& graph, const std::vector<Array>& values, const OpSet& ops) {
  for (const Node& node : graph.nodes) {
    std::vector<Array> operands;
    for (ValueId input : node.inputs) operands.push_back(values[input]);
    const std::string wrong = check_cuts(Case(ops.at(node.op), node.attrs, std::move(operands)));
    if (!wrong.empty()) return wrong;
  }
  return "";
}

}  // namespace partita::laws
