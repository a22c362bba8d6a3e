#pragma once

#include "frontend/network/initializers.h"
#include "frontend/network/layer.h"

namespace partita {

struct MixtureOfExpertsOptions {
  int64_t experts = 8;
  int64_t top_k = 2;       // experts per token
  double capacity = 1.25;  // slots per expert, relative to an even share; 0 = room for every token
  int64_t inner = 0;       // width inside an expert; 0 = four times that of x
  int64_t shared = 0;      // number of experts that every token uses
  double balance = 0.01;   // weight of the balance loss
  bool gated = false;      // experts are SwiGLU: a third weight, gate
  InitRule init = Init::xavier_uniform;
  InitRule projection_init = Init::xavier_uniform;  // for the layers that end on the residual path
};

/// Returns the number of slots of each expert for a group of `tokens` tokens: `tokens` if the capacity is 0, else
/// capacity * tokens * top_k / experts rounded up, but from 1 to `tokens`.
int64_t expert_capacity(const MixtureOfExpertsOptions& options, int64_t tokens);

/// A sparse feed-forward part for x[b, s, width] (Shazeer et al., 2017; Fedus et al., 2022). Each token goes to the
/// `top_k` experts with the largest probabilities softmax(x router^T), weighted by these probabilities, which are
/// divided by their sum if there are several experts. An expert is two products without biases, fc and proj, with gelu
/// in between; with `gated` it is proj(silu(gate(x)) * fc(x)) (Jiang et al., 2024, "Mixtral of experts").
///
/// Each sequence is a group (Lepikhin et al., 2021): every expert has slots for its tokens. They are assigned to the
/// first choices of all tokens in order, then to the second ones; a token without a slot gets nothing from this expert.
/// So the assignment does not depend on how the batch is cut. The experts' operands are [experts, b * slots, width].
///
/// The loss "balance" is added with its weight. It is the mean over sequences of experts * sum over e of (share of
/// choices that are e) * (mean probability of e), which is 1 if all experts are used equally.
///
/// Children: router.weight[experts, width]; experts.fc and, with `gated`, experts.gate[experts, width, inner],
/// experts.proj[experts, inner, width]; shared.fc, shared.proj: one layer of `shared` times the inner width, which
/// equals the sum of `shared` experts.
///
/// The constructor throws InvalidArgument for options out of range.
class MixtureOfExperts : public Layer {
 public:
  explicit MixtureOfExperts(const MixtureOfExpertsOptions& options, CallLocation where = CallLocation::current());
  Value construct(Context& context, Value x) override;

 private:
  MixtureOfExpertsOptions options_;
  LayerPtr router_, experts_, shared_;
};

inline LayerPtr mixture_of_experts(const MixtureOfExpertsOptions& options,
                                   CallLocation where = CallLocation::current()) {
  return std::make_shared<MixtureOfExperts>(options, where);
}

}  // namespace partita
