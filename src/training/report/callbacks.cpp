#include "training/report/callbacks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/plain_text.h"

namespace partita {
namespace {

/// Returns the shortest text that parses to the same value; for the value of an f32, the shortest that parses to that
/// f32.
std::string shortest(double value) {
  const auto narrow = static_cast<float>(value);
  return static_cast<double>(narrow) == value ? fmt::format("{}", narrow) : fmt::format("{}", value);
}

/// Checks that the rate is finite and >= 0. Throws InvalidArgument otherwise.
void require_learning_rate(double rate) {
  if (std::isfinite(rate) && rate >= 0) return;
  throw InvalidArgument("[learning rate] not a learning rate, got {}, expected a number >= 0", rate);
}

}  // namespace

void ValidationMonitor::on_validation(const ValidationInfo& info) {
  if (!info.ends_epoch) print(fmt::format("epoch: {} step: {}", info.epoch, info.step), info.metrics);
}

void ValidationMonitor::on_epoch_end(const EpochInfo& info) {
  if (info.validation) print(fmt::format("epoch: {}", info.epoch), *info.validation);
}

void ValidationMonitor::print(const std::string& when, const Metrics& metrics) {
  out_ << fmt::format("{}, test loss is {:.4f}, test accuracy is {:.4f}", when, metrics.loss, metrics.accuracy());
  for (const Measured& one : metrics.measured) out_ << fmt::format(", test {} is {:.4f}", one.name, one.value);
  out_ << std::endl;
}

void TrainControl::set_learning_rate(double rate) {
  require_learning_rate(rate);
  learning_rate_ = rate;
  rates_.clear();
}

void TrainControl::set_learning_rates(int64_t first, std::vector<double> rates) {
  if (rates.empty()) throw InvalidArgument("[learning rate] no learning rates, got 0, expected 1 or more");
  std::ranges::for_each(rates, require_learning_rate);
  learning_rate_ = learning_rate(first - 1);
  first_ = first;
  rates_ = std::move(rates);
}

std::optional<double> TrainControl::learning_rate(int64_t step) const {
  if (rates_.empty() || step < first_) return learning_rate_;
  return rates_[static_cast<size_t>(std::min(step - first_, static_cast<int64_t>(rates_.size()) - 1))];
}

Array TrainControl::state(const std::string& name) const {
  if (!read_) {
    throw InvalidArgument(
        "[train] this control belongs to no training, got a read of '{}', expected the control that on_train_begin "
        "gets",
        name);
  }
  return read_(name);
}

EarlyStopping::EarlyStopping(Options options, std::ostream& out) : options_(std::move(options)), out_(out) {
  if (options_.patience < 0 || !(options_.min_delta >= 0)) {
    throw InvalidArgument("[early stopping] bad numbers, got patience {} and min_delta {}, expected both >= 0",
                          options_.patience, options_.min_delta);
  }
}

void EarlyStopping::on_train_begin(const TrainInfo& info) {
  control_ = info.control;
  best_ = std::numeric_limits<double>::infinity();
  waited_ = 0;
  const std::string loss = info.validation_loss.empty() ? info.training_loss : info.validation_loss;
  const std::string name = options_.monitored.empty() ? "result of a function" : options_.monitored;
  measures_ = std::string(options_.larger_is_better ? "highest " : "lowest ") +
              (options_.monitor ? fmt::format("{}, with {}", name, loss) : loss);
  if (!options_.metric.empty()) measures_ = fmt::format("best {} of tests, with {}", options_.metric, loss);
}

std::string EarlyStopping::saved() const { return fmt::format("{} {}", best_, waited_); }

void EarlyStopping::restore(const std::string& text) {
  std::string_view rest = text;
  const std::optional<double> best = parse_number<double>(next_word(rest));
  const std::optional<int64_t> waited = parse_number<int64_t>(next_word(rest));
  if (!best || !waited || *waited < 0) {
    throw InvalidFile(
        "[early stopping] not a state from a checkpoint, got '{}', expected a number and a count of epochs", text);
  }
  best_ = *best;
  waited_ = *waited;
}

void EarlyStopping::on_validation(const ValidationInfo& info) {
  if (options_.metric.empty()) return;
  const Measured found = info.metrics.find(options_.metric);
  options_.larger_is_better = !found.lower_is_better;
  add(found.value, info.epoch, "tests");
}

void EarlyStopping::on_epoch_end(const EpochInfo& info) {
  if (!options_.metric.empty()) return;
  const double loss = info.validation ? info.validation->loss : info.loss;
  add(options_.monitor ? options_.monitor(info) : loss, info.epoch, "epochs");
}

void EarlyStopping::add(double number, int64_t epoch, std::string_view unit) {
  const double lower = options_.larger_is_better ? -number : number;
  if (lower < best_ - options_.min_delta) {
    best_ = lower;
    waited_ = 0;
  } else if (++waited_ > options_.patience) {
    control_->stop();
    out_ << fmt::format("epoch: {}, stopped: no better than {} for {} {}\n", epoch,
                        shortest(options_.larger_is_better ? -best_ : best_), waited_, unit);
  }
}

void BestCheckpoint::on_train_begin(const TrainInfo& info) {
  control_ = info.control;
  step_ = -1;
  measures_ = fmt::format("best {}, with {}", metric_,
                          info.validation_loss.empty() ? info.training_loss : info.validation_loss);
}

void BestCheckpoint::on_validation(const ValidationInfo& info) {
  const Measured found = info.metrics.find(metric_);
  if (std::isnan(found.value)) return;
  if (step_ >= 0 && !(found.lower_is_better ? found.value < best_ : found.value > best_)) return;
  step_ = info.global_step;
  best_ = found.value;
  control_->keep_best(step_);
}

std::string BestCheckpoint::saved() const { return fmt::format("{} {}", step_, best_); }

void BestCheckpoint::restore(const std::string& text) {
  std::string_view rest = text;
  const std::optional<int64_t> step = parse_number<int64_t>(next_word(rest));
  const std::optional<double> best = parse_number<double>(next_word(rest));
  if (!step || !best || *step < -1 || std::isnan(*best)) {
    throw InvalidFile("[keep best] not a state from a checkpoint, got '{}', expected a step and a number", text);
  }
  step_ = *step;
  best_ = *best;
  control_->set_best_step(step_);
}

CheckpointSaver::CheckpointSaver(std::string path, int64_t every) : path_(std::move(path)), every_(every) {
  if (every < 0) throw InvalidArgument("[checkpoint] bad number of steps, got {}, expected >= 0", every);
}

void CheckpointSaver::on_train_begin(const TrainInfo& info) {
  control_ = info.control;
  last_ = info.steps;
  if (info.first_step >= info.steps) control_->save_checkpoint(path_);  // no step will follow
}

bool CheckpointSaver::is_due(int64_t global_step) const {
  return global_step == last_ || (every_ > 0 && global_step % every_ == 0);
}

void CheckpointSaver::on_step_end(const StepInfo& info) {
  if (is_due(info.global_step) || control_->stopped()) control_->save_checkpoint(path_);
}

void CheckpointSaver::on_epoch_end(const EpochInfo&) {
  if (control_->stopped()) control_->save_checkpoint(path_);
}

void LossMonitor::on_train_begin(const TrainInfo& info) { last_ = and_last_ ? info.steps : 0; }

void LossMonitor::on_step_end(const StepInfo& info) {
  const bool due = every_ > 0 && info.global_step % every_ == 0;
  if (!due && info.global_step != last_) return;
  out_ << fmt::format("epoch: {} step: {}, loss is {}\n", info.epoch, info.step, shortest(info.loss));
  out_.flush();
}

void TimeMonitor::on_epoch_end(const EpochInfo& info) {
  const double milliseconds = 1e3 * info.seconds;
  const auto steps = static_cast<double>(std::max<int64_t>(1, info.steps - info.steps_before));
  out_ << fmt::format("epoch time: {:.3f} ms, per step time: {:.3f} ms", milliseconds, milliseconds / steps);
  if (info.exposed_communication) {
    out_ << fmt::format(", exposed communication: {:.3f} ms", 1e3 * *info.exposed_communication / steps);
  }
  out_ << '\n';
  out_.flush();
}

}  // namespace partita
