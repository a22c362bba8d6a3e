// GPT-2 (Radford et al., 2019).

#include "base/error.h"
#include "zoo/hugging_face/family.h"

namespace partita {
namespace {

DescribedModel read_gpt2(const ConfigJson& config) {
  config.require_flag("scale_attn_weights", true);
  config.require_flag("scale_attn_by_inverse_layer_idx", false);
  config.require_flag("add_cross_attention", false);
  const std::string activation =
      config.one_of("activation_function", {"gelu", "gelu_new", "gelu_pytorch_tanh"}, "gelu_new");
  const int64_t positions = config.integer("n_positions", 1024);
  return {"gpt",
          {{"layers", size_text(config.integer("n_layer"))},
           {"hidden", size_text(config.integer("n_embd"))},
           {"heads", size_text(config.integer("n_head"))},
           {"inner", size_text(config.integer("n_inner", 0))},
           {"seq", size_text(usual_length(positions))},
           {"positions", size_text(positions)},
           {"vocab", size_text(config.integer("vocab_size"))},
           {"epsilon", size_text(config.number("layer_norm_epsilon", 1e-5))},
           {"gelu_tanh", activation == "gelu" ? "0" : "1"},
           {"tied", config.flag("tie_word_embeddings", true) ? "1" : "0"},
           {"key_bias", "1"}}};
}

nlohmann::ordered_json write_gpt2(const DescribedModel& model) {
  nlohmann::ordered_json config{{"architectures", {"GPT2LMHeadModel"}},
                                {"model_type", "gpt2"},
                                {"activation_function", size_of(model, "gelu_tanh") == 1 ? "gelu_new" : "gelu"},
                                {"layer_norm_epsilon", number_of(model, "epsilon")},
                                {"n_embd", size_of(model, "hidden")},
                                {"n_head", size_of(model, "heads")}};
  if (size_of(model, "inner") > 0) config["n_inner"] = size_of(model, "inner");
  config["n_layer"] = size_of(model, "layers");
  config["n_positions"] = std::max(size_of(model, "positions"), size_of(model, "seq"));
  config["tie_word_embeddings"] = size_of(model, "tied") == 1;
  config["vocab_size"] = size_of(model, "vocab");
  return config;
}

}  // namespace

Family gpt2_family() { return {"gpt2", {"gpt2"}, {"gpt"}, read_gpt2, write_gpt2}; }

}  // namespace partita
