// The header of a safetensors file; the first 8 bytes say how many bytes of tensors follow it.

#include <cstring>

#include "base/error.h"
#include "checkpoint/safetensors_header.h"
#include "fuzz/target.h"

std::vector<std::string> seeds() {
  const std::string header = partita::print_safetensors_header(
      {{"fc.weight", {partita::DType::f32, {2, 3}}, 0, 24}, {"id", {partita::DType::u8, {5}}, 24, 29}},
      {{"format", "pt"}, {"box:fc.weight", "0:2,0:3 of 4,3"}});
  const int64_t bytes = 29;
  std::string seed(sizeof bytes, '\0');
  std::memcpy(seed.data(), &bytes, sizeof bytes);
  return {seed + header};
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  int64_t bytes = 0;
  if (size < sizeof bytes) return 0;
  std::memcpy(&bytes, data, sizeof bytes);
  try {
    const auto parsed = partita::parse_safetensors_header(
        {reinterpret_cast<const char*>(data) + sizeof bytes, size - sizeof bytes}, bytes, "file");
    int64_t last = 0;
    for (const partita::TensorPlace& place : parsed.places) {
      if (place.begin != last || place.end - place.begin != place.type.bytes()) __builtin_trap();
      last = place.end;
    }
    if (last != bytes) __builtin_trap();
  } catch (const partita::InvalidFile&) {
  }
  return 0;
}
