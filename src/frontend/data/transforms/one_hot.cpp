#include <algorithm>
#include <cmath>

#include "frontend/data/transforms/image_maps.h"

namespace partita {
namespace {

constexpr int64_t kMaxClasses = 1 << 20;

class OneHot : public ValueMap {
 public:
  OneHot(int64_t classes, double on, double off)
      : classes_(classes), on_(static_cast<float>(on)), off_(static_cast<float>(off)) {}

  Type type(const Type& in) const override {
    if (is_float(in.dtype) || in.dtype == DType::boolean) {
      throw InvalidArgument(ErrorKind::type, "[one_hot] labels are not integers, got {}, expected integers", print(in));
    }
    Type result{DType::f32, in.shape};
    result.shape.push_back(classes_);
    return result;
  }

  void apply(const ConstTensor& in, const Tensor& out, const RowKey&) const override {
    const int64_t count = in.type.elements();
    float* target = out.as<float>();
    std::fill(target, target + count * classes_, off_);
    for_dtype(in.type.dtype, [&](auto zero) {
      const auto* labels = in.as<decltype(zero)>();
      for (int64_t i = 0; i < count; ++i, target += classes_) {
        const auto label = static_cast<int64_t>(labels[i]);
        if (label < 0 || label >= classes_) {
          throw InvalidArgument(ErrorKind::index, "[one_hot] label out of range, got {}, expected 0 to {}", label,
                                classes_ - 1);
        }
        target[label] = on_;
      }
    });
  }

 private:
  int64_t classes_;
  float on_, off_;
};

}  // namespace

ValueMapPtr one_hot(int64_t classes, double on, double off) {
  if (classes < 1 || classes > kMaxClasses) {
    throw InvalidArgument("[one_hot] bad number of classes, got {}, expected 1 to {}", classes, kMaxClasses);
  }
  if (!std::isfinite(on) || !std::isfinite(off)) {
    throw InvalidArgument("[one_hot] bad values, got on {} and off {}, expected finite ones", on, off);
  }
  return std::make_shared<OneHot>(classes, on, off);
}

}  // namespace partita
