// Law 11: a fast kernel equals the reference, or refuses with a reason; whatever the memory formats it meets, in
// the place of an operand that it may overwrite, and within the memory that it asked for.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "device/device.h"
#include "harness.h"
#include "ops/attention/attention.h"
#include "ops/conv/conv2d.h"
#include "ops/elementwise/attrs.h"
#include "ops/loss/cross_entropy.h"
#include "ops/matmul/matmul.h"
#include "ops/norm/batch_norm.h"
#include "ops/norm/row_norm.h"
#include "ops/pool/pool.h"
#include "ops/reduce/attrs.h"
#include "ops/registry.h"
#include "ops/routing/attrs.h"
#include "ops/shape/attrs.h"
#include "ops/support.h"
#include "ops/update/updates.h"

namespace partita {

std::vector<KernelDef> listed_onednn_kernels();
std::vector<KernelDef> listed_loop_kernels();

namespace laws {
namespace {

constexpr int kThreads = 2;
constexpr double kTolerance32 = 2e-5, kTolerance64 = 1e-11;  // of the largest element

/// The place of an element in a memory format, worked out from its tag alone.
class Place {
 public:
  Place(const Shape& shape, const MemoryFormat& format) {
    std::string tag = format.tag;
    if (format.plain()) {
      tag.clear();
      for (size_t d = 0; d < shape.size(); ++d) tag += static_cast<char>('a' + d);
    }
    std::vector<int64_t> left(shape.size(), 1);  // the product of the blocks of a dimension still to come
    std::vector<std::pair<size_t, int64_t>> levels;
    for (size_t i = 0; i < tag.size(); ++i) {
      int64_t block = 0;
      while (std::isdigit(tag[i])) block = 10 * block + (tag[i++] - '0');
      const auto dim = static_cast<size_t>(std::tolower(tag[i]) - 'a');
      levels.emplace_back(dim, block);
      if (block > 0) left[dim] *= block;
    }
    for (auto& [dim, block] : levels) {
      const int64_t count = block > 0 ? block : (shape[dim] + left[dim] - 1) / left[dim];
      if (block > 0) left[dim] /= block;
      levels_.push_back({dim, left[dim], count});
      elements_ *= count;
    }
  }

  int64_t elements() const { return elements_; }
  int64_t at(const std::vector<int64_t>& index) const {
    int64_t at = 0;
    for (const Level& level : levels_) at = at * level.count + index[level.dim] / level.step % level.count;
    return at;
  }

 private:
  struct Level {
    size_t dim;
    int64_t step, count;
  };
  std::vector<Level> levels_;
  int64_t elements_ = 1;
};

/// visit(row-major place, place in the memory format) for each element.
template <class Visit>
void for_elements(const Shape& shape, const Place& place, Visit&& visit) {
  std::vector<int64_t> index(shape.size(), 0);
  const int64_t count = elements(shape);
  for (int64_t i = 0; i < count; ++i) {
    visit(i, place.at(index));
    for (size_t d = shape.size(); d-- > 0;) {
      if (++index[d] < shape[d]) break;
      index[d] = 0;
    }
  }
}

/// Memory with a guard behind it, filled with bytes that are a NaN in every float.
class Memory {
 public:
  explicit Memory(int64_t bytes) : bytes_(bytes), storage_(bytes + kGuard + kAlignment, std::byte{0xff}) {}
  void* data() {
    auto address = reinterpret_cast<uintptr_t>(storage_.data());
    return reinterpret_cast<void*>((address + kAlignment - 1) / kAlignment * kAlignment);
  }
  bool intact() {
    const auto* guard = static_cast<const std::byte*>(data()) + bytes_;
    return std::all_of(guard, guard + kGuard, [](std::byte value) { return value == std::byte{0xff}; });
  }

