#include "frontend/network/layers/mixture_of_experts.h"

#include <cmath>

#include "frontend/network/functions.h"
#include "frontend/network/layers/dense.h"
#include "ir/ops/routing/attrs.h"

namespace partita {
namespace {

/// Returns the slots of each expert for a group of tokens. In a generation they do not depend on the tokens that come
/// together.
int64_t slots_of(const Context& context, const MixtureOfExpertsOptions& options, int64_t tokens) {
  return context.options().generates ? tokens : expert_capacity(options, tokens);
}

/// Routes x[b, s, width]: returns two values [b, s, top_k]: the slots that each token's experts gave it, and the
/// weights of these experts. Adds the balance loss if its weight is above 0.
class Router : public Layer {
 public:
  Router(const MixtureOfExpertsOptions& options, CallLocation where) : Layer(where), options_(options) {}

  std::vector<Value> construct_all(Context& context, const std::vector<Value>& inputs) override {
    const Value x = inputs.at(0);
    const Shape shape{options_.experts, x.shape()[2]};
    const Value weight = context.parameter("weight", shape, options_.init.of(shape));
    const Value probabilities = softmax(matmul(x, weight, /*transpose_a=*/false, /*transpose_b=*/true));
    const auto [chosen, experts] = top_k(probabilities, options_.top_k);
    if (options_.balance > 0) {
      context.add_loss("balance", balance(probabilities, experts), options_.balance);
    }
    const AssignSlotsAttrs slots{.experts = options_.experts, .capacity = slots_of(context, options_, x.shape()[1])};
    // With one choice the probability itself; divided by itself it would give the router no gradient.
    const Value weights = options_.top_k == 1 ? chosen : chosen / reduce_sum(chosen, {-1}, /*keep_dims=*/true);
    return {apply("assign_slots", {experts}, slots), weights};
  }

 private:
  /// Returns the balance loss, a scalar: the number of experts times the mean, over all choices of all sequences, of
  /// the chosen expert's mean probability in the sequence.
  Value balance(Value probabilities, Value experts) const {
    const Shape& shape = experts.shape();
    const Value choices = reshape(experts, {shape[0], shape[1] * shape[2]});
    const Value means = reduce_mean(probabilities, {1});
    return reduce_mean(take_along(means, choices)) * static_cast<double>(options_.experts);
  }

  MixtureOfExpertsOptions options_;
};

/// Applies each expert to its rows of x[experts, rows, width].
class Experts : public Layer {
 public:
  Experts(const MixtureOfExpertsOptions& options, CallLocation where) : Layer(where), options_(options) {}

  Value construct(Context& context, Value x) override {
    const int64_t experts = options_.experts, width = x.shape()[2];
    const int64_t inner = options_.inner > 0 ? options_.inner : 4 * width;
    const auto weight = [&](const char* name, int64_t in, int64_t out, const InitRule& init) {
      return context.parameter(name, {experts, in, out}, init.of({out, in}));
    };
    const Value fc = weight("fc", width, inner, options_.init);
    Value gate;
    if (options_.gated) gate = weight("gate", width, inner, options_.init);
    const Value proj = weight("proj", inner, width, options_.projection_init);
    if (options_.gated) return matmul(silu(matmul(x, gate)) * matmul(x, fc), proj);
    return matmul(gelu(matmul(x, fc)), proj);
  }

 private:
  MixtureOfExpertsOptions options_;
};

/// The shared experts: one layer as wide as all of them.
class SharedExperts : public Layer {
 public:
  SharedExperts(const MixtureOfExpertsOptions& options, CallLocation where) : Layer(where), options_(options) {}

