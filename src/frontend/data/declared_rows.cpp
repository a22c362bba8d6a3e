#include "frontend/data/declared_rows.h"

#include <algorithm>

namespace partita {
namespace {

constexpr std::string_view kLabelColumn = "label";

bool can_be_channels(int64_t size) { return size == 1 || size == 3 || size == 4; }

bool fits(const Shape& shape, const Shape& declared) {
  if (shape.size() != declared.size()) return false;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (declared[d] != kAnySize && shape[d] != declared[d]) return false;
  }
  return true;
}

/// Whether an image has its channels last, as seen by a network that takes images of any size with channels first: the
/// last dimension can be a number of channels, the first cannot.
bool has_channels_last(const Shape& image) {
  return image.size() == 3 && !can_be_channels(image[0]) && can_be_channels(image[2]);
}

std::string print_declared(const Shape& declared) {
  constexpr std::string_view kNames[] = {"channels", "height", "width"};
  std::string text;
  for (size_t d = 0; d < declared.size(); ++d) {
    text += text.empty() ? "[" : ",";
    text += declared[d] == kAnySize ? std::string(kNames[d]) : fmt::format("{}", declared[d]);
  }
  return text + "]";
}

/// Returns the model options that would make images of `shape` fit, as the end of a message: ", or a model of
/// channels=1,size=28". Returns "" if there are none, and for images that are not square or have their channels last.
std::string remedy(const Shape& shape, const Shape& declared) {
  if (shape.size() != 3 || shape[1] != shape[2] || has_channels_last(shape)) return "";
  std::vector<std::string> sizes;
  if (declared[0] != kAnySize && shape[0] != declared[0]) sizes.push_back(fmt::format("channels={}", shape[0]));
  if (declared[1] != kAnySize && shape[1] != declared[1]) sizes.push_back(fmt::format("size={}", shape[1]));
  return sizes.empty() ? "" : fmt::format(", or a model of {}", fmt::join(sizes, ","));
}

[[noreturn]] void refuse(const Column& column, const DataSource& source, const std::string& expected) {
  throw InvalidArgument("[--data] the model cannot read these rows, got '{}' {} in {}, expected {}", column.name,
                        print(column.type), print(source), expected);
}

void require_image(const Column& column, const RowFormat& format, const DataSource& source) {
  Shape declared = format.input_shape;
  if (declared.empty()) return;
  if (format.resize > 0) declared[1] = declared[2] = format.resize;
  const Shape& shape = column.type.shape;
  const bool is_any = std::ranges::find(declared, kAnySize) != declared.end();
  if (fits(shape, declared) && !(is_any && has_channels_last(shape))) return;
  refuse(column, source,
         fmt::format("{}{}, channels first{}", name_of(column.type.dtype), print_declared(declared),
                     remedy(shape, declared)));
}

}  // namespace

bool has_channels_first(const Shape& image, const Shape& declared) {
  if (image.size() != 3) return false;
  const int64_t channels = declared.empty() ? kAnySize : declared[0];
  if (channels == kAnySize) return can_be_channels(image[0]) && !can_be_channels(image[2]);
  return image[0] == channels && image[2] != channels;
}

void require_declared(const std::vector<Column>& columns, const RowFormat& format, const DataSource& source) {
  const auto find = [&](std::string_view name) -> const Column* {
    const auto found = std::ranges::find_if(columns, [&](const auto& one) { return one.name == name; });
    return found == columns.end() ? nullptr : &*found;
  };
  if (format.is_images()) {
    if (const Column* input = find(format.input)) require_image(*input, format, source);
    return;
  }
  const std::vector<Column> declared = format.is_text() ? token_columns(format.text) : record_columns(format.records);
  for (const Column& one : declared) {
    const Column* given = find(one.name);
    if (given == nullptr || (one.name == kLabelColumn && !format.labels_are_classes)) continue;
    const bool is_alike =
        given->type.shape == one.type.shape && is_float(given->type.dtype) == is_float(one.type.dtype);
    if (!is_alike) refuse(*given, source, print(one.type));
  }
}

}  // namespace partita