 private:
  static constexpr int64_t kGuard = 256, kAlignment = 64;
  int64_t bytes_;
  std::vector<std::byte> storage_;
};

Memory laid_out(const Array& array, const MemoryFormat& format) {
  const Place place(array.shape(), format);
  const auto size = static_cast<int64_t>(size_of(array.type().dtype));
  Memory memory(place.elements() * size);
  auto* to = static_cast<std::byte*>(memory.data());
  const auto* from = static_cast<const std::byte*>(array.data());
  std::memset(to, 0, place.elements() * size);
  for_elements(array.shape(), place,
               [&](int64_t i, int64_t at) { std::memcpy(to + at * size, from + i * size, size); });
  return memory;
}

/// The tensor of a memory; `wrong` says where padding is not zero.
Array read_back(Memory& memory, const Type& type, const MemoryFormat& format, std::string& wrong) {
  const Place place(type.shape, format);
  const auto size = static_cast<int64_t>(size_of(type.dtype));
  Array array(type);
  auto* from = static_cast<std::byte*>(memory.data());
  auto* to = static_cast<std::byte*>(array.data());
  for_elements(type.shape, place, [&](int64_t i, int64_t at) {
    std::memcpy(to + i * size, from + at * size, size);
    std::memset(from + at * size, 0, size);
  });
  if (!is_float(type.dtype)) return array;
  for (int64_t i = 0; i < place.elements() * size; ++i) {
    if ((from[i] & std::byte{0x7f}) != std::byte{0}) wrong = fmt::format("padding of {} is not zero", format.tag);
  }
  return array;
}

const std::vector<KernelDef>& fast_kernels() {
  static const std::vector<KernelDef> all = [] {
    std::vector<KernelDef> defs = listed_onednn_kernels();
    for (KernelDef& def : listed_loop_kernels()) defs.push_back(std::move(def));
    return defs;
  }();
  return all;
}

bool is_served(const std::string& op) {
  const auto serves = [&](const KernelDef& def) { return std::count(def.ops.begin(), def.ops.end(), op) > 0; };
  return std::any_of(fast_kernels().begin(), fast_kernels().end(), serves);
}

struct NamedCase {
  std::string name;
  Case node;
};

/// All float operands in `dtype`, except the last ones of an op that takes its sums in f64 always.
/// The case with its floats in another type; the last operands keep theirs where the op asks for f64 sums.
Case cast_floats(const OpDef& op, const Attrs& attrs, const std::vector<Array>& inputs, DType dtype) {
  for (size_t kept = 0;; ++kept) {
    std::vector<Array> operands = inputs;
    for (size_t i = 0; i + kept < operands.size(); ++i) {
      if (is_float(operands[i].type().dtype)) operands[i] = cast(operands[i], dtype);
    }
    const std::vector<Type> types = types_of(operands), none;
    try {
      op.infer({attrs, types, none});
    } catch (const InvalidArgument&) {
      if (kept == operands.size()) throw;
      continue;
    }
    return Case(op, attrs, std::move(operands));
  }
}

/// Cases in both types, of ops that have a fast kernel.
class Cases {
 public:
  void add(const std::string& op, const Attrs& attrs, const std::vector<SampleInput>& inputs) {
    add_filled(op, attrs, fill(Sample{inputs, attrs}));
  }
  void add_filled(const std::string& op, const Attrs& attrs, const std::vector<Array>& inputs) {
    if (!is_served(op)) return;
    for (DType dtype : {DType::f32, DType::f64}) {
      all_.push_back({fmt::format("{}{} {}", op, attrs.print(), print(types_of(inputs))),
                      cast_floats(all_ops().at(op), attrs, inputs, dtype)});
    }
  }
  std::vector<NamedCase> take() { return std::move(all_); }

