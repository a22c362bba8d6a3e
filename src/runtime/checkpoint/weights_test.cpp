#include "runtime/checkpoint/weights.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "base/error.h"

namespace partita {
namespace {

class WeightsTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        std::filesystem::temp_directory_path() /
        fmt::format("partita_weights_{}.{}", testing::UnitTest::GetInstance()->current_test_info()->name(), ::getpid());
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    path_ = (folder_ / "w.safetensors").string();
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& bytes) const { std::ofstream(path_, std::ios::binary) << bytes; }
  std::string read() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void write_header(const std::string& header, size_t data_bytes) const {
    const uint64_t size = header.size();
    write(std::string(reinterpret_cast<const char*>(&size), 8) + header + std::string(data_bytes, '\0'));
  }
  /// The refusal, or "" when the file was taken.
  std::string refusal() const {
    try {
      load_weights(path_);
      return "";
    } catch (const InvalidFile& error) {
      return error.what();
    }
  }

  std::filesystem::path folder_;
  std::string path_;
};

std::vector<std::pair<std::string, Array>> some_weights() {
  return {{"id", Array({3}, std::vector<uint8_t>{1, 2, 3})},
          {"fc.weight", Array({2, 2}, std::vector<float>{1, 2, 3, 4.5f})},
          {"empty", Array(Type{DType::f32, {0, 4}})},
          {"step", Array({}, std::vector<int64_t>{9})}};
}

TEST_F(WeightsTest, ComeBackAsTheyWere) {
  save_weights(path_, some_weights());
  save_weights(path_, some_weights());
  const auto loaded = load_weights(path_);
  ASSERT_EQ(loaded.size(), 4u);
  for (const auto& [name, array] : some_weights()) {
    const Array& other = loaded.at(name);
    ASSERT_EQ(other.type(), array.type()) << name;
    if (array.type().bytes() == 0) continue;  // no memory to compare
    EXPECT_EQ(std::memcmp(other.data(), array.data(), static_cast<size_t>(array.type().bytes())), 0);
  }
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
}

TEST_F(WeightsTest, NamesThatAreNotUtf8AreRefused) {
  save_weights(path_, some_weights());
  const std::string before = read();
  const std::vector<std::pair<std::string, Array>> named{{"fc.\xff", Array({1}, std::vector<float>{1})}};
  try {
    save_weights(path_, named);
    FAIL() << "written";
  } catch (const InvalidArgument& error) {
    EXPECT_STREQ(error.what(), "[checkpoint] a name or text is not UTF-8, got other bytes in \"fc.\", expected UTF-8");
  }
  EXPECT_THROW(save_weights(path_, some_weights(), {{"note", "\xc3("}}), InvalidArgument);
  EXPECT_EQ(read(), before);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
}

TEST_F(WeightsTest, RemoveWhatKilledProcessesLeft) {
  const pid_t ended = ::fork();  // its number is free again, and not used so soon
  if (ended == 0) ::_exit(0);
  ASSERT_EQ(::waitpid(ended, nullptr, 0), ended);
  const auto left = [&](const std::string& rest) { return path_ + rest; };
  const std::vector<std::string> removed{left(fmt::format(".tmp-{}-aB3xYz", ended)),
                                         left(fmt::format(".tmp-{}-000000", ended)),
                                         left(fmt::format(".tmp-{}-aaaaaa", ::getpid()))};
  const std::vector<std::string> kept{left(fmt::format(".tmp-{}-aB3xYzz", ended)),
                                      left(fmt::format(".tmp-{}", ended)),
                                      left(fmt::format(".tmp--{}-aB3xYz", ended)),
                                      left(".tmp-aB3xYz"),
                                      left(".tmp-1-aB3xYz"),  // process 1 runs always
                                      left(fmt::format("2.tmp-{}-aB3xYz", ended)),
                                      left(fmt::format(".tmp-{}-locked", ended))};
  for (const auto* paths : {&removed, &kept}) {
    for (const std::string& path : *paths) std::ofstream(path) << "left";
  }
  const int locked = ::open(kept.back().c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(::flock(locked, LOCK_EX), 0);
  check_writable(path_);
  for (const std::string& path : removed) EXPECT_FALSE(std::filesystem::exists(path)) << path;
  for (const std::string& path : kept) EXPECT_TRUE(std::filesystem::exists(path)) << path;
  ::close(locked);
  save_weights(path_, some_weights());
  EXPECT_FALSE(std::filesystem::exists(kept.back()));
}

TEST_F(WeightsTest, FollowTheFormat) {
  save_weights(path_, some_weights());
  const std::string bytes = read();
  uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, bytes.data(), 8);
  EXPECT_EQ(header_bytes % 8, 0u);
  EXPECT_EQ(bytes.size(), 8 + header_bytes + 8 + 16 + 3);
  EXPECT_LT(bytes.find("\"step\":{"), bytes.find("\"fc.weight\":{"));  // wide elements first: all are aligned
}

