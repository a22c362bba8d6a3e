#include "zoo/hugging_face/family.h"

#include <algorithm>

#include "base/error.h"
#include "base/fields.h"
#include "zoo/hugging_face/name_texts.h"

namespace partita {

const std::vector<Family>& families() {
  static const std::vector<Family> list{gpt2_family(), llama_family(), bert_family(), vit_family(), resnet_family()};
  return list;
}

NameTable table_of(const Family& family) {
  for (const EmbeddedText& text : name_texts()) {
    if (text.name == family.names) return parse_name_table(text.text, family.names);
  }
  throw InternalError("no table of names {}", family.names);
}

std::string size_text(int64_t number) { return fmt::format("{}", number); }
std::string size_text(double number) { return fmt::format("{}", number); }

int64_t size_of(const DescribedModel& model, const std::string& name) {
  int64_t value = 0;
  from_text(model.sizes.at(name), value);
  return value;
}

double number_of(const DescribedModel& model, const std::string& name) {
  double value = 0;
  from_text(model.sizes.at(name), value);
  return value;
}

int64_t classes_of(const ConfigJson& config) {
  constexpr int64_t kUsualClasses = 2;  // that a configuration without names and number stands for
  const int64_t names = config.object("id2label").size();
  return names > 0 ? names : config.integer("num_labels", kUsualClasses);
}

nlohmann::ordered_json class_names(int64_t count) {
  nlohmann::ordered_json names = nlohmann::ordered_json::object();
  for (int64_t i = 0; i < count; ++i) names[fmt::format("{}", i)] = fmt::format("LABEL_{}", i);
  return names;
}

int64_t usual_length(int64_t longest) { return std::min<int64_t>(longest, 1024); }

}  // namespace partita