 private:
  std::vector<NamedCase> all_;
};

void add_convolutions(Cases& cases) {
  struct Conv {
    Shape x, weight;
    Conv2dAttrs attrs;
  };
  const Conv convs[] = {
      {{32, 1, 28, 28}, {6, 1, 5, 5}, {.pads = {2, 2, 2, 2}}},
      {{32, 6, 14, 14}, {16, 6, 5, 5}, {}},
      {{1, 3, 17, 19}, {20, 3, 7, 7}, {.stride = {2, 2}, .pads = {3, 3, 3, 3}}},
      {{2, 32, 9, 11}, {48, 32, 1, 1}, {.stride = {2, 2}}},
      {{3, 16, 13, 8}, {32, 16, 3, 3}, {.stride = {2, 1}, .pads = {0, 2, 1, 0}}},
      {{2, 24, 12, 12}, {16, 24, 3, 2}, {.dilation = {2, 3}, .pads = {2, 1, 2, 2}}},
      {{2, 32, 7, 7}, {64, 8, 3, 3}, {.pads = {1, 1, 1, 1}, .groups = 4}},
      {{2, 16, 10, 9}, {16, 1, 3, 3}, {.stride = {2, 2}, .pads = {1, 1, 1, 1}, .groups = 16}},
      {{1, 64, 5, 5}, {64, 64, 3, 3}, {.pads = {1, 1, 1, 1}}},
  };
  for (const auto& [x, weight, attrs] : convs) {
    const std::vector<Type> types{{DType::f64, x}, {DType::f64, weight}};
    const Attrs forward(attrs);
    const Shape y = all_ops().at("conv2d").infer({forward, types, {}})[0].shape;
    cases.add("conv2d", forward, {sample_of(x), sample_of(weight)});
    cases.add("conv2d_grad_input",
              Attrs(Conv2dGradInputAttrs{attrs.stride, attrs.dilation, attrs.pads, attrs.groups, {x[2], x[3]}}),
              {sample_of(y), sample_of(weight)});
    cases.add(
        "conv2d_grad_filter",
        Attrs(Conv2dGradFilterAttrs{attrs.stride, attrs.dilation, attrs.pads, attrs.groups, {weight[2], weight[3]}}),
        {sample_of(x), sample_of(y)});
  }
}

void add_pools(Cases& cases) {
  struct Pool {
    Shape x;
    MaxPoolAttrs attrs;
  };
  const Pool pools[] = {
      {{32, 6, 28, 28}, {.kernel = {2, 2}, .stride = {2, 2}}},
      {{2, 64, 17, 15}, {.kernel = {3, 3}, .stride = {2, 2}, .pads = {1, 1, 1, 1}}},
      {{1, 20, 9, 7}, {.kernel = {3, 2}, .stride = {1, 1}, .pads = {0, 1, 2, 0}}},
  };
  for (const auto& [x, attrs] : pools) {
    const Attrs forward(attrs);
    const Case pooled(all_ops().at("max_pool"), Sample{{sample_of(x, Fill::distinct)}, forward});
    cases.add_filled("max_pool", forward, pooled.inputs);
    const Array d_y = fill(sample_of(pooled.outputs[0].shape()), 7);
    cases.add_filled("max_pool_grad", Attrs(MaxPoolGradAttrs{attrs.kernel, attrs.stride, attrs.pads, {x[2], x[3]}}),
                     {d_y, pooled.outputs[1]});
    // Equal elements, as the zeros after a relu: the first one counts.
    cases.add("max_pool", forward, {SampleInput{Type{DType::f64, x}, {Fill::ids, 3}}});
    for (bool with_padding : {true, false}) {
      cases.add("avg_pool", Attrs(AvgPoolAttrs{attrs.kernel, attrs.stride, attrs.pads, with_padding}), {sample_of(x)});
      cases.add("avg_pool_grad",
                Attrs(AvgPoolGradAttrs{.kernel = attrs.kernel,
                                       .stride = attrs.stride,
                                       .pads = attrs.pads,
                                       .count_include_pad = with_padding,
                                       .size = {x[2], x[3]},
                                       .whole = {x[2], x[3]}}),
                {sample_of(pooled.outputs[0].shape())});
    }
  }
}

void add_norms(Cases& cases) {
  for (int64_t groups : {1, 4}) {
    for (const Shape& x : {Shape{8, 20, 7, 5}, Shape{32, 64, 6, 6}, Shape{32, 30}}) {
      const SampleInput channel = sample_of({x[1]}), mean = sample_of({groups, x[1]});
      const SampleInput rstd = sample_of({groups, x[1]}, Fill::positive);
      cases.add("batch_norm", Attrs(BatchNormAttrs{.groups = groups}), {sample_of(x), channel, channel});
      cases.add("batch_norm_grad", {}, {sample_of(x), channel, mean, rstd, sample_of(x)});
    }
  }
}

void add_transformers(Cases& cases) {
  for (const Shape& x : {Shape{300, 130}, Shape{7, 3, 33}}) {
    const SampleInput gamma = sample_of({x.back()});
    Shape rows = x;
    rows.back() = 1;
    const SampleInput mean = sample_of(rows), rstd = sample_of(rows, Fill::positive);
    cases.add("layer_norm", Attrs(RowNormAttrs{}), {sample_of(x), gamma, gamma});
    cases.add("layer_norm_grad", {}, {sample_of(x), gamma, mean, rstd, sample_of(x)});
    cases.add("rms_norm", Attrs(RowNormAttrs{}), {sample_of(x), gamma});
    cases.add("rms_norm_grad", {}, {sample_of(x), gamma, rstd, sample_of(x)});
  }
  for (const bool causal : {false, true}) {  // more queries than a block, and fewer keys than queries
    for (const int64_t keys : {300, 200}) {
      for (const int64_t group : {1, 3}) {
        const Shape q{2, 300, 24 * group}, k{2, keys, 24}, v{2, keys, 15};
        const Attrs attrs(AttentionAttrs{
            .heads = 3 * group, .causal = causal, .begin = causal ? 5 : 0, .kv_heads = group == 1 ? 0 : 3});
        const Case forward(all_ops().at("attention"), Sample{{sample_of(q), sample_of(k), sample_of(v)}, attrs});
        cases.add_filled("attention", attrs, forward.inputs);
        cases.add_filled("attention_grad", attrs,
                         {forward.inputs[0], forward.inputs[1], forward.inputs[2], forward.outputs[0],
                          forward.outputs[1], fill(sample_of(forward.outputs[0].shape()), 7)});
      }
    }
  }
  for (const int64_t begin : {-150, 0, 120}) {  // queries in front of, and behind, the keys of a shard
    const Attrs attrs(AttentionAttrs{.heads = 6, .causal = true, .begin = begin, .kv_heads = 3});
    const SampleInput q = sample_of({2, 300, 48}), k = sample_of({2, 200, 24}), v = sample_of({2, 200, 15});
    const SampleInput y = sample_of({2, 300, 30}), row = sample_of({2, 6, 300}, Fill::positive);
    cases.add("attention_max", attrs, {q, k});
    cases.add("attention_sums", attrs, {q, k, v, row});
    cases.add("attention_grad", attrs, {q, k, v, y, row, y});
  }
  cases.add("rotary", Attrs(RotaryAttrs{.begin = 3}), {sample_of({2, 3, 17, 34})});
  cases.add("rotary", Attrs(RotaryAttrs{.inverse = true, .heads = 5}), {sample_of({3, 40, 160})});
}

void add_large(Cases& cases) {
  const Shape image{32, 20, 14, 14}, wide{300, 210};
  for (const double exponent : {-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0, 2.7, 3.0, 4.0}) {
    cases.add("pow", Attrs(PowAttrs{exponent}), {sample_of(image, Fill::positive)});
  }
  for (const char* op : {"add", "mul"}) {
    const Attrs attrs = all_ops().at(op).attrs;
    cases.add(op, attrs, {sample_of(wide), sample_of({210})});
    cases.add(op, attrs, {sample_of({300, 1}), sample_of(wide)});
    cases.add(op, attrs, {sample_of({}), sample_of(wide)});
    cases.add(op, attrs, {sample_of({5, 1, 7, 1}), sample_of({4, 1, 6})});
  }
  const Attrs bias = all_ops().at("bias_add").attrs;
  cases.add("bias_add", bias, {sample_of(image), sample_of({20})});
  cases.add("bias_add", bias, {sample_of(wide), sample_of({210})});
  using Axes = std::vector<int64_t>;
  for (const Axes& axes : {Axes{0, 2, 3}, Axes{0}, Axes{2, 3}, Axes{0, 1, 2, 3}, Axes{1}}) {
    cases.add("reduce", Attrs(ReduceAttrs{.axes = axes, .scale = 0.5}), {sample_of(image)});
  }
  cases.add("reduce", Attrs(ReduceAttrs{.axes = {0}}), {sample_of(wide)});
  cases.add("matmul", Attrs(MatmulAttrs{}), {sample_of({70, 300}), sample_of({300, 130})});
  cases.add("matmul", Attrs(MatmulAttrs{true, false}), {sample_of({300, 1}), sample_of({300, 33})});
  cases.add("matmul", Attrs(MatmulAttrs{false, true}), {sample_of({3, 5, 40, 64}), sample_of({3, 5, 50, 64})});
  cases.add("matmul_rows", {}, {sample_of({70, 130}), sample_of({70, 33})});
  cases.add("matmul_rows", {}, {sample_of({3, 5, 40, 64}), sample_of({3, 5, 40, 50})});
  const SampleInput labels = ids_of({300}, 210), column = sample_of({300, 1}, Fill::positive);
  cases.add("cross_entropy", {}, {sample_of(wide), labels});
  cases.add("cross_entropy_grad", Attrs(CrossEntropyGradAttrs{.classes = 210}),
            {sample_of(wide), labels, column, column});
  const SampleInput tensor = sample_of({250, 201}), rate = sample_of({}, Fill::positive);
  cases.add("sgd", Attrs(SgdAttrs{0.01}), {tensor, tensor, rate});
  cases.add("momentum", Attrs(MomentumAttrs{0.9, 0.1, true, 0.01}), {tensor, tensor, tensor, rate});
  const SampleInput squares = sample_of({250, 201}, Fill::positive), step{Type{DType::i64, {}}, {Fill::ids, 9}};
  cases.add("adam", Attrs(AdamAttrs{.weight_decay = 0.1, .decoupled = true}),
            {tensor, tensor, tensor, squares, rate, step});
}

/// Every pointwise op on more elements than one thread takes, with the attributes and the fill of each of its samples.
void add_pointwise(Cases& cases) {
  for (const OpDef& op : all_ops().all()) {
    std::set<std::string> done;
    for (const Sample& sample : op.samples) {
      if (!op.pointwise || !done.insert(sample.attrs.print()).second) continue;
      std::vector<SampleInput> inputs = sample.inputs;
      for (SampleInput& input : inputs) input.type.shape = {8, 20, 14, 14};
      cases.add(op.name, sample.attrs, inputs);
    }
  }
}

/// What a mixture of experts does to rows.
void add_routes(Cases& cases) {
  const Shape tokens{3, 40, 300}, slots{3, 64, 300};
  const SampleInput routes = ids_of({3, 40, 2}, 65), weights = sample_of({3, 40, 2});  // 64: no slot
  cases.add("dispatch", Attrs(DispatchAttrs{.size = 64}), {sample_of(tokens), routes});
  cases.add("dispatch", Attrs(DispatchAttrs{20, 30, 64}), {sample_of(tokens), routes, weights});
  cases.add("combine", Attrs(CombineAttrs{}), {sample_of(slots), routes, weights});
  cases.add("combine", Attrs(CombineAttrs{8, 80}), {sample_of(slots), routes});
  cases.add("transpose", Attrs(TransposeAttrs{{1, 0, 2, 3}}), {sample_of({6, 8, 40, 16})});
  cases.add("transpose", Attrs(TransposeAttrs{{2, 0, 1, 3}}), {sample_of({5, 3, 4, 7})});
  cases.add("transpose", Attrs(TransposeAttrs{{0, 1}}), {sample_of({5, 3})});
  cases.add("combine_grad_weights", Attrs(CombineAttrs{}), {sample_of(slots), routes, sample_of(tokens)});
}

/// What a shard may be left with: no rows, no columns, nothing to sum.
void add_empty(Cases& cases) {
  for (const auto& [rows, inner, columns] : {std::array<int64_t, 3>{0, 4, 5}, {3, 0, 5}, {3, 4, 0}}) {
    cases.add("matmul", Attrs(MatmulAttrs{}), {sample_of({rows, inner}), sample_of({inner, columns})});
    cases.add("matmul", Attrs(MatmulAttrs{true, true}), {sample_of({2, inner, rows}), sample_of({2, columns, inner})});
  }
  cases.add("matmul", Attrs(MatmulAttrs{}), {sample_of({0, 3, 4}), sample_of({0, 4, 5})});
  cases.add("dispatch", Attrs(DispatchAttrs{.size = 4}), {sample_of({2, 0, 3}), ids_of({2, 0, 2}, 4)});
  cases.add("combine", Attrs(CombineAttrs{.total = 4}), {sample_of({2, 0, 3}), ids_of({2, 5, 2}, 5)});
  cases.add("matmul_rows", {}, {sample_of({0, 3, 4}), sample_of({0, 3, 5})});
  for (const char* op : {"softmax", "log_softmax"}) cases.add(op, {}, {sample_of({7, 0})});
  for (const char* op : {"softmax_grad", "log_softmax_grad"}) cases.add(op, {}, {sample_of({7, 0}), sample_of({7, 0})});
  for (const Shape& x : {Shape{0, 5}, Shape{0, 5, 3, 2}, Shape{4, 5, 0, 2}}) {
    cases.add("batch_norm", Attrs(BatchNormAttrs{.epsilon = 1e-3, .groups = 2}),
              {sample_of(x), sample_of({5}), sample_of({5})});
  }
  const std::vector<int64_t> pads{1, 1, 1, 1};
  for (const auto& [images, channels, filters] : {std::array<int64_t, 3>{0, 3, 4}, {2, 0, 4}, {2, 3, 0}}) {
    const SampleInput x = sample_of({images, channels, 6, 5}), weight = sample_of({filters, channels, 3, 3});
    const SampleInput y = sample_of({images, filters, 6, 5});
    cases.add("conv2d", Attrs(Conv2dAttrs{.pads = pads}), {x, weight});
    cases.add("conv2d_grad_input", Attrs(Conv2dGradInputAttrs{.pads = pads, .size = {6, 5}}), {y, weight});
    cases.add("conv2d_grad_filter", Attrs(Conv2dGradFilterAttrs{.pads = pads, .kernel = {3, 3}}), {x, y});
  }
  const Conv2dGradInputAttrs unused{.stride = {3, 3}, .size = {7, 8}};  // most elements of x meet no tap
  cases.add("conv2d_grad_input", Attrs(unused), {sample_of({2, 4, 3, 3}), sample_of({4, 3, 1, 1})});
  cases.add("conv2d_grad_input", Attrs(Conv2dGradInputAttrs{.size = {4, 4}}),
            {sample_of({2, 4, 0, 4}), sample_of({4, 3, 1, 1})});  // a shard that holds no outputs
  cases.add("conv2d_grad_filter", Attrs(Conv2dGradFilterAttrs{}), {sample_of({2, 3, 4, 4}), sample_of({2, 4, 0, 4})});
}

const std::vector<NamedCase>& all_cases() {
  static const std::vector<NamedCase> all = [] {
    Cases cases;
    for (const OpDef& op : all_ops().all()) {
      for (const Sample& sample : op.samples) cases.add(op.name, sample.attrs, sample.inputs);
    }
    add_convolutions(cases);
    add_pools(cases);
    add_norms(cases);
    add_transformers(cases);
    add_large(cases);
    add_routes(cases);
    add_pointwise(cases);
    add_empty(cases);
    return cases.take();
  }();
  return all;
}

bool may_be_blocked(const Type& type) { return type.rank() == 4 && type.dtype != DType::f64; }

/// One kernel on one case, with the memory formats that its operands have before.
class Check {
 public:
  using Compare = std::function<std::string(const Array& got, const Array& expected, double tolerance)>;

