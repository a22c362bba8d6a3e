#include "ir/graph/hlo.h"

#include <fmt/format.h>

namespace partita {
namespace {

std::string_view element_of(DType dtype) {
  switch (dtype) {
    case DType::u8: return "ui8";
    case DType::u32: return "ui32";
    case DType::u16: return "ui16";
    case DType::boolean: return "i1";
    default: return name_of(dtype);
  }
}

std::string names_of(const std::vector<Hlo>& values) {
  std::string text;
  for (const Hlo& value : values) text += (text.empty() ? "" : ", ") + value.name;
  return text;
}

}  // namespace

std::string hlo_type(const Type& type) {
  std::string text = "tensor<";
  for (const int64_t size : type.shape) text += fmt::format("{}x", size);
  return text + std::string(element_of(type.dtype)) + ">";
}

std::string hlo_types(const std::vector<Hlo>& values) {
  std::string text;
  for (const Hlo& value : values) text += (text.empty() ? "" : ", ") + hlo_type(value.type);
  return "(" + text + ")";
}

Hlo HloBody::add(const std::string& operation, Type type) {
  const std::string name = fmt::format("%{}", next_++);
  text_ += fmt::format("    {} = {}\n", name, operation);
  return {name, std::move(type)};
}

std::vector<Hlo> HloBody::add_several(const std::string& operation, const std::vector<Type>& types) {
  if (types.size() == 1) return {add(operation, types[0])};
  const std::string name = fmt::format("%{}", next_++);
  text_ += fmt::format("    {}:{} = {}\n", name, types.size(), operation);
  std::vector<Hlo> results;
  for (size_t k = 0; k < types.size(); ++k) results.push_back({fmt::format("{}#{}", name, k), types[k]});
  return results;
}

Hlo HloBody::add_same(std::string_view op, const std::vector<Hlo>& operands) {
  const Type& type = operands.front().type;
  return add(fmt::format("{} {} : {}", op, names_of(operands), hlo_type(type)), type);
}

std::vector<Hlo> HloBody::add_case(const Hlo& index, const std::vector<Branch>& branches) {
  std::string regions, types;
  std::vector<Hlo> given;
  for (const Branch& branch : branches) {
    HloBody inner;
    inner.next_ = next_;
    given = branch(inner);
    next_ = inner.next_;
    types = hlo_types(given);
    regions += fmt::format("{}{{\n{}    stablehlo.return {} : {}\n    }}", regions.empty() ? "" : ", ", inner.text_,
                           names_of(given), types.substr(1, types.size() - 2));
  }
  std::vector<Type> result_types;
  for (const Hlo& result : given) result_types.push_back(result.type);
  return add_several(
      fmt::format("\"stablehlo.case\"({}) ({}) : ({}) -> {}", index.name, regions, hlo_type(index.type), types),
      result_types);
}

Hlo HloBody::add_typed(std::string_view op, const std::vector<Hlo>& operands, std::string_view details, Type type) {
  const std::string text =
      fmt::format("{} {}{} : {} -> {}", op, names_of(operands), details, hlo_types(operands), hlo_type(type));
  return add(text, std::move(type));
}

}  // namespace partita
