#include "runtime/checkpoint/ckpt_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "base/files.h"
#include "runtime/checkpoint/ckpt_index.h"
#include "support/places.h"

namespace partita {
namespace {

const std::filesystem::path kFiles = std::filesystem::path(kSourceDir) / "tests/mindspore/files";

std::string bytes_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class CkptFileTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        std::filesystem::temp_directory_path() /
        fmt::format("partita_ckpt_{}.{}", testing::UnitTest::GetInstance()->current_test_info()->name(), ::getpid());
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    path_ = (folder_ / "w.ckpt").string();
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& bytes) const { std::ofstream(path_, std::ios::binary) << bytes; }
  /// Returns why a file of these bytes is refused, without its path; "" if it is read.
  std::string refusal(const std::string& bytes) const {
    write(bytes);
    try {
      read_weights_file(path_);
      return "";
    } catch (const InvalidFile& error) {
      const std::string text = error.what(), begin = "[weights] " + path_ + ": ";
      return text.starts_with(begin) ? text.substr(begin.size()) : text;
    }
  }

  std::filesystem::path folder_;
  std::string path_;
};

std::vector<std::pair<std::string, Array>> some_tensors() {
  return {{"z.weight", Array({2, 3}, std::vector<float>{1, 2, 3, 4, 5, 6})},
          {"a", Array({}, std::vector<int64_t>{-9})},
          {"empty", Array(Type{DType::f64, {0, 4}})},
          {"half", Array({3}, std::vector<bf16>{bf16(1.0F), bf16(0.5F), bf16(-2.0F)})}};
}

/// "name" as a field of bytes: its tag, length and contents. Lengths are below 128.
std::string field(int number, const std::string& bytes) {
  return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(bytes.size())} + bytes;
}
std::string tensor(const std::string& dims, const std::string& type, const std::string& elements) {
  return dims + field(2, type) + field(3, elements);
}
std::string value(const std::string& name, const std::string& tensor) {
  return field(1, field(1, name) + field(2, tensor));
}

TEST_F(CkptFileTest, ReadsWhatMindSporeWrites) {
  const WeightsFile file = read_weights_file((kFiles / "types.ckpt").string());
  const auto type = [&](const char* name) { return print(file.tensors.at(name).type()); };
  EXPECT_EQ(type("float64"), "f64[2,3]");
  EXPECT_EQ(type("float32"), "f32[3,2]");
  EXPECT_EQ(type("bfloat16"), "bf16[5]");
  EXPECT_EQ(type("float16"), "f16[2,2]");
  EXPECT_EQ(type("int64"), "i64[2]");
  EXPECT_EQ(type("int32"), "i32[1,2]");
  EXPECT_EQ(type("uint8"), "u8[2]");
  EXPECT_EQ(type("uint32"), "u32[1]");
  EXPECT_EQ(type("bool"), "bool[3]");
  EXPECT_EQ(type("scalar"), "f32[]");
  for (const char* name : {"float64", "bfloat16", "float16", "int32", "bool"}) {
    const Array& array = file.tensors.at(name);
    for (int64_t i = 0; i < array.type().elements(); ++i) EXPECT_EQ(array.at(i), static_cast<double>(i % 2)) << name;
  }
  EXPECT_EQ(file.tensors.at("int64").at(1), 1099511627776.0);
  EXPECT_EQ(file.tensors.at("uint32").at(0), 4294967295.0);
  EXPECT_EQ(file.tensors.at("epoch").at(0), 7);
  EXPECT_EQ(file.tensors.at("rate").at(0), 0.5);
  EXPECT_EQ(file.tensors.size(), 13u);
  EXPECT_EQ(file.metadata, (Metadata{{"text:who", "Zoë, 東京"}, {"text:nothing", ""}}));
}

TEST_F(CkptFileTest, ReadsBackWhatItWrites) {
  const Metadata metadata{{"text:who", "Zoë"}, {"text:none", ""}, {"partita.config", "model = \"mlp\"\n"}};
  for (const bool crc : {false, true}) {
    save_weights(path_, some_tensors(), metadata, crc);
    const WeightsFile file = read_weights_file(path_);
    EXPECT_EQ(file.metadata, metadata);
    EXPECT_EQ(read_weights_metadata(path_), metadata);
    ASSERT_EQ(file.tensors.size(), 4u);
    for (const auto& [name, array] : some_tensors()) {
      const Array& got = file.tensors.at(name);
      ASSERT_EQ(got.type(), array.type()) << name;
      for (int64_t i = 0; i < array.type().elements(); ++i) EXPECT_EQ(got.at(i), array.at(i));
    }
    const std::string bytes = bytes_of(path_);
    EXPECT_EQ(bytes.substr(bytes.size() - std::min<size_t>(17, bytes.size()), 7) == "crc_num", crc);
  }
}

