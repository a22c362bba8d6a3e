// Calls of cuDNN: their texts, and what they compute according to their texts alone.

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/philox.h"
#include "ir/ops/attention/attention.h"
#include "ir/ops/test_kernels.h"
#include "support/matches.h"

namespace partita {
namespace {

using Json = nlohmann::json;

/// An attention of cuDNN, small.
struct CudnnCase {
  int64_t batch = 2, queries = 6, keys = 6, heads = 2, kv_heads = 2, width = 8;
  bool causal = false;
  double scale = 0;
  DType dtype = DType::bf16;

  Attrs attrs() const {
    return Attrs(AttentionAttrs{.heads = heads, .causal = causal, .scale = scale, .kv_heads = kv_heads});
  }
  Type q(DType type) const { return {type, {batch, queries, heads * width}}; }
  Type k(DType type) const { return {type, {batch, keys, kv_heads * width}}; }
  Type lse(DType type) const { return {type, {batch, heads, queries}}; }
};

std::string call_text(const OpDef& op, const Attrs& attrs, const std::vector<Type>& inputs,
                      const std::vector<Type>& outputs) {
  HloBody body;
  std::vector<Hlo> arguments;
  for (size_t i = 0; i < inputs.size(); ++i) arguments.push_back({fmt::format("%arg{}", i), inputs[i]});
  const std::vector<Hlo> results = op.cudnn->emit({body, attrs, arguments, outputs});
  std::string names;
  for (const Hlo& result : results) names += (names.empty() ? "" : ", ") + result.name;
  return fmt::format("{}    return {} : {}\n", body.text(), names, hlo_types(results));
}

std::string forward_text(const CudnnCase& of) {
  const Type q = of.q(of.dtype), k = of.k(of.dtype);
  return call_text(all_ops().at("attention"), of.attrs(), {q, k, k}, {q, of.lse(DType::f32)});
}

std::string backward_text(const CudnnCase& of) {
  const Type q = of.q(of.dtype), k = of.k(of.dtype);
  return call_text(all_ops().at("attention_grad"), of.attrs(), {q, k, k, q, of.lse(DType::f32), q}, {q, k, k});
}

/// Numbers of a shape, row-major.
struct Numbers {
  Shape shape;
  std::vector<double> data{};

  explicit Numbers(Shape given = {}) : shape(std::move(given)), data(static_cast<size_t>(elements())) {}
  int64_t elements() const { return Type{DType::f64, shape}.elements(); }
  size_t index(const std::vector<int64_t>& at) const {
    int64_t found = 0;
    for (size_t d = 0; d < shape.size(); ++d) found = found * shape[d] + at[d];
    return static_cast<size_t>(found);
  }
  double& at(const std::vector<int64_t>& place) { return data[index(place)]; }
  double at(const std::vector<int64_t>& place) const { return data[index(place)]; }

  /// Calls `visit` with each place of a shape.
  static void for_each(const Shape& shape, const std::function<void(const std::vector<int64_t>&)>& visit) {
    std::vector<int64_t> place(shape.size(), 0);
    for (int64_t left = Type{DType::f64, shape}.elements(); left > 0; --left) {
      visit(place);
      for (size_t d = shape.size(); d-- > 0 && ++place[d] == shape[d];) place[d] = 0;
    }
  }
};

std::vector<int64_t> integers_of(const std::string& text) {
  std::vector<int64_t> found;
  for (const Match& number : matches_of(text, "[0-9]+")) found.push_back(std::stoll(number.groups[0]));
  return found;
}

/// Returns the integers of a field of the configuration, which are texts in it.
std::vector<int64_t> field_of(const Json& json, const std::string& name) {
  std::vector<int64_t> found;
  for (const std::string text : json.at(name)) found.push_back(std::stoll(text));
  return found;
}

/// Returns the shapes of "tensor<2x3xbf16>, ..".
std::vector<Shape> shapes_of(const std::string& text) {
  std::vector<Shape> shapes;
  for (const Match& tensor : matches_of(text, "tensor<((?:[0-9]+x)*)([a-z0-9]+)>")) {
    shapes.push_back(integers_of(tensor.groups[1]));
  }
  return shapes;
}

/// Computes a program of reshapes, transposes, conversions and calls of cuDNN from its text. Products have the
/// dimensions that the configuration of a call says, and what is around them is cuDNN's definition of attention
/// (docs.nvidia.com/deeplearning/cudnn, "Scaled Dot Product Attention"). Element types do not count.
class CallInterpreter {
 public:
  explicit CallInterpreter(std::map<std::string, Numbers> arguments) : values_(std::move(arguments)) {}

