#include "base/convert_elements.h"

#include <cstring>

namespace partita {

void convert_elements(DType from, const void* source, DType to, void* target, int64_t count) {
  if (from == to) {
    if (count > 0) std::memcpy(target, source, static_cast<size_t>(count) * size_of(from));
    return;
  }
  for_dtype(from, [&](auto given) {
    for_dtype(to, [&](auto made) {
      convert_elements(static_cast<const decltype(given)*>(source), static_cast<decltype(made)*>(target), count);
    });
  });
}

}  // namespace partita
