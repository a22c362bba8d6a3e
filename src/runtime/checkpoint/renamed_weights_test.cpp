#include "runtime/checkpoint/renamed_weights.h"

#include <gtest/gtest.h>

#include <fstream>
#include <random>

#include "base/error.h"
#include "frontend/data/readers/test_files.h"
#include "runtime/checkpoint/weights.h"

namespace partita {
namespace {

using NamedArrayList = std::vector<std::pair<std::string, Array>>;

constexpr DType kFloats[] = {DType::f64, DType::f32, DType::bf16, DType::f16};

/// Returns the indices of element `at` of a dense array.
std::vector<int64_t> indices_of(int64_t at, const Shape& shape) {
  std::vector<int64_t> indices(shape.size());
  for (size_t d = shape.size(); d-- > 0; at /= shape[d]) indices[d] = at % shape[d];
  return indices;
}

int64_t place_of(const std::vector<int64_t>& indices, const Shape& shape) {
  int64_t at = 0;
  for (size_t d = 0; d < shape.size(); ++d) at = at * shape[d] + indices[d];
  return at;
}

/// A random rule: weights here and the same numbers as tensors there, laid out one element at a time.
struct RandomRule {
  explicit RandomRule(std::mt19937& random) : random_(random) {
    is_stacked = random() % 3 == 0;
    parts = is_stacked ? 1 : static_cast<int64_t>(1 + random() % 3);
    is_transposed = random() % 2 == 0;
    const size_t rank = (is_stacked || parts > 1 ? 1 : 0) + random() % 4;
    for (size_t d = 0; d < rank; ++d) shape.push_back(static_cast<int64_t>(1 + random() % 5));
    ones = random() % 3;
    for (int64_t part = 0; part < parts; ++part) weights.emplace_back(fmt::format("w.{}.3", part), random_array());
    make_tensors();
  }

  std::string table() const {
    std::string text;
    for (int64_t part = 0; part < parts; ++part) {
      text +=
          fmt::format("w.{}.{{i}} t.{{i+1}}{}{}", part, is_stacked ? ".{e}" : "", is_transposed ? " transposed" : "");
      text += parts > 1 ? fmt::format(" {}/{}\n", part, parts) : "\n";
    }
    return text;
  }
  std::vector<NamedType> types() const {
    std::vector<NamedType> types;
    for (const auto& [name, array] : weights) types.push_back({name, array.type()});
    return types;
  }

  bool is_stacked = false, is_transposed = false;
  int64_t parts = 1;
  size_t ones = 0;
  Shape shape;
  NamedArrayList weights, tensors;

 private:
  /// Numbers that all float types have.
  Array random_array() {
    Array array(Type{DType::f32, shape});
    for (int64_t i = 0; i < array.type().elements(); ++i) array.set(i, static_cast<double>(random_() % 256) / 4 - 32);
    return array;
  }
  void make_tensors() {
    const int64_t count = is_stacked ? shape[0] : 1;
    Shape own(shape.begin() + (is_stacked ? 1 : 0), shape.end());
    if (parts > 1) own[0] *= parts;
    const bool is_exchanged = is_transposed && own.size() >= 2;
    Shape there = own;
    if (is_exchanged) std::swap(there[there.size() - 1], there[there.size() - 2]);
    const DType dtype = kFloats[random_() % 4];
    for (int64_t e = 0; e < count; ++e) {
      Shape written = there;
      written.insert(written.begin(), ones, 1);
      Array tensor(Type{dtype, written});
      for (int64_t at = 0; at < tensor.type().elements(); ++at) {
        std::vector<int64_t> indices = indices_of(at, there);
        if (is_exchanged) std::swap(indices[indices.size() - 1], indices[indices.size() - 2]);
        size_t part = 0;
        if (parts > 1) {
          part = static_cast<size_t>(indices[0] / shape[0]);
          indices[0] %= shape[0];
        }
        if (is_stacked) indices.insert(indices.begin(), e);
        tensor.set(at, weights[part].second.at(place_of(indices, shape)));
      }
      tensors.emplace_back(is_stacked ? fmt::format("t.4.{}", e) : "t.4", std::move(tensor));
    }
  }

