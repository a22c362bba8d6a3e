#include "runtime/checkpoint/documented_names.h"

#include <gtest/gtest.h>

namespace partita {
namespace {

using Tensors = std::map<std::string, Array>;

Array numbered(float value, const Shape& shape = {2}) {
  Array array(Type{DType::f32, shape});
  if (array.type().elements() > 0) array.set(0, value);
  return array;
}

std::vector<std::string> names_of(const Tensors& tensors) {
  std::vector<std::string> names;
  for (const auto& [name, array] : tensors) names.push_back(name);
  return names;
}

TEST(DocumentedNames, NormsAndEmbeddingsGetTheExpectedNames) {
  Tensors tensors{{"bn.gamma", numbered(1)},
                  {"bn.beta", numbered(2)},
                  {"bn.moving_mean", numbered(3)},
                  {"bn.moving_variance", numbered(4)},
                  {"words.embedding_table", numbered(5)},
                  {"gamma", numbered(6)},
                  {"other.gamma", numbered(7)},
                  {"other.weight", numbered(8)}};
  use_expected_names(
      tensors, {"bn.weight", "bn.bias", "bn.running_mean", "bn.running_var", "words.weight", "weight", "other.weight"});
  EXPECT_EQ(names_of(tensors), (std::vector<std::string>{"bn.bias", "bn.running_mean", "bn.running_var", "bn.weight",
                                                         "other.gamma", "other.weight", "weight", "words.weight"}));
  EXPECT_EQ(tensors.at("words.weight").at(0), 5);
  EXPECT_EQ(tensors.at("other.weight").at(0), 8);
  Tensors own{{"bn.gamma", numbered(1)}};
  use_expected_names(own, {"bn.gamma", "bn.weight"});
  EXPECT_EQ(names_of(own), (std::vector<std::string>{"bn.gamma"})) << "it is a parameter itself";
}

TEST(DocumentedNames, StatesOfOptimizersAreTakenOut) {
  Tensors tensors{{"fc.weight", numbered(1)},          {"moments.fc.weight", numbered(2)},
                  {"moments.fc.other", numbered(3)},   {"global_step", numbered(1, {1})},
                  {"learning_rate", numbered(1, {9})}, {"epoch", numbered(1, {})},
                  {"scale", numbered(1, {1})},         {"fc.scale", numbered(1, {})}};
  EXPECT_EQ(take_training_states(tensors, {"fc.weight", "scale"}), (std::vector<std::string>{"moments.fc.weight"}));
  EXPECT_EQ(names_of(tensors), (std::vector<std::string>{"fc.scale", "fc.weight", "moments.fc.other", "scale"}));
}

}  // namespace
}  // namespace partita
