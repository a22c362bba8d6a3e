#include "frontend/data/transforms/value_map.h"

namespace partita {
namespace {

class Chain : public ValueMap {
 public:
  explicit Chain(std::vector<ValueMapPtr> maps) : maps_(std::move(maps)) {}

  Type type(const Type& in) const override {
    Type result = in;
    for (const ValueMapPtr& map : maps_) result = map->type(result);
    return result;
  }

  void apply(const ConstTensor& in, const Tensor& out, const RowKey& key) const override {
    Array current;
    ConstTensor from = in;
    for (size_t i = 0; i + 1 < maps_.size(); ++i) {
      Array next(maps_[i]->type(from.type));
      maps_[i]->apply(from, next.tensor(), key);
      current = std::move(next);
      from = {current.type(), current.data()};
    }
    maps_.back()->apply(from, out, key);
  }

 private:
  std::vector<ValueMapPtr> maps_;
};

}  // namespace

ValueMapPtr chain(const std::vector<ValueMapPtr>& maps) {
  if (maps.empty()) {
    throw InvalidArgument("[chain] no maps, got an empty list, expected one or more");
  }
  std::vector<ValueMapPtr> passes;
  for (const ValueMapPtr& map : maps) {
    ValueMapPtr fused = passes.empty() ? nullptr : passes.back()->fuse(*map);
    if (fused) {
      passes.back() = std::move(fused);
    } else {
      passes.push_back(map);
    }
  }
  return passes.size() == 1 ? passes[0] : std::make_shared<Chain>(std::move(passes));
}

Array apply(const ValueMap& map, const Array& value, const RowKey& key) {
  Array result(map.type(value.type()));
  map.apply(value.tensor(), result.tensor(), key);
  return result;
}

}  // namespace partita