TEST_F(WeightsTest, EveryTruncationIsFound) {
  save_weights(path_, some_weights());
  const std::string bytes = read();
  for (size_t length = 0; length < bytes.size(); ++length) {
    write(bytes.substr(0, length));
    EXPECT_NE(refusal(), "") << length;
  }
}

/// Whether the file gives these tensors, bit for bit.
bool are_same(const std::map<std::string, Array>& loaded, const std::vector<std::pair<std::string, Array>>& weights) {
  return loaded.size() == weights.size() && std::ranges::all_of(weights, [&](const auto& weight) {
           const auto found = loaded.find(weight.first);
           if (found == loaded.end() || found->second.type() != weight.second.type()) return false;
           const auto bytes = static_cast<size_t>(weight.second.type().bytes());
           return bytes == 0 || std::memcmp(found->second.data(), weight.second.data(), bytes) == 0;
         });
}

TEST_F(WeightsTest, EveryFlippedBitIsRefusedOrChangesNothing) {
  save_weights(path_, some_weights(), {{"partita.config", "model = \"mlp\""}});
  const std::string bytes = read();
  size_t accepted = 0;
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::string damaged = bytes;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    write(damaged);
    if (!refusal().empty()) continue;
    ++accepted;
    EXPECT_TRUE(are_same(load_weights(path_), some_weights())) << "bit " << bit;
  }
  // The name of the checksums itself, and spaces after the header.
  EXPECT_LT(accepted, 8 * 32u);
}

TEST_F(WeightsTest, MalformedHeadersAreNamed) {
  const std::string good = R"("dtype":"F32","shape":[2],"data_offsets":[0,8])";
  const std::vector<std::tuple<std::string, size_t, std::string>> cases = {
      {"[1]", 0, "does not start with '{'"},
      {"{", 0, "wrong header length"},
      {"{}", 4, "wrong length, got 4 bytes of tensors, expected 0"},
      {"{\"a\":{" + good + "}", 8, "header is not JSON at offset"},
      {"{\"a\":{" + good + "},\"a\":{" + good + "}}", 8, "name 'a' appears twice"},
      {R"({"a":{"dtype":"F32","dtype":"F32"}})", 0, "tensor 'a': field 'dtype' appears twice"},
      {R"({"a":{"dtype":"F32","shape":[2]}})", 8, "tensor 'a': a field is missing"},
      {R"({"a":{"dtype":"F33","shape":[2],"data_offsets":[0,8]}})", 8, "unknown dtype 'F33'"},
      {R"({"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})", 8, "negative number -2"},
      {R"({"a":{"dtype":"F32","shape":[2.0],"data_offsets":[0,8]}})", 8, "not an integer"},
      {R"({"a":{"dtype":"F32","shape":[[2]],"data_offsets":[0,8]}})", 8, "a list in a wrong place"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0]}})", 8, "data_offsets does not have two numbers"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8,9]}})", 8, "data_offsets does not have two numbers"},
      {R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", 8, "expected 12 bytes for f32[3]"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})", 8, "hole or overlap, got offset 8"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})", 12, "hole or overlap, got offset 4"},
      {R"({"a":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0]}})", 0, "too large"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,18446744073709551615]}})", 8, "too large"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8],"more":1}})", 8, "unknown field 'more'"},
      {R"({"a":{"dtype":"F32","shape":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,2],"data_offsets":[0,8]}})", 8,
       "more than 20 dimensions"},
      {R"({"a":7})", 0, "a number in a wrong place"},
      {R"({"__metadata__":{"format":7}})", 0, "a number in a wrong place"},
      {R"({"__metadata__":{"a":{"b":"c"}}})", 0, "an object in a wrong place"},
      {"{\"\x80\":{" + good + "}}", 8, "header is not JSON"},
      {"{\"a\":" + std::string(100000, '['), 0, "a list in a wrong place"},
      {R"({"a":{"shape":)" + std::string(100000, '['), 0, "a list in a wrong place"},
      {R"({"__metadata__":{"a":)" + std::string(100000, '['), 0, "a list in a wrong place"},
  };
  for (const auto& [header, data_bytes, expected] : cases) {
    write_header(header, data_bytes);
    const std::string reason = refusal();
    EXPECT_NE(reason.find(expected), std::string::npos) << header.substr(0, 100) << "\n" << reason;
    EXPECT_NE(reason.find(path_), std::string::npos);
  }
}

