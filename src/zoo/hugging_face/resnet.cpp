// ResNet (He et al., 2015), with a classifier. The convolution that has the stride of a bottleneck is the 3x3 one.

#include <array>

#include "base/error.h"
#include "zoo/hugging_face/family.h"

namespace partita {
namespace {

struct Depths {
  std::string_view zoo_name, layer_type;
  std::vector<int64_t> blocks;
};

const std::vector<Depths>& known_depths() {
  static const std::vector<Depths> list{{"resnet18", "basic", {2, 2, 2, 2}},
                                        {"resnet50", "bottleneck", {3, 4, 6, 3}},
                                        {"resnet101", "bottleneck", {3, 4, 23, 3}},
                                        {"resnet152", "bottleneck", {3, 8, 36, 3}}};
  return list;
}

std::vector<int64_t> stage_widths(std::string_view layer_type, int64_t width) {
  const int64_t first = layer_type == "basic" ? width : 4 * width;
  return {first, 2 * first, 4 * first, 8 * first};
}

DescribedModel read_resnet(const ConfigJson& config) {
  config.require("hidden_act", "relu");
  config.require_flag("downsample_in_first_stage", false);
  config.require_flag("downsample_in_bottleneck", false);
  const std::string type = config.text("layer_type", "bottleneck");
  const std::vector<int64_t> depths = config.integers("depths"), widths = config.integers("hidden_sizes");
  const int64_t width = config.integer("embedding_size", 64);
  for (const Depths& one : known_depths()) {
    if (one.layer_type != type || one.blocks != depths || stage_widths(type, width) != widths) continue;
    return {std::string(one.zoo_name),
            {{"width", size_text(width)},
             {"channels", size_text(config.integer("num_channels", 3))},
             {"classes", size_text(classes_of(config))},
             {"size", "224"},
             {"small_stem", "0"}}};
  }
  throw InvalidFile(
      "[hugging_face] {}: depths cannot be used, got layer_type {} with depths {} and widths {}, expected the depths "
      "of 18, 50, 101 or 152 layers, each stage twice as wide as the one before",
      config.path(), type, fmt::join(depths, ","), fmt::join(widths, ","));
}

nlohmann::ordered_json write_resnet(const DescribedModel& model) {
  const int64_t width = size_of(model, "width");
  for (const Depths& one : known_depths()) {
    if (one.zoo_name != model.zoo_name) continue;
    return {{"architectures", {"ResNetForImageClassification"}},
            {"model_type", "resnet"},
            {"depths", one.blocks},
            {"downsample_in_bottleneck", false},
            {"downsample_in_first_stage", false},
            {"embedding_size", width},
            {"hidden_act", "relu"},
            {"hidden_sizes", stage_widths(one.layer_type, width)},
            {"id2label", class_names(size_of(model, "classes"))},
            {"layer_type", one.layer_type},
            {"num_channels", size_of(model, "channels")}};
  }
  throw InternalError("no depths of {}", model.zoo_name);
}

}  // namespace

Family resnet_family() {
  return {"resnet", {"resnet"}, {"resnet18", "resnet50", "resnet101", "resnet152"}, read_resnet, write_resnet};
}

}  // namespace partita
