// Data files that are missing, damaged or of another kind.

#include <algorithm>

#include "support/program.h"

namespace partita {
namespace {

constexpr uint32_t kImageMagic = 0x803, kLabelMagic = 0x801;
constexpr const char* kImages = "train-images-idx3-ubyte";
constexpr const char* kLabels = "train-labels-idx1-ubyte";
constexpr uint32_t kRows = 64;

Bytes idx(uint32_t magic, const std::vector<uint32_t>& sizes, const Bytes& elements) {
  Bytes bytes;
  const auto word = [&](uint32_t value) {
    for (int shift : {24, 16, 8, 0}) bytes.push_back(static_cast<uint8_t>(value >> shift));
  };
  word(magic);
  for (uint32_t size : sizes) word(size);
  bytes.insert(bytes.end(), elements.begin(), elements.end());
  return bytes;
}

Bytes images(uint32_t rows) {
  Bytes pixels(rows * 784);
  for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<uint8_t>(i * 37 >> 3);
  return idx(kImageMagic, {rows, 28, 28}, pixels);
}

Bytes labels(uint32_t rows) {
  Bytes values(rows);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<uint8_t>(i % 10);
  return idx(kLabelMagic, {rows}, values);
}

Bytes without_last(Bytes bytes, size_t count) {
  bytes.resize(bytes.size() - count);
  return bytes;
}

/// A folder of good MNIST files, of which a test spoils one.
struct Mnist {
  Mnist() {
    folder.write(kImages, images(kRows));
    folder.write(kLabels, labels(kRows));
  }
  std::vector<std::string> train() const {
    return {"train", "mlp:hidden=4", "--steps", "1", "--data", "mnist:" + folder.path().string()};
  }
  void expect(ExitCode code, const std::vector<std::string>& parts) const { expect_refusal(train(), code, parts); }

