#include "runtime/checkpoint/tensor_files.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/error.h"
#include "frontend/data/readers/test_files.h"
#include "runtime/checkpoint/weights.h"

namespace partita {
namespace {

class TensorFilesTest : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }
  template <class Refusal = InvalidFile>
  static std::string opening_refusal(const std::vector<std::string>& paths) {
    try {
      const TensorFiles files(paths);
      return "";
    } catch (const Refusal& error) {
      return error.what();
    }
  }
  TempDir folder_;
};

TEST_F(TensorFilesTest, TensorsOfSeveralFilesAreOneSet) {
  save_weights(path("a"), {{"x", Array({2, 2}, std::vector<float>{1, 2, 3, 4})}});
  save_weights(path("b"), {{"y", Array({3}, std::vector<int64_t>{5, 6, 7})}});
  const TensorFiles files({path("a"), path("b")});
  EXPECT_EQ(files.types().size(), 2u);
  EXPECT_EQ(files.path_of("y"), path("b"));
  double column[2] = {};
  files.read("x", {{0, 2, 2}, {1, 2, 2}}, DType::f64, column);
  EXPECT_EQ(column[0], 2);
  EXPECT_EQ(column[1], 4);
  int32_t last = 0;
  files.read("y", {{2, 3, 3}}, DType::i32, &last);
  EXPECT_EQ(last, 7);
  EXPECT_EQ(opening_refusal({}), "");
}

TEST_F(TensorFilesTest, FilesThatDoNotBelongTogetherAreRefused) {
  const Array one({1}, std::vector<float>{1});
  save_weights(path("a"), {{"x", one}});
  save_weights(path("b"), {{"x", one}});
  EXPECT_EQ(opening_refusal({path("a"), path("b")}),
            fmt::format("[weights] {}: tensor 'x' appears again, got another one in {}, expected each once", path("b"),
                        path("a")));
  save_weights(path("c.ckpt"), {{"x", one}});
  EXPECT_EQ(opening_refusal({path("c.ckpt")}),
            fmt::format("[weights] {}: another format, got a checkpoint of MindSpore, expected a safetensors file",
                        path("c.ckpt")));
  EXPECT_EQ(opening_refusal<MissingFile>({path("none")}),
            fmt::format("[weights] cannot open {}: No such file or directory", path("none")));
}

TEST_F(TensorFilesTest, TruncatedFilesAreRefused) {
  const Array large({256}, std::vector<float>(256, 1));
  save_weights(path("a"), {{"x", large}});
  const auto size = std::filesystem::file_size(path("a"));
  std::filesystem::resize_file(path("a"), size - 1);
  EXPECT_NE(opening_refusal({path("a")}).find("[weights] " + path("a") + ": "), std::string::npos);
  // One that shrinks after it was opened.
  save_weights(path("b"), {{"x", large}});
  const TensorFiles files({path("b")});
  std::filesystem::resize_file(path("b"), size - 4);
  float to[256];
  try {
    files.read("x", whole_box({256}), DType::f32, to);
    FAIL() << "read past the end";
  } catch (const InvalidFile& error) {
    EXPECT_NE(std::string(error.what()).find("tensor 'x' at offset"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("the file ended"), std::string::npos) << error.what();
  }
}

TEST_F(TensorFilesTest, IntegersAreNotFloats) {
  save_weights(path("a"), {{"x", Array({1}, std::vector<int64_t>{1})}});
  const TensorFiles files({path("a")});
  float to = 0;
  try {
    files.read("x", whole_box({1}), DType::f32, &to);
    FAIL();
  } catch (const InvalidFile& error) {
    EXPECT_EQ(std::string(error.what()),
              fmt::format("[weights] {}: tensor 'x' has another type, got i64[1], expected f32", path("a")));
  }
}

}  // namespace
}  // namespace partita
