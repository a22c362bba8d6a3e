#pragma once
// Where the values of a stage are: on the accelerator, in the host's memory, or both.

#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "base/error.h"
#include "compiler/emit/segments.h"
#include "runtime/device/xla/accelerator.h"
#include "runtime/execute/stage_buffers.h"
#include "runtime/execute/xla/device_mail.h"
#include "runtime/trace/recorder.h"

namespace partita {

/// The values of a stage, and the device on which they are.
struct DeviceParts {
  const LocalGraph& local;
  const Schedule& schedule;
  const Segmenter& segmenter;
  const StageBuffers& buffers;
  const Accelerator& accelerator;
  std::string owner;  // end of messages: " on rank 2"

  /// Returns the type of a place on the device. It may be longer than that on the host (`Segmenter::type_of`).
  Type type_on_device(int place) const { return segmenter.type_of(place, buffers.coordinates()); }
};

/// The places of a schedule (compiler/emit/segments.h), each with a copy on the device and one at its address in
/// StageBuffers, made from one another when they are needed. At the beginning all are on the host. The thread that runs
/// the schedule calls all functions, but others may call `on_host` between steps.
class DeviceValues {
 public:
  /// All that `parts` refers to outlives this object. `holder`, if given, has the external states of the schedule.
  DeviceValues(const DeviceParts& parts, DeviceValues* holder);

  int place_of(int buffer) const { return places_[static_cast<size_t>(buffer)]; }
  /// Returns the value of a place in a micro-batch, on the device. Throws RuntimeFailure(out_of_memory) if the device
  /// lacks memory.
  const pjrt::Buffer& on_device(int place, int64_t micro_batch);
  /// Releases the value of a place in a micro-batch on the device, which a program is about to compute anew.
  void release(int place, int64_t micro_batch);
  /// Releases the copies on the device that nobody reads in this step after an instruction, which has run in a
  /// micro-batch.
  void release_after(size_t instruction, int64_t micro_batch);
  /// Declares that an update failed, with `error`: the states cannot be read until they are written. `on_host` may
  /// call it, with the mutex locked, through `on_failure`.
  void lose_states(const std::exception_ptr& error);
  /// Sets what is called if a value cannot be read, to throw the error of the run that was to compute it.
  void on_failure(std::function<void()> explain) { explain_ = std::move(explain); }
  /// Sets the value of a place in a micro-batch, which a program computes.
  void set(int place, int64_t micro_batch, pjrt::Buffer value);
  /// Sets an input, which stays on the device until it is set again, and whether the host's memory has it as well.
  void set_input(int place, pjrt::Buffer value, bool is_on_host);
  /// Returns the value of a place in the first micro-batch, on the device, which it shares: null if it has none there.
  std::shared_ptr<const pjrt::Buffer> shared(int place);
  /// Returns an array that was the value of a place. Waits for the program that computes it, and throws its error.
  Array downloaded(const pjrt::Buffer& from, int place);
  /// An input of a step, which another one takes the place of.
  struct KeptInput {
    int place = -1;
    std::shared_ptr<const pjrt::Buffer> device;
    std::optional<std::vector<char>> host;  // none: the host's memory has none
  };
  /// Returns the present value of an input. `with_host`: also that in the host's memory, if there is one.
  KeptInput kept_input(int place, bool with_host);
  /// Makes a value that `kept_input` returned that of its place again.
  void restore_input(const KeptInput& kept);
  /// Brings the value of a buffer in a micro-batch to the host's memory and returns its address. Waits for the program
  /// that computes it, and throws its error. Throws the failed update's kind of error for a state that it lost.
  char* on_host(int buffer, int64_t micro_batch);
  /// Waits for the programs that compute the values of buffers in a micro-batch, if the host's memory lacks them, as a
  /// span of the recorder, which may be null. Their errors are left to `on_host`. Returns the places
  /// of the values that are computed.
  std::vector<int> await(std::span<const int> buffers, int64_t micro_batch, Recorder* recorder);
  /// Posts the value of a buffer in a micro-batch to rank `to`, then waits for the program that computes it, and throws
  /// its error. Throws as `DeviceMail::post` does.
  void send(int buffer, int64_t micro_batch, const DeviceMail& mail, int to);
  /// Declares that the value of a buffer in a micro-batch was written in the host's memory.
  void written(int buffer, int64_t micro_batch);
  /// Forgets sums over micro-batches after a program failed, since the next step adds to them. `on_host` may call it as
  /// it may call `lose_states`.
  void forget_sums();
  /// Forgets the copies on the device of all values but states.
  void keep_states_alone();

 private:
  struct Value {
    std::shared_ptr<const pjrt::Buffer> device{};
    bool is_on_host = true;
    bool stays = false;  // an input, which no program computes again
  };
  /// Where a value is kept: here, or by the holder.
  struct Held {
    DeviceValues* holder = nullptr;
    int buffer = -1;
  };
  /// A value that nobody reads after an instruction.
  struct Release {
    int place = -1;
    bool in_each_micro_batch = false;
  };
  Value& value(int place, int64_t micro_batch);
  static void release(Value& value);
  void upload(int place, const char* from, Value& to) const;
  const pjrt::Buffer& held_on_device(int place);
  const pjrt::Buffer* only_on_device(int buffer, int64_t micro_batch);
  const std::string& name_of(int place) const;
  void require_present(int place) const;
  void read_by(int place, const std::string& whither, const std::function<void()>& read);
  void download(const pjrt::Buffer& from, int place, char* to);

  const DeviceParts parts_;
  const std::vector<int>& places_;
  std::vector<std::vector<Value>> values_;      // by place, and there by copy
  std::vector<Held> held_;                      // by place: of external states
  std::vector<bool> is_state_, is_lost_;        // by place
  std::vector<int> sums_;                       // places of sums over micro-batches
  std::vector<std::vector<Release>> releases_;  // by instruction
  std::function<void()> explain_;
  ExitCode lost_code_ = ExitCode::internal;  // code of the error that lost states
  std::string lost_by_;                      // its message
  std::mutex mutex_;
};

}  // namespace partita