  std::mt19937& random_;
};

Box random_box(const Shape& shape, std::mt19937& random) {
  Box box;
  for (const int64_t size : shape) {
    const int64_t begin = static_cast<int64_t>(random() % static_cast<uint64_t>(size + 1));
    box.push_back({begin, begin + static_cast<int64_t>(random() % static_cast<uint64_t>(size - begin + 1)), size});
  }
  return box;
}

/// Expects a box of a weight to have the elements of the whole array.
void expect_box(const RenamedWeights& source, const std::string& name, const Array& whole, const Box& box,
                DType dtype) {
  Array part(Type{dtype, shape_of(box)});
  source.read(name, box, dtype, part.data());
  for (int64_t at = 0; at < part.type().elements(); ++at) {
    std::vector<int64_t> indices = indices_of(at, part.shape());
    for (size_t d = 0; d < box.size(); ++d) indices[d] += box[d].begin;
    ASSERT_EQ(part.at(at), whole.at(place_of(indices, whole.shape()))) << name << " element " << at;
  }
}

TEST(RenamedWeights, EveryBoxIsThatOfTheWholeWeight) {
  std::mt19937 random(11);
  const TempDir folder;
  for (int round = 0; round < 80; ++round) {
    const RandomRule rule(random);
    SCOPED_TRACE(fmt::format("round {}, table\n{}", round, rule.table()));
    // Tensors lie in up to three files.
    std::vector<NamedArrayList> files(1 + random() % 3);
    for (const auto& tensor : rule.tensors) files[random() % files.size()].push_back(tensor);
    std::vector<std::string> paths;
    for (size_t i = 0; i < files.size(); ++i) {
      paths.push_back((folder.path() / fmt::format("{}.safetensors", i)).string());
      save_weights(paths.back(), files[i]);
    }
    const RenamedWeights source(TensorFiles(paths), parse_name_table(rule.table(), "t.txt"), rule.types(), "folder");
    for (const auto& [name, array] : rule.weights) {
      ASSERT_TRUE(source.has(name));
      expect_box(source, name, array, whole_box(array.shape()), DType::f32);
      for (int i = 0; i < 6; ++i) {
        expect_box(source, name, array, random_box(array.shape(), random), kFloats[random() % 4]);
      }
    }
    EXPECT_FALSE(source.has("t.4"));
  }
}

class RenamedRefusals : public testing::Test {
 protected:
  std::string refusal(const std::string& table, const std::vector<NamedType>& weights, const NamedArrayList& tensors) {
    const std::string path = (folder_.path() / "w.safetensors").string();
    save_weights(path, tensors);
    try {
      const RenamedWeights source(TensorFiles({path}), parse_name_table(table, "t.txt"), weights, "folder");
      return "";
    } catch (const InvalidFile& error) {
      return error.what();
    }
  }
  TempDir folder_;
};

Array zeros_of(DType dtype, Shape shape) {
  Array array(Type{dtype, std::move(shape)});
  for (int64_t i = 0; i < array.type().elements(); ++i) array.set(i, 0);
  return array;
}

TEST_F(RenamedRefusals, MissingAndLeftOverTensorsAreNamed) {
  const NamedType weight{"h.0.w", {DType::f32, {2}}}, other{"h.1.w", {DType::f32, {2}}};
  const std::string table = "h.{i}.w layers.{i}.weight\nignored rotary.{i}\noptional model.\n";
  const Array two = zeros_of(DType::f32, {2});
  EXPECT_EQ(refusal(table, {weight}, {{"layers.0.weight", two}, {"rotary.3", two}}), "");
  EXPECT_EQ(refusal(table, {weight, other}, {{"layers.0.weight", two}, {"layers.1.wight", two}}),
            "[names] folder: the tensors are not those of the network, got 1 missing: 'h.1.w' ('layers.1.weight' "
            "there), nearest 'layers.1.wight'; 1 left over: layers.1.wight; expected 2 weights");
  EXPECT_EQ(refusal(table, {weight}, {{"layers.0.weight", two}, {"layers.1.weight", two}}),
            "[names] folder: the tensors are not those of the network, got 1 left over: layers.1.weight; expected 1 "
            "weights");
  EXPECT_EQ(refusal("a b", {weight}, {}),
            "[names] folder: the tensors are not those of the network, got 1 missing: 'h.0.w' (no rule); expected 1 "
            "weights");
  NamedArrayList many;
  for (int i = 0; i < 9; ++i) many.emplace_back(fmt::format("x{}", i), two);
  EXPECT_EQ(refusal("", {}, many),
            "[names] folder: the tensors are not those of the network, got 9 left over: x0, x1, x2, x3, x4 and 4 more; "
            "expected 0 weights");
  // One of the tensors of a stack; a part or a stack of a scalar.
  const NamedType stack{"s", {DType::f32, {2, 2}}}, scalar{"s", {DType::f32, {}}};
  EXPECT_NE(refusal("s e.{k}", {stack}, {{"e.0", two}}).find("1 missing: 's' ('e.0' there)"), std::string::npos);
  const Array one = zeros_of(DType::f32, {});
  EXPECT_NE(refusal("s e.{k}", {scalar}, {{"e.0", one}}).find("1 missing: 's'"), std::string::npos);
  EXPECT_NE(refusal("s e 0/2", {scalar}, {{"e", one}}).find("1 missing: 's'"), std::string::npos);
}

TEST_F(RenamedRefusals, TensorsOfAnotherShapeOrKindAreNamed) {
  const NamedType weight{"w", {DType::f32, {2, 3}}};
  const auto misfit = [](const std::string& got, const std::string& expected) {
    return fmt::format("[names] folder: tensor 't' does not fit 'w', got {}, expected {}", got, expected);
  };
  EXPECT_EQ(refusal("w t", {weight}, {{"t", zeros_of(DType::f16, {2, 3})}}), "");
  EXPECT_EQ(refusal("w t", {weight}, {{"t", zeros_of(DType::f32, {1, 1, 2, 3})}}), "");
  EXPECT_EQ(refusal("w t", {weight}, {{"t", zeros_of(DType::f32, {3, 2})}}), misfit("f32[3,2]", "f32[2,3]"));
  EXPECT_EQ(refusal("w t transposed", {weight}, {{"t", zeros_of(DType::f32, {2, 3})}}), misfit("f32[2,3]", "f32[3,2]"));
  EXPECT_EQ(refusal("w t 0/2", {weight}, {{"t", zeros_of(DType::f32, {2, 3})}}), misfit("f32[2,3]", "f32[4,3]"));
  EXPECT_EQ(refusal("w t", {weight}, {{"t", zeros_of(DType::f32, {6})}}), misfit("f32[6]", "f32[2,3]"));
  EXPECT_EQ(refusal("w t", {weight}, {{"t", zeros_of(DType::f32, {2, 2, 3})}}), misfit("f32[2,2,3]", "f32[2,3]"));
  EXPECT_EQ(refusal("w t", {weight}, {{"t", zeros_of(DType::i32, {2, 3})}}), misfit("i32[2,3]", "f32[2,3]"));
}

/// Returns the bytes that this thread has read from files.
int64_t bytes_read() {
  std::ifstream file("/proc/thread-self/io");
  std::string word;
  int64_t bytes = -1;
  file >> word >> bytes;
  return word == "rchar:" ? bytes : -1;
}

// A rank that has a box of a weight reads the bytes of the box, of rows, of columns and of a part of a tensor that is
// transposed.
TEST(RenamedWeights, ReadsTheBytesOfABoxAlone) {
  if (bytes_read() < 0) GTEST_SKIP() << "the system does not count bytes of threads";
  constexpr int64_t kRows = 1536, kColumns = 1024, kSlack = 4096;  // bytes of the counter itself
  const TempDir folder;
  const std::string path = (folder.path() / "w.safetensors").string();
  save_weights(path,
               {{"t", zeros_of(DType::f32, {kColumns, 3 * kRows})}, {"u", zeros_of(DType::f32, {kRows, kColumns})}});
  const Type type{DType::f32, {kRows, kColumns}};
  const int64_t before = bytes_read();
  const RenamedWeights source(
      TensorFiles({path}), parse_name_table("q t transposed 0/3\nk t transposed 1/3\nv t transposed 2/3\nu u", "t.txt"),
      {{"q", type}, {"k", type}, {"v", type}, {"u", type}}, "folder");
  EXPECT_LT(bytes_read() - before, kSlack) << "opening reads headers alone";
  std::vector<float> to(kRows * kColumns);
  for (const char* name : {"q", "v", "u"}) {
    for (const Box& box : {Box{{kRows / 4, kRows / 2, kRows}, {0, kColumns, kColumns}},
                           Box{{0, kRows, kRows}, {kColumns / 2, kColumns / 2 + kColumns / 8, kColumns}},
                           Box{{8, 16, kRows}, {16, 32, kColumns}}}) {
      const int64_t start = bytes_read();
      source.read(name, box, DType::f32, to.data());
      const int64_t bytes = bytes_read() - start, expected = elements_of(box) * 4;
      EXPECT_GE(bytes, expected) << name;
      EXPECT_LT(bytes, expected + kSlack) << name;
    }
  }
}

}  // namespace
}  // namespace partita
