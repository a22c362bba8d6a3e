#pragma once
// Ready networks, each with the recipe with which a default run converges.

#include "autodiff/optimizer.h"
#include "data/dataset.h"
#include "network/network.h"
#include "training/lr_schedule.h"

namespace partita {

struct Recipe {
  Shape image{1, 28, 28};  // channels, height, width; of a language model the length of its sequences
  int64_t classes = 10;
  int64_t batch = 64;  // global
  int64_t epochs = 2;
  std::string loss = "sparse";
  OptimizerOptions optimizer;
  LrSchedule schedule;
  bool augment = false;           // random crop and flip while training
  bool tokens = false;            // a language model: rows of ids, and the id that follows each
  DatasetPtr rows = nullptr;      // that the model brings along: columns of an input and "label"
  std::string parallel = "data";  // on several ranks
  int64_t per_print_times = 100;  // steps between two printed losses
};

/// Options of a model by name: "mlp:layers=2,hidden=4096". Every option has a default.
class ModelOptionsText {
 public:
  ModelOptionsText(std::string model, std::vector<std::pair<std::string, std::string>> given)
      : model_(std::move(model)), given_(std::move(given)) {}
  int64_t integer(const std::string& name, int64_t fallback, int64_t low, int64_t high);
  double number(const std::string& name, double fallback, double low, double high);
  /// Throws InvalidArgument when an option was given that nobody asked for, with the nearest name.
  void check_all_used() const;

 private:
  const std::string* find(const std::string& name);

  std::string model_;
  std::vector<std::pair<std::string, std::string>> given_;
  std::vector<std::string> known_;
};

struct ZooModel {
  std::shared_ptr<const Network> network;
  Recipe recipe;
};

std::vector<std::string> model_names();

/// From "NAME" or "NAME:option=value,..."; throws InvalidArgument with the nearest name.
ZooModel make_model(const std::string& spec);

}  // namespace partita
