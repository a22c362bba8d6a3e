// Axes, cuts and shardings as text.

#include <algorithm>

#include "base/cursor.h"
#include "ir/sharding/sharding.h"

namespace partita {
namespace {

std::string print_halo(const Halo& halo) {
  const Window& window = halo.window;
  return fmt::format("s{}d{}k{}p{}n{}{}", window.stride, window.dilation, window.size, window.pad, halo.factor,
                     window.transposed ? "t" : "");
}

/// Parses what `print` writes. Throws InvalidArgument for other texts.
class ShardingReader : public Cursor {
 public:
  ShardingReader(std::string_view text, const Mesh& mesh) : Cursor(text), mesh_(mesh) {}

  Axes axes() {
    Axes axes = braced();
    end();
    return axes;
  }

  std::vector<Axes> dims() {
    std::vector<Axes> dims;
    while (!rest().empty()) dims.push_back(parse_axes(token(), mesh_));
    return dims;
  }

  Cut cut(const ShardingRule& rule) {
    Cut cut(rule.factors.size());
    while (!rest().empty()) {
      const auto found = std::ranges::find_if(
          rule.factors, [&](const Factor& factor) { return take(fmt::format("{}=", factor.name)); });
      if (found == rule.factors.end()) fail("unknown factor", token(), "factor={axes} of " + print(rule));
      cut[found - rule.factors.begin()] = braced();
    }
    return cut;
  }

 private:
  std::string message(std::string_view what, std::string_view got, std::string_view expected) const override {
    return fmt::format("[sharding] {}, got '{}', expected {}", what, got, expected);
  }

  /// Reads "{axis,axis}" or "{}". Throws InvalidArgument for other texts and unknown axes.
  Axes braced() {
    Axes axes;
    expect("{");
    if (take("}")) return axes;
    do {
      const Axes named = axes_named(word("_.-"));
      axes.insert(axes.end(), named.begin(), named.end());
    } while (take(","));
    expect("}");
    return axes;
  }

  /// Returns one sub-axis, or all sub-axes of a named axis. Throws InvalidArgument for an unknown name.
  Axes axes_named(const std::string& name) const {
    for (const auto& [axis, size] : mesh_.named()) {
      if (axis != name) continue;
      if (Axes all = mesh_.find(name); !all.empty()) return all;
    }
    return {mesh_.axis(name)};
  }

  const Mesh& mesh_;
};

}  // namespace

std::string print(const Type& type, const Sharding& sharding, const Mesh& mesh) {
  PARTITA_CHECK(sharding.dims.size() == type.shape.size(), "{} axes of {}", sharding.dims.size(), print(type));
  std::string text = fmt::format("{}[", name_of(type.dtype));
  for (size_t d = 0; d < type.shape.size(); ++d) {
    if (d > 0) text += ',';
    text += fmt::to_string(type.shape[d]);
    if (sharding.dims[d].empty()) continue;
    const bool halo = !sharding.halos.empty() && sharding.halos[d];
    text += fmt::format("{{{}{}}}", mesh.print(sharding.dims[d]),
                        halo ? fmt::format("|{}", print_halo(*sharding.halos[d])) : "");
  }
  text += ']';
  if (!sharding.partial.empty()) {
    text += fmt::format(" +{}{{{}}}", name_of(sharding.kind), mesh.print(sharding.partial));
  }
  return text;
}

std::string print(const Cut& cut, const ShardingRule& rule, const Mesh& mesh) {
  std::string text;
  for (size_t f = 0; f < cut.size(); ++f) {
    if (cut[f].empty()) continue;
    text += fmt::format("{}{}={{{}}}", text.empty() ? "" : " ", rule.factors[f].name, mesh.print(cut[f]));
  }
  return text;
}

std::string print_dims(const std::vector<Axes>& dims, const Mesh& mesh) {
  std::string text;
  for (const Axes& axes : dims) text += fmt::format("{}{{{}}}", text.empty() ? "" : " ", mesh.print(axes));
  return text;
}

Axes parse_axes(std::string_view text, const Mesh& mesh) { return ShardingReader(text, mesh).axes(); }

std::vector<Axes> parse_dims(std::string_view text, const Mesh& mesh) { return ShardingReader(text, mesh).dims(); }

Cut parse_cut(std::string_view text, const ShardingRule& rule, const Mesh& mesh) {
  return ShardingReader(text, mesh).cut(rule);
}

}  // namespace partita