TEST_F(CkptFileTest, JoinsPartsOfAParameter) {
  const Array array({5}, std::vector<double>{1, 2, 3, 4, 5});
  write_ckpt(
      path_, {{"x", array.type()}, {"y", array.type()}}, [&](const std::string&, const auto& write) { write(array); },
      {}, true, 12);
  const File file(path_, O_RDONLY);
  const CkptIndex index = index_ckpt(file.fd(), static_cast<int64_t>(std::filesystem::file_size(path_)), path_);
  ASSERT_EQ(index.entries.size(), 2u);
  EXPECT_EQ(index.entries[0].parts.size(), 4u);
  for (const auto& [name, got] : load_weights(path_)) {
    for (int64_t i = 0; i < 5; ++i) EXPECT_EQ(got.at(i), static_cast<double>(i + 1)) << name;
  }
}

TEST_F(CkptFileTest, IsKnownByItsContentAndNotByItsName) {
  const std::string other = (folder_ / "w.safetensors").string();
  std::filesystem::copy_file(kFiles / "types.ckpt", other);
  EXPECT_EQ(load_weights(other).size(), 13u);
  std::filesystem::remove(other);
  save_weights(other, some_tensors());
  std::filesystem::rename(other, path_);
  EXPECT_EQ(load_weights(path_).size(), 4u);
  EXPECT_FALSE(is_ckpt(bytes_of(path_)));
}

TEST_F(CkptFileTest, RefusesByName) {
  EXPECT_EQ(refusal(bytes_of(kFiles / "uint64.ckpt")),
            "parameter 'q' at offset 0: elements of the type UInt64, which is not supported, expected a checkpoint of "
            "MindSpore");
  EXPECT_EQ(refusal(bytes_of(kFiles / "encrypted.ckpt")),
            "an encrypted checkpoint of MindSpore, expected a plain one: in MindSpore, "
            "save_checkpoint(load_checkpoint(FILE, dec_key=KEY), \"plain.ckpt\")");
  EXPECT_EQ(refusal(bytes_of(kFiles / "net.mindir")),
            "a MINDIR file, which holds a graph of MindSpore, expected a checkpoint: in MindSpore, "
            "save_checkpoint(nn.GraphCell(load(FILE)), \"net.ckpt\")");
  EXPECT_EQ(refusal("no checkpoint, but some text"),
            "neither a checkpoint of MindSpore nor a safetensors file, got 28 other bytes");
  EXPECT_EQ(refusal(field(1, field(1, "map") + field(3, field(1, tensor("", "int32", ""))))),
            "parameter 'map' at offset 0: it is a hash table (MapParameter), which is not supported, expected a "
            "checkpoint of MindSpore");
}

