#include "base/version.h"
#include "bind.h"

PYBIND11_MODULE(_core, module) {
  using namespace partita::python;
  module.doc() = "The library behind the package partita.";
  module.def("version", &partita::version);
  bind_errors(module);
  bind_arrays(module);
  bind_symbols(module);
  bind_functions(module);
  bind_layers(module);
  bind_optimizers(module);
  bind_rows(module);
  bind_files(module);
  bind_ranks(module);
  bind_programs(module);
  bind_plans(module);
  bind_model(module);
}
