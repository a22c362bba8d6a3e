#include "frontend/data/readers/file_bytes.h"

#include <algorithm>

#include "base/philox.h"
#include "frontend/data/readers/test_files.h"

namespace partita {
namespace {

Bytes some_bytes(size_t count) {
  Bytes bytes(count);
  for (size_t i = 0; i < count; ++i) bytes[i] = static_cast<uint8_t>(random_word(1, i, 0) % 7);
  return bytes;
}

TEST(FileBytes, ReadsPlainAndPacked) {
  const TempDir dir;
  for (size_t size : {size_t{0}, size_t{1}, size_t{65536}, size_t{3'000'000}}) {
    const Bytes bytes = some_bytes(size);
    EXPECT_EQ(read_file(dir.write("a", bytes), 3'000'000), bytes);
    EXPECT_EQ(read_file(dir.write("a.gz", gzip(bytes)), 3'000'000), bytes);
    EXPECT_EQ(read_file(dir.write("a.xz", xz(bytes)), 3'000'000), bytes);
  }
}

TEST(FileBytes, ReadsPiecesAndJoinedMembers) {
  const TempDir dir;
  const Bytes bytes = some_bytes(100);
  Bytes twice = bytes;
  twice.insert(twice.end(), bytes.begin(), bytes.end());
  for (auto [name, packed] : {std::pair{"a.gz", gzip(bytes)}, std::pair{"a.xz", xz(bytes)}}) {
    Bytes joined = packed;
    joined.insert(joined.end(), packed.begin(), packed.end());
    PackedFile file(dir.write(name, joined));
    Bytes all = file.read(150);
    EXPECT_EQ(all.size(), 150u);
    const Bytes rest = file.read(1000);
    all.insert(all.end(), rest.begin(), rest.end());
    EXPECT_EQ(all, twice);
  }
}

TEST(FileBytes, StopsAtTheLimit) {
  const TempDir dir;
  const Bytes zeros(50'000'000);
  for (auto [name, packed] : {std::pair{"a.gz", gzip(zeros)}, std::pair{"a.xz", xz(zeros)}}) {
    const auto path = dir.write(name, packed);
    expect_error<InvalidFile>([&] { read_file(path, 1000); }, "more than 1000 bytes");
  }
}

TEST(FileBytes, RefusesADictionaryThatIsTooLarge) {
  // The header of the only block follows the 12 bytes of the stream header: its size, the filter, the size of its
  // properties and the dictionary size, with a checksum at the end.
  Bytes packed = xz(some_bytes(50));
  constexpr uint8_t kFilter[] = {0x21, 1};
  const auto filter = std::search(packed.begin() + 13, packed.end(), std::begin(kFilter), std::end(kFilter));
  ASSERT_LT(filter - packed.begin(), 24);
  filter[2] = 36;  // 1 GiB
  const size_t size = 4 * (packed[12] + size_t{1});
  const auto sum = static_cast<uint32_t>(crc32(0, packed.data() + 12, static_cast<uInt>(size - 4)));
  for (size_t i = 0; i < 4; ++i) packed[12 + size - 4 + i] = static_cast<uint8_t>(sum >> (8 * i));
  const TempDir dir;
  const auto path = dir.write("a.xz", packed);
  expect_error<InvalidFile>([&] { read_file(path, 1000); },
                            "take too much memory, got a dictionary of more than 256 MiB");
}

TEST(FileBytes, RefusesEveryCut) {
  const TempDir dir;
  const Bytes bytes = some_bytes(50);
  for (auto [name, packed] : {std::pair{"a.gz", gzip(bytes)}, std::pair{"a.xz", xz(bytes)}}) {
    for (size_t size = 0; size < packed.size(); ++size) {
      const auto path = dir.write(name, Bytes(packed.begin(), packed.begin() + static_cast<long>(size)));
      EXPECT_THROW(read_file(path, 1000), InvalidFile) << name << " " << size;
    }
  }
}

TEST(FileBytes, RefusesDamageAndForeignFiles) {
  const TempDir dir;
  const Bytes bytes = some_bytes(100'000);
  for (auto [name, packed] : {std::pair{"a.gz", gzip(bytes)}, std::pair{"a.xz", xz(bytes)}}) {
    Bytes damaged = packed;
    damaged[damaged.size() / 2] ^= 0x10;
    const std::filesystem::path path = dir.write(name, damaged),
                                other = dir.write("other" + path.extension().string(), bytes);
    expect_error<InvalidFile>([&] { read_file(path, 200'000); }, path.string());
    expect_error<InvalidFile>([&] { read_file(other, 200'000); }, "corrupt");
  }
}

TEST(FileBytes, FindsTheFirstForm) {
  const TempDir dir;
  EXPECT_TRUE(find_packed(dir.path(), "a").empty());
  expect_error<MissingFile>([&] { require_packed(dir.path(), "a"); }, "'a'");
  expect_error<MissingFile>([&] { read_file(dir.path() / "a", 1); }, "cannot open");
  dir.write("a.xz", {});
  EXPECT_EQ(find_packed(dir.path(), "a").extension(), ".xz");
  dir.write("a.gz", {});
  EXPECT_EQ(find_packed(dir.path(), "a").extension(), ".gz");
  expect_error<InvalidFile>([&] { read_file(dir.path(), 1); }, "not a regular file");
}

}  // namespace
}  // namespace partita
