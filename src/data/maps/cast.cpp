#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include "data/maps/image_maps.h"

namespace partita {
namespace {

template <class To, class From>
To convert(From value) {
  if constexpr (std::is_same_v<To, bool>) {
    if constexpr (std::is_integral_v<From>)
      return value != 0;
    else
      return static_cast<double>(value) != 0;
  } else if constexpr (std::is_integral_v<To> && std::is_integral_v<From>) {
    if constexpr (std::is_same_v<From, bool>)
      return static_cast<To>(value);
    else if (std::in_range<To>(value))
      return static_cast<To>(value);
    else
      return value < From{} ? std::numeric_limits<To>::min() : std::numeric_limits<To>::max();
  } else if constexpr (std::is_integral_v<To>) {
    const double number = static_cast<double>(value);
    if (std::isnan(number)) return To{};
    if (number <= static_cast<double>(std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
    if (number >= static_cast<double>(std::numeric_limits<To>::max())) return std::numeric_limits<To>::max();
    return static_cast<To>(number);
  } else if constexpr (sizeof(To) == 2) {
    return To(static_cast<float>(value));
  } else {
    return static_cast<To>(value);
  }
}

class Cast : public ValueMap {
 public:
  explicit Cast(DType dtype) : dtype_(dtype) {}

  Type type(const Type& in) const override { return {dtype_, in.shape}; }

  void apply(const ConstTensor& in, const Tensor& out, const RowKey&) const override {
    const int64_t count = in.type.elements();
    for_dtype(in.type.dtype, [&](auto from) {
      for_dtype(dtype_, [&](auto to) {
        std::transform(in.as<decltype(from)>(), in.as<decltype(from)>() + count, out.as<decltype(to)>(),
                       convert<decltype(to), decltype(from)>);
      });
    });
  }

 private:
  DType dtype_;
};

}  // namespace

ValueMapPtr cast(DType dtype) { return std::make_shared<Cast>(dtype); }

}  // namespace partita
