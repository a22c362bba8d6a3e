// Where this process finds itself.

#include "bind.h"
#include "launch/place.h"

namespace partita::python {

void bind_ranks(py::module_& module) {
  py::class_<Place>(module, "Place", "The rank of this process among those that a launcher started.")
      .def_property_readonly("launched", [](const Place& place) { return place.launched.has_value(); })
      .def_property_readonly("launcher",
                             [](const Place& place) { return place.launched ? place.launched->launcher : ""; })
      .def_property_readonly("rank", &Place::rank)
      .def_property_readonly("ranks", &Place::ranks)
      .def_property_readonly("local_rank",
                             [](const Place& place) { return place.launched ? place.launched->local_rank : 0; })
      .def_property_readonly("local_ranks", &Place::ranks_here);
  module.def("this_place", &this_place);
}

}  // namespace partita::python
