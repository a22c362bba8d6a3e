// BERT (Devlin et al., 2018), with the head that restores masked tokens.

#include <algorithm>

#include "zoo/hugging_face/family.h"

namespace partita {
namespace {

constexpr int64_t kUsualMask = 103;  // [MASK] of the published vocabularies

DescribedModel read_bert(const ConfigJson& config) {
  config.require("hidden_act", "gelu");
  config.require("position_embedding_type", "absolute");
  config.require_flag("is_decoder", false);
  config.require_flag("tie_word_embeddings", true);
  const int64_t positions = config.integer("max_position_embeddings", 512), vocab = config.integer("vocab_size");
  return {"bert",
          {{"layers", size_text(config.integer("num_hidden_layers"))},
           {"hidden", size_text(config.integer("hidden_size"))},
           {"heads", size_text(config.integer("num_attention_heads"))},
           {"inner", size_text(config.integer("intermediate_size"))},
           {"seq", size_text(usual_length(positions))},
           {"positions", size_text(positions)},
           {"segments", size_text(config.integer("type_vocab_size", 2))},
           {"vocab", size_text(vocab)},
           {"mask", size_text(std::min(kUsualMask, vocab - 1))},
           {"epsilon", size_text(config.number("layer_norm_eps", 1e-12))},
           {"key_bias", "1"}}};
}

nlohmann::ordered_json write_bert(const DescribedModel& model) {
  const int64_t hidden = size_of(model, "hidden"), inner = size_of(model, "inner");
  return {{"architectures", {"BertForMaskedLM"}},
          {"model_type", "bert"},
          {"hidden_act", "gelu"},
          {"hidden_size", hidden},
          {"intermediate_size", inner > 0 ? inner : 4 * hidden},
          {"layer_norm_eps", number_of(model, "epsilon")},
          {"max_position_embeddings", std::max(size_of(model, "positions"), size_of(model, "seq"))},
          {"num_attention_heads", size_of(model, "heads")},
          {"num_hidden_layers", size_of(model, "layers")},
          {"type_vocab_size", std::max<int64_t>(1, size_of(model, "segments"))},
          {"vocab_size", size_of(model, "vocab")}};
}

}  // namespace

Family bert_family() { return {"bert", {"bert"}, {"bert"}, read_bert, write_bert}; }

}  // namespace partita