  std::vector<Numbers> run(const std::string& text) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      if (const auto found = groups_of(line, " *return (.*) : .*"); !found.empty()) return values_of(found[1]);
      const auto found = groups_of(line, " *(%[0-9]+) = stablehlo\\.(\\w+) (%[\\w#]+)(.*) : (.*)");
      if (!found.empty()) {
        compute(found[1], found[2], values_.at(found[3]), found[4], found[5]);
      } else if (line.find("custom_call") != std::string::npos) {
        call(line);
      }
    }
    throw InternalError("no return");
  }

 private:
  std::vector<Numbers> values_of(const std::string& names) const {
    std::vector<Numbers> found;
    for (const Match& name : matches_of(names, "%[\\w#]+")) found.push_back(values_.at(name.groups[0]));
    return found;
  }

  void compute(const std::string& name, const std::string& op, const Numbers& x, const std::string& details,
               const std::string& types) {
    Numbers result(shapes_of(types.substr(types.find("->"))).at(0));
    ASSERT_EQ(result.elements(), x.elements()) << name;
    if (op == "transpose") {
      const std::vector<int64_t> dims = integers_of(details);
      Numbers::for_each(result.shape, [&](const std::vector<int64_t>& to) {
        std::vector<int64_t> from(to.size());
        for (size_t d = 0; d < dims.size(); ++d) from[dims[d]] = to[d];
        result.at(to) = x.at(from);
      });
    } else {
      ASSERT_TRUE(op == "reshape" || op == "convert") << op;
      result.data = x.data;
    }
    values_.insert_or_assign(name, result);
  }

