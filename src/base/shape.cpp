#include "base/shape.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "base/convert_elements.h"

namespace partita {

bool is_countable(const Shape& shape) {
  int64_t total = 1;
  for (int64_t size : shape) {
    if (size < 0 || (size > 0 && total > kMaxElements / size)) return false;
    total *= std::max<int64_t>(size, 1);
  }
  return true;
}

int64_t elements(const Shape& shape) {
  int64_t count = 1;
  for (int64_t size : shape) count *= size;
  return count;
}

Shape strides_of(const Shape& shape) {
  Shape strides(shape.size(), 1);
  for (int d = static_cast<int>(shape.size()) - 2; d >= 0; --d) {
    strides[d] = strides[d + 1] * shape[d + 1];
  }
  return strides;
}

std::string print(const Shape& shape) { return fmt::format("[{}]", fmt::join(shape, ",")); }

std::string print(const Type& type) { return fmt::format("{}{}", name_of(type.dtype), print(type.shape)); }

std::string print(const std::vector<Type>& types) {
  std::string text;
  for (const Type& type : types) text += (text.empty() ? "" : ", ") + print(type);
  return text;
}

Type parse_type(std::string_view text) {
  const auto fail = [&](std::string_view why) {
    return InvalidArgument(ErrorKind::type, "[type] {}, got '{}', expected a type like f32[2,3]", why, text);
  };
  const size_t open = text.find('[');
  if (open == std::string_view::npos || text.back() != ']') throw fail("no shape in brackets");
  const std::optional<DType> dtype = parse_dtype(text.substr(0, open));
  if (!dtype) throw fail("unknown element type");
  Type type{*dtype, {}};
  std::string_view inside = text.substr(open + 1, text.size() - open - 2);
  while (!inside.empty()) {
    int64_t size = 0;
    const auto [end, error] = std::from_chars(inside.data(), inside.data() + inside.size(), size);
    if (error != std::errc{} || size < 0) throw fail("bad size in shape");
    type.shape.push_back(size);
    if (type.rank() > kMaxDims) throw fail(fmt::format("more than {} dimensions", kMaxDims));
    if (!is_countable(type.shape)) throw fail("shape too large");
    inside.remove_prefix(end - inside.data());
    if (inside.empty()) break;
    if (inside.front() != ',' || inside.size() == 1) throw fail("bad separator in shape");
    inside.remove_prefix(1);
  }
  return type;
}

Array::Array(Type type) : type_(std::move(type)), bytes_(static_cast<size_t>(type_.bytes())) {}

double Array::at(int64_t index) const {
  double value = 0;
  for_dtype(type_.dtype, [&](auto zero) { value = static_cast<double>(as<decltype(zero)>()[index]); });
  return value;
}

void Array::set(int64_t index, double value) {
  for_dtype(type_.dtype, [&](auto zero) {
    using T = decltype(zero);
    as<T>()[index] = convert<T>(value);
  });
}

Array cast(const Array& array, DType dtype) {
  if (array.type().dtype == dtype) return array;
  Array result(Type{dtype, array.shape()});
  convert_elements(array.type().dtype, array.data(), dtype, result.data(), array.type().elements());
  return result;
}

}  // namespace partita
