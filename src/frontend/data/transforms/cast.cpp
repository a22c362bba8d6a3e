#include "base/convert_elements.h"
#include "frontend/data/transforms/image_maps.h"

namespace partita {
namespace {

class Cast : public ValueMap {
 public:
  explicit Cast(DType dtype) : dtype_(dtype) {}

  Type type(const Type& in) const override { return {dtype_, in.shape}; }
  bool keeps_integers() const override { return dtype_ == DType::i32 || dtype_ == DType::i64 || dtype_ == DType::f64; }

  void apply(const ConstTensor& in, const Tensor& out, const RowKey&) const override {
    convert_elements(in.type.dtype, in.data, dtype_, out.data, in.type.elements());
  }

 private:
  DType dtype_;
};

}  // namespace

ValueMapPtr cast(DType dtype) { return std::make_shared<Cast>(dtype); }

}  // namespace partita