TEST_F(WeightsTest, FilesOfOtherSystemsAreNamed) {
  const std::string zip = std::string("PK\x03\x04\x00\x00\x08\x08\x00\x00", 10) + std::string(20, '\0');
  const std::string old = "\x80\x02\x8a\x0al\xfc\x9c\x46\xf9 j\xa8P\x19.";
  const std::tuple<std::string, std::string, std::string> cases[] = {
      {zip + "archive/data.pkl" + std::string(100, 'x'), "a file of torch.save or pickle", "torch.load(FILE"},
      {old + std::string(100, 'x'), "a file of torch.save or pickle", "safetensors.torch.save_file("},
      {zip + "arr_0.npy" + std::string(100, 'x'), "a .npz file of NumPy", "safetensors.numpy.save_file("},
      {"\x89HDF\r\n\x1a\n" + std::string(100, 'x'), "a file of HDF5", ""}};
  for (const auto& [bytes, what, advice] : cases) {
    write(bytes);
    EXPECT_TRUE(refusal().starts_with(fmt::format("[weights] {}: {}, expected a safetensors file", path_, what)))
        << refusal();
    EXPECT_NE(refusal().find(advice), std::string::npos) << refusal();
  }
  write(zip + std::string(100, 'x'));
  EXPECT_NE(refusal().find("wrong header length"), std::string::npos);
}

TEST_F(WeightsTest, MetadataIsReadAlone) {
  save_weights(path_, some_weights(), {{"partita.config", "model = \"mlp\""}});
  EXPECT_EQ(read_weights_metadata(path_), read_weights_file(path_).metadata);
  EXPECT_EQ(read_weights_metadata(path_).size(), 1u);
  const std::string bytes = read();
  write(bytes.substr(0, bytes.size() - 1));
  EXPECT_THROW(read_weights_metadata(path_), InvalidFile);
  EXPECT_THROW(read_weights_metadata(path_ + "x"), MissingFile);
}

TEST_F(WeightsTest, TextsOfAHeaderAreCounted) {
  std::string header = R"({"__metadata__":{)";
  for (int i = 0; i <= 2'001'000; ++i) header += fmt::format("{}\"{}\":\"\"", i > 0 ? "," : "", i);
  try {
    parse_safetensors_header(header + "}}", 0, "w");
    FAIL();
  } catch (const InvalidFile& error) {
    EXPECT_STREQ(error.what(), "[weights] w: header: more than 2001000 texts of metadata");
  }
}

TEST_F(WeightsTest, MetadataAndSpacesAreAccepted) {
  write_header(R"({"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}   )", 8);
  EXPECT_EQ(load_weights(path_).at("a").type(), (Type{DType::f32, {2}}));
}

TEST_F(WeightsTest, AHugeHeaderLengthAllocatesNothing) {
  write(std::string(8, '\x7f') + "{}");
  EXPECT_NE(refusal().find("wrong header length at offset 0"), std::string::npos);
}

TEST_F(WeightsTest, OtherThingsThanFiles) {
  EXPECT_THROW(load_weights(path_), MissingFile);
  const auto refused = [](const std::string& path, const std::string& kind) {
    try {
      load_weights(path);
      ADD_FAILURE() << "no error for " << kind;
    } catch (const InvalidFile& error) {
      EXPECT_EQ(error.what(),
                fmt::format("[weights] {}: not a regular file, got {}, expected a safetensors file", path, kind));
    }
  };
  refused(folder_.string(), "a folder");
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  refused(path_, "a pipe or a device");
}

