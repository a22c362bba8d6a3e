#pragma once
// Fine-tuning: which parameters of a network are trained, and low-rank additions to its products.

#include <string>
#include <string_view>
#include <vector>

#include "frontend/network/layer.h"

namespace partita {

/// Low-rank additions to products (Hu et al., 2022, "LoRA"), and parameters that stay as they are.
struct AdapterOptions {
  int64_t rank = 0;                   // inner size of the additions; 0: none
  double alpha = 0;                   // an addition counts alpha / rank times
  std::vector<std::string> layers{};  // patterns of the dense layers that get one: of their last name or their path
  std::vector<std::string> frozen{};  // patterns of names of parameters that are not trained
};

/// Ends the names of the two parameters of an addition: of a layer's input [rank, in], and of its output [out, rank].
/// Attributes of Python cannot have such names.
inline constexpr std::string_view kAdapterIn = "lora-a", kAdapterOut = "lora-b";

/// Whether a parameter belongs to an addition.
bool is_adapter(std::string_view parameter);

/// Returns `layers` with additions: y = x weight^T + bias + (alpha / rank) (x in^T) out^T for each dense layer that a
/// pattern names. `in` begins uniformly within 1 / sqrt(inputs), `out` with zeros, so that nothing changes at first.
/// With a rank, only additions are trained. '*' in a pattern stands for any characters. Building it throws
/// InvalidArgument if a pattern names nothing.
LayerPtr adapted(LayerPtr layers, AdapterOptions options);

}  // namespace partita