  void call(const std::string& line) {
    const std::string form(R"re( *(%\d+):(\d+) = stablehlo\.custom_call @(\S+)\((.*?)\) \{api_version = 2 : i32, )re"
                           R"re(backend_config = "(.*)", )re"
                           R"re(operand_layouts = \[(.*)\], result_layouts = \[(.*)\]\} : \((.*)\) -> \((.*)\))re");
    const std::vector<std::string> found = groups_of(line, form);
    ASSERT_FALSE(found.empty()) << line;
    const std::string& target = found[3];
    const Json config = Json::parse(replace_matches(found[5], R"(\\")", "\"")).at("cudnn_fmha_backend_config");
    const std::vector<Shape> operand_shapes = shapes_of(found[8]), shapes = shapes_of(found[9]);
    require_layouts(found[6], operand_shapes, /*are_results=*/false);
    require_layouts(found[7], shapes, /*are_results=*/true);
    const std::vector<Numbers> operands = values_of(found[4]);
    ASSERT_EQ(operands.size(), operand_shapes.size());
    for (size_t i = 0; i < operands.size(); ++i) EXPECT_EQ(operands[i].shape, operand_shapes[i]) << target << i;
    EXPECT_EQ(field_of(config.at("intermediate_tensor_shape").at("layout"), "minor_to_major"),
              (std::vector<int64_t>{3, 2, 1, 0}));
    const bool is_forward = target == "__cudnn$fmhaSoftmax";
    EXPECT_TRUE(is_forward || target == "__cudnn$fmhaSoftmaxBackward") << target;
    std::vector<Numbers> results = is_forward ? forward(config, operands) : backward(config, operands);
    results.emplace_back(Shape{0});
    ASSERT_EQ(results.size(), shapes.size());
    for (size_t k = 0; k < results.size(); ++k) {
      EXPECT_EQ(results[k].shape, shapes[k]) << target << k;
      values_.insert_or_assign(fmt::format("{}#{}", found[1], k), results[k]);
    }
  }

  /// Operands have the last dimension first, so that they are what the text before the call made. Results of four
  /// dimensions have [batch, positions, heads, width] in memory, so that they are what the text after the call takes.
  static void require_layouts(const std::string& text, const std::vector<Shape>& shapes, bool are_results) {
    std::string expected;
    for (const Shape& shape : shapes) {
      std::string order = shape.size() == 4 ? "[3, 2, 1, 0]" : shape.size() == 3 ? "[2, 1, 0]" : "0";
      if (are_results && shape.size() == 4) order = "[3, 1, 2, 0]";
      expected += fmt::format("{}dense<{}> : tensor<{}xindex>", expected.empty() ? "" : ", ", order, shape.size());
    }
    EXPECT_EQ(text, expected);
  }

  /// Returns the product of a configuration: batch, heads, then what is left of `a` and of `b`. Each head of `b` serves
  /// as many heads of `a`, or, if b has more, the result has those of `b`.
  static Numbers product(const Json& config, const std::string& name, const Numbers& a, const Numbers& b) {
    const Json& dims = config.at(name + "_dot_dimension_numbers");
    const auto sum_a = field_of(dims, "lhs_contracting_dimensions"),
               sum_b = field_of(dims, "rhs_contracting_dimensions"), same_a = field_of(dims, "lhs_batch_dimensions"),
               same_b = field_of(dims, "rhs_batch_dimensions");
    EXPECT_EQ(a.shape.at(sum_a.at(0)), b.shape.at(sum_b.at(0))) << name;
    EXPECT_EQ(a.shape.at(same_a.at(0)), b.shape.at(same_b.at(0))) << name;
    const auto left_of = [](const std::vector<int64_t>& same, int64_t sum) {
      return 6 - same.at(0) - same.at(1) - sum;
    };
    const int64_t left_a = left_of(same_a, sum_a[0]), left_b = left_of(same_b, sum_b[0]);
    const int64_t heads = a.shape.at(same_a[1]), group = heads / b.shape.at(same_b[1]);
    EXPECT_EQ(group * b.shape[same_b[1]], heads) << name;
    Numbers result({a.shape[same_a[0]], heads, a.shape[left_a], b.shape[left_b]});
    Numbers::for_each(result.shape, [&](const std::vector<int64_t>& to) {
      std::vector<int64_t> of_a(4), of_b(4);
      of_a[same_a[0]] = of_b[same_b[0]] = to[0];
      of_a[same_a[1]] = to[1];
      of_b[same_b[1]] = to[1] / group;
      of_a[left_a] = to[2];
      of_b[left_b] = to[3];
      for (int64_t i = 0; i < a.shape[sum_a[0]]; ++i) {
        of_a[sum_a[0]] = of_b[sum_b[0]] = i;
        result.at(to) += a.at(of_a) * b.at(of_b);
      }
    });
    return result;
  }

  /// Returns the scores that a softmax takes: scaled, and minus infinity for keys after the query in a causal call.
  static Numbers masked(const Json& config, Numbers scores) {
    EXPECT_EQ(field_of(config.at("intermediate_tensor_shape"), "dimensions"), scores.shape);
    const std::string mask = config.at("mask_type");
    EXPECT_TRUE(mask == "CAUSAL" || mask == "NO_MASK") << mask;
    EXPECT_TRUE(config.at("dropout_rate") == 0 && config.at("sliding_window_length") == 0);
    Numbers::for_each(scores.shape, [&](const std::vector<int64_t>& at) {
      scores.at(at) = mask == "CAUSAL" && at[3] > at[2] ? -std::numeric_limits<double>::infinity()
                                                        : scores.at(at) * config.at("fmha_scale").get<double>();
    });
    return scores;
  }

  static std::vector<Numbers> forward(const Json& config, const std::vector<Numbers>& in) {
    EXPECT_EQ(in.size(), 3U);
    Numbers p = masked(config, product(config, "bmm1", in.at(0), in.at(1)));
    Numbers lse({p.shape[0], p.shape[1], p.shape[2]});
    Numbers::for_each(p.shape, [&](const std::vector<int64_t>& at) {
      lse.at({at[0], at[1], at[2]}) += std::exp(p.at(at));
    });
    for (double& sum : lse.data) sum = std::log(sum);
    Numbers::for_each(p.shape, [&](const std::vector<int64_t>& at) {
      p.at(at) = std::exp(p.at(at) - lse.at({at[0], at[1], at[2]}));
    });
    return {product(config, "bmm2", p, in.at(2)), lse};
  }

  /// Operands are q, k, v, lse, the gradient of y, and y.
  static std::vector<Numbers> backward(const Json& config, const std::vector<Numbers>& in) {
    EXPECT_EQ(in.size(), 6U);
    const Numbers &q = in.at(0), &k = in.at(1), &v = in.at(2), &lse = in.at(3), &d_y = in.at(4), &y = in.at(5);
    // Scores are products of q and k as gradients of p are of d_y and v.
    Numbers p = masked(config, product(config, "bmm2_grad_gemm2", q, k));
    Numbers::for_each(p.shape, [&](const std::vector<int64_t>& at) {
      p.at(at) = std::exp(p.at(at) - lse.at({at[0], at[1], at[2]}));
    });
    Numbers d_scores = product(config, "bmm2_grad_gemm2", d_y, v);
    Numbers::for_each(p.shape, [&](const std::vector<int64_t>& at) {
      double own = 0;
      for (int64_t e = 0; e < y.shape[3]; ++e) {
        own += y.at({at[0], at[2], at[1], e}) * d_y.at({at[0], at[2], at[1], e});
      }
      d_scores.at(at) = p.at(at) * (d_scores.at(at) - own) * config.at("fmha_scale").get<double>();
    });
    const auto of_keys = [&](const Numbers& of_heads) {  // sums over the heads of q that share one of k
      Numbers sums({of_heads.shape[0], k.shape[2], of_heads.shape[2], of_heads.shape[3]});
      const int64_t group = of_heads.shape[1] / k.shape[2];
      Numbers::for_each(of_heads.shape, [&](const std::vector<int64_t>& at) {
        sums.at({at[0], at[1] / group, at[2], at[3]}) += of_heads.at(at);
      });
      return sums;
    };
    return {product(config, "bmm1_grad_gemm2", d_scores, k), of_keys(product(config, "bmm1_grad_gemm1", d_scores, q)),
            of_keys(product(config, "bmm2_grad_gemm1", p, d_y))};
  }

  std::map<std::string, Numbers> values_;
};

