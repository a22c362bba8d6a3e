#include "runtime/execute/xla/device_values.h"

#include <algorithm>
#include <new>
#include <tuple>

#include "runtime/execute/xla/padded_arrays.h"
#include "runtime/execute/xla/with_place.h"

namespace partita {
namespace {

std::pair<ExitCode, std::string> code_and_message(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const Error& reason) {
    return {reason.code(), reason.what()};
  } catch (const std::bad_alloc&) {
    return {ExitCode::out_of_memory, "out of memory"};
  } catch (const std::exception& reason) {
    return {ExitCode::internal, reason.what()};
  }
}

}  // namespace

DeviceValues::DeviceValues(const DeviceParts& parts, DeviceValues* holder)
    : parts_(parts),
      places_(parts.segmenter.places()),
      values_(places_.size()),
      held_(places_.size()),
      is_state_(places_.size(), false),
      is_lost_(places_.size(), false),
      releases_(parts.schedule.instructions.size()) {
  const Schedule& schedule = parts.schedule;
  for (size_t place = 0; place < values_.size(); ++place) {
    values_[place].resize(static_cast<size_t>(schedule.buffers[place].copies));
  }
  for (const int entry : schedule.entry) {
    is_state_[static_cast<size_t>(place_of(entry))] = true;
    if (!schedule.is_external(entry)) continue;
    const std::string& name = parts.local.graph.values[schedule.buffers[entry].value].name;
    held_[static_cast<size_t>(place_of(entry))] = {holder, holder->parts_.buffers.named().state(name)};
  }
  for (const Instruction& instruction : schedule.instructions) {
    if (instruction.kind == Instruction::accumulate) sums_.push_back(place_of(instruction.outputs[0]));
  }
  const auto last_readers = parts.segmenter.last_readers();
  for (size_t place = 0; place < last_readers.size(); ++place) {
    if (!last_readers[place]) continue;
    releases_[last_readers[place]->instruction].push_back(
        {static_cast<int>(place), last_readers[place]->in_each_micro_batch});
  }
}

DeviceValues::Value& DeviceValues::value(int place, int64_t micro_batch) {
  auto& copies = values_[static_cast<size_t>(place)];
  return copies[static_cast<size_t>(micro_batch) % copies.size()];
}

const std::string& DeviceValues::name_of(int place) const {
  return parts_.local.graph.values[parts_.schedule.buffers[place].value].name;
}

void DeviceValues::require_present(int place) const {
  if (!is_lost_[static_cast<size_t>(place)]) return;
  throw RuntimeFailure(lost_code_,
                       "[device] a state that is lost, got {}, expected one that no failed update was to write: {}",
                       name_of(place), lost_by_);
}

/// Copies the value of a place to the device, from an address in the host's memory. The mutex is locked.
void DeviceValues::upload(int place, const char* from, Value& to) const {
  with_place([&](const Error&) { return fmt::format("{}, which goes to the device{}", name_of(place), parts_.owner); },
             [&] {
               to.device = std::make_shared<const pjrt::Buffer>(upload_padded(
                   parts_.accelerator, {parts_.buffers.type_of(place), from}, parts_.type_on_device(place)));
             });
}

/// Returns a state that the holder has. If its programs pad it otherwise, this has a copy, made anew each time, since
/// the holder may have set the state. Nobody writes the holder's states while this thread runs a program that reads
/// them.
const pjrt::Buffer& DeviceValues::held_on_device(int place) {
  const Held& held = held_[static_cast<size_t>(place)];
  const int there = held.holder->place_of(held.buffer);
  if (held.holder->parts_.type_on_device(there) == parts_.type_on_device(place)) {
    return held.holder->on_device(there, 0);
  }
  const char* const address = held.holder->on_host(held.buffer, 0);
  const std::lock_guard lock(mutex_);
  upload(place, address, value(place, 0));
  return *value(place, 0).device;
}

const pjrt::Buffer& DeviceValues::on_device(int place, int64_t micro_batch) {
  if (held_[static_cast<size_t>(place)].holder != nullptr) return held_on_device(place);
  const std::lock_guard lock(mutex_);
  require_present(place);
  Value& found = value(place, micro_batch);
  if (!found.device) upload(place, parts_.buffers.copy_of(place, micro_batch), found);
  return *found.device;
}

void DeviceValues::set(int place, int64_t micro_batch, pjrt::Buffer value) {
  const std::lock_guard lock(mutex_);
  Value& found = this->value(place, micro_batch);
  found.device = std::make_shared<const pjrt::Buffer>(std::move(value));
  found.is_on_host = found.stays = false;
}

void DeviceValues::set_input(int place, pjrt::Buffer value, bool is_on_host) {
  const std::lock_guard lock(mutex_);
  this->value(place, 0) = {
      .device = std::make_shared<const pjrt::Buffer>(std::move(value)), .is_on_host = is_on_host, .stays = true};
}

std::shared_ptr<const pjrt::Buffer> DeviceValues::shared(int place) {
  const std::lock_guard lock(mutex_);
  return value(place, 0).device;
}

DeviceValues::KeptInput DeviceValues::kept_input(int place, bool with_host) {
  const std::lock_guard lock(mutex_);
  const Value& present = value(place, 0);
  KeptInput kept{.place = place, .device = present.device};
  if (!present.is_on_host || (!with_host && present.device != nullptr)) return kept;
  const char* begin = parts_.buffers.copy_of(place, 0);
  kept.host.emplace(begin, begin + parts_.buffers.type_of(place).bytes());
  return kept;
}

