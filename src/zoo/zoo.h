#pragma once
// Ready networks, each with the configuration with which a default run converges.

#include "data/open_dataset.h"
#include "job/config.h"
#include "network/network.h"

namespace partita {

/// Sizes of a model by name: "mlp:layers=2,hidden=4096". Every size has a default.
class ModelSizes {
 public:
  ModelSizes(std::string model, std::vector<std::pair<std::string, std::string>> given)
      : model_(std::move(model)), given_(std::move(given)) {}
  int64_t integer(const std::string& name, int64_t fallback, int64_t low, int64_t high);
  double number(const std::string& name, double fallback, double low, double high);
  /// Throws InvalidArgument when a size was given that nobody asked for, with the nearest name.
  void check_all_used() const;

 private:
  const std::string* find(const std::string& name);

  std::string model_;
  std::vector<std::pair<std::string, std::string>> given_;
  std::vector<std::string> known_;
};

struct ZooModel {
  std::string name;
  LayerPtr layers;
  RowFormat rows;                 // that it reads
  DatasetPtr own_rows = nullptr;  // that it brings along: columns of an input and "label"
  JobConfig recipe;

  Network network(Loss loss, const LossOptions& options = {}) const { return Network(name, layers, loss, options); }
  bool reads_text() const { return rows.tokens > 0; }
  /// Of the rows that it brings along, or of generated ones.
  std::vector<Column> columns(DType dtype = DType::f32) const;
};

std::vector<std::string> model_names();

/// From "NAME" or "NAME:size=value,..."; throws InvalidArgument with the nearest name.
ZooModel make_model(const std::string& spec);

/// Rows of images [channels,height,width] in so many classes.
RowFormat image_format(const Shape& image, int64_t classes);

}  // namespace partita
