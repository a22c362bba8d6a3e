#include "runtime/execute/xla/device_values.h"

#include "compiler/emit/segments.h"

namespace partita {

DeviceValues::DeviceValues(const LocalGraph& local, const Schedule& schedule, const StageBuffers& buffers,
                           const Accelerator& accelerator, DeviceValues* holder)
    : schedule_(schedule),
      buffers_(buffers),
      accelerator_(accelerator),
      places_(places_of(schedule)),
      values_(places_.size()),
      held_(places_.size()),
      is_state_(places_.size(), false) {
  for (size_t place = 0; place < values_.size(); ++place) {
    values_[place].resize(static_cast<size_t>(schedule.buffers[place].copies));
  }
  for (const int entry : schedule.entry) {
    is_state_[static_cast<size_t>(place_of(entry))] = true;
    if (!schedule.is_external(entry)) continue;
    const std::string& name = local.graph.values[schedule.buffers[entry].value].name;
    held_[static_cast<size_t>(place_of(entry))] = {holder, holder->buffers_.named().state(name)};
  }
}

DeviceValues::Value& DeviceValues::value(int place, int64_t micro_batch) {
  auto& copies = values_[static_cast<size_t>(place)];
  return copies[static_cast<size_t>(micro_batch) % copies.size()];
}

const pjrt::Buffer& DeviceValues::on_device(int place, int64_t micro_batch) {
  const Held& held = held_[static_cast<size_t>(place)];
  if (held.holder != nullptr) return held.holder->on_device(held.holder->place_of(held.buffer), 0);
  const std::lock_guard lock(mutex_);
  Value& found = value(place, micro_batch);
  if (!found.device) {
    const ConstTensor tensor{buffers_.type_of(place), buffers_.copy_of(place, micro_batch)};
    found.device.emplace(accelerator_.client().upload(accelerator_.device(), tensor));
  }
  return *found.device;
}

void DeviceValues::set(int place, int64_t micro_batch, pjrt::Buffer value) {
  const std::lock_guard lock(mutex_);
  Value& found = this->value(place, micro_batch);
  found.device.emplace(std::move(value));
  found.is_on_host = false;
}

char* DeviceValues::on_host(int buffer, int64_t micro_batch) {
  const int place = place_of(buffer);
  const Held& held = held_[static_cast<size_t>(place)];
  if (held.holder != nullptr) return held.holder->on_host(held.buffer, 0);
  const std::lock_guard lock(mutex_);
  char* address = buffers_.copy_of(place, micro_batch);
  Value& found = value(place, micro_batch);
  if (!found.is_on_host) {
    found.device->download(Tensor{buffers_.type_of(place), address});
    found.is_on_host = true;
  }
  return address;
}

void DeviceValues::written(int buffer, int64_t micro_batch) {
  const std::lock_guard lock(mutex_);
  value(place_of(buffer), micro_batch) = Value{};
}

void DeviceValues::keep_states_alone() {
  const std::lock_guard lock(mutex_);
  for (size_t place = 0; place < values_.size(); ++place) {
    if (is_state_[place]) continue;
    for (Value& one : values_[place]) one = Value{};
  }
}

}  // namespace partita