void DeviceValues::restore_input(const KeptInput& kept) {
  const std::lock_guard lock(mutex_);
  if (kept.host) std::ranges::copy(*kept.host, parts_.buffers.copy_of(kept.place, 0));
  value(kept.place, 0) = {.device = kept.device, .is_on_host = kept.host.has_value(), .stays = kept.device != nullptr};
}

void DeviceValues::release(Value& value) {
  if (!value.stays) value = Value{};
}

/// Calls `read`, which waits for a value that goes to `whither`. Throws the error of the run that was to compute it, if
/// there is one, else that of `read`.
void DeviceValues::read_by(int place, const std::string& whither, const std::function<void()>& read) {
  try {
    read();
  } catch (const Error&) {
    if (explain_) explain_();
    with_place([&](const Error&) { return fmt::format("{}, which {}{}", name_of(place), whither, parts_.owner); },
               [] { throw; });
  }
}

void DeviceValues::download(const pjrt::Buffer& from, int place, char* to) {
  read_by(place, "comes from the device", [&] {
    download_padded(from, parts_.type_on_device(place), {parts_.buffers.type_of(place), to});
  });
}

Array DeviceValues::downloaded(const pjrt::Buffer& from, int place) {
  Array to(parts_.buffers.type_of(place));
  download(from, place, static_cast<char*>(to.data()));
  return to;
}

char* DeviceValues::on_host(int buffer, int64_t micro_batch) {
  const int place = place_of(buffer);
  const Held& held = held_[static_cast<size_t>(place)];
  if (held.holder != nullptr) return held.holder->on_host(held.buffer, 0);
  const std::lock_guard lock(mutex_);
  require_present(place);
  char* address = parts_.buffers.copy_of(place, micro_batch);
  Value& found = value(place, micro_batch);
  if (!found.is_on_host) {
    download(*found.device, place, address);
    found.is_on_host = true;
  }
  return address;
}

void DeviceValues::send(int buffer, int64_t micro_batch, const DeviceMail& mail, int to) {
  const int place = place_of(buffer);
  const pjrt::Buffer& value = on_device(place, micro_batch);
  const std::lock_guard lock(mutex_);
  read_by(place, fmt::format("goes to the device of rank {}", to), [&] {
    mail.post(value, to);
    value.wait();
  });
}

std::vector<int> DeviceValues::await(std::span<const int> buffers, int64_t micro_batch, Recorder* recorder) {
  std::vector<std::pair<int, const pjrt::Buffer*>> awaited;
  for (const int buffer : buffers) {
    if (const pjrt::Buffer* value = only_on_device(buffer, micro_batch)) awaited.emplace_back(place_of(buffer), value);
  }
  std::vector<int> computed;
  if (awaited.empty()) return computed;
  const Recorded recorded(recorder, {.kind = Span::device});
  try {
    for (const auto& [place, value] : awaited) {
      value->wait();
      computed.push_back(place);
    }
  } catch (const Error&) {  // the reader meets it again, and says where it is
  }
  return computed;
}

/// Returns the value of a buffer in a micro-batch on the device if `on_host` would copy it, else null.
const pjrt::Buffer* DeviceValues::only_on_device(int buffer, int64_t micro_batch) {
  const int place = place_of(buffer);
  const Held& held = held_[static_cast<size_t>(place)];
  if (held.holder != nullptr) return held.holder->only_on_device(held.buffer, 0);
  const std::lock_guard lock(mutex_);
  const Value& found = value(place, micro_batch);
  return found.is_on_host || !found.device ? nullptr : &*found.device;
}

void DeviceValues::written(int buffer, int64_t micro_batch) {
  const std::lock_guard lock(mutex_);
  const int place = place_of(buffer);
  value(place, micro_batch) = Value{};
  is_lost_[static_cast<size_t>(place)] = false;
}

void DeviceValues::release(int place, int64_t micro_batch) {
  const std::lock_guard lock(mutex_);
  value(place, micro_batch) = Value{};
}

void DeviceValues::release_after(size_t instruction, int64_t micro_batch) {
  if (releases_[instruction].empty()) return;
  const std::lock_guard lock(mutex_);
  const bool is_last = micro_batch + 1 == parts_.local.mesh.micro_batches();
  const bool runs_once = !repeats(parts_.schedule.section_of(instruction));
  for (const auto& [place, in_each_micro_batch] : releases_[instruction]) {
    if (in_each_micro_batch && !runs_once) {
      release(value(place, micro_batch));
    } else if (is_last || runs_once) {
      for (Value& one : values_[static_cast<size_t>(place)]) release(one);
    }
  }
}

void DeviceValues::lose_states(const std::exception_ptr& error) {
  for (size_t place = 0; place < places_.size(); ++place) {
    if (is_state_[place] && held_[place].holder == nullptr) is_lost_[place] = true;
  }
  std::tie(lost_code_, lost_by_) = code_and_message(error);
}

void DeviceValues::forget_sums() {
  for (const int place : sums_) {
    for (Value& one : values_[static_cast<size_t>(place)]) one = Value{};
  }
}

void DeviceValues::keep_states_alone() {
  const std::lock_guard lock(mutex_);
  for (size_t place = 0; place < values_.size(); ++place) {
    if (is_state_[place]) continue;
    for (Value& one : values_[place]) one = Value{};
  }
}

}  // namespace partita
