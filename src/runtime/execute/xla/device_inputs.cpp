#include "runtime/execute/xla/device_inputs.h"

#include <algorithm>
#include <cstring>

#include "compiler/emit/held_bytes.h"
#include "ir/sharding/box_runs.h"
#include "runtime/execute/shard_copy.h"
#include "runtime/execute/xla/padded_arrays.h"
#include "runtime/execute/xla/with_place.h"

namespace partita {
namespace {

/// Returns the address of the elements of `given` inside `box` if they lie one after another, else null.
const char* dense_part(ConstTensor given, const Box& box) {
  const bool cuts_rows_alone = std::all_of(box.begin() + (box.empty() ? 0 : 1), box.end(),
                                           [](const Range& range) { return range.count() == range.size; });
  if (!cuts_rows_alone) return nullptr;
  const int64_t rows = box.empty() ? 0 : box[0].count();
  const int64_t before = rows == 0 ? 0 : box[0].begin * (elements_of(box) / rows);
  return static_cast<const char*>(given.data) + before * static_cast<int64_t>(size_of(given.type.dtype));
}

}  // namespace

DeviceInputs::DeviceInputs(const DeviceParts& parts, DeviceValues& values)
    : parts_(parts),
      values_(values),
      kept_(kept_inputs(parts.segmenter)),
      host_reads_(parts.segmenter.places().size(), false) {
  const auto read = [&](int buffer) { host_reads_[static_cast<size_t>(values.place_of(buffer))] = true; };
  for (const Instruction& instruction : parts.schedule.instructions) {
    if (parts.segmenter.in_program(instruction)) continue;
    for (const int buffer : instruction.inputs) read(buffer);
  }
  for (const IdCheck& check : parts.segmenter.id_checks()) {
    if (!check.in_program) host_reads_[static_cast<size_t>(check.place)] = true;
  }
}

pjrt::Buffer DeviceInputs::upload(int buffer, ConstTensor given, const Box& box) const {
  const Type type = parts_.buffers.type_of(buffer);
  const char* part = dense_part(given, box);
  std::vector<char> copy;
  if (part == nullptr) {
    copy.resize(static_cast<size_t>(type.bytes()));
    copy_part(given, box, copy.data());
    part = copy.data();
  }
  const std::string& name = parts_.local.graph.values[parts_.schedule.buffers[buffer].value].name;
  return with_place([&](const Error&) { return fmt::format("{}, which goes to the device{}", name, parts_.owner); },
                    [&] {
                      return upload_padded(parts_.accelerator, {type, part}, parts_.type_on_device(buffer));
                    });
}

/// Keeps the value of an input that is about to be set, for the steps in flight.
void DeviceInputs::keep(int place) {
  if (replaced_.empty()) return;
  replaced_.back().push_back(values_.kept_input(place, host_reads_[static_cast<size_t>(place)]));
}

void DeviceInputs::take_back() {
  for (auto step = replaced_.rbegin(); step != replaced_.rend(); ++step) {
    for (auto kept = step->rbegin(); kept != step->rend(); ++kept) values_.restore_input(*kept);
  }
  replaced_.clear();
}

bool DeviceInputs::set(int buffer, ConstTensor given, const Box& box) {
  keep(values_.place_of(buffer));
  if (!is_kept(buffer) || host_reads(buffer)) return false;
  const int place = values_.place_of(buffer);
  values_.written(buffer, 0);  // the device needs no memory for both, unless a step in flight keeps the old one
  try {
    values_.set_input(place, upload(buffer, given, box), /*is_on_host=*/false);
  } catch (...) {  // then the host has it
    copy_part(given, box, parts_.buffers.copy_of(place, 0));
    throw;
  }
  return true;
}

void DeviceInputs::set_next(int buffer, ConstTensor given, const Box& box) {
  Next next{.place = values_.place_of(buffer)};
  if (host_reads(buffer)) {
    next.on_host.resize(static_cast<size_t>(parts_.buffers.type_of(buffer).bytes()));
    copy_part(given, box, next.on_host.data());
  }
  if (is_kept(buffer)) next.value = upload(buffer, given, box);
  next_.push_back(std::move(next));
}

bool DeviceInputs::use_next() {
  const bool has_any = !next_.empty();
  for (Next& next : next_) {
    keep(next.place);
    const bool is_on_host = !next.on_host.empty();
    if (is_on_host) std::memcpy(parts_.buffers.copy_of(next.place, 0), next.on_host.data(), next.on_host.size());
    if (next.value) {
      values_.set_input(next.place, std::move(*next.value), is_on_host);
    } else {
      values_.written(next.place, 0);
    }
  }
  next_.clear();
  return has_any;
}

int64_t DeviceInputs::bytes() const {
  int64_t bytes = 0;
  for (const int place : kept_) bytes += parts_.type_on_device(place).bytes();
  return bytes;
}

}  // namespace partita
