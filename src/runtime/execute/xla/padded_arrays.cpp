#include "runtime/execute/xla/padded_arrays.h"

#include <vector>

#include "runtime/execute/shard_copy.h"

namespace partita {
namespace {

/// Returns the box of a value in an array that begins with it.
Box begin_of(const Shape& value, const Shape& array) {
  Box box;
  for (size_t d = 0; d < value.size(); ++d) box.push_back({0, value[d], array[d]});
  return box;
}

}  // namespace

pjrt::Buffer upload_padded(const Accelerator& accelerator, ConstTensor value, const Type& padded) {
  const pjrt::Client& client = accelerator.client();
  if (value.type == padded) return client.upload(accelerator.device(), value);
  std::vector<char> longer(static_cast<size_t>(padded.bytes()), 0);
  copy_back(value.data, begin_of(value.type.shape, padded.shape), {padded, longer.data()});
  return client.upload(accelerator.device(), {padded, longer.data()});
}

void download_padded(const pjrt::Buffer& array, const Type& padded, Tensor value) {
  if (value.type == padded) return array.download(value);
  std::vector<char> longer(static_cast<size_t>(padded.bytes()));
  array.download({padded, longer.data()});
  copy_part({padded, longer.data()}, begin_of(value.type.shape, padded.shape), value.data);
}

}  // namespace partita