Array random_array(const std::string& name, const Type& type) {
  Array array(type);
  for (int64_t i = 0; i < type.elements(); ++i) array.set(i, random_normal(random_key(7, name), i, 0));
  return array;
}

void expect_same(const std::string& text, const std::vector<Array>& given, const std::vector<Array>& expected) {
  std::map<std::string, Numbers> arguments;
  for (size_t i = 0; i < given.size(); ++i) {
    Numbers numbers(given[i].shape());
    for (int64_t e = 0; e < numbers.elements(); ++e) numbers.data[e] = given[i].at(e);
    arguments.emplace(fmt::format("%arg{}", i), std::move(numbers));
  }
  const std::vector<Numbers> results = CallInterpreter(std::move(arguments)).run(text);
  ASSERT_EQ(results.size(), expected.size());
  for (size_t k = 0; k < results.size(); ++k) {
    ASSERT_EQ(results[k].shape, expected[k].shape()) << k;
    for (int64_t e = 0; e < results[k].elements(); ++e) {
      EXPECT_NEAR(results[k].data[e], expected[k].at(e), 1e-12) << "result " << k << " at " << e << text;
    }
  }
}

const std::vector<CudnnCase>& cudnn_cases() {
  static const std::vector<CudnnCase> cases{
      {.causal = true},
      {.causal = true, .scale = 0.3, .dtype = DType::f16},
      {.keys = 8},
      {.queries = 2, .keys = 4, .heads = 6, .kv_heads = 2, .width = 16, .scale = 0.5},
      {.batch = 1, .queries = 4, .keys = 4, .heads = 4, .kv_heads = 1, .causal = true},
  };
  return cases;
}