TEST_F(WeightsTest, WhatCannotBeWrittenIsKnownBefore) {
  EXPECT_NO_THROW(check_writable(path_));
  EXPECT_THROW(check_writable((folder_ / "none" / "w").string()), RuntimeFailure);
  EXPECT_THROW(check_writable(folder_.string()), RuntimeFailure);
}

TEST_F(WeightsTest, OnlyFilesAreReplaced) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  EXPECT_THROW(check_writable(path_), RuntimeFailure);
  EXPECT_THROW(save_weights(path_, some_weights()), RuntimeFailure);
  EXPECT_TRUE(std::filesystem::is_fifo(path_));
}

TEST_F(WeightsTest, LinksStayAndLeadToTheNewFile) {
  const std::string link = (folder_ / "link").string(), chain = (folder_ / "chain").string();
  std::filesystem::create_symlink("w.safetensors", link);
  std::filesystem::create_symlink(link, chain);
  for (const std::string& name : {link, chain}) {  // the first leads to nothing yet
    save_weights(name, some_weights());
    EXPECT_TRUE(std::filesystem::is_symlink(name));
    EXPECT_TRUE(std::filesystem::is_regular_file(std::filesystem::symlink_status(path_)));
    EXPECT_EQ(load_weights(path_).size(), 4u);
  }
  std::filesystem::remove(path_);
  std::filesystem::create_symlink("chain", path_);
  EXPECT_THROW(check_writable(path_), RuntimeFailure);
}

TEST_F(WeightsTest, OldTemporaryFilesAreNotInTheWay) {
  std::ofstream(fmt::format("{}.tmp-{}", path_, ::getpid())) << "left behind";
  save_weights(path_, some_weights());
  EXPECT_EQ(load_weights(path_).size(), 4u);
}

TEST_F(WeightsTest, PermissionsAreThoseOfTheOldFileOrOfAnyNewOne) {
  const auto mode = [&] { return static_cast<int>(std::filesystem::status(path_).permissions()); };
  const mode_t mask = ::umask(0027);
  save_weights(path_, some_weights());
  EXPECT_EQ(mode(), 0640);
  ::umask(mask);
  ASSERT_EQ(::chmod(path_.c_str(), 0604), 0);
  save_weights(path_, some_weights());
  EXPECT_EQ(mode(), 0604);
}

/// Makes a folder of the path once a file is being written for it, so that the file cannot be renamed.
std::thread folder_instead_of(const std::filesystem::path& path) {
  return std::thread([path] {
    for (int tries = 0; tries < 5'000'000; ++tries) {
      for (const auto& entry : std::filesystem::directory_iterator(path.parent_path())) {
        if (!entry.path().filename().string().starts_with(path.filename().string() + ".tmp-")) continue;
        std::filesystem::create_directory(path);
        return;
      }
    }
  });
}

TEST_F(WeightsTest, AllTextsAreWrittenOrNone) {
  const std::filesystem::path old = folder_ / "old", fresh = folder_ / "new", last = folder_ / "last";
  const auto text_of = [](const std::filesystem::path& path) {
    std::ifstream file(path);
    return std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  };
  save_texts({{old.string(), "1"}, {last.string(), "2"}});
  EXPECT_EQ(text_of(old) + text_of(last), "12");
  ASSERT_EQ(::chmod(old.c_str(), 0604), 0);
  std::filesystem::remove(last);
  std::thread other = folder_instead_of(last);
  const std::string long_text(size_t{64} << 20, 'a');  // takes longer to write than it takes to make a folder
  EXPECT_THROW(save_texts({{old.string(), "3"}, {fresh.string(), "4"}, {last.string(), long_text}}), RuntimeFailure);
  other.join();
  EXPECT_EQ(text_of(old), "1");
  EXPECT_EQ(static_cast<int>(std::filesystem::status(old).permissions()), 0604);
  EXPECT_FALSE(std::filesystem::exists(fresh));
  std::filesystem::remove(last);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1) << "temporary files are removed";
}

TEST_F(WeightsTest, CheckingLeavesNothingBehind) {
  check_writable(path_);
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST_F(WeightsTest, AFolderThatIsNotThereIsExit73) {
  try {
    save_weights((folder_ / "none" / "w").string(), some_weights());
    FAIL();
  } catch (const RuntimeFailure& error) {
    EXPECT_EQ(error.code(), ExitCode::cannot_write);
  }
}

}  // namespace
}  // namespace partita