  Check(const KernelDef& def, const Case& node, const std::string& tag, Compare compare = differs)
      : def_(def), node_(node), compare_(std::move(compare)) {
    for (const Array& input : node.inputs) {
      const bool first = is_float(input.type().dtype) && input.type().elements() > 0;
      has_nan_ = has_nan_ || (first && std::isnan(input.at(0)));
    }
    query_ = {.op = node.op.name, .attrs = node.attrs, .inputs = node.input_types, .outputs = node.output_types};
    for (const Type& type : node.input_types) {
      MemoryFormat format;
      if (tag == "any" || may_be_blocked(type)) format.tag = tag;
      if (!format.plain() && !format.any()) format.bytes = bytes(type, format);
      query_.input_formats.push_back(format);
    }
  }

  /// "" or what is wrong.
  std::string run() {
    choice_ = def_.propose(query_);
    if (!choice_.accepted()) return choice_.reason.empty() ? "refused without a reason" : "";
    if (choice_.kernel != def_.name) return fmt::format("calls itself {}", choice_.kernel);
    if (choice_.inputs.size() != query_.inputs.size() || choice_.outputs.size() != query_.outputs.size()) {
      return "does not choose all memory formats";
    }
    for (const auto* side : {&choice_.inputs, &choice_.outputs}) {
      const std::vector<Type>& types = side == &choice_.inputs ? query_.inputs : query_.outputs;
      for (size_t i = 0; i < types.size(); ++i) {
        const MemoryFormat& format = (*side)[i];
        if (format.any()) return "leaves a memory format open";
        if (!format.plain() && format.bytes != bytes(types[i], format)) {
          return fmt::format("{} in {} has {} bytes, not {}", print(types[i]), format.tag, bytes(types[i], format),
                             format.bytes);
        }
      }
    }
    query_.input_formats = choice_.inputs;  // as the executor does
    kernel_ = def_.make(query_, choice_);
    std::string wrong = run_once({-1, -1});
    // Once more in other memory, and in the place of each operand.
    const std::vector<Array> first = std::exchange(results_, {});
    if (wrong.empty()) wrong = run_once({-1, -1});
    for (size_t k = 0; k < first.size() && wrong.empty(); ++k) {
      const bool same = std::memcmp(first[k].data(), results_[k].data(), first[k].type().bytes()) == 0;
      if (!same) wrong = fmt::format("output {} has other bits in a second run", k);
    }
    for (const std::pair<int, int>& pair : choice_.in_place) {
      if (wrong.empty()) wrong = run_once(pair);
      if (!wrong.empty()) return fmt::format("output {} in the place of input {}: {}", pair.second, pair.first, wrong);
    }
    return wrong;
  }

