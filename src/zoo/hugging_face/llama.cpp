// Llama (Touvron et al., 2023) and models made like it: Mistral, Mixtral, Qwen2 and Qwen3.

#include <algorithm>

#include "base/error.h"
#include "zoo/hugging_face/family.h"

namespace partita {
namespace {

/// Adds how positions turn queries and keys. Throws InvalidFile for a way that `partita ops rotary` does not have.
void add_rotary(SizeTexts& sizes, const ConfigJson& config) {
  // Version 5 of transformers has one object, earlier ones have two values.
  const ConfigJson joined = config.object("rope_parameters"), scaling = config.object("rope_scaling");
  const ConfigJson& rope = config.has("rope_parameters") ? joined : scaling;
  sizes["rotary_base"] = size_text(joined.number("rope_theta", config.number("rope_theta", 10000)));
  rope.require_number("partial_rotary_factor", 1);
  const std::string kind =
      rope.one_of(rope.has("rope_type") ? "rope_type" : "type", {"default", "linear", "llama3"}, "default");
  if (kind == "default") return;
  sizes["rotary_factor"] = size_text(rope.number("factor", 1));
  if (kind == "linear") return;
  sizes["rotary_low"] = size_text(rope.number("low_freq_factor", 1));
  sizes["rotary_high"] = size_text(rope.number("high_freq_factor", 4));
  sizes["rotary_trained"] = size_text(rope.integer("original_max_position_embeddings"));
}

/// Adds the biases of a family. Throws InvalidFile for biases of feed-forward parts.
void add_biases(SizeTexts& sizes, const ConfigJson& config, const std::string& type) {
  config.require_flag("mlp_bias", false);
  const bool has_biases = config.flag("attention_bias", type == "qwen2");
  sizes["bias"] = has_biases ? "1" : "0";
  sizes["proj_bias"] = has_biases && type != "qwen2" ? "1" : "0";
}

/// Returns the longest rows, within which a query sees all keys before it.
int64_t longest_rows(const ConfigJson& config, const std::string& type) {
  const int64_t longest = config.integer("max_position_embeddings", 2048);
  const bool has_window =
      config.has("sliding_window") && (!type.starts_with("qwen") || config.flag("use_sliding_window", false));
  return has_window ? std::min(longest, config.integer("sliding_window")) : longest;
}

DescribedModel read_llama(const ConfigJson& config) {
  const std::string type = config.text("model_type", "llama");
  config.require("hidden_act", "silu");
  const int64_t heads = config.integer("num_attention_heads"), hidden = config.integer("hidden_size");
  const int64_t longest = longest_rows(config, type);
  DescribedModel model{"llama",
                       {{"layers", size_text(config.integer("num_hidden_layers"))},
                        {"hidden", size_text(hidden)},
                        {"heads", size_text(heads)},
                        {"kv_heads", size_text(config.integer("num_key_value_heads", heads))},
                        {"intermediate", size_text(config.integer("intermediate_size"))},
                        {"seq", size_text(usual_length(longest))},
                        {"longest", size_text(longest)},
                        {"vocab", size_text(config.integer("vocab_size"))},
                        {"tied", config.flag("tie_word_embeddings", false) ? "1" : "0"},
                        {"epsilon", size_text(config.number("rms_norm_eps", 1e-6))},
                        {"head_norm", type == "qwen3" ? "1" : "0"}}};
  const int64_t width = config.integer("head_dim", 0);
  if (width > 0 && (heads == 0 || width * heads != hidden)) model.sizes["head_width"] = size_text(width);
  add_rotary(model.sizes, config);
  add_biases(model.sizes, config, type);
  if (type != "mixtral") return model;
  config.require_number("router_jitter_noise", 0);
  const int64_t experts = config.integer("num_local_experts", 8);
  if (experts < 1) config.refuse("num_local_experts", "at least 1");
  model.sizes["experts"] = size_text(experts);
  const int64_t top_k = config.integer("num_experts_per_tok", 2);
  if (top_k < 2) config.refuse("num_experts_per_tok", "at least 2: of one expert, its probability would be the weight");
  model.sizes["top_k"] = size_text(top_k);
  // Their balance loss is one over all layers, ours one for each.
  config.require_flag("output_router_logits", false);
  model.sizes["balance"] = "0";
  return model;
}

/// Returns the family that has all parts of the model, and the name of its class.
std::pair<std::string, std::string> kind_of(const DescribedModel& model) {
  if (size_of(model, "experts") > 0) return {"mixtral", "MixtralForCausalLM"};
  if (size_of(model, "head_norm") == 1) return {"qwen3", "Qwen3ForCausalLM"};
  const bool has_bias = size_of(model, "bias") == 1, has_proj_bias = size_of(model, "proj_bias") == 1;
  if (has_bias && !has_proj_bias) return {"qwen2", "Qwen2ForCausalLM"};
  return {"llama", "LlamaForCausalLM"};
}

nlohmann::ordered_json write_llama(const DescribedModel& model) {
  const auto [type, name] = kind_of(model);
  const int64_t heads = size_of(model, "heads"), hidden = size_of(model, "hidden"),
                width = size_of(model, "head_width");
  nlohmann::ordered_json rope{{"rope_theta", number_of(model, "rotary_base")}, {"rope_type", "default"}};
  if (number_of(model, "rotary_factor") != 1) {
    rope["factor"] = number_of(model, "rotary_factor");
    rope["rope_type"] = "linear";
  }
  if (size_of(model, "rotary_trained") > 0) {
    rope["rope_type"] = "llama3";
    rope["factor"] = number_of(model, "rotary_factor");
    rope["low_freq_factor"] = number_of(model, "rotary_low");
    rope["high_freq_factor"] = number_of(model, "rotary_high");
    rope["original_max_position_embeddings"] = size_of(model, "rotary_trained");
  }
  nlohmann::ordered_json config{{"architectures", {name}},
                                {"model_type", type},
                                {"head_dim", width > 0 ? width : hidden / heads},
                                {"hidden_act", "silu"},
                                {"hidden_size", hidden},
                                {"intermediate_size", size_of(model, "intermediate")},
                                {"max_position_embeddings", std::max(size_of(model, "longest"), size_of(model, "seq"))},
                                {"num_attention_heads", heads},
                                {"num_hidden_layers", size_of(model, "layers")},
                                {"num_key_value_heads", size_of(model, "kv_heads")},
                                {"rms_norm_eps", number_of(model, "epsilon")},
                                {"rope_theta", number_of(model, "rotary_base")},
                                {"rope_parameters", rope},
                                {"tie_word_embeddings", size_of(model, "tied") == 1},
                                {"vocab_size", size_of(model, "vocab")}};
  if (rope["rope_type"] != "default") config["rope_scaling"] = rope;
  if (type == "llama" || type == "qwen3") config["attention_bias"] = size_of(model, "bias") == 1;
  if (type == "mixtral") {
    config["num_local_experts"] = size_of(model, "experts");
    config["num_experts_per_tok"] = size_of(model, "top_k");
    config["output_router_logits"] = false;
  }
  return config;
}

}  // namespace

Family llama_family() {
  return {"llama", {"llama", "mistral", "mixtral", "qwen2", "qwen3"}, {"llama"}, read_llama, write_llama};
}

}  // namespace partita
