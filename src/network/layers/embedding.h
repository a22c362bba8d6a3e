#pragma once

#include "network/layer.h"

namespace partita {

/// Rows of weight[rows, width] by integer ids.
class Embedding : public Layer {
 public:
  Embedding(int64_t rows, int64_t width, std::source_location where = std::source_location::current())
      : Layer(where), rows_(rows), width_(width) {}
  Value construct(Context& context, Value ids) override;

 private:
  int64_t rows_, width_;
};

inline LayerPtr embedding(int64_t rows, int64_t width, std::source_location where = std::source_location::current()) {
  return std::make_shared<Embedding>(rows, width, where);
}

}  // namespace partita
