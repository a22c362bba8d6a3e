// Data sets: readers, views and maps of the library, and rows that Python makes.

#include "bind.h"
#include "frontend/data/loading/batch.h"
#include "frontend/data/readers/cifar10.h"
#include "frontend/data/readers/generated_rows.h"
#include "frontend/data/readers/memory_rows.h"
#include "frontend/data/readers/mnist.h"
#include "frontend/data/transforms/image_maps.h"
#include "frontend/data/views/concat.h"
#include "frontend/data/views/first_epoch.h"
#include "frontend/data/views/map.h"
#include "frontend/data/views/part.h"
#include "frontend/data/views/project.h"
#include "frontend/data/views/rename.h"
#include "frontend/data/views/repeat.h"
#include "frontend/data/views/select.h"
#include "frontend/data/views/shard.h"
#include "frontend/data/views/shards_in_turn.h"
#include "frontend/data/views/shuffle.h"
#include "frontend/data/views/unbatch.h"
#include "frontend/data/views/zip.h"

namespace partita::python {
namespace {

/// pybind11 holds no pointers to constants.
struct Rows {
  DatasetPtr dataset;
};

using ColumnText = std::tuple<std::string, std::string, Shape>;

std::vector<ColumnText> print_columns(const Rows& rows) {
  std::vector<ColumnText> columns;
  for (const Column& column : rows.dataset->columns()) {
    columns.emplace_back(column.name, std::string(name_of(column.type.dtype)), column.type.shape);
  }
  return columns;
}

std::vector<Column> columns_of(const std::vector<ColumnText>& texts) {
  std::vector<Column> columns;
  for (const auto& [name, dtype, shape] : texts) columns.push_back({name, {dtype_of(dtype), shape}});
  return columns;
}

/// Copies a NumPy array into a tensor of exactly its type.
void store(const py::handle& given, const Tensor& out, const std::string& what) {
  const auto array = py::cast<ArrayPtr>(py::module_::import("partita._core").attr("Array")(given));
  if (array->type() != out.type) {
    const bool are_images =
        array->type().dtype == out.type.dtype && array->type().rank() == out.type.rank() && out.type.rank() >= 2;
    throw InvalidArgument(fmt::format("[dataset] {} differs in type from the first row, got {}, expected {}{}", what,
                                      print(array->type()), print(out.type),
                                      are_images ? ": all rows have the same size; resize images to one size, for "
                                                   "example with vision.Resize((height, width))(image)"
                                                 : ""),
                          ErrorKind::type);
  }
  const auto bytes = static_cast<size_t>(out.type.bytes());
  if (bytes > 0) std::memcpy(out.data, array->data(), bytes);
}

/// `make(epoch, index)` gives a sequence of arrays, one for each column.
Rows python_rows(const std::vector<ColumnText>& texts, int64_t size, py::function make) {
  std::vector<Column> columns = columns_of(texts);
  const auto function = kept(std::move(make));
  const auto names = std::make_shared<std::vector<Column>>(columns);
  return {generated_rows(
      std::move(columns), size, [function, names](int64_t epoch, int64_t index, std::span<const Tensor> row) {
        const py::gil_scoped_acquire gil;
        const py::sequence values = (*function)(epoch, index);
        if (values.size() != row.size()) {
          throw InvalidArgument(fmt::format("[dataset] a row has the wrong number of columns, got {}, expected {}",
                                            values.size(), row.size()));
        }
        for (size_t c = 0; c < row.size(); ++c) {
          store(values[c], row[c], fmt::format("column '{}' of row {}", (*names)[c].name, index));
        }
      })};
}

/// Rows of `source` through `make(values, epoch, sample)`, which gives one array for each of `columns`.
class PythonMap : public Dataset {
 public:
  PythonMap(DatasetPtr source, std::vector<Column> columns, std::shared_ptr<py::function> make)
      : source_(std::move(source)), columns_(std::move(columns)), make_(std::move(make)) {}

