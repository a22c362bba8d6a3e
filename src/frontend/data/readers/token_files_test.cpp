#include "frontend/data/readers/token_files.h"

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <numeric>
#include <random>

#include "base/philox.h"
#include "frontend/data/open_dataset.h"
#include "frontend/data/readers/numpy_files.h"
#include "frontend/data/readers/test_files.h"
#include "frontend/data/readers/test_token_files.h"
#include "frontend/data/readers/token_mask.h"
#include "frontend/data/views/computed_shuffle.h"

namespace partita {
namespace {

using Ids = std::vector<int32_t>;

Ids ids_in(const Array& array) { return {array.as<int32_t>(), array.as<int32_t>() + array.type().elements()}; }

Ids counted(int32_t count, int32_t first = 0) {
  Ids ids(static_cast<size_t>(count));
  std::iota(ids.begin(), ids.end(), first);
  return ids;
}

TEST(TokenFiles, EveryFormatGivesTheSameRows) {
  const TempDir dir;
  Ids ids = counted(1000);
  for (int32_t& id : ids) id = id * 7919 % 50257;
  const std::vector<TokenPath> files{{dir.write("a.u16", id_bytes<uint16_t>(ids))},
                                     {dir.write("a.u32", id_bytes<uint32_t>(ids))},
                                     {dir.write("flat.bin", id_bytes<uint32_t>(ids)), TokenType::u32},
                                     {dir.write("other", id_bytes<uint16_t>(ids)), TokenType::u16},
                                     {dir.write("b.npy", npy("<u2", "(1000,)", id_bytes<uint16_t>(ids)))},
                                     {dir.write("c.npy", npy("<i4", "(1000,)", id_bytes<int32_t>(ids)))},
                                     {dir.write("d.npy", npy("<i8", "(1000,)", id_bytes<int64_t>(ids)))},
                                     {write_indexed<uint16_t>(dir, "m", {ids})},
                                     {dir.path() / "m.bin"},
                                     {dir.path() / "m"},
                                     {write_indexed<int32_t>(dir, "n", {ids})}};
  for (const TokenPath& file : files) {
    for (const Split split : {Split::train, Split::test}) {
      const DatasetPtr rows = read_tokens(file, split, {.tokens = 9, .vocabulary = 50257});
      ASSERT_EQ(rows->size(), 111) << file.path;
      for (const int64_t i : {0, 50, 110}) {
        const Row row = rows->row(0, i);
        EXPECT_EQ(ids_in(row[0]), Ids(ids.begin() + 9 * i, ids.begin() + 9 * i + 9)) << file.path;
        EXPECT_EQ(ids_in(row[1]), Ids(ids.begin() + 9 * i + 1, ids.begin() + 9 * i + 10)) << file.path;
      }
    }
  }
}

TEST(TokenFiles, LongRowsAreReadInPieces) {
  const TempDir dir;
  const Ids ids = counted(20001);
  const DatasetPtr rows = read_tokens({dir.write("a.u16", id_bytes<uint16_t>(ids))}, Split::train, {.tokens = 10000});
  EXPECT_EQ(ids_in(rows->row(0, 1)[0]), counted(10000, 10000));
  EXPECT_EQ(ids_in(rows->row(0, 1)[1]), counted(10000, 10001));
}

TEST(TokenFiles, RowsSayWhereDocumentsBegin) {
  const TempDir dir;
  std::mt19937 random(9);
  std::vector<Ids> documents;
  std::map<int32_t, std::pair<int32_t, int32_t>> place_of;  // document and place in it, by id
  int32_t tokens = 0;
  for (int32_t d = 0; d < 400; ++d) {
    documents.push_back(counted(static_cast<int32_t>(random() % 5 == 0 ? 0 : random() % 30), tokens));
    for (int32_t i = 0; i < static_cast<int32_t>(documents.back().size()); ++i) place_of[tokens++] = {d, i};
  }
  const std::filesystem::path index = write_indexed<uint16_t>(dir, "m", documents);
  for (const Split split : {Split::train, Split::test}) {
    const TextFormat format{.tokens = 12, .seed = 3, .masked_label = -7, .separates_documents = true};
    const DatasetPtr rows = read_tokens({index}, split, format);
    ASSERT_EQ(rows->columns(), token_columns(format));
    ASSERT_EQ(rows->columns().at(2), (Column{"document_begin", {DType::i32, {12}}}));
    const DatasetPtr joined = read_tokens({index}, split, {.tokens = 12, .seed = 3});
    int64_t hidden = 0, begun = 0;
    for (const int64_t epoch : {0, 1, 5}) {
      for (int64_t i = 0; i < rows->size(); ++i) {
        const Row row = rows->row(epoch, i), plain = joined->row(epoch, i);
        const Ids ids = ids_in(row[0]), labels = ids_in(row[1]), begins = ids_in(row[2]), next = ids_in(plain[1]);
        ASSERT_EQ(ids, ids_in(plain[0]));  // the same rows
        for (size_t k = 0; k < ids.size(); ++k) {
          const auto [document, place] = place_of.at(ids[k]);
          const auto begin = std::max<int32_t>(0, static_cast<int32_t>(k) - place);
          ASSERT_EQ(begins[k], begin);
          const bool is_last = place_of.at(next[k]).first != document;
          ASSERT_EQ(labels[k], is_last ? -7 : next[k]);
          hidden += is_last ? 1 : 0;
          begun += begins[k] > 0 ? 1 : 0;
        }
      }
    }
    EXPECT_GT(hidden, 500);
    EXPECT_GT(begun, 2000);
  }
}

TEST(TokenFiles, DocumentsAreThereOnceAnEpochInAnotherOrder) {
  const TempDir dir;
  std::mt19937 random(5);
  std::vector<Ids> documents;
  int32_t tokens = 0;
  for (int d = 0; d < 1000; ++d) {
    documents.push_back(counted(static_cast<int32_t>(random() % 4 == 0 ? 0 : random() % 50), tokens));
    tokens += static_cast<int32_t>(documents.back().size());
  }
  // Rows of one token, with a label each, are all ids but the last one.
  const DatasetPtr rows = read_tokens({write_indexed<uint16_t>(dir, "m", documents)}, Split::train, {.tokens = 1});
  ASSERT_EQ(rows->size(), tokens - 1);
  std::vector<Ids> orders;
  for (const int64_t epoch : {0, 1, 2}) {
    Ids order;
    for (int64_t i = 0; i < rows->size(); ++i) order.push_back(ids_in(rows->row(epoch, i)[0])[0]);
    order.push_back(ids_in(rows->row(epoch, rows->size() - 1)[1])[0]);
    Ids seen = order;
    std::ranges::sort(seen);
    EXPECT_EQ(seen, counted(tokens));
    for (size_t i = 0; i < order.size();) {  // each document is whole
      const auto document =
          std::ranges::find_if(documents, [&](const Ids& one) { return !one.empty() && one.front() == order[i]; });
      ASSERT_NE(document, documents.end());
      ASSERT_TRUE(std::equal(document->begin(), document->end(), order.begin() + static_cast<std::ptrdiff_t>(i)));
      i += document->size();
    }
    orders.push_back(std::move(order));
  }
  EXPECT_NE(orders[0], orders[1]);
  EXPECT_NE(orders[1], orders[2]);
  EXPECT_EQ(ids_in(rows->row(0, 77)[0])[0], orders[0][77]);  // also after another epoch
}

// Writes documents, and the rows that NumPy makes of them: for each epoch an array [rows, tokens + 1].
constexpr std::string_view kNumpyRows = R"(
import struct, sys
import numpy as np
folder, tokens, documents_key, rows_key = sys.argv[1], *map(int, sys.argv[2:])
bits64 = (1 << 64) - 1
def mixed(x):
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9 & bits64
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb & bits64
    return x ^ (x >> 31)
def permutation(size, key, time):
    bits = max(10, (size - 1).bit_length())
    high, low = bits // 2, bits - bits // 2
    keys = [mixed(key + mixed(time + 0x9e3779b97f4a7c15 & bits64) & bits64)]
    for _ in range(8): keys.append(mixed(keys[-1] + 0x9e3779b97f4a7c15 & bits64))
    cipher = np.zeros(1 << bits, np.int64)  # of the whole domain
    for number in range(1 << bits):
        parts = [number >> low, number % (1 << low)]
        for k, key in enumerate(keys[1:]):
            parts[k % 2] ^= mixed(parts[1 - k % 2] + key & bits64) % (1 << (high, low)[k % 2])
        cipher[number] = (parts[0] << low) + parts[1]
    order = cipher[:size]
    while (order >= size).any(): order = np.where(order < size, order, cipher[order])
    return order
random = np.random.default_rng(3)
documents = [random.integers(0, 50257, n).astype('u2') for n in random.integers(0, 40, 300)]
lengths = np.array([len(one) for one in documents])
np.concatenate(documents).tofile(folder + '/m.bin')
with open(folder + '/m.idx', 'wb') as file:
    file.write(b'MMIDIDX\0\0' + struct.pack('<QBQQ', 1, 8, 300, 301))
    file.write(lengths.astype('i4').tobytes())
    file.write((2 * (np.cumsum(lengths) - lengths)).astype('i8').tobytes())
    file.write(np.arange(301, dtype='i8').tobytes())
for epoch in range(3):
    joined = np.concatenate([documents[d] for d in permutation(300, documents_key, epoch)]).astype('i4')
    starts = np.arange(0, len(joined) - tokens, tokens)
    rows = np.lib.stride_tricks.sliding_window_view(joined, tokens + 1)[starts]
    np.save(f'{folder}/rows{epoch}.npy', rows[permutation(len(rows), rows_key, epoch)])
)";

TEST(TokenFiles, RowsAreThoseOfNumpy) {
  const TempDir dir;
  dir.write("rows.py", Bytes(kNumpyRows.begin(), kNumpyRows.end()));
  const int64_t tokens = 16;
  const uint64_t seed = 11;
  const std::string command = fmt::format("/usr/bin/python3 {0}/rows.py {0} {1} {2} {3}", dir.path().string(), tokens,
                                          random_key(seed, "documents"), random_key(seed, "computed_shuffle"));
  ASSERT_EQ(std::system(command.c_str()), 0);
  const RowFormat format{.input = "tokens", .text = {.tokens = tokens}, .classes = 50257, .seed = seed};
  const DatasetPtr rows = open_dataset({DataKind::tokens, {dir.path() / "m"}}, Split::train, format);
  for (int64_t epoch = 0; epoch < 3; ++epoch) {
    const Array expected = read_npy(dir.path() / fmt::format("rows{}.npy", epoch));
    ASSERT_EQ(expected.shape(), (Shape{rows->size(), tokens + 1}));
    const auto* ids = expected.as<int32_t>();
    for (int64_t i = 0; i < rows->size(); ++i, ids += tokens + 1) {
      const Row row = rows->row(epoch, i);
      ASSERT_EQ(ids_in(row[0]), Ids(ids, ids + tokens)) << epoch << " " << i;
      ASSERT_EQ(ids_in(row[1]), Ids(ids + 1, ids + tokens + 1)) << epoch << " " << i;
    }
  }
}

TEST(TokenFiles, IdsBeyondTheVocabularyAreRefusedWhenRead) {
  const TempDir dir;
  Ids ids = counted(100);
  ids[57] = 200;
  const auto path = dir.write("a.u16", id_bytes<uint16_t>(ids));
  const DatasetPtr rows = read_tokens({path}, Split::train, {.tokens = 10, .vocabulary = 100});
  EXPECT_EQ(ids_in(rows->row(0, 4)[1])[9], 50);
  expect_error<InvalidFile>([&] { rows->row(0, 5); },
                            fmt::format("[tokens] id beyond the vocabulary in '{}', got 200 at position 57, expected 0 "
                                        "to 99",
                                        path.string()));
  ids[57] = -1;
  const DatasetPtr negative =
      read_tokens({dir.write("b.npy", npy("<i8", "(100,)", id_bytes<int64_t>(ids)))}, Split::train, {.tokens = 10});
  expect_error<InvalidFile>([&] { negative->row(0, 5); }, "got -1 at position 57, expected 0 to 2147483647");
  const DatasetPtr large = read_tokens({dir.write("c.u32", id_bytes<uint32_t>(ids))}, Split::train, {.tokens = 10});
  expect_error<InvalidFile>([&] { large->row(0, 5); }, "got 4294967295 at position 57");
  const DatasetPtr documents =
      read_tokens({write_indexed<int32_t>(dir, "m", {counted(50), {0, 1, -7}})}, Split::train, {.tokens = 52});
  expect_error<InvalidFile>([&] { documents->row(0, 0); }, "got -7 at position 52");
}

TEST(TokenFiles, FilesThatBecomeShorterAreRefused) {
  const TempDir dir;
  const auto path = dir.write("a.u16", id_bytes<uint16_t>(counted(100)));
  const DatasetPtr rows = read_tokens({path}, Split::train, {.tokens = 10});
  std::filesystem::resize_file(path, 101);
  EXPECT_EQ(ids_in(rows->row(0, 0)[0]), counted(10));
  expect_error<InvalidFile>([&] { rows->row(0, 8); }, "[data] cut file");
}

void expect_refused(const TokenPath& file, const std::string& part) {
  expect_error<Error>([&] { read_tokens(file, Split::train, {.tokens = 4}); }, part);
}

TEST(TokenFiles, FilesOfAnotherFormAreRefused) {
  const TempDir dir;
  const Bytes ids = id_bytes<uint16_t>(counted(50));
  expect_refused({dir.write("a.bin", ids)}, "the type of the ids is not known, got '");
  expect_refused({dir.path() / "a.bin"}, "expected tokens:u16:");
  expect_refused({dir.path() / "none.bin"}, "[data] cannot open a file, got '");
  expect_refused({dir.path() / "none.idx"}, "[data] cannot open a file, got '");
  expect_refused({dir.write("a.u16", Bytes(101))}, "not a whole number of ids in '");
  expect_refused({dir.path() / "a.u16", TokenType::u32}, "got u16, expected u32");
  expect_refused({dir.write("b.u32", Bytes(102))}, "got 102 bytes, expected a multiple of 4 for u32");
  expect_refused({dir.write("c.u16", {})}, "is too short, got 0 ids for training, expected more than 4");
  expect_refused({dir.write("d.u16", Bytes(8))}, "is too short, got 4 ids for training, expected more than 4");
  expect_refused({dir.write("a.npy", npy("<f4", "(25,)", ids))}, "no ids in '");
  expect_refused({dir.write("b.npy", npy("<u2", "(5, 10)", ids))}, "got shape [5,10], expected one dimension");
  expect_refused({dir.write("c.npy", npy("<u2", "(51,)", ids))}, "another size of '");
  expect_refused({dir.write("d.npy", npy("<u2", "(49,)", ids))}, "another size of '");
  expect_refused({dir.write("e.npy", Bytes(9))}, "[npy]");
  expect_refused({dir.path()}, "[data] not a regular file");
}

TEST(TokenFiles, DamagedIndicesAreRefused) {
  const TempDir dir;
  const auto path = write_indexed<uint16_t>(dir, "m", {counted(10), counted(0), counted(20)});
  const Bytes good = read_bytes(path), ids = read_bytes(dir.path() / "m.bin");
  const auto refuses = [&](const Bytes& index, const std::string& part) {
    dir.write("m.idx", index);
    expect_refused({path}, part);
  };
  const auto with = [&](size_t at, uint8_t byte) {
    Bytes changed = good;
    changed[at] = byte;
    return changed;
  };
  // header 34, lengths 34..45, first bytes 46..69, boundaries 70..101
  refuses(Bytes(good.begin(), good.begin() + 33), "truncated header, got 33 bytes, expected 34 or more");
  refuses(with(0, 'X'), "wrong magic, got 58 4d 49, expected 'MMIDIDX'");
  refuses(with(9, 2), "unknown version, got 2, expected 1");
  refuses(with(17, 7), "element type not supported, got code 7, expected 1 (u8)");
  refuses(with(18, 4), "another size, got 102 bytes for 4 sequences and 4 boundaries of documents, expected 114");
  refuses(with(25, 0x80), "another size, got 102 bytes for 9223372036854775811 sequences");
  refuses(Bytes(good.begin(), good.end() - 1), "another size, got 101 bytes");
  refuses(with(37, 0x80), "negative length of sequence 0, got -2147483638, expected 0 or more");
  refuses(with(34, 9), "sequence 1 is not right after the one before it, got byte 20, expected 18");
  refuses(with(70, 1), "wrong boundary of a document, got 1 as the first one, expected 0");
  refuses(with(78, 3), "wrong boundary of document 1, got 2, expected 3 to 3");
  refuses(with(94, 2), "sequences without a document, got 2 as the last boundary, expected 3");
  refuses(with(94, 4), "wrong boundary of document 2, got 4, expected 2 to 3");
  dir.write("m.idx", good);
  for (const size_t size : {ids.size() - 2, ids.size() + 2}) {
    Bytes changed = ids;
    changed.resize(size);
    dir.write("m.bin", changed);
    expect_refused({path}, fmt::format("is not the file of '{}', got {} bytes, expected 60 for 30 ids of u16",
                                       path.string(), size));
  }
  std::filesystem::remove(dir.path() / "m.bin");
  expect_refused({path}, "[data] cannot open a file");
  Bytes none(good.begin(), good.begin() + 34);
  none[18] = none[26] = 0;
  refuses(none, "no documents, got no boundaries");
}

TEST(TokenFiles, RowsForTestingAreInTheOrderOfTheFile) {
  const TempDir dir;
  const auto path = write_indexed<uint16_t>(dir, "m", std::vector<Ids>(30, counted(7)));
  const RowFormat format{.input = "tokens", .text = {.tokens = 7}, .classes = 7};
  const DataSource one{DataKind::tokens, {path}}, both{DataKind::tokens, {path, path}};
  EXPECT_FALSE(has_rows(one, Split::test));
  EXPECT_TRUE(has_rows(both, Split::test));
  expect_error<InvalidArgument>([&] { open_dataset(one, Split::test, format); },
                                "[--data] no rows to test on, got tokens:");
  const DatasetPtr rows = open_dataset(both, Split::test, format);
  EXPECT_EQ(ids_in(rows->row(3, 5)[0]), counted(7));
}

TEST(ComputedShuffle, EveryRowIsThereOnceInAnOrderOfEachEpoch) {
  const DatasetPtr rows = computed_shuffle(counting(100), 3);
  std::vector<int64_t> first = epoch_of(rows, 0), second = epoch_of(rows, 1);
  for (int64_t& value : second) value -= 1000;
  EXPECT_NE(first, second);
  std::ranges::sort(first);
  std::ranges::sort(second);
  EXPECT_EQ(first, epoch_of(counting(100), 0));
  EXPECT_EQ(second, first);
}

/// Returns random bits. Most are runs, as of prompts and answers.
std::vector<bool> random_mask(size_t size, std::mt19937& random) {
  std::vector<bool> mask;
  while (mask.size() < size) mask.insert(mask.end(), 1 + random() % 40, random() % 2 == 0);
  mask.resize(size);
  return mask;
}

// The ids are their positions in the file, so that each label says whether it is a target.
TEST(TokenMasks, LabelsThatAreNoTargetsAreMasked) {
  const TempDir dir;
  std::mt19937 random(11);
  std::vector<Ids> documents;
  int32_t tokens = 0;
  for (int d = 0; d < 300; ++d) {
    documents.push_back(counted(static_cast<int32_t>(random() % 60), tokens));
    tokens += static_cast<int32_t>(documents.back().size());
  }
  const std::vector<bool> mask = random_mask(static_cast<size_t>(tokens), random);
  dir.write("m.mask", mask_bytes(mask));
  dir.write("flat.mask", mask_bytes(mask));
  const std::string index = write_indexed<uint16_t>(dir, "m", documents);
  const std::string flat = dir.write("flat.u16", id_bytes<uint16_t>(counted(tokens)));
  EXPECT_TRUE(has_mask(index));
  EXPECT_TRUE(has_mask(dir.path() / "m"));
  EXPECT_FALSE(has_mask(dir.path() / "n.bin"));
  const TextFormat next{.tokens = 7, .masked_label = -5};
  const TextFormat hidden{.tokens = 30, .task = TextTask::masked, .targets = 9, .mask = 1};
  for (const TextFormat& format : {next, hidden}) {
    for (const std::string& path : {index, flat, (dir.path() / "m").string()}) {
      for (const Split split : {Split::train, Split::test}) {
        const DatasetPtr rows = read_tokens({path}, split, format);
        std::filesystem::rename(dir.path() / "m.mask", dir.path() / "away");
        std::filesystem::rename(dir.path() / "flat.mask", dir.path() / "flat.away");
        const DatasetPtr plain = read_tokens({path}, split, format);
        std::filesystem::rename(dir.path() / "away", dir.path() / "m.mask");
        std::filesystem::rename(dir.path() / "flat.away", dir.path() / "flat.mask");
        for (const int64_t epoch : {0, 3}) {
          for (int64_t i = 0; i < rows->size(); i += 5) {
            const Row row = rows->row(epoch, i), whole = plain->row(epoch, i);
            EXPECT_EQ(ids_in(row[0]), ids_in(whole[0]));
            Ids expected = ids_in(whole[1]);
            for (int32_t& label : expected) label = mask[static_cast<size_t>(label)] ? label : format.masked_label;
            ASSERT_EQ(ids_in(row[1]), expected) << path << " epoch " << epoch << " row " << i;
          }
        }
      }
    }
  }
}

TEST(TokenMasks, HaveATarget) {
  const TempDir dir;
  for (const size_t count : {size_t{1}, size_t{100}, size_t{3'000'000}}) {
    std::vector<bool> targets(count, false);
    const auto open = [&] { TokenMask(dir.write("m.mask", mask_bytes(targets)), static_cast<int64_t>(count)); };
    expect_error<InvalidFile>(open, fmt::format("m.mask' leaves nothing to learn, got 0 targets in {} ids", count));
    targets[count - 1] = true;
    EXPECT_NO_THROW(open());
  }
}

TEST(TokenMasks, OfOtherFiles) {
  const TempDir dir;
  const std::string index = write_indexed<uint16_t>(dir, "m", {counted(60), counted(40)});
  const auto refuses = [&](const Bytes& bytes, const std::string& part) {
    dir.write("m.mask", bytes);
    expect_error<InvalidFile>([&] { read_tokens({index}, Split::train, {.tokens = 4}); }, part);
  };
  const Bytes good = mask_bytes(std::vector<bool>(100, true));
  refuses({}, "m.mask' is no mask of ids, got another file of 0 bytes, expected one of version 1");
  refuses(Bytes(100, 'x'), "m.mask' is no mask of ids, got another file of 100 bytes");
  Bytes newer = good;
  newer[8] = 2;
  refuses(newer, "m.mask' is no mask of ids, got version 2, expected one of version 1");
  refuses(mask_bytes(std::vector<bool>(99, true)), "m.mask' is the mask of another file, got 99 ids, expected 100");
  Bytes shorter = good;
  shorter.pop_back();
  refuses(shorter, "[tokens] another size of '");
  shorter.resize(good.size() + 1);
  refuses(shorter, "m.mask', got 38 bytes, expected 37 for 100 ids");
  dir.write("m.mask", good);
  const DatasetPtr rows = read_tokens({index}, Split::train, {.tokens = 4});
  std::filesystem::resize_file(dir.path() / "m.mask", 30);
  expect_error<InvalidFile>(
      [&] {
        for (int64_t i = 0; i < rows->size(); ++i) rows->row(0, i);
      },
      "m.mask'");
  expect_error<InvalidArgument>(
      [&] {
        dir.write("m.mask", good);
        read_tokens({index}, Split::train, {.tokens = 4, .task = TextTask::continuation, .targets = 2});
      },
      "m.idx' has a mask, got a model that reads its labels, too, expected one that predicts the next token");
}

}  // namespace
}  // namespace partita
