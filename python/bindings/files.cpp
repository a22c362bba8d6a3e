// Weights as files.

#include "bind.h"
#include "runtime/checkpoint/strategy_file.h"
#include "runtime/checkpoint/weights.h"
#include "training/measures.h"
#include "zoo/hugging_face/folder.h"

namespace partita::python {
namespace {

/// Returns all tensors of a folder of Hugging Face, by their names there.
WeightsFile folder_tensors(const std::string& path) {
  const TensorFiles files = open_hugging_face_tensors(path);
  WeightsFile all;
  for (const auto& [name, type] : files.types()) {
    Array& array = all.tensors.emplace(name, Array(type)).first->second;
    files.read(name, whole_box(type.shape), type.dtype, array.data());
  }
  return all;
}

}  // namespace

void bind_files(py::module_& module) {
  module.def("saved_measures", [](const std::map<std::string, std::string>& metadata, const std::string& path) {
    return saved_measures(Metadata(metadata.begin(), metadata.end()), path);
  });
  module.def(
      "save_arrays",
      [](const std::string& path, const std::vector<std::pair<std::string, ArrayPtr>>& arrays,
         const std::map<std::string, std::string>& metadata, bool crc32) {
        std::vector<std::pair<std::string, Array>> all;
        for (const auto& [name, array] : arrays) all.emplace_back(name, *array);
        Metadata texts(metadata.begin(), metadata.end());
        const py::gil_scoped_release release;
        save_weights(path, all, texts, crc32);
      },
      py::arg("path"), py::arg("arrays"), py::arg("metadata"), py::arg("crc32") = false);
  module.def(
      "read_strategy",
      [](const py::bytes& content, const std::string& path) {
        py::list layouts;
        const StrategyFile file = parse_strategy_file(std::string_view(content), path);
        for (const StrategyLayout& one : file.layouts) {
          py::dict layout;
          layout["dev_matrix"] = one.dev_matrix;
          layout["tensor_map"] = one.tensor_map;
          layout["param_split_shape"] = one.param_split_shape;
          layout["field"] = one.field;
          layout["opt_weight_shard_step"] = one.opt_weight_shard_step;
          layout["opt_weight_shard_size"] = one.opt_weight_shard_size;
          layouts.append(py::make_tuple(one.name, layout));
        }
        return py::make_tuple(file.stage, layouts);
      },
      "(stage, [(name, layout)]) of a strategy file that MindSpore has written in its binary form.");
  module.def("load_arrays", [](const std::string& path) {
    WeightsFile file;
    {
      const py::gil_scoped_release release;
      file = path.starts_with(kHuggingFace) ? folder_tensors(path) : read_weights_file(path);
    }
    std::map<std::string, ArrayPtr> arrays;
    for (auto& [name, array] : file.tensors) arrays.emplace(name, std::make_shared<Array>(std::move(array)));
    return std::make_pair(arrays, std::map<std::string, std::string>(file.metadata.begin(), file.metadata.end()));
  });
}

}  // namespace partita::python
