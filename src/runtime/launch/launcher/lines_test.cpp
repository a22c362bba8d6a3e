#include "runtime/launch/launcher/lines.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>

namespace partita {
namespace {

/// A pipe with both ends.
struct Pipe {
  std::array<int, 2> files{-1, -1};
  Pipe() { EXPECT_EQ(::pipe(files.data()), 0); }
  ~Pipe() {
    for (const int file : files) ::close(file);
  }
  void write(const std::string& text) const {
    EXPECT_EQ(::write(files[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
};

TEST(Lines, AreGivenOutWhole) {
  const Pipe pipe;
  Lines lines;
  pipe.write("one\ntw");
  EXPECT_TRUE(lines.read(pipe.files[0]));
  EXPECT_EQ(lines.next(), "one");
  EXPECT_EQ(lines.next(), std::nullopt);
  pipe.write("o\n\nthree");
  EXPECT_TRUE(lines.read(pipe.files[0]));
  EXPECT_EQ(lines.next(), "two");
  EXPECT_EQ(lines.next(), "");
  EXPECT_EQ(lines.next(), std::nullopt);
}

TEST(Lines, ShortOnesTakeNoTimeAndLongOnesEnd) {
  const Pipe pipe;
  Lines lines;
  int count = 0;
  for (int i = 0; i < 200; ++i) {
    pipe.write(std::string(60'000, '\n'));
    EXPECT_TRUE(lines.read(pipe.files[0]));
    while (lines.next()) ++count;
  }
  EXPECT_EQ(count, 200 * 60'000);
  int reads = 0;
  do pipe.write(std::string(60'000, 'x'));
  while (lines.read(pipe.files[0]) && ++reads < 100);
  EXPECT_EQ(reads, (1 << 20) / 60'000);
}

}  // namespace
}  // namespace partita
