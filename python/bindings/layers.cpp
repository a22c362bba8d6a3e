// What layers of Python ask of those of the library.

#include "frontend/network/layers/window.h"
#include "symbols.h"

namespace partita::python {

void bind_layers(py::module_& module) {
  module.def("same_pads", [](const Symbol& x, const std::vector<int64_t>& kernel, const std::vector<int64_t>& stride,
                             const std::vector<int64_t>& dilation) {
    require_images("window", x.value().type());
    require_pair("window", "kernel", kernel);
    require_pair("window", "stride", stride);
    require_pair("window", "dilation", dilation);
    return same_pads(x.value().shape(), kernel, stride, dilation);
  });
}

}  // namespace partita::python
