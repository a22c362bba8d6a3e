// Axes, cuts and shardings as text.

#include <algorithm>
#include <limits>

#include "base/cursor.h"
#include "base/fields.h"
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
  ShardingReader(std::string_view text, const Mesh& mesh) : Cursor(text), text_(text), mesh_(mesh) {}

  Axes axes() {
    Axes axes = braced();
    end();
    return axes;
  }

  Cut cut(const ShardingRule& rule) {
    Cut cut(rule.factors.size());
    while (!rest().empty()) {
      const auto found = std::find_if(rule.factors.begin(), rule.factors.end(),
                                      [&](const Factor& factor) { return take(fmt::format("{}=", factor.name)); });
      if (found == rule.factors.end()) fail("unknown factor", token(), "factor={axes} of " + print(rule));
      cut[found - rule.factors.begin()] = braced();
    }
    return cut;
  }

  Sharding sharding(const Type& type) {
    Sharding sharding{.dims = std::vector<Axes>(type.shape.size())};
    const std::string expected = fmt::format("the {} dimensions of {}", type.shape.size(), print(type));
    until("[");
    for (size_t d = 0; d < type.shape.size(); ++d) {
      if (d > 0) expect(",");
      if (number() != type.shape[d]) fail("another size", text_, expected);
      if (!rest().starts_with("{")) continue;
      std::optional<Halo> halo;
      sharding.dims[d] = braced(&halo);
      if (!halo) continue;
      sharding.halos.resize(type.shape.size());
      sharding.halos[d] = halo;
    }
    if (!take("]")) fail("unexpected text", rest(), expected);
    if (take("+")) {
      sharding.kind = Reduce::none;
      from_text(word(), sharding.kind);
      if (sharding.kind == Reduce::none) fail("not a reduction", "none", "sum, max or min");
      sharding.partial = braced();
      if (sharding.partial.empty()) fail("a reduction over no axis", text_, "at least one axis");
      std::sort(sharding.partial.begin(), sharding.partial.end());
    }
    end();
    check_axes(sharding, type);
    return sharding;
  }

 private:
  std::string message(std::string_view what, std::string_view got, std::string_view expected) const override {
    return fmt::format("[sharding] {}, got '{}', expected {}", what, got, expected);
  }

  /// Reads "{axis,axis}" or "{}", and if `halo` is given also "{axis,axis|HALO}". Throws InvalidArgument for other
  /// texts and unknown axes.
  Axes braced(std::optional<Halo>* halo = nullptr) {
    Axes axes;
    expect("{");
    if (take("}")) return axes;
    do {
      const Axes named = axes_named(word("_.-"));
      axes.insert(axes.end(), named.begin(), named.end());
    } while (take(","));
    if (halo != nullptr && take("|")) *halo = read_halo();
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

  /// Reads "s1d1k3p1n32", followed by t if transposed. Throws InvalidArgument for other texts.
  Halo read_halo() {
    const auto size = [&](std::string_view letter, int64_t least) {
      expect(letter);
      return number(least, std::numeric_limits<int32_t>::max());  // products of two stay within 64 bits
    };
    Halo halo;
    halo.window.stride = size("s", 1);
    halo.window.dilation = size("d", 1);
    halo.window.size = size("k", 1);
    halo.window.pad = size("p", 0);
    halo.factor = size("n", 1);
    halo.window.transposed = take("t");
    return halo;
  }

  void check_axes(const Sharding& sharding, const Type& type) const {
    std::vector<bool> used(mesh_.axes().size(), false);
    const auto use = [&](const Axes& axes) {
      for (int axis : axes) {
        if (used[axis]) fail("an axis is used twice", text_, "each axis once");
        used[axis] = true;
      }
    };
    for (size_t d = 0; d < sharding.dims.size(); ++d) {
      use(sharding.dims[d]);
      const bool halo = !sharding.halos.empty() && sharding.halos[d];
      if (mesh_.ways(sharding.dims[d]) > (halo ? sharding.halos[d]->factor : type.shape[d])) {
        fail("fewer elements than parts", text_, "at most one part each");
      }
    }
    use(sharding.partial);
  }

  std::string_view text_;
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

Axes parse_axes(std::string_view text, const Mesh& mesh) { return ShardingReader(text, mesh).axes(); }

Cut parse_cut(std::string_view text, const ShardingRule& rule, const Mesh& mesh) {
  return ShardingReader(text, mesh).cut(rule);
}

Sharding parse_sharding(std::string_view text, const Type& type, const Mesh& mesh) {
  return ShardingReader(text, mesh).sharding(type);
}

}  // namespace partita
