#include "base/text_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <thread>

#include "base/error.h"
#include "base/files.h"
#include "frontend/data/readers/test_files.h"

namespace partita {
namespace {

constexpr TextFile kNote{.where = "note", .purpose = "a note", .max_bytes = 100'000};

TEST(TextFile, IsReadWhole) {
  const TempDir folder;
  std::string text;
  for (const size_t size : {size_t{0}, size_t{1}, size_t{65535}, size_t{65536}, size_t{65537}, size_t{100'000}}) {
    while (text.size() < size) text += static_cast<char>(text.size() % 251);
    const auto path = folder.write("a", Bytes(text.begin(), text.end()));
    EXPECT_EQ(read_text_file(path.string(), kNote), text);
  }
}

TEST(TextFile, MayBeAPipeThatIsWrittenLater) {
  const TempDir folder;
  const std::string path = (folder.path() / "pipe").string();
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  const std::string text(90'000, 'x');
  std::thread writer([&] {
    const File file(path, O_WRONLY);
    for (size_t at = 0; at < text.size(); at += 30'000) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      EXPECT_TRUE(write_all(file.fd(), text.data() + at, 30'000));
    }
  });
  EXPECT_EQ(read_text_file(path, kNote), text);
  writer.join();
}

TEST(TextFile, OfTheSystemStatesNoSize) {
  EXPECT_NE(read_text_file("/proc/self/status", kNote).find("\nPid:"), std::string::npos);
  try {
    read_text_file("/proc/self/status", {.where = "note", .purpose = "a note", .max_bytes = 20});
    ADD_FAILURE() << "it was read";
  } catch (const InvalidFile& error) {
    EXPECT_STREQ(error.what(), "[note] /proc/self/status: too large, got more than 20 bytes, expected a note");
  }
}

}  // namespace
}  // namespace partita