TEST(CudnnAttention, CallsComputeWhatTheReferenceComputes) {
  const OpDef &attention = all_ops().at("attention"), &gradient = all_ops().at("attention_grad");
  for (const CudnnCase& of : cudnn_cases()) {
    const std::vector<Array> given{random_array("q", of.q(DType::f64)), random_array("k", of.k(DType::f64)),
                                   random_array("v", of.k(DType::f64))};
    const std::vector<Array> made = run_kernel(attention, of.attrs(), given);
    expect_same(forward_text(of), given, made);
    const std::vector<Array> all{given[0], given[1], given[2], made[0], made[1], random_array("d_y", of.q(DType::f64))};
    expect_same(backward_text(of), all, run_kernel(gradient, of.attrs(), all));
  }
}

/// Returns a text with ' in place of each quotation mark of the configuration.
std::string readable(const std::string& text) { return replace_matches(text, R"(\\")", "'"); }

// Calls with quotation marks as `readable` writes them. `filled` replaces names in angle brackets.
constexpr auto kForwardText =
    "    %0 = stablehlo.reshape %arg0 : (tensor<Q>) -> tensor<Q_HEADS>\n"
    "    %1 = stablehlo.reshape %arg1 : (tensor<K>) -> tensor<K_HEADS>\n"
    "    %2 = stablehlo.reshape %arg2 : (tensor<K>) -> tensor<K_HEADS>\n"
    "    %3:3 = stablehlo.custom_call @__cudnn$fmhaSoftmax(%0, %1, %2) {api_version = 2 : i32, "
    "backend_config = \"{'operation_queue_id': '0', 'cudnn_fmha_backend_config': {'algorithm': "
    "{'algo_id': '0', 'math_type': 'TENSOR_OP_MATH', 'tuning_knobs': {'17': '1', '24': '0'}, "
    "'is_cudnn_frontend': true, 'workspace_size': '0'}, 'fmha_scale': <SCALE>, 'dropout_rate': 0.0, 'seed': "
    "42, 'is_flash_attention': true, 'mask_type': '<MASK>', 'sliding_window_length': 0, "
    "'max_seg_per_batch': 1, 'is_paged_attention': false, 'intermediate_tensor_shape': {'element_type': "
    "'<TYPE>', 'dimensions': [<SCORES>], 'layout': {'minor_to_major': ['3', '2', '1', '0']}, "
    "'is_dynamic_dimension': [false, false, false, false]}, 'bmm1_dot_dimension_numbers': "
    "{'lhs_contracting_dimensions': ['3'], 'rhs_contracting_dimensions': ['3'], 'lhs_batch_dimensions': "
    "['0', '2'], 'rhs_batch_dimensions': ['0', '2']}, 'bmm2_dot_dimension_numbers': "
    "{'lhs_contracting_dimensions': ['3'], 'rhs_contracting_dimensions': ['1'], 'lhs_batch_dimensions': "
    "['0', '1'], 'rhs_batch_dimensions': ['0', '2']}}}\", operand_layouts = [dense<[3, 2, 1, 0]> : "
    "tensor<4xindex>, dense<[3, 2, 1, 0]> : tensor<4xindex>, dense<[3, 2, 1, 0]> : tensor<4xindex>], "
    "result_layouts = [dense<[3, 1, 2, 0]> : tensor<4xindex>, dense<[2, 1, 0]> : tensor<3xindex>, "
    "dense<0> : tensor<1xindex>]} : (tensor<Q_HEADS>, tensor<K_HEADS>, tensor<K_HEADS>) -> (tensor<D_Q>, "
    "tensor<LSE>, tensor<0xui8>)\n"
    "    %4 = stablehlo.transpose %3#0, dims = [0, 2, 1, 3] : (tensor<D_Q>) -> tensor<Q_HEADS>\n"
    "    %5 = stablehlo.reshape %4 : (tensor<Q_HEADS>) -> tensor<Q>\n"
    "    return %5, %3#1 : (tensor<Q>, tensor<LSE>)\n";

constexpr auto kBackwardText =
    "    %0 = stablehlo.reshape %arg0 : (tensor<Q>) -> tensor<Q_HEADS>\n"
    "    %1 = stablehlo.reshape %arg1 : (tensor<K>) -> tensor<K_HEADS>\n"
    "    %2 = stablehlo.reshape %arg2 : (tensor<K>) -> tensor<K_HEADS>\n"
    "    %3 = stablehlo.reshape %arg5 : (tensor<Q>) -> tensor<Q_HEADS>\n"
    "    %4 = stablehlo.reshape %arg3 : (tensor<Q>) -> tensor<Q_HEADS>\n"
    "    %5:4 = stablehlo.custom_call @__cudnn$fmhaSoftmaxBackward(%0, %1, %2, %arg4, %3, %4) "
    "{api_version = 2 : i32, backend_config = \"{'operation_queue_id': '0', 'cudnn_fmha_backend_config': "
    "{'algorithm': {'algo_id': '0', 'math_type': 'TENSOR_OP_MATH', 'tuning_knobs': {'17': '1', '24': "
    "'0'}, 'is_cudnn_frontend': true, 'workspace_size': '0'}, 'fmha_scale': <SCALE>, 'dropout_rate': 0.0, "
    "'seed': 42, 'is_flash_attention': true, 'mask_type': '<MASK>', 'sliding_window_length': 0, "
    "'max_seg_per_batch': 1, 'is_paged_attention': false, 'intermediate_tensor_shape': {'element_type': "
    "'<TYPE>', 'dimensions': [<SCORES>], 'layout': {'minor_to_major': ['3', '2', '1', '0']}, "
    "'is_dynamic_dimension': [false, false, false, false]}, 'bmm1_grad_gemm1_dot_dimension_numbers': "
    "{'lhs_contracting_dimensions': ['2'], 'rhs_contracting_dimensions': ['1'], 'lhs_batch_dimensions': "
    "['0', '1'], 'rhs_batch_dimensions': ['0', '2']}, 'bmm1_grad_gemm2_dot_dimension_numbers': "
    "{'lhs_contracting_dimensions': ['3'], 'rhs_contracting_dimensions': ['1'], 'lhs_batch_dimensions': "
    "['0', '1'], 'rhs_batch_dimensions': ['0', '2']}, 'bmm2_grad_gemm1_dot_dimension_numbers': "
    "{'lhs_contracting_dimensions': ['2'], 'rhs_contracting_dimensions': ['1'], 'lhs_batch_dimensions': "
    "['0', '1'], 'rhs_batch_dimensions': ['0', '2']}, 'bmm2_grad_gemm2_dot_dimension_numbers': "
    "{'lhs_contracting_dimensions': ['3'], 'rhs_contracting_dimensions': ['3'], 'lhs_batch_dimensions': "
    "['0', '2'], 'rhs_batch_dimensions': ['0', '2']}}}\", operand_layouts = [dense<[3, 2, 1, 0]> : "
    "tensor<4xindex>, dense<[3, 2, 1, 0]> : tensor<4xindex>, dense<[3, 2, 1, 0]> : tensor<4xindex>, "
    "dense<[2, 1, 0]> : tensor<3xindex>, dense<[3, 2, 1, 0]> : tensor<4xindex>, dense<[3, 2, 1, 0]> : "
    "tensor<4xindex>], result_layouts = [dense<[3, 1, 2, 0]> : tensor<4xindex>, dense<[3, 1, 2, 0]> : "
    "tensor<4xindex>, dense<[3, 1, 2, 0]> : tensor<4xindex>, dense<0> : tensor<1xindex>]} : "
    "(tensor<Q_HEADS>, tensor<K_HEADS>, tensor<K_HEADS>, tensor<LSE>, tensor<Q_HEADS>, tensor<Q_HEADS>) "
    "-> (tensor<D_Q>, tensor<D_K>, tensor<D_K>, tensor<0xui8>)\n"
    "    %6 = stablehlo.transpose %5#0, dims = [0, 2, 1, 3] : (tensor<D_Q>) -> tensor<Q_HEADS>\n"
    "    %7 = stablehlo.reshape %6 : (tensor<Q_HEADS>) -> tensor<Q>\n"
    "    %8 = stablehlo.transpose %5#1, dims = [0, 2, 1, 3] : (tensor<D_K>) -> tensor<K_HEADS>\n"
    "    %9 = stablehlo.reshape %8 : (tensor<K_HEADS>) -> tensor<K>\n"
    "    %10 = stablehlo.transpose %5#2, dims = [0, 2, 1, 3] : (tensor<D_K>) -> tensor<K_HEADS>\n"
    "    %11 = stablehlo.reshape %10 : (tensor<K_HEADS>) -> tensor<K>\n"
    "    return %7, %9, %11 : (tensor<Q>, tensor<K>, tensor<K>)\n";

/// A name in these texts, and what stands for it in a causal attention and in one with grouped heads.
struct CallWord {
  std::string name, causal, grouped;
};

const std::vector<CallWord>& call_words() {
  static const std::vector<CallWord> words{
      {"<Q>", "<2x6x16xbf16>", "<1x6x64xf16>"},
      {"<K>", "<2x6x16xbf16>", "<1x4x32xf16>"},
      {"<Q_HEADS>", "<2x6x2x8xbf16>", "<1x6x4x16xf16>"},
      {"<K_HEADS>", "<2x6x2x8xbf16>", "<1x4x2x16xf16>"},
      {"<D_Q>", "<2x2x6x8xbf16>", "<1x4x6x16xf16>"},
      {"<D_K>", "<2x2x6x8xbf16>", "<1x2x4x16xf16>"},
      {"<LSE>", "<2x2x6xf32>", "<1x4x6xf32>"},
      {"<SCORES>", "'2', '2', '6', '6'", "'1', '4', '6', '4'"},
      {"<TYPE>", "BF16", "F16"},
      {"<MASK>", "CAUSAL", "NO_MASK"},
      {"<SCALE>", "0.25", "0.5"},
  };
  return words;
}

std::string filled(std::string text, std::string CallWord::*word) {
  for (const CallWord& one : call_words()) text = replace_matches(text, one.name, one.*word);
  return text;
}

TEST(CudnnAttention, CallsHaveTheseTexts) {
  const CudnnCase causal{.causal = true, .scale = 0.25};
  const CudnnCase grouped{.batch = 1, .keys = 4, .heads = 4, .width = 16, .scale = 0.5, .dtype = DType::f16};
  EXPECT_EQ(readable(forward_text(causal)), filled(kForwardText, &CallWord::causal));
  EXPECT_EQ(readable(backward_text(causal)), filled(kBackwardText, &CallWord::causal));
  EXPECT_EQ(readable(forward_text(grouped)), filled(kForwardText, &CallWord::grouped));
  EXPECT_EQ(readable(backward_text(grouped)), filled(kBackwardText, &CallWord::grouped));
}

TEST(CudnnAttention, ResultsAreWidenedWhereTheNodeHasWideOnes) {
  const CudnnCase of{.causal = true};
  const Type q = of.q(DType::bf16), k = of.k(DType::bf16), wide_q = of.q(DType::f32), wide_k = of.k(DType::f32);
  const std::string forward = call_text(all_ops().at("attention"), of.attrs(), {q, k, k}, {wide_q, of.lse(DType::f32)});
  EXPECT_NE(forward.find("stablehlo.convert %5 : (tensor<2x6x16xbf16>) -> tensor<2x6x16xf32>"), std::string::npos)
      << forward;
  const std::string backward =
      call_text(all_ops().at("attention_grad"), of.attrs(), {q, k, k, q, of.lse(DType::f32), q}, {q, wide_k, wide_k});
  EXPECT_NE(backward.find("-> (tensor<2x2x6x8xbf16>, tensor<2x2x6x8xbf16>, tensor<2x2x6x8xbf16>, tensor<0xui8>)"),
            std::string::npos)
      << backward;
  const std::string wider = call_text(all_ops().at("attention"), of.attrs(), {q, k, k}, {q, of.lse(DType::f64)});
  EXPECT_NE(wider.find("(tensor<2x2x6xf32>) -> tensor<2x2x6xf64>"), std::string::npos) << wider;
  const std::string narrowed =
      call_text(all_ops().at("attention_grad"), of.attrs(), {q, k, k, q, of.lse(DType::f64), q}, {q, k, k});
  EXPECT_NE(narrowed.find("(tensor<2x2x6xf64>) -> tensor<2x2x6xf32>"), std::string::npos) << narrowed;
}

TEST(CudnnAttention, IsRefusedWithAReason) {
  const auto refusal = [](const CudnnCase& of, AttentionAttrs attrs, DType value = DType::bf16, int64_t v_width = 0) {
    attrs.heads = of.heads;
    attrs.kv_heads = of.kv_heads;
    const Type q = of.q(of.dtype), k = of.k(of.dtype);
    const Type v{value, {of.batch, of.keys, of.kv_heads * (v_width > 0 ? v_width : of.width)}};
    const std::vector<Type> inputs{q, k, v};
    return all_ops().at("attention").cudnn->refusal({Attrs(attrs), inputs, {}});
  };
  EXPECT_EQ(refusal({}, {}), "");
  EXPECT_EQ(refusal({.keys = 10}, {}), "");
  EXPECT_EQ(refusal({.width = 256}, {.causal = true}), "");
  EXPECT_EQ(refusal({.heads = 6}, {.begin = 3}), "") << "a position counts only if causal";
  EXPECT_EQ(refusal({.width = 264}, {}), "heads of width 264");
  EXPECT_EQ(refusal({.width = 12}, {}), "heads of width 12");
  EXPECT_EQ(refusal({}, {}, DType::bf16, 16), "heads of width 8 in q and 16 in v");
  EXPECT_EQ(refusal({.keys = 10}, {.causal = true}), "6 queries from position 0 on, which see some of 10 keys");
  EXPECT_EQ(refusal({}, {.causal = true, .begin = 2}), "6 queries from position 2 on, which see some of 6 keys");
  EXPECT_EQ(refusal({.keys = 9}, {}), "6 queries and 9 keys");
  EXPECT_EQ(refusal({.queries = 5}, {}), "5 queries and 6 keys");
  EXPECT_EQ(refusal({}, {.scale = -1}), "the scale -1");
  EXPECT_EQ(refusal({.batch = 0}, {}), "no elements");
  EXPECT_EQ(refusal({.dtype = DType::f32}, {}), "operands of f32");
  EXPECT_EQ(refusal({}, {}, DType::f32), "operands of f32");
  EXPECT_EQ(refusal({}, {}, DType::f16), "operands of f16");
  const CudnnCase of;
  const Type q = of.q(DType::bf16), k = of.k(DType::bf16), lse = of.lse(DType::f32);
  const std::vector<Type> inputs{q, k, k, q, lse, of.q(DType::f32)};
  EXPECT_EQ(all_ops().at("attention_grad").cudnn->refusal({of.attrs(), inputs, {}}), "operands of f32");
}

}  // namespace
}  // namespace partita
