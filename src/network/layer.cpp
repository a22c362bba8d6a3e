#include "network/layer.h"

#include <string_view>
#include <utility>

namespace partita {

SourceLine source_line(const std::source_location& where) {
  std::string_view file = where.file_name();
  if (const size_t last = file.rfind('/'); last != std::string_view::npos && last > 0) {
    const size_t folder = file.rfind('/', last - 1);
    file = file.substr(folder == std::string_view::npos ? 0 : folder + 1);
  }
  return {std::string(file), static_cast<int>(where.line())};
}

Layer::Layer(std::source_location where) : where_(source_line(where)) {}

Value Context::call(const std::string& name, Layer& child, Value x) {
  const std::string path = paths_.try_emplace(&child, scoped(name)).first->second;
  const std::string outer_path = std::exchange(path_, path);
  const std::string outer_scope = builder_.scope;
  const SourceLine outer_source = builder_.source;
  const bool outer_trainable = std::exchange(trainable_, trainable_ && child.requires_grad());
  builder_.scope = outer_scope.empty() ? name : outer_scope + "/" + name;
  builder_.source = child.where();
  Value y;
  try {
    y = child.construct(*this, x);
  } catch (const InvalidArgument& error) {
    if (std::string_view(error.what()).find("(layer ") != std::string_view::npos) throw;
    throw InvalidArgument(
        fmt::format("{} (layer {} at {}:{})", error.what(), builder_.scope, child.where().file, child.where().line),
        error.kind());
  }
  path_ = outer_path;
  trainable_ = outer_trainable;
  builder_.scope = outer_scope;
  builder_.source = outer_source;
  return y;
}

Value Context::parameter(const std::string& name, const Shape& shape, const Initializer& init) {
  return builder_.state(scoped(name), Type{options_.dtype, shape},
                        {.kind = StateKind::parameter, .init = init, .requires_grad = trainable_});
}

Value Context::statistic(const std::string& name, const Shape& shape, const Initializer& init) {
  return builder_.state(scoped(name), Type{options_.dtype, shape},
                        {.kind = StateKind::statistic, .init = init, .requires_grad = false});
}

Value Context::step() {
  return builder_.state("step", Type{DType::i64, {}}, {.kind = StateKind::counter, .requires_grad = false});
}

}  // namespace partita