  bool accepted() const { return choice_.accepted(); }
  /// Outputs of the last run.
  const std::vector<Array>& results() const { return results_; }

 private:
  static int64_t bytes(const Type& type, const MemoryFormat& format) {
    return Place(type.shape, format).elements() * static_cast<int64_t>(size_of(type.dtype));
  }

  /// By the coarsest float among operands and results.
  double tolerance_of_types() const {
    for (const auto* types : {&query_.inputs, &query_.outputs}) {
      for (const Type& type : *types) {
        if (type.dtype == DType::f32) return kTolerance32;
      }
    }
    return kTolerance64;
  }

  std::string run_once(std::pair<int, int> in_place) {
    std::vector<Memory> inputs, outputs;
    for (size_t i = 0; i < node_.inputs.size(); ++i) inputs.push_back(laid_out(node_.inputs[i], choice_.inputs[i]));
    for (size_t k = 0; k < node_.outputs.size(); ++k) {
      outputs.emplace_back(bytes(node_.output_types[k], choice_.outputs[k]));
    }
    std::vector<const void*> from;
    std::vector<void*> to;
    for (Memory& memory : inputs) from.push_back(memory.data());
    for (Memory& memory : outputs) to.push_back(memory.data());
    if (in_place.first >= 0) to[in_place.second] = inputs[in_place.first].data();
    Memory scratch(choice_.scratch_bytes);
    kernel_->run(from, to, scratch.data());
    if (!scratch.intact()) return "writes behind its scratch";
    results_.clear();
    for (size_t k = 0; k < outputs.size(); ++k) {
      const bool shared = static_cast<int>(k) == in_place.second;
      Memory& memory = shared ? inputs[in_place.first] : outputs[k];
      if (!memory.intact()) return fmt::format("writes behind output {}", k);
      std::string wrong;
      const Array got = read_back(memory, node_.output_types[k], choice_.outputs[k], wrong);
      if (has_nan_) wrong.clear();  // NaN times the zeros of padding is NaN
      const double tolerance = is_float(got.type().dtype) ? tolerance_of_types() : 0;
      if (wrong.empty()) wrong = compare_(got, node_.outputs[k], tolerance);
      if (!wrong.empty()) return fmt::format("output {} in {}: {}", k, choice_.outputs[k].tag, wrong);
      results_.push_back(got);
    }
    return "";
  }