  const std::vector<Column>& columns() const override { return columns_; }
  int64_t size() const override { return source_->size(); }
  int64_t sample(int64_t epoch, int64_t index) const override { return source_->sample(epoch, index); }
  bool has_functions() const override { return true; }

 protected:
  void fill(int64_t epoch, std::span<const int64_t> indices, std::span<const Tensor> out) const override {
    for (size_t i = 0; i < indices.size(); ++i) {
      Row row = source_->row(epoch, indices[i]);
      const int64_t sample = source_->sample(epoch, indices[i]);
      const py::gil_scoped_acquire gil;
      py::list values;
      for (Array& array : row) values.append(py::cast(std::make_shared<Array>(std::move(array))));
      const py::sequence results = (*make_)(values, epoch, sample);
      if (results.size() != columns_.size()) {
        throw InvalidArgument(
            fmt::format("[map] wrong number of columns, got {}, expected {}", results.size(), columns_.size()));
      }
      const std::vector<Tensor> target = slice_rows(out, static_cast<int64_t>(i), 1);
      for (size_t c = 0; c < columns_.size(); ++c) {
        store(results[c], {columns_[c].type, target[c].data}, fmt::format("column '{}'", columns_[c].name));
      }
    }
  }

 private:
  DatasetPtr source_;
  std::vector<Column> columns_;
  std::shared_ptr<py::function> make_;
};

std::vector<ArrayPtr> read_rows(const Rows& rows, int64_t epoch, const std::vector<int64_t>& indices) {
  std::vector<ArrayPtr> arrays;
  std::vector<Tensor> tensors;
  for (const Column& column : rows.dataset->columns()) {
    arrays.push_back(std::make_shared<Array>(batch_type(column.type, static_cast<int64_t>(indices.size()))));
    tensors.push_back(arrays.back()->tensor());
  }
  rows.dataset->read(epoch, indices, tensors);
  return arrays;
}

std::vector<DatasetPtr> datasets_of(const std::vector<Rows>& all) {
  std::vector<DatasetPtr> datasets;
  for (const Rows& rows : all) datasets.push_back(rows.dataset);
  return datasets;
}

struct MapHolder {
  ValueMapPtr map;
};

void bind_maps(py::module_& module) {
  py::class_<MapHolder>(module, "Map", "A function on one value of a column.")
      .def("type",
           [](const MapHolder& holder, const std::string& dtype, const Shape& shape) {
             const Type type = holder.map->type({dtype_of(dtype), shape});
             return std::pair(std::string(name_of(type.dtype)), type.shape);
           })
      .def(
          "apply",
          [](const MapHolder& holder, const ArrayPtr& value, int64_t epoch, int64_t sample) {
            return std::make_shared<Array>(apply(*holder.map, *value, {epoch, sample}));
          },
          py::arg("value"), py::arg("epoch") = 0, py::arg("sample") = 0);
  module.def("rescale", [](double scale, double shift) { return MapHolder{rescale(scale, shift)}; });
  module.def("normalize", [](const std::vector<double>& mean, const std::vector<double>& deviation) {
    return MapHolder{normalize(mean, deviation)};
  });
  module.def("hwc_to_chw", [] { return MapHolder{hwc_to_chw()}; });
  module.def("cast_map", [](const std::string& dtype) { return MapHolder{cast(dtype_of(dtype))}; });
  module.def("resize", [](int64_t height, int64_t width) { return MapHolder{resize(height, width)}; });
  module.def("resize_shorter", [](int64_t side) { return MapHolder{resize_shorter(side)}; });
  module.def("random_crop", [](int64_t height, int64_t width, const std::vector<int64_t>& padding, uint64_t seed) {
    return MapHolder{random_crop(height, width, {padding.at(0), padding.at(1), padding.at(2), padding.at(3)}, seed)};
  });
  module.def("random_horizontal_flip", [](uint64_t seed) { return MapHolder{random_horizontal_flip(seed)}; });
  module.def("one_hot_map",
             [](int64_t classes, double on, double off) { return MapHolder{one_hot(classes, on, off)}; });
  module.def("chain", [](const std::vector<MapHolder>& maps) {
    std::vector<ValueMapPtr> all;
    for (const MapHolder& holder : maps) all.push_back(holder.map);
    return MapHolder{chain(all)};
  });
}

void bind_views(py::class_<Rows>& rows) {
  rows.def("map", [](const Rows& self, const std::vector<std::string>& columns, const MapHolder& fn) {
    return Rows{map(self.dataset, columns, fn.map)};
  });
  rows.def("python_map", [](const Rows& self, const std::vector<ColumnText>& columns, py::function make) {
    std::vector<Column> results = columns_of(columns);
    check_distinct(results);
    return Rows{std::make_shared<PythonMap>(self.dataset, std::move(results), kept(std::move(make)))};
  });
  rows.def("shuffle", [](const Rows& self, uint64_t seed) { return Rows{shuffle(self.dataset, seed)}; });
  rows.def("first_epoch", [](const Rows& self) { return Rows{first_epoch(self.dataset)}; });
  rows.def("shard", [](const Rows& self, int64_t shards, int64_t shard_id) {
    return Rows{shard(self.dataset, shards, shard_id)};
  });
  rows.def("repeat", [](const Rows& self, int64_t times) { return Rows{repeat(self.dataset, times)}; });
  rows.def("take", [](const Rows& self, int64_t count) { return Rows{take(self.dataset, count)}; });
  rows.def("select", [](const Rows& self, std::vector<int64_t> numbers) {
    return Rows{select(self.dataset, std::move(numbers))};
  });
  rows.def("skip", [](const Rows& self, int64_t count) { return Rows{skip(self.dataset, count)}; });
  rows.def("project", [](const Rows& self, const std::vector<std::string>& columns) {
    return Rows{project(self.dataset, columns)};
  });
  rows.def("rename",
           [](const Rows& self, const std::vector<std::string>& names) { return Rows{rename(self.dataset, names)}; });
  rows.def("unbatch", [](const Rows& self) { return Rows{unbatch(self.dataset)}; });
}

}  // namespace

DatasetPtr dataset_of(const py::handle& rows) { return py::cast<const Rows&>(rows).dataset; }

void bind_rows(py::module_& module) {
  py::module_ data = module.def_submodule("data", "Rows with named columns.");
  bind_maps(data);
  py::class_<Rows> rows(data, "Rows", "A data set: rows with named columns, in the order of each epoch.");
  rows.def("__len__", [](const Rows& self) { return self.dataset->size(); });
  rows.def_property_readonly("columns", &print_columns);
  rows.def("read", &read_rows, py::call_guard<py::gil_scoped_release>());
  bind_views(rows);
  data.def("mnist", [](const std::string& folder, bool train) {
    return Rows{read_mnist(folder, train ? Split::train : Split::test)};
  });
  data.def("has_mnist",
           [](const std::string& folder, bool train) { return has_mnist(folder, train ? Split::train : Split::test); });
  data.def("cifar10", [](const std::string& folder, bool train) {
    return Rows{read_cifar10(folder, train ? Split::train : Split::test)};
  });
  data.def("has_cifar10", [](const std::string& folder, bool train) {
    return has_cifar10(folder, train ? Split::train : Split::test);
  });
  data.def("memory_rows", [](const std::vector<std::pair<std::string, ArrayPtr>>& columns) {
    std::vector<std::pair<std::string, Array>> arrays;
    for (const auto& [name, array] : columns) arrays.emplace_back(name, *array);
    return Rows{memory_rows(std::move(arrays))};
  });
  data.def("python_rows", &python_rows);
  data.def("zip", [](const std::vector<Rows>& all) { return Rows{zip(datasets_of(all))}; });
  data.def("concat", [](const std::vector<Rows>& all) { return Rows{concat(datasets_of(all))}; });
  data.def("shards_in_turn",
           [](const std::vector<Rows>& all, int64_t batch) { return Rows{shards_in_turn(datasets_of(all), batch)}; });
}

}  // namespace partita::python