  Value construct(Context& context, Value x) override {
    const int64_t width = x.shape()[2], inner = options_.inner > 0 ? options_.inner : 4 * width;
    if (!fc_) {
      fc_ = dense(options_.shared * inner, {.bias = false, .init = options_.init});
      if (options_.gated) gate_ = dense(options_.shared * inner, {.bias = false, .init = options_.init});
      projection_ = dense(width, {.bias = false, .init = options_.projection_init});
    }
    const Value y = context.call("fc", *fc_, x);
    return context.call("proj", *projection_, gate_ ? silu(context.call("gate", *gate_, x)) * y : gelu(y));
  }

 private:
  MixtureOfExpertsOptions options_;
  LayerPtr fc_, gate_, projection_;
};

void check_experts(const MixtureOfExpertsOptions& options) {
  const auto refuse = [](std::string_view what, const std::string& got, const std::string& expected) {
    throw InvalidArgument("[experts] {}, got {}, expected {}", what, got, expected);
  };
  if (options.experts < 1) refuse("no experts", fmt::format("{}", options.experts), "at least 1");
  if (options.top_k < 1 || options.top_k > options.experts) {
    refuse("a token cannot go to that many experts", fmt::format("{} of {}", options.top_k, options.experts),
           options.experts == 1 ? "1" : fmt::format("1 to {}", options.experts));
  }
  if (!(options.capacity >= 0 && std::isfinite(options.capacity))) {
    refuse("bad capacity", fmt::format("{}", options.capacity), "a factor above 0, or 0 for room for every token");
  }
  if (!(options.balance >= 0 && std::isfinite(options.balance))) {
    refuse("bad weight of the balance loss", fmt::format("{}", options.balance), "at least 0");
  }
  if (options.inner < 0)
    refuse("bad inner width", fmt::format("{}", options.inner), "at least 1, or 0 for four times the width");
  if (options.shared < 0) refuse("bad number of shared experts", fmt::format("{}", options.shared), "at least 0");
}

}  // namespace

int64_t expert_capacity(const MixtureOfExpertsOptions& options, int64_t tokens) {
  if (options.capacity == 0) return tokens;
  const double share =
      static_cast<double>(tokens) * static_cast<double>(options.top_k) / static_cast<double>(options.experts);
  const double slots = std::ceil(options.capacity * share);
  return slots < static_cast<double>(tokens) ? std::max<int64_t>(1, static_cast<int64_t>(slots)) : tokens;
}

MixtureOfExperts::MixtureOfExperts(const MixtureOfExpertsOptions& options, CallLocation where)
    : Layer(where),
      options_(options),
      router_(std::make_shared<Router>(options, where)),
      experts_(std::make_shared<Experts>(options, where)),
      shared_(options.shared > 0 ? std::make_shared<SharedExperts>(options, where) : nullptr) {
  check_experts(options);
}

Value MixtureOfExperts::construct(Context& context, Value x) {
  if (x.type().rank() != 3) {
    throw InvalidArgument("[experts] wrong operand, got {}, expected [batch, tokens, width]", print(x.type()));
  }
  const int64_t batch = x.shape()[0], tokens = x.shape()[1], width = x.shape()[2];
  const int64_t experts = options_.experts, capacity = slots_of(context, options_, tokens);
  const std::vector<Value> routes = context.call("router", *router_, std::vector<Value>{x});
  // [b, experts * slots, width], and [experts, b * slots, width] for the products of each expert.
  const Value sent = apply("dispatch", {x, routes[0]}, DispatchAttrs{.size = experts * capacity});
  const Value by_group = reshape(sent, {batch, experts, capacity, width});
  const Value by_expert = reshape(transpose(by_group, {1, 0, 2, 3}), {experts, batch * capacity, width});
  const Value made = context.call("experts", *experts_, by_expert);
  const Value back = transpose(reshape(made, {experts, batch, capacity, width}), {1, 0, 2, 3});
  const Value slots = reshape(back, {batch, experts * capacity, width});
  const Value mixed = apply("combine", {slots, routes[0], routes[1]});
  return shared_ ? mixed + context.call("shared", *shared_, x) : mixed;
}

}  // namespace partita
