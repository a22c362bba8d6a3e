#include "runtime/execute/host_messages.h"

#include <cstring>

#include "ir/sharding/box_runs.h"
#include "runtime/execute/shard_copy.h"

namespace partita {

void HostMessages::send(ConstTensor value, const Box& part, int64_t elements, int to) {
  const void* packed = value.data;
  const auto bytes = static_cast<size_t>(elements) * size_of(value.type.dtype);
  if (elements != value.type.elements()) {
    staging_.resize(bytes);
    copy_part(value, part, staging_.data());
    packed = staging_.data();
  }
  if (to == ranks_.rank()) {
    const auto* begin = static_cast<const std::byte*>(packed);
    to_itself_.emplace_back(begin, begin + bytes);
  } else {
    ranks_.post(packed, elements, value.type.dtype, to);
  }
}

void HostMessages::receive(Tensor value, const Box& part, int64_t elements, int from) {
  const bool is_whole = elements == value.type.elements();
  const auto bytes = static_cast<size_t>(elements) * size_of(value.type.dtype);
  if (!is_whole) staging_.resize(bytes);
  void* packed = is_whole ? value.data : staging_.data();
  if (from == ranks_.rank()) {
    PARTITA_CHECK(!to_itself_.empty() && to_itself_.front().size() == bytes, "a message to itself is missing");
    std::memcpy(packed, to_itself_.front().data(), bytes);
    to_itself_.pop_front();
  } else {
    ranks_.recv(packed, elements, value.type.dtype, from);
  }
  if (!is_whole) copy_back(packed, part, value);
}

}  // namespace partita