  const KernelDef& def_;
  const Case& node_;
  Compare compare_;
  bool has_nan_ = false;
  KernelQuery query_;
  KernelChoice choice_;
  std::unique_ptr<Kernel> kernel_;
  std::vector<Array> results_;
};

class KernelLaws : public testing::TestWithParam<size_t> {
 protected:
  void SetUp() override { make_cpu_device(all_ops(), kThreads)->enter_thread(); }
};

TEST_P(KernelLaws, EqualsTheReferenceOrRefuses) {
  const KernelDef& def = fast_kernels()[GetParam()];
  const std::set<std::string> ops(def.ops.begin(), def.ops.end());
  std::set<std::string> taken;
  for (const auto& [name, node] : all_cases()) {
    if (!ops.contains(node.op.name)) continue;
    const bool images = std::any_of(node.input_types.begin(), node.input_types.end(), may_be_blocked);
    for (const std::string tag : {"plain", "any", "acdb", "aBcd8b", "aBcd16b"}) {
      if (!images && tag != "plain" && tag != "any") continue;
      Check check(def, node, tag);
      EXPECT_EQ(check.run(), "") << def.name << " on " << name << " as " << print(node.input_types) << " in " << tag;
      if (check.accepted()) taken.insert(node.op.name);
    }
  }
  EXPECT_EQ(taken, ops) << def.name << " refused every case of some op that it lists";
}

/// "" or where the reference has a NaN and `got` a number, which would make a diverged run look sound.
std::string hides_nan(const Array& got, const Array& expected, double /*tolerance*/) {
  if (!is_float(got.type().dtype)) return "";
  for (int64_t i = 0; i < got.type().elements(); ++i) {
    if (std::isnan(expected.at(i)) && !std::isnan(got.at(i))) {
      return fmt::format("element {} is {}, expected NaN", i, got.at(i));
    }
  }
  return "";
}

TEST_P(KernelLaws, HidesNoNan) {
  const KernelDef& def = fast_kernels()[GetParam()];
  for (const std::string& op : def.ops) {
    for (const Sample& sample : all_ops().at(op).samples) {
      for (size_t operand = 0; operand < sample.inputs.size(); ++operand) {
        std::vector<Array> inputs = fill(sample);
        if (!is_float(inputs[operand].type().dtype) || inputs[operand].type().elements() == 0) continue;
        inputs[operand].set(0, std::nan(""));
        for (const DType dtype : {DType::f32, DType::f64}) {
          const Case node = cast_floats(all_ops().at(op), sample.attrs, inputs, dtype);
          EXPECT_EQ(Check(def, node, "plain", hides_nan).run(), "")
              << def.name << " on " << op << " of " << name_of(dtype) << ", operand " << operand;
        }
      }
    }
  }
}

/// "" or where one has a number and the other an infinity or NaN.
std::string differs_in_kind(const Array& got, const Array& expected, double /*tolerance*/) {
  if (!is_float(got.type().dtype)) return "";
  for (int64_t i = 0; i < got.type().elements(); ++i) {
    if (std::isfinite(got.at(i)) == std::isfinite(expected.at(i))) continue;
    return fmt::format("element {} is {}, expected {}", i, got.at(i), expected.at(i));
  }
  return "";
}

// In f64, which proves what other types promise, an infinity reaches the same elements and no others.
TEST_P(KernelLaws, PassesInfinitiesAndNansOnInF64) {
  const KernelDef& def = fast_kernels()[GetParam()];
  for (const std::string& op : def.ops) {
    for (const Sample& sample : all_ops().at(op).samples) {
      for (size_t operand = 0; operand < sample.inputs.size(); ++operand) {
        const Type& type = sample.inputs[operand].type;
        if (!is_float(type.dtype) || type.elements() == 0) continue;
        for (const double value : {std::nan(""), std::numeric_limits<double>::infinity()}) {
          for (const int64_t at : {int64_t{0}, type.elements() / 2, type.elements() - 1}) {
            std::vector<Array> inputs = fill(sample);
            inputs[operand].set(at, value);
            const Case node = cast_floats(all_ops().at(op), sample.attrs, inputs, DType::f64);
            EXPECT_EQ(Check(def, node, "plain", differs_in_kind).run(), "")
                << def.name << " on " << op << sample.attrs.print() << ", operand " << operand << ", element " << at
                << " " << value;
          }
        }
      }
    }
  }
}

// Our own loops to the bit, in every type.
TEST_P(KernelLaws, AgreesOnAnyNumberOfThreads) {
  const KernelDef& def = fast_kernels()[GetParam()];
  const std::set<std::string> ops(def.ops.begin(), def.ops.end());
  const double tolerance = def.name.starts_with("loops.") ? 1e-30 : 1e-5;
  for (const auto& [name, node] : all_cases()) {
    if (!ops.contains(node.op.name)) continue;
    std::vector<Array> alone;
    for (const int threads : {1, 3}) {
      make_cpu_device(all_ops(), threads)->enter_thread();
      Check check(def, node, "plain");
      EXPECT_EQ(check.run(), "") << def.name << " on " << name << " with " << threads << " threads";
      if (threads == 1) alone = check.results();
      for (size_t k = 0; k < alone.size(); ++k) {
        EXPECT_EQ(differs(check.results().at(k), alone[k], tolerance), "")
            << def.name << " on " << name << " with " << threads << " threads, output " << k;
      }
    }
  }
}

std::vector<size_t> kernel_indices() {
  std::vector<size_t> indices;
  for (size_t i = 0; i < fast_kernels().size(); ++i) indices.push_back(i);
  return indices;
}

std::string kernel_name(const testing::TestParamInfo<size_t>& info) {
  std::string name = fast_kernels()[info.param].name;
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Fast, KernelLaws, testing::ValuesIn(kernel_indices()), kernel_name);

TEST(Reorders, ReachEveryFormatAndComeBack) {
  const auto device = make_cpu_device(all_ops(), kThreads);
  device->enter_thread();
  for (DType dtype : {DType::f32, DType::i32}) {
    const Array array = cast(fill(sample_of({20, 35, 3, 2}, Fill::distinct), 1), dtype);
    for (const char* tag : {"acdb", "aBcd8b", "aBcd16b", "ABcd16b16a", "ABcd8a8b", "Acdb16a"}) {
      MemoryFormat format{tag, 0};
      format.bytes = Place(array.shape(), format).elements() * static_cast<int64_t>(size_of(dtype));
      EXPECT_EQ(device->catalog().bytes(array.type(), format), format.bytes) << tag << " " << name_of(dtype);
      Memory plain = laid_out(array, {}), there(format.bytes), back(array.type().bytes());
      const void* from = plain.data();
      void* to = there.data();
      device->make_reorder(array.type(), {}, format)->run({&from, 1}, {&to, 1}, nullptr);
      from = there.data();
      to = back.data();
      device->make_reorder(array.type(), format, {})->run({&from, 1}, {&to, 1}, nullptr);
      std::string wrong;
      EXPECT_EQ(differs(read_back(back, array.type(), {}, wrong), array), "") << tag << " " << name_of(dtype);
      EXPECT_EQ(differs(read_back(there, array.type(), format, wrong), array), "") << tag << " " << name_of(dtype);
      EXPECT_EQ(wrong, "");
    }
  }
}

TEST(Catalog, EveryPointwiseOpHasAVectorKernel) {
  const auto device = make_cpu_device(all_ops(), kThreads);
  for (const OpDef& op : all_ops().all()) {
    if (!op.pointwise) continue;
    for (DType dtype : {DType::f32, DType::f64}) {
      const Shape shape{8, 20};
      const std::vector<Type> inputs(op.samples[0].inputs.size(), Type{dtype, shape}), none;
      const std::vector<Type> outputs = op.infer({op.attrs, inputs, none});
      const std::vector<MemoryFormat> formats(inputs.size());
      const KernelChoice choice = device->catalog().choose({op.name, op.attrs, inputs, outputs, formats});
      EXPECT_EQ(choice.kernel, "loops.pointwise") << op.name << choice.reason;
    }
  }
}

TEST(Catalog, SaysWhyAFastKernelRefused) {
  const auto device = make_cpu_device(all_ops(), kThreads);
  const Type half{DType::bf16, {4, 4}};
  const KernelQuery query{.op = "matmul",
                          .attrs = Attrs(MatmulAttrs{}),
                          .inputs = {half, half},
                          .outputs = {half},
                          .input_formats = {MemoryFormat{}, MemoryFormat{}}};
  const KernelChoice choice = device->catalog().choose(query);
  EXPECT_EQ(choice.kernel, "reference");
  EXPECT_NE(choice.reason.find("onednn.matmul: bf16"), std::string::npos) << choice.reason;
}

}  // namespace
}  // namespace laws
}  // namespace partita
