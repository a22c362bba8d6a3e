#pragma once
// Ready-made networks, each with a recipe: the configuration with which a default run converges.

#include <map>

#include "frontend/data/open_dataset.h"
#include "frontend/network/network.h"
#include "job/config.h"

namespace partita {

/// Options of a model: single sizes, "mlp:layers=2,hidden=4096", or the name of a published model, "gpt:175b", followed
/// by sizes that differ, "gpt:175b,seq=4096". Every size has a default.
class ModelSizes {
 public:
  ModelSizes(std::string model, std::string published, std::vector<std::pair<std::string, std::string>> given)
      : model_(std::move(model)), published_(std::move(published)), given_(std::move(given)) {}
  /// Returns the sizes of the named published model, or `otherwise` if none was named. Throws InvalidArgument with the
  /// nearest name if the name is not in `list`.
  template <class Sizes>
  Sizes published(const std::vector<std::pair<std::string, Sizes>>& list, const Sizes& otherwise) {
    std::vector<std::string> names;
    for (const auto& [name, sizes] : list) names.push_back(name);
    const size_t found = find_published(names);
    return found < list.size() ? list[found].second : otherwise;
  }
  /// Returns the option `name`, or `fallback`, unchecked, if it was not given. Throws InvalidArgument if it is not a
  /// number, for `integer` a whole one, from `low` to `high`.
  int64_t integer(const std::string& name, int64_t fallback, int64_t low, int64_t high);
  double number(const std::string& name, double fallback, double low, double high);
  /// Returns the words of an option, which '+' separates: "q+v".
  std::vector<std::string> words(const std::string& name, const std::string& fallback);
  bool is_given(const std::string& name) const;
  /// Returns whether the option is 1, which may be 0 or 1.
  bool flag(const std::string& name, bool fallback) { return integer(name, fallback ? 1 : 0, 0, 1) == 1; }
  /// Returns the sizes that the model asked for, as texts.
  const std::map<std::string, std::string>& taken() const { return taken_; }
  /// Checks that the model asked for every size that was given, and that it has published sizes if one was named.
  /// Throws InvalidArgument otherwise, for a size with the nearest name.
  void check_all_used() const;

 private:
  const std::string* find(const std::string& name);
  /// Returns the position of the named model in `names`, or names.size() if none was named, and records that the model
  /// has published sizes. Throws InvalidArgument with the nearest name if it is not in `names`.
  size_t find_published(const std::vector<std::string>& names);

  std::string model_, published_;
  bool has_published_ = false;  // the model has published sizes
  std::vector<std::pair<std::string, std::string>> given_;
  std::vector<std::string> known_;
  std::map<std::string, std::string> taken_;
};

struct ZooModel {
  std::string name;
  LayerPtr layers;
  RowFormat rows;                 // rows that the layers read
  DatasetPtr own_rows = nullptr;  // rows that the model brings along: columns of inputs and "label"
  JobConfig recipe;
  std::vector<std::string> inputs{};  // columns that the layers take; none: the first
  std::map<std::string, std::string> sizes{};  // all sizes, by name

  Network network(Loss loss, const LossOptions& options = {}) const {
    return Network(name, layers, inputs, loss, options);
  }
  bool reads_text() const { return rows.is_text(); }
  /// Whether it reads text and predicts each token from the tokens before it.
  bool predicts_next_token() const { return reads_text() && rows.text.task == TextTask::next; }
  /// Returns the columns of the model's own rows, or else those of generated rows, with floating-point columns in
  /// `dtype`.
  std::vector<Column> columns(DType dtype = DType::f32) const;
};

std::vector<std::string> model_names();

/// Makes a model from "NAME", "NAME:size=value,...", for a published model "NAME:SIZE,...", or
/// "hf:FOLDER,size=value..", the model in a folder of Hugging Face (hugging_face/folder.h), whose weights the recipe
/// loads. Sets `recipe.model` to that text, for a folder to that of the model in it. Besides its own sizes every model
/// has those of fine-tuning (frontend/network/adapters.h): lora (rank of additions to products; 0: none), lora_alpha,
/// lora_layers (patterns of layers, separated by '+') and frozen (patterns of parameters). Throws InvalidArgument with
/// the nearest name for an unknown model or size, and for sizes that are malformed, given twice or out of range. Sizes
/// that do not fit each other may be refused only when the network is built.
ZooModel make_model(const std::string& spec);

/// Returns the format of rows of `tokens` tokens, each with its next token as label. `vocabulary` is the number of
/// different tokens.
RowFormat text_format(int64_t tokens, int64_t vocabulary);
/// Returns the format of images with labels of `classes` classes. The model reads no other shape than `image`,
/// [channels,height,width].
RowFormat image_format(const Shape& image, int64_t classes);

}  // namespace partita
