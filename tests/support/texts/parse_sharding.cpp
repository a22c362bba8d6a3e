#include <algorithm>
#include <limits>

#include "base/cursor.h"
#include "base/fields.h"
#include "support/texts/texts.h"

namespace partita {
namespace {

class ShardingText : public Cursor {
 public:
  ShardingText(std::string_view text, const Mesh& mesh) : Cursor(text), text_(text), mesh_(mesh) {}

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

  /// Reads what `parse_axes` reads, and if `halo` is given also "{axis,axis|HALO}". Throws InvalidArgument for other
  /// texts and unknown axes.
  Axes braced(std::optional<Halo>* halo = nullptr) {
    const std::string_view inside = until("}");
    const size_t bar = halo == nullptr ? std::string_view::npos : inside.find('|');
    Axes axes = parse_axes(fmt::format("{}}}", inside.substr(0, bar)), mesh_);
    if (bar == std::string_view::npos) return axes;
    if (axes.empty()) fail("a halo without an axis", text_, "{axis|halo}");
    ShardingText text(inside.substr(bar + 1), mesh_);
    *halo = text.read_halo();
    text.end();
    return axes;
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

Sharding parse_sharding(std::string_view text, const Type& type, const Mesh& mesh) {
  return ShardingText(text, mesh).sharding(type);
}

}  // namespace partita
