#include "frontend/network/adapters.h"

namespace partita {
namespace {

class Adapted : public Layer {
 public:
  Adapted(LayerPtr layers, AdapterOptions options)
      : Layer(), layers_(std::move(layers)), options_(std::make_shared<const AdapterOptions>(std::move(options))) {}

  std::vector<Value> construct_all(Context& context, const std::vector<Value>& inputs) override {
    context.adapt(options_);
    std::vector<Value> results = layers_->construct_all(context, inputs);
    context.require_used_patterns();
    return results;
  }

 private:
  LayerPtr layers_;
  std::shared_ptr<const AdapterOptions> options_;
};

}  // namespace

bool is_adapter(std::string_view parameter) {
  const size_t dot = parameter.rfind('.');
  const std::string_view last = parameter.substr(dot == std::string_view::npos ? 0 : dot + 1);
  return last == kAdapterIn || last == kAdapterOut;
}

LayerPtr adapted(LayerPtr layers, AdapterOptions options) {
  return std::make_shared<Adapted>(std::move(layers), std::move(options));
}

}  // namespace partita
