#include "runtime/checkpoint/safetensors_header.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "base/plain_numbers.h"
#include "runtime/checkpoint/json_text.h"

namespace partita {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kMetadata = "__metadata__";
constexpr size_t kMaxTensors = 1'000'000;
constexpr size_t kMaxTexts = 2 * kMaxTensors + 1000;  // metadata entries; a checkpoint's file has two per tensor

constexpr std::pair<DType, std::string_view> kTensorTypes[] = {
    {DType::f64, "F64"},      {DType::f32, "F32"}, {DType::bf16, "BF16"}, {DType::f16, "F16"},
    {DType::i64, "I64"},      {DType::i32, "I32"}, {DType::u8, "U8"},     {DType::u32, "U32"},
    {DType::boolean, "BOOL"}, {DType::i8, "I8"},   {DType::i16, "I16"},   {DType::u16, "U16"}};

/// A name from the file, fit for an error message: its first 80 bytes, then "..." if it is longer. A control character
/// becomes "?".
std::string shown(std::string_view name) {
  std::string text(name.substr(0, 80));
  for (char& letter : text) {
    if (static_cast<unsigned char>(letter) < 0x20 || letter == 0x7f) letter = '?';
  }
  return name.size() > 80 ? text + "..." : text;
}

/// Accepts exactly the two levels of the format, token by token. Builds nothing from the text but the places of tensors
/// and the metadata.
class HeaderReader {
 public:
  using number_integer_t = Json::number_integer_t;
  using number_unsigned_t = Json::number_unsigned_t;
  using number_float_t = Json::number_float_t;
  using string_t = Json::string_t;
  using binary_t = Json::binary_t;

  std::vector<TensorPlace> places;
  Metadata metadata;
  std::string error;

  bool start_object(size_t) {
    if (level_ == Level::outside) return enter(Level::root);
    if (level_ == Level::root && pending_) {
      pending_ = false;
      return enter(metadata_ ? Level::metadata : Level::tensor);
    }
    return fail("an object in a wrong place");
  }
  bool end_object() {
    if (level_ == Level::root) return enter(Level::done);
    if (level_ == Level::tensor && (!has_dtype_ || !has_shape_ || !has_offsets_)) {
      return fail("a field is missing, expected dtype, shape and data_offsets");
    }
    return enter(Level::root);
  }
  bool key(string_t& name) {
    if (level_ == Level::root) return begin_entry(name);
    if (level_ == Level::metadata) {
      metadata_key_ = name;
      if (metadata.size() == kMaxTexts) return fail(fmt::format("more than {} texts of metadata", kMaxTexts));
      return metadata.emplace(name, "").second || fail("key '" + shown(name) + "' appears twice");
    }
    field_ = name;
    bool* const seen = field_ == "dtype"          ? &has_dtype_
                       : field_ == "shape"        ? &has_shape_
                       : field_ == "data_offsets" ? &has_offsets_
                                                  : nullptr;
    if (seen == nullptr) return fail("unknown field '" + shown(name) + "'");
    if (*seen) return fail("field '" + field_ + "' appears twice");
    return *seen = true;
  }
  bool string(string_t& value) {
    if (level_ == Level::metadata) {
      metadata[metadata_key_] = value;
      return true;
    }
    if (level_ != Level::tensor || field_ != "dtype") return fail("a string in a wrong place");
    for (const auto& [dtype, name] : kTensorTypes) {
      if (name != value) continue;
      places.back().type.dtype = dtype;
      return true;
    }
    return fail("unknown dtype '" + shown(value) + "'");
  }
  bool start_array(size_t) {
    if (level_ != Level::tensor || field_ == "dtype") return fail("a list in a wrong place");
    offsets_ = 0;
    return enter(Level::list);
  }
  bool end_array() {
    if (field_ == "data_offsets" && offsets_ != 2) return fail("data_offsets does not have two numbers");
    return enter(Level::tensor);
  }
  bool number_unsigned(number_unsigned_t value) {
    if (level_ != Level::list) return fail("a number in a wrong place");
    if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      return fail(fmt::format("number {} is too large", value));
    }
    const auto number = static_cast<int64_t>(value);
    if (field_ == "shape") {
      if (places.back().type.rank() == kMaxDims) return fail(fmt::format("more than {} dimensions", kMaxDims));
      places.back().type.shape.push_back(number);
      return true;
    }
    (offsets_ == 0 ? places.back().begin : places.back().end) = number;
    return ++offsets_ <= 2 || fail("data_offsets does not have two numbers");
  }
  bool number_integer(number_integer_t value) { return fail(fmt::format("negative number {}", value)); }
  bool number_float(number_float_t, const string_t& text) {
    return fail("number " + shown(text) + " is not an integer");
  }
  bool null() { return fail("null in a wrong place"); }
  bool boolean(bool) { return fail("a truth value in a wrong place"); }
  bool binary(binary_t&) { return fail("binary data in a wrong place"); }
  bool parse_error(size_t position, const std::string&, const nlohmann::detail::exception&) {
    if (error.empty()) error = fmt::format("header is not JSON at offset {}", 8 + position);
    return false;
  }

