#include "base/text_file.h"

#include <gtest/gtest.h>

#include "base/error.h"
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
