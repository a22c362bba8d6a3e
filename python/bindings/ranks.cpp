// Where this process finds itself, its accelerators, and collectives of a script among processes.

#include <cstring>

#include "bind.h"
#include "runtime/comm/inproc/inproc.h"
#include "runtime/comm/named_groups.h"
#include "runtime/device/xla/accelerator.h"
#include "runtime/device/xla/plugin_search.h"
#include "runtime/launch/place.h"

namespace partita::python {
namespace {

/// Groups of the processes that a launcher started, or of this one alone. Made when it is first asked for; it lives as
/// long as the process, as the world of MPI does.
NamedGroups& groups() {
  static std::vector<std::unique_ptr<Communicator>> own;
  static const std::unique_ptr<NamedGroups> all = [] {
    const Place place = this_place();
    if (place.ranks() > 1) return std::make_unique<NamedGroups>(process_world(*place.launched));
    own = make_inproc_world(1);
    return std::make_unique<NamedGroups>(*own[0]);
  }();
  return *all;
}

Reduce reduce_of(const std::string& name) {
  const std::optional<Reduce> found = parse_reduce(name);
  if (!found) throw InvalidArgument(fmt::format("[collective] unknown op, got '{}', expected sum, max or min", name));
  return *found;
}

Array copied(const Array& array) { return array; }

Array all_gather(Communicator& comm, const Array& own) {
  Type type = own.type();
  if (type.shape.empty()) type.shape = {1};
  const std::vector<int64_t> counts(static_cast<size_t>(comm.size()), type.elements());
  type.shape[0] *= comm.size();
  Array all(type);
  comm.all_gather(own.data(), all.data(), counts, type.dtype);
  return all;
}

Array reduce_scatter(Communicator& comm, const Array& whole, Reduce reduce) {
  Type type = whole.type();
  if (type.shape.empty() || type.shape[0] % comm.size() != 0) {
    throw InvalidArgument(fmt::format("[reduce_scatter] parts are not equal, got {} for {} ranks, expected a multiple",
                                      print(type), comm.size()));
  }
  type.shape[0] /= comm.size();
  const std::vector<int64_t> counts(static_cast<size_t>(comm.size()), type.elements());
  Array own(type);
  comm.reduce_scatter(whole.data(), own.data(), counts, type.dtype, reduce);
  return own;
}

ArrayPtr run_collective(const std::string& kind, const std::string& group, const ArrayPtr& given, const std::string& op,
                        int root) {
  const py::gil_scoped_release release;
  Communicator& comm = groups().at(group);
  if (kind == "barrier") {
    comm.barrier();
    return nullptr;
  }
  const Array& array = *given;
  const DType dtype = array.type().dtype;
  Array result;
  if (kind == "all_gather") {
    result = all_gather(comm, array);
  } else if (kind == "reduce_scatter") {
    result = reduce_scatter(comm, array, reduce_of(op));
  } else {
    result = copied(array);
    if (kind == "all_reduce") comm.all_reduce(result.data(), array.type().elements(), dtype, reduce_of(op));
    if (kind == "broadcast") comm.broadcast(result.data(), array.type().elements(), dtype, root);
  }
  return std::make_shared<Array>(std::move(result));
}

}  // namespace

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
  module.def("create_group", [](const std::string& name, const std::vector<int>& ranks) {
    const py::gil_scoped_release release;
    groups().create(name, ranks);
  });
  module.def("destroy_group", [](const std::string& name) {
    const py::gil_scoped_release release;
    groups().destroy(name);
  });
  module.def("collective", &run_collective);
  module.def("search_packages_in", &search_packages_in);
  module.def("open_device", [](const std::string& name) {
    // Python code cannot read the environment now, since this thread holds the GIL. Threads of libraries may read it
    // without the GIL, which is undefined behaviour: a script that has such threads sets TF_CPP_MIN_LOG_LEVEL itself
    // before it starts them.
    silence_plugin(name);
    const py::gil_scoped_release release;
    return Accelerator::open(name, 0).client().devices();
  });
  module.def("device_remedy", [](const std::string& name) { return device_remedy(name); });
}

}  // namespace partita::python
