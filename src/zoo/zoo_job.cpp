#include "zoo/zoo_job.h"

#include <algorithm>

namespace partita {
namespace {

/// Checks that the model uses all options of `data`. Throws InvalidArgument for a source if it brings its own rows, for
/// resizing if it does so or reads no images, for augmentation if it reads no images, and for separate documents if it
/// does not predict the next token or the source is no token ids.
void refuse_data(const ZooModel& model, const DataConfig& data) {
  const auto refuse = [&](std::string_view flag, std::string_view why, const std::string& got) {
    throw InvalidArgument("[{}] {} {}, got {}, expected none", flag, model.name, why, got);
  };
  if (model.own_rows != nullptr) {
    if (data.source) refuse("--data", "has its own rows", print(*data.source));
    if (data.resize > 0) refuse("--resize", "has its own rows", fmt::format("{}", data.resize));
  }
  if (data.separate_documents && !model.predicts_next_token()) {
    refuse("--separate-documents", "predicts no next token", "--separate-documents");
  }
  if (data.separate_documents && (!data.source || data.source->kind != DataKind::tokens)) {
    throw InvalidArgument("[--separate-documents] no documents, got {}, expected tokens:FILE with an .idx",
                          data.source ? print(*data.source) : "no --data");
  }
  if (model.rows.is_images()) return;
  if (data.resize > 0) refuse("--resize", "reads no images", fmt::format("{}", data.resize));
  if (data.augment) refuse("--augment", "reads no images", "--augment");
}

/// Returns the configuration with a label for tokens that are no targets, if the data has such.
JobConfig with_masked_label(JobConfig config) {
  constexpr int64_t kMasked = -1;
  const bool has_masked =
      config.data.separate_documents || (config.data.source && has_masked_tokens(*config.data.source));
  if (has_masked && !config.training.ignore_index) config.training.ignore_index = kMasked;
  return config;
}

RowFormat format_of(const ZooModel& model, const JobConfig& config) {
  RowFormat format = model.rows;
  format.labels_are_classes = config.training.loss == Loss::sparse || config.training.loss == Loss::expanded;
  return format;
}

}  // namespace

JobConfig configured(const std::string& model, const std::vector<Assignment>& assignments) {
  JobConfig config = make_model(model).recipe;
  assign(config, assignments);
  const auto says = [&](std::string_view key) {
    return std::ranges::any_of(assignments, [&](const Assignment& one) { return one.option->key() == key; });
  };
  const bool says_epochs = says("training.epochs");
  if (says("files.load")) config.files.load_is_recipe = false;
  if (config.training.steps > 0 && !says_epochs) config.training.epochs = 0;  // replaces the recipe's epochs
  return config;
}

ZooJob::ZooJob(const JobConfig& config, const Place& place)
    : model_(make_model(config.model)),
      config_(completed(with_masked_label(config), place)),
      network_(model_.network(config_.training.loss, {.ignore_index = config_.training.ignore_index})),
      rows_(config_, format_of(model_, config_), model_.name, model_.own_rows) {
  refuse_data(model_, config_.data);
}

std::vector<Column> ZooJob::columns() const {
  return rows_.are_own() ? model_.columns(config_.training.dtype) : rows_.columns();
}

Program ZooJob::program(Purpose purpose, Stage last) const {
  return make_program(config_, {.network = network_,
                                .columns = columns(),
                                .batch = config_.training.batch,
                                .ranks = config_.ranks.count,
                                .purpose = purpose,
                                .last = last});
}

}  // namespace partita
