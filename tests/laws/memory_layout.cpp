#include "laws/memory_layout.h"

#include <algorithm>
#include <cstring>

namespace partita::laws {
namespace {

/// Offsets of elements in a memory format, worked out from its tag alone.
class ElementOffsets {
 public:
  ElementOffsets(const Shape& shape, const MemoryFormat& format) {
    std::string tag = format.tag;
    if (format.plain()) {
      tag.clear();
      for (size_t d = 0; d < shape.size(); ++d) tag += static_cast<char>('a' + d);
    }
    std::vector<int64_t> left(shape.size(), 1);  // the product of the blocks of a dimension still to come
    std::vector<std::pair<size_t, int64_t>> levels;
    for (size_t i = 0; i < tag.size(); ++i) {
      int64_t block = 0;
      while (std::isdigit(tag[i])) block = 10 * block + (tag[i++] - '0');
      const auto dim = static_cast<size_t>(std::tolower(tag[i]) - 'a');
      levels.emplace_back(dim, block);
      if (block > 0) left[dim] *= block;
    }
    for (auto& [dim, block] : levels) {
      const int64_t count = block > 0 ? block : (shape[dim] + left[dim] - 1) / left[dim];
      if (block > 0) left[dim] /= block;
      levels_.push_back({dim, left[dim], count});
      elements_ *= count;
    }
  }

  int64_t elements() const { return elements_; }
  int64_t at(const std::vector<int64_t>& index) const {
    int64_t at = 0;
    for (const Level& level : levels_) at = at * level.count + index[level.dim] / level.step % level.count;
    return at;
  }

 private:
  struct Level {
    size_t dim;
    int64_t step, count;
  };
  std::vector<Level> levels_;
  int64_t elements_ = 1;
};

/// visit(row-major index, offset in the memory format) for each element.
template <class Visit>
void for_elements(const Shape& shape, const ElementOffsets& offsets, Visit&& visit) {
  std::vector<int64_t> index(shape.size(), 0);
  const int64_t count = elements(shape);
  for (int64_t i = 0; i < count; ++i) {
    visit(i, offsets.at(index));
    for (size_t d = shape.size(); d-- > 0;) {
      if (++index[d] < shape[d]) break;
      index[d] = 0;
    }
  }
}

}  // namespace

int64_t elements_in(const Shape& shape, const MemoryFormat& format) { return ElementOffsets(shape, format).elements(); }

int64_t bytes_in(const Type& type, const MemoryFormat& format) {
  return elements_in(type.shape, format) * static_cast<int64_t>(size_of(type.dtype));
}

Memory laid_out(const Array& array, const MemoryFormat& format) {
  const ElementOffsets offsets(array.shape(), format);
  const auto size = static_cast<int64_t>(size_of(array.type().dtype));
  Memory memory(offsets.elements() * size);
  auto* to = static_cast<std::byte*>(memory.data());
  const auto* from = static_cast<const std::byte*>(array.data());
  if (format.plain()) {
    std::copy_n(from, array.type().bytes(), to);
    return memory;
  }
  std::memset(to, 0, offsets.elements() * size);
  for_elements(array.shape(), offsets,
               [&](int64_t i, int64_t at) { std::memcpy(to + at * size, from + i * size, size); });
  return memory;
}

Array read_back(Memory& memory, const Type& type, const MemoryFormat& format, std::string& wrong) {
  const ElementOffsets offsets(type.shape, format);
  const auto size = static_cast<int64_t>(size_of(type.dtype));
  Array array(type);
  auto* from = static_cast<std::byte*>(memory.data());
  auto* to = static_cast<std::byte*>(array.data());
  if (format.plain()) {  // no padding
    std::copy_n(from, type.bytes(), to);
    return array;
  }
  for_elements(type.shape, offsets, [&](int64_t i, int64_t at) {
    std::memcpy(to + i * size, from + at * size, size);
    std::memset(from + at * size, 0, size);
  });
  if (!is_float(type.dtype)) return array;
  for (int64_t i = 0; i < offsets.elements() * size; ++i) {
    if ((from[i] & std::byte{0x7f}) != std::byte{0}) wrong = fmt::format("padding of {} is not zero", format.tag);
  }
  return array;
}

KernelRun run_laid_out(Kernel& kernel, const KernelChoice& choice, const std::vector<Array>& operands,
                       const std::vector<Type>& results, std::pair<int, int> in_place) {
  std::vector<Memory> inputs, outputs;
  std::vector<const void*> from;
  std::vector<void*> to;
  for (size_t i = 0; i < operands.size(); ++i) inputs.push_back(laid_out(operands[i], choice.inputs[i]));
  for (size_t k = 0; k < results.size(); ++k) outputs.emplace_back(bytes_in(results[k], choice.outputs[k]));
  const auto memory_of = [&](size_t k) -> Memory& {
    return static_cast<int>(k) == in_place.second ? inputs[static_cast<size_t>(in_place.first)] : outputs[k];
  };
  for (Memory& memory : inputs) from.push_back(memory.data());
  for (size_t k = 0; k < results.size(); ++k) to.push_back(memory_of(k).data());
  Memory scratch(choice.scratch_bytes);
  kernel.run(from, to, scratch.data());
  KernelRun run;
  if (!scratch.intact()) run.overrun = "its scratch memory";
  for (size_t k = 0; k < results.size(); ++k) {
    if (run.overrun.empty() && !memory_of(k).intact()) run.overrun = fmt::format("output {}", k);
    std::string padding;
    run.results.push_back(read_back(memory_of(k), results[k], choice.outputs[k], padding));
    if (run.padding.empty() && !padding.empty()) run.padding = fmt::format("output {}: {}", k, padding);
  }
  return run;
}

}  // namespace partita::laws
