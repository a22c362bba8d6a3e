#pragma once
// Ready networks, each with the configuration with which a default run converges.

#include "frontend/data/open_dataset.h"
#include "frontend/network/network.h"
#include "job/config.h"

namespace partita {

/// Sizes of a model: each by its name, "mlp:layers=2,hidden=4096", or all of a published one, "gpt:175b", of which
/// some may be changed, "gpt:175b,seq=4096". Every size has a default.
class ModelSizes {
 public:
  ModelSizes(std::string model, std::string published, std::vector<std::pair<std::string, std::string>> given)
      : model_(std::move(model)), published_(std::move(published)), given_(std::move(given)) {}
  /// The sizes of the published model that was named, `otherwise` when none was. Throws InvalidArgument with the
  /// nearest name when it is not of the list.
  template <class Sizes>
  Sizes published(const std::vector<std::pair<std::string, Sizes>>& list, const Sizes& otherwise) {
    std::vector<std::string> names;
    for (const auto& [name, sizes] : list) names.push_back(name);
    const size_t found = find_published(names);
    return found < list.size() ? list[found].second : otherwise;
  }
  int64_t integer(const std::string& name, int64_t fallback, int64_t low, int64_t high);
  double number(const std::string& name, double fallback, double low, double high);
  /// Throws InvalidArgument when a size was given that nobody asked for, with the nearest name.
  void check_all_used() const;

 private:
  const std::string* find(const std::string& name);
  /// Its position, or names.size() when none was named.
  size_t find_published(const std::vector<std::string>& names);

  std::string model_, published_;
  bool has_published_ = false;  // the model asked for it
  std::vector<std::pair<std::string, std::string>> given_;
  std::vector<std::string> known_;
};

struct ZooModel {
  std::string name;
  LayerPtr layers;
  RowFormat rows;                 // that it reads
  DatasetPtr own_rows = nullptr;  // that it brings along: columns of inputs and "label"
  JobConfig recipe;
  std::vector<std::string> inputs{};  // columns that the layers take; none: the first

  Network network(Loss loss, const LossOptions& options = {}) const {
    return Network(name, layers, inputs, loss, options);
  }
  bool reads_text() const { return rows.is_text(); }
  /// Of the tokens before it, as a text is written.
  bool predicts_next_token() const { return reads_text() && rows.text.task == TextTask::next; }
  /// Of the rows that it brings along, or of generated ones.
  std::vector<Column> columns(DType dtype = DType::f32) const;
};

std::vector<std::string> model_names();

/// From "NAME", "NAME:size=value,..." or, for a published model, "NAME:SIZE,..."; throws InvalidArgument with the
/// nearest name.
ZooModel make_model(const std::string& spec);

/// Rows of `tokens` tokens with the token that follows each.
RowFormat text_format(int64_t tokens, int64_t vocabulary);
/// Rows of images [channels,height,width] in so many classes; the model reads no others.
RowFormat image_format(const Shape& image, int64_t classes);

}  // namespace partita
