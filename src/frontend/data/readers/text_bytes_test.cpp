#include "frontend/data/readers/text_bytes.h"

#include <random>

#include "frontend/data/readers/test_files.h"

namespace partita {
namespace {

// Any part of the bytes in pieces equals that part of all bytes.
TEST(TextBytes, PiecesAreOneText) {
  std::mt19937 random(9);
  for (int trial = 0; trial < 300; ++trial) {
    const size_t piece = 1 + random() % 9, size = 1 + random() % 60;
    Bytes all(size);
    for (uint8_t& byte : all) byte = static_cast<uint8_t>(random() % 7 + 100);
    std::vector<Bytes> pieces;
    for (size_t at = 0; at < size; at += piece) {
      pieces.emplace_back(all.begin() + static_cast<std::ptrdiff_t>(at),
                          all.begin() + static_cast<std::ptrdiff_t>(std::min(size, at + piece)));
    }
    TextBytes text(pieces, "t.txt");
    int64_t dropped = 0;
    for (int cut = 0; cut < 2; ++cut) {  // a part of a part
      const int64_t begin = static_cast<int64_t>(random() % all.size());
      const int64_t end = begin + 1 + static_cast<int64_t>(random() % (all.size() - static_cast<size_t>(begin)));
      text.keep(begin, end);
      all = Bytes(all.begin() + begin, all.begin() + end);
      dropped += begin;
    }
    ASSERT_EQ(text.size(), static_cast<int64_t>(all.size()));
    const int64_t from = static_cast<int64_t>(random() % all.size());
    const int64_t count = static_cast<int64_t>(random() % (all.size() - static_cast<size_t>(from) + 1));
    std::vector<int32_t> part(static_cast<size_t>(count));
    text.copy(from, count, part.data());
    EXPECT_TRUE(std::equal(part.begin(), part.end(), all.begin() + from));
    EXPECT_EQ(text.at(from), all[static_cast<size_t>(from)]);
    const int64_t used = 1 + static_cast<int64_t>(random() % all.size());
    const auto [least, greatest] = std::minmax_element(all.begin(), all.begin() + used);
    const IntegerRange range = text.integers(used);
    EXPECT_EQ(range.least.value, *least);
    EXPECT_EQ(range.greatest.value, *greatest);
    const auto place = dropped + (std::ranges::find(all, *greatest) - all.begin());
    EXPECT_EQ(range.greatest.place, fmt::format("byte {} of t.txt", place));
  }
}

TEST(TextBytes, FilesAreReadInPieces) {
  const TempDir folder;
  std::mt19937 random(4);
  Bytes bytes((4 << 20) + 4321);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random() % 20);
  for (const auto& path :
       {folder.write("a.txt", bytes), folder.write("a.txt.xz", xz(bytes)), folder.write("a.txt.gz", gzip(bytes))}) {
    const TextBytes text = read_text_bytes(path, int64_t{1} << 30);
    ASSERT_EQ(text.size(), static_cast<int64_t>(bytes.size()));
    std::vector<int32_t> numbers(bytes.size());
    text.copy(0, text.size(), numbers.data());
    EXPECT_TRUE(std::equal(numbers.begin(), numbers.end(), bytes.begin())) << path;
    expect_error<InvalidFile>([&] { read_text_bytes(path, 1000); }, "got more than 1000 bytes unpacked");
  }
  EXPECT_EQ(read_text_bytes(folder.write("none.txt", {}), 10).size(), 0);
}

}  // namespace
}  // namespace partita
