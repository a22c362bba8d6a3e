// ViT (Dosovitskiy et al., 2020), with a classifier.

#include "zoo/hugging_face/family.h"

namespace partita {
namespace {

DescribedModel read_vit(const ConfigJson& config) {
  config.require("hidden_act", "gelu");
  config.require_flag("qkv_bias", true);
  return {"vit",
          {{"layers", size_text(config.integer("num_hidden_layers"))},
           {"hidden", size_text(config.integer("hidden_size"))},
           {"heads", size_text(config.integer("num_attention_heads"))},
           {"inner", size_text(config.integer("intermediate_size"))},
           {"size", size_text(config.integer("image_size", 224))},
           {"patch", size_text(config.integer("patch_size", 16))},
           {"channels", size_text(config.integer("num_channels", 3))},
           {"classes", size_text(classes_of(config))},
           {"epsilon", size_text(config.number("layer_norm_eps", 1e-12))},
           {"key_bias", "1"}}};
}

nlohmann::ordered_json write_vit(const DescribedModel& model) {
  return {{"architectures", {"ViTForImageClassification"}},
          {"model_type", "vit"},
          {"hidden_act", "gelu"},
          {"hidden_size", size_of(model, "hidden")},
          {"id2label", class_names(size_of(model, "classes"))},
          {"image_size", size_of(model, "size")},
          {"intermediate_size", size_of(model, "inner")},
          {"layer_norm_eps", number_of(model, "epsilon")},
          {"num_attention_heads", size_of(model, "heads")},
          {"num_channels", size_of(model, "channels")},
          {"num_hidden_layers", size_of(model, "layers")},
          {"patch_size", size_of(model, "patch")},
          {"qkv_bias", true}};
}

}  // namespace

Family vit_family() { return {"vit", {"vit"}, {"vit"}, read_vit, write_vit}; }

}  // namespace partita
