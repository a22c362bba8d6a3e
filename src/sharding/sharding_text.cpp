// Axes, cuts and shardings as text.

#include <algorithm>
#include <charconv>
#include <sstream>

#include "base/fields.h"
#include "sharding/sharding.h"

namespace partita {
namespace {

[[noreturn]] void fail(std::string_view what, std::string_view got, std::string_view expected) {
  throw InvalidArgument(fmt::format("[sharding] {}, got '{}', expected {}", what, got, expected));
}

/// The text between the braces that begin at `at`; `at` then stands behind them.
std::string_view braced(std::string_view text, size_t& at) {
  const size_t end = text.find('}', at);
  if (at >= text.size() || text[at] != '{' || end == std::string_view::npos) fail("no axes", text, "{axis,axis}");
  const std::string_view inside = text.substr(at + 1, end - at - 1);
  at = end + 1;
  return inside;
}

std::string print_halo(const Halo& halo) {
  const Window& window = halo.window;
  return fmt::format("s{}d{}k{}p{}n{}{}", window.stride, window.dilation, window.size, window.pad, halo.factor,
                     window.transposed ? "t" : "");
}

Halo parse_halo(std::string_view text) {
  const std::string_view all = text;
  Halo halo;
  const auto number = [&](char letter) {
    int64_t value = 0;
    if (text.empty() || text.front() != letter) fail("no halo", all, "s1d1k3p1n32, with a t when transposed");
    const auto [end, error] = std::from_chars(text.data() + 1, text.data() + text.size(), value);
    constexpr int64_t kMost = int64_t{1} << 40;
    if (error != std::errc{} || value < 0 || value > kMost || (value == 0 && letter != 'p')) {
      fail("a number of a halo is missing or out of range", all, "s1d1k3p1n32, with a t when transposed");
    }
    text.remove_prefix(end - text.data());
    return value;
  };
  halo.window.stride = number('s');
  halo.window.dilation = number('d');
  halo.window.size = number('k');
  halo.window.pad = number('p');
  halo.factor = number('n');
  halo.window.transposed = text == "t";
  if (!text.empty() && text != "t") fail("text behind a halo", all, "s1d1k3p1n32, with a t when transposed");
  return halo;
}

}  // namespace

std::string print(const Type& type, const Sharding& sharding, const Mesh& mesh) {
  PARTITA_CHECK(sharding.dims.size() == type.shape.size(), "{} axes of {}", sharding.dims.size(), print(type));
  std::string text = fmt::format("{}[", name_of(type.dtype));
  for (size_t d = 0; d < type.shape.size(); ++d) {
    if (d > 0) text += ',';
    text += std::to_string(type.shape[d]);
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

Axes parse_axes(std::string_view text, const Mesh& mesh) {
  size_t at = 0;
  const std::string_view names = braced(text, at);
  if (at != text.size()) fail("text behind the axes", text, "{axis,axis}");
  Axes axes;
  const std::string list = fmt::format("[{}]", names);
  for (std::string_view name : split_list(list)) axes.push_back(mesh.axis(name));
  return axes;
}

Cut parse_cut(std::string_view text, const ShardingRule& rule, const Mesh& mesh) {
  Cut cut(rule.factors.size());
  std::istringstream words{std::string(text)};
  for (std::string word; words >> word;) {
    bool found = false;
    for (size_t f = 0; f < rule.factors.size() && word.size() > 2 && word[1] == '='; ++f) {
      if (rule.factors[f].name != word[0]) continue;
      cut[f] = parse_axes(std::string_view(word).substr(2), mesh);
      found = true;
    }
    if (!found) fail("unknown factor", word, "factor={axes} of " + print(rule));
  }
  return cut;
}

Sharding parse_sharding(std::string_view text, const Type& type, const Mesh& mesh) {
  Sharding sharding{.dims = std::vector<Axes>(type.shape.size())};
  const size_t end = std::min(text.find(']'), text.size());
  size_t dim = 0;
  for (size_t at = 0; at < end;) {
    if (text[at] != '{') {
      dim += text[at++] == ',';
      continue;
    }
    const size_t begin = at;
    braced(text, at);
    if (dim >= sharding.dims.size()) fail("axes outside the dimensions", text, print(type));
    const std::string_view inside = text.substr(begin, at - begin);
    const size_t bar = inside.find('|');
    sharding.dims[dim] =
        parse_axes(std::string(inside.substr(0, bar)) + (bar == std::string_view::npos ? "" : "}"), mesh);
    if (bar == std::string_view::npos) continue;
    sharding.halos.resize(sharding.dims.size());
    sharding.halos[dim] = parse_halo(inside.substr(bar + 1, inside.size() - bar - 2));
  }
  if (const size_t plus = text.find('+', end); plus != std::string_view::npos) {
    const size_t brace = std::min(text.find('{', plus), text.size());
    sharding.kind = Reduce::none;
    from_text(text.substr(plus + 1, brace - plus - 1), sharding.kind);
    sharding.partial = parse_axes(text.substr(brace), mesh);
    std::sort(sharding.partial.begin(), sharding.partial.end());
  }
  std::vector<bool> used(mesh.axes().size(), false);
  const auto use = [&](const Axes& axes) {
    for (int axis : axes) {
      if (used[axis]) fail("an axis is used twice", text, "each axis once");
      used[axis] = true;
    }
  };
  for (size_t d = 0; d < sharding.dims.size(); ++d) {
    use(sharding.dims[d]);
    if (mesh.ways(sharding.dims[d]) > type.shape[d]) fail("fewer elements than parts", text, "at most one part each");
  }
  use(sharding.partial);
  return sharding;
}

}  // namespace partita