  TempDir folder;
};

TEST(DataErrors, GoodFilesAreTaken) {
  const Outcome outcome = run_program(Mnist().train());
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_TRUE(outcome.lines.empty());
}

TEST(DataErrors, NoTestSetIsAWarning) {
  const Mnist mnist;
  const auto warns = [&] {
    const Outcome outcome = run_program(mnist.train());
    EXPECT_EQ(outcome.exit_code, 0);
    return has_warning(outcome, "no test set in") && has_warning(outcome, "no accuracy will be printed");
  };
  EXPECT_TRUE(warns());
  mnist.folder.write("t10k-images-idx3-ubyte", images(kRows));
  mnist.folder.write("t10k-labels-idx1-ubyte", labels(kRows));
  EXPECT_FALSE(warns());
}

TEST(DataErrors, TestsWhileItTrainsNeedATestSet) {
  const Mnist mnist;
  for (const std::vector<std::string>& flags : {std::vector<std::string>{"--validate"}, {"--validate-every", "2"}}) {
    std::vector<std::string> words = mnist.train();
    words.insert(words.end(), flags.begin(), flags.end());
    expect_refusal(words, ExitCode::usage, {"[" + flags[0] + "] no test set, got"});
  }
}

TEST(DataErrors, HalfATestSet) {
  const Mnist mnist;
  mnist.folder.write("t10k-images-idx3-ubyte", images(kRows));
  mnist.expect(ExitCode::missing_file, {"[data] no such file", "t10k-labels-idx1-ubyte"});
}

TEST(DataErrors, EvaluationWithoutATestSet) {
  expect_refusal({"eval", "mlp", "--data", "cifar10:no/such/folder", "--load", "x"}, ExitCode::missing_file,
                 {"[data]", "test_batch.bin"});
}

TEST(DataErrors, MissingFile) {
  const Mnist mnist;
  std::filesystem::remove(mnist.folder.path() / kImages);
  mnist.expect(ExitCode::missing_file, {"[data]", mnist.folder.path().string(), kImages});
}

TEST(DataErrors, MissingFolder) {
  expect_refusal({"train", "mlp", "--data", "cifar10:no/such/folder"}, ExitCode::missing_file,
                 {"no/such/folder", "data_batch_1.bin"});
}

TEST(DataErrors, TruncatedImages) {
  const Mnist mnist;
  mnist.folder.write(kImages, without_last(images(kRows), 100));
  mnist.expect(ExitCode::bad_input, {"[mnist] truncated data", kImages, "got 50076 elements", "expected 50176"});
}

TEST(DataErrors, TruncatedHeader) {
  const Mnist mnist;
  mnist.folder.write(kImages, Bytes(7));
  mnist.expect(ExitCode::bad_input, {"[mnist] truncated header", kImages, "at byte 7", "expected 16 bytes"});
}

TEST(DataErrors, MoreRowsPromisedThanThereAre) {
  const Mnist mnist;
  mnist.folder.write(kImages, idx(kImageMagic, {0xffffffff, 28, 28}, Bytes(784)));
  mnist.expect(ExitCode::bad_input, {"[mnist] too many elements", kImages});
}

TEST(DataErrors, WrongMagic) {
  const Mnist mnist;
  mnist.folder.write(kLabels, images(kRows));
  mnist.expect(ExitCode::bad_input, {"[mnist] wrong magic number", kLabels, "got 0x803", "expected 0x801"});
}

TEST(DataErrors, LabelOutOfRange) {
  const Mnist mnist;
  Bytes bad = labels(kRows);
  bad[8 + 5] = 10;
  mnist.folder.write(kLabels, bad);
  mnist.expect(ExitCode::bad_input, {"[mnist] label out of range", "at byte 13", "got 10", "less than 10"});
}

TEST(DataErrors, CountsDiffer) {
  const Mnist mnist;
  mnist.folder.write(kLabels, labels(kRows - 1));
  mnist.expect(ExitCode::bad_input, {"[mnist] counts differ", "got 64 images", "expected 63"});
}

TEST(DataErrors, TruncatedGzip) {
  const Mnist mnist;
  std::filesystem::remove(mnist.folder.path() / kImages);
  mnist.folder.write(fmt::format("{}.gz", kImages), without_last(gzip(images(kRows)), 40));
  mnist.expect(ExitCode::bad_input, {"[data] truncated packed data", ".gz", "expected whole gzip data"});
}

TEST(DataErrors, NotGzip) {
  const Mnist mnist;
  std::filesystem::remove(mnist.folder.path() / kImages);
  mnist.folder.write(fmt::format("{}.gz", kImages), images(kRows));
  mnist.expect(ExitCode::bad_input, {"[data] corrupt packed data", ".gz"});
}

TEST(DataErrors, CifarSizeIsNotAMultiple) {
  const TempDir folder;
  folder.write("data_batch_1.bin", Bytes(3 * 3073 - 1));
  expect_refusal({"train", "mlp", "--data", "cifar10:" + folder.path().string()}, ExitCode::bad_input,
                 {"[cifar10] truncated record", "data_batch_1.bin", "got 9218 bytes", "multiple of 3073"});
}

TEST(DataErrors, CifarLabelOutOfRange) {
  const TempDir folder;
  Bytes records(2 * 3073);
  records[3073] = 200;
  folder.write("data_batch_1.bin", records);
  expect_refusal({"train", "mlp", "--data", "cifar10:" + folder.path().string()}, ExitCode::bad_input,
                 {"[cifar10] label out of range", "at byte 3073", "got 200"});
}

TEST(DataErrors, CifarBatchesThatAreMissing) {
  const TempDir folder;
  const std::string data = "cifar10:" + folder.path().string();
  const std::vector<std::string> train{"train", "mlp:hidden=4", "--data", data, "--batch", "2", "--steps", "1"};
  folder.write("data_batch_1.bin", Bytes(3 * 3073));
  folder.write("data_batch_3.bin", Bytes(3 * 3073));
  expect_refusal(
      train, ExitCode::missing_file,
      {"[cifar10] a batch is missing", "got data_batch_3.bin without data_batch_2.bin", "expected all five"});
  folder.write("data_batch_2.bin", Bytes(3 * 3073));
  Outcome outcome = run_program(train);
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_TRUE(has_warning(outcome, "[cifar10] 3 of 5 batches in '"));
  EXPECT_TRUE(has_warning(outcome, "training on 9 rows"));
  for (int i : {4, 5}) folder.write(fmt::format("data_batch_{}.bin", i), Bytes(3073));
  outcome = run_program(train);
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_FALSE(has_warning(outcome, "[cifar10]"));
}

TEST(DataErrors, NoRows) {
  const Mnist mnist;
  mnist.folder.write(kImages, images(0));
  mnist.folder.write(kLabels, labels(0));
  mnist.expect(ExitCode::usage, {"[train] too few rows", "got 0", "one batch of 64"});
}

TEST(DataErrors, FewerClassesThanLabels) {
  const Mnist mnist;
  auto arguments = mnist.train();
  arguments[1] = "mlp:classes=4";
  expect_refusal(arguments, ExitCode::usage,
                 {"[cross_entropy] label of row", "outside the classes", "expected 0 to 3"});
}

// Bad labels in a file are a fault of the file. The message shows them as they are written there.
TEST(DataErrors, LabelsOfNumpyFiles) {
  const TempDir folder;
  const std::string path = (folder.path() / "rows.npz").string();
  const auto write = [&](const std::string& labels) {
    const std::string script =
        fmt::format("import numpy as np\nnp.savez('{}', x=np.random.default_rng(1).random((6, 1, 28, 28), 'f4'), y={})",
                    path, labels);
    ASSERT_EQ(run_command({"/usr/bin/python3", "-c", script}).exit_code, 0);
  };
  const std::vector<std::string> train{"train", "mlp:hidden=4", "--batch", "6", "--steps", "1", "--data", path};
  write("np.arange(6) + 4");
  EXPECT_EQ(run_program(train).exit_code, 0);
  write("np.arange(6) + 5");
  expect_refusal(train, ExitCode::bad_input,
                 {"[npz] 'label' out of range at row 5, got 10, expected 0 to 9", "(in npz:" + path});
  write("np.array([0, 1, 2, 2**32 + 3, 4, 5])");
  expect_refusal(train, ExitCode::bad_input, {"at row 3, got 4294967299, expected 0 to 9"});
  write("-np.arange(6)");
  expect_refusal(train, ExitCode::bad_input, {"at row 1, got -1, expected 0 to 9"});
}

TEST(DataErrors, IdsOutsideATable) {
  const TempDir folder;
  Bytes text(2000, 'e');
  text[1234] = 0xc3;
  const std::string path = folder.write("notes.txt", text).string(), rows = (folder.path() / "rows.npz").string();
  const std::string gpt = "gpt:layers=1,hidden=8,heads=1,seq=16,vocab=128";
  expect_refusal(
      {"train", gpt, "--batch", "2", "--data", "text:" + path}, ExitCode::bad_input,
      {"[ids] 'tokens' is outside of table 'wte.weight', got 195 at byte 1234 of " + path, "expected 0 to 127"});
  EXPECT_EQ(run_program({"train", gpt, "--batch", "2", "--steps", "1"}).exit_code, 0) << "generated text";
  const std::string script = fmt::format(
      "import numpy as np\nids = np.zeros((6, 8), int)\nids[4, 2] = 1000\n"
      "np.savez('{}', ids=ids, features=np.zeros((6, 4)), label=np.zeros(6, int))",
      rows);
  ASSERT_EQ(run_command({"/usr/bin/python3", "-c", script}).exit_code, 0);
  expect_refusal(
      {"train", "recommender", "--batch", "2", "--data", rows}, ExitCode::bad_input,
      {"[ids] 'ids' is outside of table 'deep_table.weight', got 1000 at row 4 of npz:" + rows, "expected 0 to 999"});
}

TEST(DataErrors, RowsThatAreNoNumbersAreFoundInTheirStep) {
  const TempDir folder;
  const std::string train = (folder.path() / "rows.npz").string();
  const std::string script = fmt::format(
      "import numpy as np\nx = np.zeros((64, 6), 'f4')\nx[:] = np.nan\nnp.savez('{}', x=x, y=np.zeros(64, int))",
      train);
  ASSERT_EQ(run_command({"/usr/bin/python3", "-c", script}).exit_code, 0);
  expect_refusal({"train", "mlp:hidden=4", "--batch", "32", "--ranks", "4", "--threads", "1", "--data", train},
                 ExitCode::non_finite,
                 {"[train] the loss is not finite, got nan", " on rank 0; in step 1, of rows 0 to 31 of epoch 1"});
}

TEST(DataErrors, RowsOfAnotherShape) {
  const TempDir folder;
  const std::string rows = (folder.path() / "rows.npz").string();
  const auto write = [&](const std::string& x) {
    const std::string script = fmt::format("import numpy as np\nnp.savez('{}', x={}, y=np.zeros(4, int))", rows, x);
    ASSERT_EQ(run_command({"/usr/bin/python3", "-c", script}).exit_code, 0);
  };
  const std::vector<std::string> train{"train", "resnet18:width=4", "--batch", "4", "--steps", "1", "--data", rows};
  write("np.zeros((4, 32, 32, 3), 'f4')");
  expect_refusal(train, ExitCode::usage,
                 {"[--data] the model cannot read these rows", "got 'image' f32[32,32,3] in npz:" + rows,
                  "expected f32[3,32,32], channels first"});
  write("np.zeros((4, 3, 32, 32), 'u1')");
  EXPECT_EQ(run_program(train).exit_code, 0);
}

}  // namespace
}  // namespace partita
