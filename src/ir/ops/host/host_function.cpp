#include "ir/ops/host/host_function.h"

#include <algorithm>
#include <map>

#include "base/held_signals.h"
#include "ir/ops/support.h"

namespace partita {
namespace {

constexpr const char* kOp = "host_function";

/// Returns the global shapes of the results. Throws InvalidArgument unless the sizes are one shape per element type.
std::vector<Shape> shapes_of(const HostFunctionAttrs& attrs) {
  std::vector<Shape> shapes;
  size_t at = 0;
  bool fits = true;
  while (fits && at < attrs.sizes.size()) {
    const int64_t rank = attrs.sizes[at++];
    if (rank < 0 || rank > static_cast<int64_t>(attrs.sizes.size() - at)) break;
    const auto first = attrs.sizes.begin() + static_cast<std::ptrdiff_t>(at);
    shapes.emplace_back(first, first + rank);
    at += static_cast<size_t>(rank);
    fits = std::all_of(first, first + rank, [](int64_t size) { return size >= 0; });
  }
  fits = fits && at == attrs.sizes.size() && shapes.size() == attrs.dtypes.size() && !shapes.empty();
  if (!fits) {
    reject(kOp, "sizes of results do not fit", Attrs(attrs).print(),
           "for each element type the number of dimensions and their sizes");
  }
  return shapes;
}

struct Letters {
  std::vector<std::string> inputs, outputs;  // per tensor, a letter per dimension
};

std::vector<std::string> split_letters(const HostFunctionAttrs& attrs, std::string_view text) {
  std::vector<std::string> tensors(1);
  for (const char letter : text) {
    if (letter == ',') {
      tensors.emplace_back();
    } else if (letter >= 'a' && letter <= 'z' && tensors.back().find(letter) == std::string::npos) {
      tensors.back() += letter;
    } else {
      reject(kOp, "bad rule", "'" + attrs.rule + "'", "letters a to z, one for each dimension, as 'nk,k->nk'");
    }
  }
  return tensors;
}

Letters letters_of(const HostFunctionAttrs& attrs) {
  const size_t arrow = attrs.rule.find("->");
  if (arrow == std::string::npos) reject(kOp, "bad rule", "'" + attrs.rule + "'", "operands -> results, as 'nk,k->nk'");
  return {split_letters(attrs, std::string_view(attrs.rule).substr(0, arrow)),
          split_letters(attrs, std::string_view(attrs.rule).substr(arrow + 2))};
}

void require_rank(const HostFunctionAttrs& attrs, const std::string& letters, size_t rank) {
  if (letters.size() == rank) return;
  reject(kOp, "the rule does not fit", fmt::format("'{}' with '{}' for {} dimensions", attrs.rule, letters, rank),
         "a letter for each dimension");
}

std::vector<Type> infer_host_function(const OpCall& call) {
  const auto& attrs = call.attrs.as<HostFunctionAttrs>();
  std::vector<Shape> shapes = shapes_of(attrs);
  if (!attrs.rule.empty()) {
    const Letters letters = letters_of(attrs);
    require_operands(kOp, call, letters.inputs.size());
    if (letters.outputs.size() != shapes.size()) {
      reject(kOp, "the rule does not fit", fmt::format("'{}' for {} results", attrs.rule, shapes.size()),
             "letters for each result");
    }
    std::map<char, int64_t> sizes;
    for (size_t i = 0; i < letters.inputs.size(); ++i) {
      require_rank(attrs, letters.inputs[i], call.inputs[i].shape.size());
      for (size_t d = 0; d < letters.inputs[i].size(); ++d) {
        const int64_t size = call.inputs[i].shape[d];
        const auto [known, is_new] = sizes.emplace(letters.inputs[i][d], size);
        if (!is_new && known->second != size) {
          reject(kOp, "the rule does not fit",
                 fmt::format("{} and {} for '{}' of '{}'", known->second, size, letters.inputs[i][d], attrs.rule),
                 "one size for each letter");
        }
      }
    }
    for (size_t i = 0; i < shapes.size(); ++i) {
      require_rank(attrs, letters.outputs[i], shapes[i].size());
      for (size_t d = 0; d < shapes[i].size(); ++d) {
        if (const auto known = sizes.find(letters.outputs[i][d]); known != sizes.end()) shapes[i][d] = known->second;
      }
    }
  }
  std::vector<Type> types;
  for (size_t i = 0; i < shapes.size(); ++i) types.push_back({attrs.dtypes[i], shapes[i]});
  return types;
}

/// Returns the rule in which nothing can be cut.
ShardingRule whole_rule(const OpCall& call) {
  ShardingRule rule;
  const auto map = [&](const std::vector<Type>& types, std::vector<TensorMap>& tensors) {
    for (const Type& type : types) {
      TensorMap& dims = tensors.emplace_back();
      for (const int64_t size : type.shape) {
        DimMap& dim = dims.emplace_back();
        if (size == 1) continue;
        dim.factors.push_back(static_cast<int>(rule.factors.size()));
        const auto letter = static_cast<char>('a' + rule.factors.size() % 26);
        rule.factors.push_back({.name = letter, .size = size, .cutting = Cutting::whole});
      }
    }
  };
  map(call.inputs, rule.inputs);
  map(call.outputs, rule.outputs);
  return rule;
}

ShardingRule rule_of_host_function(const OpCall& call) {
  const auto& attrs = call.attrs.as<HostFunctionAttrs>();
  if (attrs.rule.empty()) return whole_rule(call);
  const Letters letters = letters_of(attrs);
  std::string all, modifiers;
  std::map<char, int64_t> sizes;
  for (size_t i = 0; i < letters.outputs.size(); ++i) {
    for (size_t d = 0; d < letters.outputs[i].size(); ++d) sizes[letters.outputs[i][d]] = call.outputs[i].shape[d];
  }
  for (const auto* tensors : {&letters.inputs, &letters.outputs}) {
    for (const std::string& tensor : *tensors) all += tensor;
  }
  std::ranges::sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  for (const char letter : all) {
    const auto has = [&](const std::string& tensor) { return tensor.find(letter) != std::string::npos; };
    const bool is_free = std::ranges::all_of(letters.outputs, has) && std::ranges::any_of(letters.inputs, has);
    if (!is_free) modifiers += fmt::format(" {}:whole", letter);
  }
  return einsum(modifiers.empty() ? attrs.rule : attrs.rule + " |" + modifiers, call, sizes);
}

OpDef host_function() {
  OpDef op = new_op(kOp, "a function of the program, applied to the operands; texts of graphs do not contain it", {});
  const auto squares = std::make_shared<const HostFunction>([](Inputs in, Outputs out) {
    const double* x = in[0].as<double>();
    for (int64_t i = 0; i < out[0].type.elements(); ++i) out[0].as<double>()[i] = x[i] * x[i];
  });
  const HostFunctionAttrs whole{
      .name = "squares", .dtypes = {DType::f64}, .sizes = {2, 4, 6}, .rule = "", .function = squares};
  HostFunctionAttrs by_rows = whole;
  by_rows.rule = "nk->nk";
  op.attrs = whole;
  op.infer = infer_host_function;
  op.rule = rule_of_host_function;
  op.kernel = [](const Attrs& all, Inputs in, Outputs out) {
    const auto& attrs = all.as<HostFunctionAttrs>();
    if (attrs.function == nullptr) {
      reject(kOp, "the function is missing", "'" + attrs.name + "' of a graph that was read",
             "a graph that was built with it");
    }
    const ReleasedSignals released;
    (*attrs.function)(in, out);
  };
  op.samples = {{{sample_of({4, 6})}, whole}, {{sample_of({4, 6})}, by_rows}};
  return op;
}

}  // namespace

std::vector<OpDef> host_function_ops() { return {host_function()}; }

}  // namespace partita