 private:
  enum class Level { outside, root, tensor, metadata, list, done };

  bool enter(Level level) {
    level_ = level;
    return true;
  }
  bool begin_entry(const std::string& name) {
    metadata_ = name == kMetadata;
    pending_ = true;
    if (!names_.insert(name).second) return fail("name '" + shown(name) + "' appears twice");
    if (metadata_) return true;
    if (places.size() == kMaxTensors) return fail(fmt::format("more than {} tensors", kMaxTensors));
    places.push_back({name, {}, 0, 0});
    has_dtype_ = has_shape_ = has_offsets_ = false;
    return true;
  }
  bool fail(const std::string& reason) {
    const bool in_tensor = level_ == Level::tensor || level_ == Level::list;
    error = in_tensor ? "tensor '" + shown(places.back().name) + "': " + reason : "header: " + reason;
    return false;
  }

  Level level_ = Level::outside;
  bool pending_ = false, metadata_ = false;  // pending_: a name of the root was read, its object comes next
  bool has_dtype_ = false, has_shape_ = false, has_offsets_ = false;
  int offsets_ = 0;
  std::string field_, metadata_key_;
  std::unordered_set<std::string> names_;
};

/// Bytes of a type, or nothing on overflow.
std::optional<int64_t> checked_bytes(const Type& type) {
  int64_t bytes = static_cast<int64_t>(size_of(type.dtype));
  for (int64_t dim : type.shape) {
    if (__builtin_mul_overflow(bytes, dim, &bytes)) return std::nullopt;
  }
  return bytes;
}

}  // namespace

std::string print_safetensors_header(const std::vector<TensorPlace>& places, const Metadata& metadata) {
  // Appends text directly instead of building a document, since metadata can be long.
  size_t bytes = 2;
  for (const auto& [key, value] : metadata) bytes += key.size() + value.size() + 16;
  std::string text = "{";
  text.reserve(bytes + 128 * places.size());
  const auto add_key = [&text](const std::string& key) {
    if (text.back() != '{') text += ',';
    append_json(text, key);
    text += ':';
  };
  if (!metadata.empty()) {
    add_key(kMetadata);
    text += '{';
    for (const auto& [key, value] : metadata) {
      add_key(key);
      append_json(text, value);
    }
    text += '}';
  }
  for (const TensorPlace& place : places) {
    const auto* name = std::find_if(std::begin(kTensorTypes), std::end(kTensorTypes),
                                    [&](const auto& entry) { return entry.first == place.type.dtype; });
    add_key(place.name);
    fmt::format_to(std::back_inserter(text), R"({{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})", name->second,
                   fmt::join(place.type.shape, ","), place.begin, place.end);
  }
  text += '}';
  text.resize((text.size() + 7) / 8 * 8, ' ');
  return text;
}

SafetensorsHeader parse_safetensors_header(std::string_view text, int64_t data_bytes, const std::string& path) {
  const auto refuse = [&](const std::string& reason) { throw InvalidFile("[weights] {}: {}", path, reason); };
  if (text.empty() || text[0] != '{') refuse("header does not start with '{' at offset 8");
  HeaderReader reader;
  const PlainNumbers plain;
  if (!Json::sax_parse(text, &reader)) refuse(reader.error);

  auto& places = reader.places;
  std::ranges::stable_sort(places, [](const TensorPlace& a, const TensorPlace& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  int64_t next = 0;
  for (const TensorPlace& place : places) {
    const std::string where = "tensor '" + shown(place.name) + "': ";
    if (place.begin != next) {
      refuse(where + fmt::format("hole or overlap, got offset {}, expected {}", place.begin, next));
    }
    const auto bytes = checked_bytes(place.type);
    if (!bytes) refuse(where + fmt::format("shape {} is too large", print(place.type.shape)));
    if (place.end < place.begin || place.end - place.begin != *bytes) {
      refuse(where + fmt::format("wrong data_offsets, got [{}, {}], expected {} bytes for {}", place.begin, place.end,
                                 *bytes, print(place.type)));
    }
    next = place.end;
  }
  if (next != data_bytes) {
    refuse(fmt::format("wrong length, got {} bytes of tensors, expected {}", data_bytes, next));
  }
  return {std::move(places), std::move(reader.metadata)};
}

}  // namespace partita
