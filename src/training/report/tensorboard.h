#pragma once
// Event files for TensorBoard: records of TFRecord, each an Event of protobuf with scalars.
//
// Tags of each step: loss, learning_rate, step_seconds, samples_per_second, memory_bytes (if measured), loss_scale
// (unless 1); of each validation: validation/loss, validation/accuracy. Steps count from 1 since the training began.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "training/report/callbacks.h"

namespace partita {

/// Returns the CRC-32C (Castagnoli) of bytes, masked as TFRecord stores it.
uint32_t masked_crc32c(std::string_view bytes);

/// Returns `data` as a record of TFRecord: its length, the checksum of that, the data and their checksum.
std::string framed_record(std::string_view data);

/// Returns an Event with scalars as protobuf. `wall_time`: seconds since 1970.
std::string scalar_event(double wall_time, int64_t step, const std::vector<std::pair<std::string, double>>& scalars);

/// Writes a new event file into a folder, which is created. If the folder has event files already, the first event says
/// that a training starts at its first step, so TensorBoard shows neither steps that a resumed training repeats nor
/// those of an earlier training; their files stay. Each event is written at once. If a write fails, one warning says so
/// and the training continues. on_train_begin throws RuntimeFailure(cannot_write) if the file cannot be opened.
class TensorboardEvents : public Callback {
 public:
  using Warn = std::function<void(const std::string&)>;
  TensorboardEvents(std::string folder, Warn warn) : folder_(std::move(folder)), warn_(std::move(warn)) {}
  ~TensorboardEvents() override { close(); }
  TensorboardEvents& operator=(TensorboardEvents&&) = delete;
  void on_train_begin(const TrainInfo& info) override;
  void on_step_end(const StepInfo& info) override;
  bool may_lag(int64_t) const override { return true; }
  void on_validation(const ValidationInfo& info) override;

 private:
  void close();
  void write(std::string_view event);

  std::string folder_, path_;
  Warn warn_;
  int file_ = -1;
  int64_t step_ = 0;
};

}  // namespace partita