TEST_F(CkptFileTest, SaysWhatIsWrong) {
  const std::string one = value("x", tensor("\x08\x02", "UInt8", "ab"));
  EXPECT_EQ(refusal(one), "");
  const auto refused = [&](const std::string& bytes, const std::string& text) {
    EXPECT_NE(refusal(bytes).find(text), std::string::npos) << refusal(bytes);
  };
  refused(one + value("y", tensor("\x08\x03", "UInt8", "ab")), "'y' at offset 38: 2 bytes of elements for u8[3]");
  refused(one + one + value("y", tensor("", "UInt8", "a")), "4 bytes of elements for u8[2], which has 2");
  refused(one + value("y", tensor("", "UInt8", "a")) + one, "'x' at offset 37: the name appears twice");
  refused(one + value("x", tensor("\x08\x02", "Bool", "ab")), "'x' at offset 20: parts of different types");
  refused(value("x", tensor("\x08\x02", "Bool", "\x01\x02")), "'x' of the type Bool has an element that is neither");
  refused(one + value("s", tensor("", "str", "abc")), "parameter 's' is not UTF-32, expected a string");
  refused(one + field(1, field(1, "y")), "'y' at offset 20: a value without a name or a tensor");
  refused(one + field(1, field(1, "y") + field(2, field(2, "Bool"))), "'y' at offset 20: a tensor without a type or");
  refused(one + field(1, field(1, "\xff") + field(2, "")), "the text '?' is not UTF-8");
  refused(one + field(5, "what"), "at offset 20: unknown field 5");
  refused(one.substr(0, one.size() - 1), "at offset 0: a value of 18 bytes, of which the file has 17");
  refused(one + one.substr(0, one.size() - 1), "at offset 20: a value of 18 bytes, of which the file has 17");
  std::string dims;
  for (int i = 0; i < 21; ++i) dims += "\x08\x01";
  refused(value("x", tensor(dims, "UInt8", "a")), "more than 20 dimensions");
  const std::string text = "\xc2\x3e\x06" + field(1, "k") + field(2, "v");
  refused(one + text + text, "at offset 29: the text 'k' appears twice");
  const std::string checksum = field(1, kCkptChecksum) + field(2, "0");
  refused(one + "\xc2\x3e" + std::string(1, static_cast<char>(checksum.size())) + checksum + text,
          "at offset 20: the checksum is not at the end");
  refused(one + field(1, field(1, "y") + "\x12\x7f"), "at offset 20: the file is truncated or damaged");
  // Sizes whose product is beyond an int64_t, and a negative one.
  const std::string huge = "\x08\xff\xff\xff\xff\xff\xff\xff\xff\x7f";
  refused(value("x", tensor(huge + huge, "UInt8", "a")), "a bad shape");
  refused(value("x", tensor("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "UInt8", "a")), "a bad shape [-1]");
}

TEST_F(CkptFileTest, AHugeLengthIsRefused) {
  const std::string one = value("x", tensor("\x08\x02", "UInt8", "ab"));
  const std::string length = "\xff\xff\xff\xff\xff\xff\xff\x7f";
  EXPECT_NE(refusal(one + "\x0a" + length).find("of which the file has 0"), std::string::npos);
  const std::string many = "\x08\xff\xff\xff\xff\xff\x7f";  // 2^42 elements, of which there are two
  EXPECT_NE(refusal(value("x", tensor(many, "UInt8", "ab"))).find("2 bytes of elements for"), std::string::npos);
}

TEST_F(CkptFileTest, AChangedByteIsFound) {
  for (const bool crc : {false, true}) {
    save_weights(path_, some_tensors(), {}, crc);
    std::string bytes = bytes_of(path_);
    const size_t at = bytes.find("Float32") + 12;  // in the elements
    bytes[at] = static_cast<char>(bytes[at] ^ 4);
    EXPECT_NE(refusal(bytes).find("the file is damaged, got the checksum "), std::string::npos) << refusal(bytes);
  }
  std::string bytes = bytes_of(kFiles / "types.ckpt");
  bytes[bytes.find("Float64") + 20] ^= 1;
  EXPECT_NE(refusal(bytes).find("the file is damaged"), std::string::npos);
}

TEST_F(CkptFileTest, NamesAreUtf8) {
  EXPECT_THROW(save_weights(path_, {{"\xff", Array({}, std::vector<float>{1})}}), InvalidArgument);
  EXPECT_THROW(save_weights(path_, {}, {{"key", "\xc3"}}), InvalidArgument);
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(CkptFileTest, ThousandChangedFilesAreReadOrRefused) {
  std::vector<std::string> right;
  for (const char* name : {"types.ckpt", "adam.ckpt", "momentum.ckpt"}) right.push_back(bytes_of(kFiles / name));
  save_weights(path_, some_tensors(), {{"text:a", "b"}, {"key", "text"}});
  right.push_back(bytes_of(path_));
  for (size_t i = 0; i < 3; ++i) {
    // Removes the checksum, so that changes are not refused because of it.
    if (right[i].size() > 17 && right[i].substr(right[i].size() - 17, 7) == "crc_num")
      right[i].resize(right[i].size() - 17);
  }
  std::mt19937_64 random(7);
  const auto below = [&](size_t count) { return static_cast<size_t>(random() % count); };
  int accepted = 0;
  for (int round = 0; round < 1000; ++round) {
    std::string bytes = right[below(right.size())];
    for (size_t changes = 1 + below(3); changes > 0; --changes) {
      const size_t at = below(bytes.size());
      switch (below(4)) {
        case 0: bytes[at] = static_cast<char>(random()); break;
        case 1: bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8))); break;
        case 2: bytes.erase(at, 1 + below(std::min<size_t>(20, bytes.size() - at))); break;
        default: bytes.insert(at, bytes.substr(below(bytes.size()), below(20)));
      }
      if (bytes.empty()) bytes = "\n";
    }
    write(bytes);
    try {
      size_t total = 0;
      for (const auto& [name, array] : load_weights(path_)) total += static_cast<size_t>(array.type().bytes());
      EXPECT_LE(total, bytes.size());
      ++accepted;
    } catch (const InvalidFile& error) {
      EXPECT_TRUE(std::string(error.what()).starts_with("[weights] " + path_)) << error.what();
    }
  }
  EXPECT_GT(accepted, 50);  // changes of elements
  EXPECT_LT(accepted, 900);
}

}  // namespace
}  // namespace partita
