#include "runtime/checkpoint/weight_source.h"

#include "base/checksum.h"
#include "base/convert_elements.h"
#include "frontend/network/adapters.h"
#include "runtime/checkpoint/states.h"

namespace partita {
namespace {

std::vector<NamedType> states_where(const Graph& graph, bool are_adapters) {
  std::vector<NamedType> found;
  for (const State& state : graph.states) {
    const std::string& name = graph.name_of(state);
    if (is_weight(state.kind) && is_adapter(name) == are_adapters) found.push_back({name, graph.type(state.entry)});
  }
  return found;
}

class OverlaidSource : public WeightSource {
 public:
  OverlaidSource(std::map<std::string, Array> arrays, std::unique_ptr<WeightSource> rest)
      : arrays_(std::move(arrays)), rest_(std::move(rest)) {}

  bool has(const std::string& name) const override {
    return arrays_.contains(name) || (rest_ != nullptr && rest_->has(name));
  }
  void read(const std::string& name, const Box& box, DType dtype, void* to) const override {
    const auto found = arrays_.find(name);
    if (found == arrays_.end()) return rest_->read(name, box, dtype, to);
    const Array& array = found->second;
    const auto from_size = size_of(array.type().dtype), to_size = size_of(dtype);
    for_common_runs(box, whole_box(array.type().shape), box, [&](int64_t first, int64_t place, int64_t count) {
      convert_elements(array.type().dtype,
                       static_cast<const char*>(array.data()) + static_cast<size_t>(first) * from_size, dtype,
                       static_cast<char*>(to) + static_cast<size_t>(place) * to_size, count);
    });
  }
  uint64_t digest() const override {
    std::string text = print_checksum(rest_ != nullptr ? rest_->digest() : 0);
    for (const auto& [name, array] : arrays_) {
      const auto bytes = static_cast<size_t>(array.type().bytes());
      text += fmt::format(" {} {} {}", name, print(array.type()), print_checksum(checksum_of(array.data(), bytes)));
    }
    return checksum_of(text.data(), text.size());
  }

 private:
  std::map<std::string, Array> arrays_;
  std::unique_ptr<WeightSource> rest_;
};

}  // namespace

Array read_whole(const WeightSource& source, const NamedType& weight) {
  Array array(weight.type);
  source.read(weight.name, whole_box(weight.type.shape), weight.type.dtype, array.data());
  return array;
}

std::vector<NamedType> weights_of(const Graph& graph) { return states_where(graph, /*are_adapters=*/false); }

std::vector<NamedType> adapters_of(const Graph& graph) { return states_where(graph, /*are_adapters=*/true); }

std::unique_ptr<WeightSource> overlaid(std::map<std::string, Array> arrays, std::unique_ptr<WeightSource> rest) {
  return std::make_unique<OverlaidSource>(std::move(arrays), std::move(rest));
}

}  // namespace partita
