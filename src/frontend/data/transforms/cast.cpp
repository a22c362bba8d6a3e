#include <algorithm>

#include "base/number.h"
#include "frontend/data/transforms/image_maps.h"

namespace partita {
namespace {

class Cast : public ValueMap {
 public:
  explicit Cast(DType dtype) : dtype_(dtype) {}

  Type type(const Type& in) const override { return {dtype_, in.shape}; }
  bool keeps_integers() const override { return dtype_ == DType::i32 || dtype_ == DType::i64 || dtype_ == DType::f64; }

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
