#include "zoo/zoo.h"

#include <algorithm>

#include "base/plain_text.h"
#include "frontend/network/adapters.h"
#include "zoo/hugging_face/folder.h"
#include "zoo/models.h"

namespace partita {
namespace {

struct Entry {
  std::string name;
  ZooModel (*make)(ModelSizes&);
};

const std::vector<Entry>& entries() {
  static const std::vector<Entry> list{{"mlp", make_mlp},
                                       {"lenet", make_lenet},
                                       {"resnet18", make_resnet18},
                                       {"resnet50", make_resnet50},
                                       {"resnet101", make_resnet101},
                                       {"resnet152", make_resnet152},
                                       {"wide_resnet", make_wide_resnet},
                                       {"inception", make_inception},
                                       {"vit", make_vit},
                                       {"gpt", make_gpt},
                                       {"moe", make_moe},
                                       {"llama", make_llama},
                                       {"bert", make_bert},
                                       {"t5", make_t5},
                                       {"recommender", make_recommender},
                                       {"quickstart", make_quickstart}};
  return list;
}

/// Options after the colon of a model's name.
struct GivenSizes {
  std::string published;  // the first item, if it is not name=value
  std::vector<std::pair<std::string, std::string>> options;
};

GivenSizes parse_sizes(const std::string& spec, size_t colon) {
  GivenSizes given;
  auto& options = given.options;
  for (size_t begin = colon + 1; colon != std::string::npos && begin <= spec.size();) {
    const size_t end = std::min(spec.find(',', begin), spec.size());
    const std::string item = spec.substr(begin, end - begin);
    const size_t equals = item.find('=');
    if (begin == colon + 1 && equals == std::string::npos && !item.empty()) {
      given.published = item;
      begin = end + 1;
      continue;
    }
    if (equals == std::string::npos || equals == 0) {
      throw InvalidArgument("[model] bad option, got '{}' in '{}', expected name=value", item, spec);
    }
    const std::string name = item.substr(0, equals);
    for (const auto& [given, text] : options) {
      if (given != name) continue;
      throw InvalidArgument("[model] option '{}' appears twice in '{}', expected once", name, spec);
    }
    options.emplace_back(name, item.substr(equals + 1));
    begin = end + 1;
  }
  return given;
}

template <class T>
T in_range(const std::string& model, const std::string& name, const std::string& text, T low, T high) {
  T value{};
  try {
    from_text(text, value);
  } catch (const Error&) {
    throw InvalidArgument("[{}] option '{}' is not a number, got '{}', expected {} to {}", model, name, text, low,
                          high);
  }
  if (!(value >= low && value <= high)) {
    throw InvalidArgument("[{}] option '{}' is outside its range, got {}, expected {} to {}", model, name, text, low,
                          high);
  }
  return value;
}

/// Makes the model of a folder. Throws InvalidFile, naming its file, if no sizes of the user are among those that are
/// refused, and as make_model does.
ZooModel made_of_folder(const HuggingFaceModel& found) {
  try {
    return make_model(found.spec);
  } catch (const InvalidArgument& error) {
    if (found.has_own_sizes) throw;
    throw InvalidFile("[hugging_face] {}/{}: the model cannot be built: {}", found.folder, kHuggingFaceConfig,
                      error.what());
  }
}

/// Adds what fine-tuning adds, if its options are given.
void adapt(ZooModel& model, ModelSizes& options) {
  AdapterOptions adapters{.rank = options.integer("lora", 0, 0, 1 << 16)};
  adapters.alpha = options.number("lora_alpha", 2 * static_cast<double>(adapters.rank), 0, 1e6);
  const std::vector<std::string> layers = options.words("lora_layers", "q+v");
  for (const char* name : {"lora_alpha", "lora_layers"}) {
    if (adapters.rank > 0 || !options.is_given(name)) continue;
    throw InvalidArgument("[lora] {} has no effect, got no rank, expected lora=RANK, too", name);
  }
  if (adapters.rank > 0) adapters.layers = layers;
  adapters.frozen = options.words("frozen", "");
  if (adapters.rank > 0 || !adapters.frozen.empty()) model.layers = adapted(model.layers, std::move(adapters));
}

}  // namespace

const std::string* ModelSizes::find(const std::string& name) {
  known_.push_back(name);
  for (const auto& [given, text] : given_) {
    if (given == name) return &text;
  }
  return nullptr;
}

size_t ModelSizes::find_published(const std::vector<std::string>& names) {
  has_published_ = true;
  if (published_.empty()) return names.size();
  const auto found = std::ranges::find(names, published_);
  if (found != names.end()) return static_cast<size_t>(found - names.begin());
  throw unknown_name(fmt::format("[{}] unknown size", model_), published_,
                     fmt::format("name=value or one of [{}]", fmt::join(names, ", ")), names);
}

int64_t ModelSizes::integer(const std::string& name, int64_t fallback, int64_t low, int64_t high) {
  const std::string* text = find(name);
  const int64_t value = text ? in_range<int64_t>(model_, name, *text, low, high) : fallback;
  taken_[name] = fmt::format("{}", value);
  return value;
}

double ModelSizes::number(const std::string& name, double fallback, double low, double high) {
  const std::string* text = find(name);
  const double value = text ? in_range<double>(model_, name, *text, low, high) : fallback;
  taken_[name] = fmt::format("{}", value);
  return value;
}

bool ModelSizes::is_given(const std::string& name) const {
  return std::ranges::any_of(given_, [&](const auto& one) { return one.first == name; });
}

std::vector<std::string> ModelSizes::words(const std::string& name, const std::string& fallback) {
  const std::string* text = find(name);
  const std::string& given = text ? *text : fallback;
  taken_[name] = given;
  std::vector<std::string> words;
  for (const std::string_view word : split_words(given, "+")) words.emplace_back(word);
  return words;
}

void ModelSizes::check_all_used() const {
  if (!published_.empty() && !has_published_) {
    throw InvalidArgument("[{}] the model has no published sizes, got '{}', expected name=value", model_, published_);
  }
  for (const auto& [given, text] : given_) {
    if (std::ranges::find(known_, given) != known_.end()) continue;
    throw unknown_name(fmt::format("[{}] unknown option", model_), given,
                       fmt::format("one of [{}]", fmt::join(known_, ", ")), known_);
  }
}

std::vector<Column> ZooModel::columns(DType dtype) const {
  if (own_rows == nullptr) {
    RowFormat format = rows;
    format.dtype = dtype;
    return columns_of(DataSource(), format);
  }
  std::vector<Column> columns = own_rows->columns();
  for (Column& column : columns) {
    if (is_float(column.type.dtype)) column.type.dtype = dtype;
  }
  return columns;
}

RowFormat text_format(int64_t tokens, int64_t vocabulary) {
  return {.input = "tokens", .text = {.tokens = tokens}, .classes = vocabulary};
}

RowFormat image_format(const Shape& image, int64_t classes) {
  return {.input_shape = image, .image = Type{DType::u8, {image.at(1), image.at(2), image.at(0)}}, .classes = classes};
}

std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (const Entry& entry : entries()) names.push_back(entry.name);
  return names;
}

ZooModel make_model(const std::string& spec) {
  if (spec.starts_with(kHuggingFace)) {
    const HuggingFaceModel found = read_hugging_face_model(spec);
    ZooModel model = made_of_folder(found);
    model.recipe.files.load = std::string(kHuggingFace) + found.folder;
    model.recipe.files.load_is_recipe = true;
    return model;
  }
  const size_t colon = spec.find(':');
  const std::string name = spec.substr(0, colon);
  for (const Entry& entry : entries()) {
    if (entry.name != name) continue;
    GivenSizes given = parse_sizes(spec, colon);
    ModelSizes options(name, std::move(given.published), std::move(given.options));
    ZooModel model = entry.make(options);
    adapt(model, options);
    options.check_all_used();
    model.sizes = options.taken();
    model.recipe.model = spec;
    return model;
  }
  throw unknown_name("[model] unknown model", name, fmt::format("one of [{}]", fmt::join(model_names(), ", ")),
                     model_names());
}

}  // namespace partita
