#pragma once
// Families of models that folders of Hugging Face have, and the models here that are the same. Each family is a file.

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "runtime/checkpoint/name_table.h"
#include "zoo/hugging_face/config_json.h"

namespace partita {

/// Sizes of a model of the zoo, as texts by name.
using SizeTexts = std::map<std::string, std::string>;

/// The model of the zoo that a configuration describes.
struct DescribedModel {
  std::string zoo_name;
  SizeTexts sizes;
};

struct Family {
  std::string names;                     // its table of names: a file of names/
  std::vector<std::string> model_types;  // values of "model_type"
  std::vector<std::string> zoo_names;    // models of the zoo that it writes
  /// Returns the model. Throws InvalidFile, naming the value, for a configuration that the zoo has no model for.
  DescribedModel (*read)(const ConfigJson& config);
  /// Returns the configuration of a model with all of its sizes.
  nlohmann::ordered_json (*write)(const DescribedModel& model);
};

Family bert_family();
Family gpt2_family();
Family llama_family();
Family resnet_family();
Family vit_family();

/// Returns all families.
const std::vector<Family>& families();
/// Returns the table of names of a family.
NameTable table_of(const Family& family);

/// Prints a number so that reading it gives the number again.
std::string size_text(int64_t number);
std::string size_text(double number);
/// Return a size of a model, which has it, as a number.
int64_t size_of(const DescribedModel& model, const std::string& name);
double number_of(const DescribedModel& model, const std::string& name);

/// Returns the number of classes that a configuration names or counts.
int64_t classes_of(const ConfigJson& config);
/// Returns names for `count` classes, by their numbers as texts.
nlohmann::ordered_json class_names(int64_t count);

/// Returns the length of rows that a model takes unless another one is given: `longest`, but at most 1024.
int64_t usual_length(int64_t longest);

}  // namespace partita
