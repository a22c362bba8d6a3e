#include "training/model.h"

#include "job/options.h"
#include "job/process.h"
#include "planner/automatic_plan.h"
#include "runtime/checkpoint/weights.h"
#include "runtime/launch/refusal.h"
#include "runtime/launch/run_process.h"
#include "runtime/launch/warn.h"
#include "training/configuration.h"
#include "training/generator.h"
#include "training/model_fingerprint.h"
#include "training/training_session.h"
#include "zoo/merged_adapters.h"
#include "zoo/zoo_job.h"

namespace partita {
namespace {

/// Returns `config` with the plan that it names, read or searched; unchanged if it names none or has its plan already.
/// Throws InvalidArgument for an option that contradicts the plan, unless it comes from `recipe`. Throws MissingFile
/// for a plan file that cannot be read, InvalidArgument for a malformed one, and what automatic_plan throws.
JobConfig planned(const JobConfig& config, const JobConfig& recipe, const Place& place) {
  const std::string& file = config.plan.file;
  if (file.empty() || config.plan.given) return config;
  const auto made_here = [&] { return automatic_plan(file, config, place.ranks(), "plan.file"); };
  const PlanFile read = is_automatic_plan(file) ? telling_refusals(place, made_here) : read_plan_file(file);
  for (const std::string& warning : {dtype_warning(read, config.training), software_warning(read)}) {
    if (!warning.empty()) warn(warning);
  }
  const JobConfig plan = with_plan(config, read);
  const IsSaid is_said = differs_from(config, recipe);
  for (const auto& [option, got, expected] : differences(config, plan)) {
    const std::string key = option->key();
    if (!is_planned(key) || !is_said(key)) continue;
    throw InvalidArgument("[Model] {}: {} was made for another value, got {}, expected {}, or another plan", key, file,
                          got.empty() ? "none" : got, expected.empty() ? "none" : expected);
  }
  return plan;
}

ModelJob job_of(Network network, const JobConfig& config, const Place& place) {
  return {.network = std::move(network), .config = config, .place = place, .warn = [](const std::string& message) {
            warn(message);
          }};
}

/// Returns the rows of the configuration's source, without opening them; null if it has none. Whether integer labels
/// are classes is not known here.
std::unique_ptr<JobRows> rows_of(const JobConfig& config) {
  return config.data.source ? std::make_unique<JobRows>(config, RowFormat()) : nullptr;
}

/// Checks that a file of additions to products is of this model, if it says of which it is. Throws InvalidArgument
/// otherwise, and as read_weights_metadata does.
void require_own_adapters(const JobConfig& config, const ZooModel& model) {
  const std::string& path = config.files.adapters;
  if (path.empty()) return;
  const Metadata metadata = read_weights_metadata(path);
  const auto saved = metadata.find(kConfigKey);
  if (saved == metadata.end()) return;
  const std::string spec = saved_configuration(saved->second, path).model;
  if (!spec.empty()) require_same_sizes("[adapters] " + path, make_model(spec), model, /*tunes=*/true);
}

}  // namespace

Model::Model(Network network, const JobConfig& config, const Place& place)
    : job_(job_of(std::move(network), completed(planned(config, JobConfig(), place), place), place)),
      process_(std::make_unique<JobProcess>(job_.config, place)),
      rows_(rows_of(job_.config)) {
  if (place.ranks() > 1) job_.world = &process_world(*place.launched);
  refuse_other_loss();
  const FilesConfig& files = job_.config.files;
  if (!files.load.empty()) states_.load(files.load, files.load_averages, files.adapters);
  if (!job_.config.files.resume.empty()) resume_.set(job_.config.files.resume);
}

Model::Model(const JobConfig& config, const Place& place)
    : Model(ZooJob(planned(config, make_model(config.model).recipe, place), place), place) {}

Model::Model(const ZooJob& job, const Place& place) : Model(job.network(), job.config(), place) {
  require_own_adapters(job.config(), job.model());
  recipe_ = job.model().recipe;
  rows_ = std::make_unique<JobRows>(job.data());
}

Model::Model(Model&&) noexcept = default;
Model::~Model() = default;

/// Checks that the configuration sets no other loss than the network has, nor another ignored label unless the loss is
/// a function. Those of the configuration are for models of the zoo, since a network of layers already has its loss.
/// Throws InvalidArgument otherwise.
void Model::refuse_other_loss() const {
  const TrainingConfig& training = job_.config.training;
  const Network& network = job_.network;
  if (training.loss != TrainingConfig().loss && network.loss_kind() != training.loss) {
    refuse_option(
        OptionNames::fields, "training.loss",
        fmt::format("got {} for a network whose loss is {}, expected the loss as an argument of the network",
                    name_of(training.loss), network.loss_kind() ? name_of(*network.loss_kind()) : "a function"));
  }
  if (training.ignore_index && network.loss_kind() && network.loss_options().ignore_index != training.ignore_index) {
    refuse_option(
        OptionNames::fields, "training.ignore_index",
        fmt::format("got {} for a network whose loss counts it, expected it in the LossOptions of the network",
                    *training.ignore_index));
  }
}

IsSaid Model::said_by(const FitOptions& fit) const {
  if (fit.is_said) return fit.is_said;
  // Options that a plan sets were not asked for one by one.
  return [is_said = differs_from(job_.config, recipe_), has_plan = job_.config.plan.given.has_value()](
             std::string_view key) { return !(has_plan && is_planned(key)) && is_said(key); };
}

TrainingSession Model::begin(const FitOptions& fit) {
  return TrainingSession({.job = job_, .states = states_, .resume = resume_, .hold = hold_}, fit, said_by(fit));
}

Program Model::training_program(const DatasetPtr& dataset) const { return partita::training_program(job_, dataset); }

TrainingEnd Model::train(const DatasetPtr& dataset, const FitOptions& fit) {
  const IsSaid is_said = said_by(fit);
  for (const char* key : {"data.source", "data.resize", "data.augment", "data.separate_documents"}) {
    if (!is_said(key)) continue;
    refuse_option(OptionNames::fields, key,
                  "got rows as an argument of train, expected train without rows, or rows that are prepared already");
  }
  return begin(fit).train(dataset);
}

TrainingEnd Model::train(const FitOptions& fit) {
  if (rows_ == nullptr) {
    throw InvalidArgument(
        "[Model] no rows to train on, got neither data.source nor an argument of train, expected one of the two");
  }
  TrainingSession session = begin(fit);
  const DatasetPtr rows = rows_->rows(Split::train);
  tell_generated(fmt::format("training on a generated stand-in ({}", rows->size()),
                 [&](const std::string& text) { session.reports().tell_progress(text); });
  if (const std::string missing = rows_->missing_part(rows->size()); !missing.empty()) job_.warn(missing);
  return session.train(rows, fit.test ? nullptr : open_test_rows());
}

void Model::tell_generated(const std::string& use, const std::function<void(const std::string&)>& tell) const {
  if (rows_->is_generated()) tell(fmt::format("no data given: {} {})\n", use, rows_->print_generated()));
}

DatasetPtr Model::open_test_rows() const {
  const TrainingConfig& training = job_.config.training;
  const bool validates = training.validate || training.validate_every > 0;
  if (!validates && !training.evaluate) return nullptr;
  if (rows_->has_rows(Split::test)) return rows_->rows(Split::test);
  if (validates) {
    throw InvalidArgument("[--validate{}] no test set, got '{}', expected a source with one",
                          training.validate ? "" : "-every", rows_->print_source());
  }
  if (!rows_->are_own()) {
    job_.warn(fmt::format("[data] no test set in '{}': no accuracy will be printed", rows_->print_source()));
  }
  return nullptr;
}

Metrics Model::eval() {
  if (rows_ == nullptr) {
    throw InvalidArgument(
        "[Model] no rows to test on, got neither data.source nor an argument of eval, expected one of the two");
  }
  warn_of_oversubscription(job_.config, job_.place, job_.warn);
  Reports reports(job_.config, job_.place, {});
  const DatasetPtr rows = rows_->rows(Split::test);
  tell_generated(fmt::format("testing on a generated stand-in ({}", rows->size()),
                 [&](const std::string& text) { reports.tell_progress(text); });
  return eval(rows, reports.evaluation_progress());
}

Metrics Model::eval(const DatasetPtr& dataset, const EvaluationProgress& progress) {
  const Evaluation evaluation = make_evaluation(job_, dataset);
  states_.prepare(evaluation.graph(), job_.config.training.seed, /*makes_them=*/true, resume_.is_set());
  const std::optional<States> averaged = states_.averaged();
  const States& states = averaged ? *averaged : states_.all();
  Metrics metrics;
  const bool processes = job_.world != nullptr && evaluation.ranks() > 1;
  const LaunchFingerprint fingerprint =
      processes ? fingerprint_of(job_, evaluation.program(), dataset, states) : LaunchFingerprint{};
  run_on_ranks(job_.place, evaluation.ranks(), job_.config.ranks.threads, [&](Communicator& comm) {
    if (processes) require_same_fingerprint(fingerprint, comm);
    const Metrics found = evaluation.run(states, job_.rank_options(), comm, comm.rank() == 0 ? progress : nullptr);
    check_finite(found);
    if (comm.rank() == 0 || processes) metrics = found;
  });
  return metrics;
}

Array Model::predict(const Array& inputs) {
  const NamedArrays outputs = predict({{"image", inputs}});
  for (const auto& [name, array] : outputs) {
    if (name == "logits") return array;
  }
  throw InvalidArgument("[predict] the network has no output 'logits', expected predict with named columns",
                        ErrorKind::key);
}

NamedArrays Model::predict(const NamedArrays& columns) {
  std::vector<Column> rows;
  int64_t count = 0;
  for (const auto& [name, array] : columns) {
    const Shape& shape = array.shape();
    if (shape.empty()) {
      throw InvalidArgument("[predict] no batch of inputs, got {}, expected [rows,..]", print(array.type()));
    }
    count = shape[0];
    rows.push_back({name, {array.type().dtype, Shape(shape.begin() + 1, shape.end())}});
  }
  return predictor(rows, count)(columns);
}

Predictor Model::predictor(const std::vector<Column>& columns, int64_t rows) {
  return make_predictor(job_, states_, resume_.is_set(), columns, rows);
}

void Model::generate(const GenerateRequest& request, const ChooseToken& choose) {
  if (rows_ == nullptr) {
    throw InvalidArgument("[Model] no rows to know tokens from, got a network alone, expected a model of the zoo");
  }
  warn_of_oversubscription(job_.config, job_.place, job_.warn);
  generate_tokens(job_, states_, resume_.is_set(), rows_->columns(), request, choose);
}

}  // namespace partita
