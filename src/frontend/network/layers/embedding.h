#pragma once

#include "frontend/network/initializers.h"
#include "frontend/network/layer.h"

namespace partita {

/// Looks up rows of weight[rows, width] by integer ids[..]: [.., width]. `construct` throws InvalidArgument unless the
/// ids are i32 or i64; an id outside [0, rows) is an error at run time.
class Embedding : public Layer {
 public:
  Embedding(int64_t rows, int64_t width, InitRule init = normal_initializer(0, 1),
            CallLocation where = CallLocation::current())
      : Layer(where), rows_(rows), width_(width), init_(std::move(init)) {}
  Value construct(Context& context, Value ids) override;

 private:
  int64_t rows_, width_;
  InitRule init_;
};

inline LayerPtr embedding(int64_t rows, int64_t width, InitRule init = normal_initializer(0, 1),
                          CallLocation where = CallLocation::current()) {
  return std::make_shared<Embedding>(rows, width, std::move(init), where);
}

}  // namespace partita
