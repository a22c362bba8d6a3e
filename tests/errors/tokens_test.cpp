// Files of token ids that are missing, damaged or of another kind.

#include "frontend/data/readers/test_token_files.h"
#include "support/program.h"

namespace partita {
namespace {

const std::string kTokenModel = "gpt:layers=1,hidden=8,heads=1,seq=16,vocab=100";

/// Returns a sequence of ids below 100.
std::vector<int32_t> some_ids(int32_t count) {
  std::vector<int32_t> ids;
  for (int32_t i = 0; i < count; ++i) ids.push_back(i * 37 % 100);
  return ids;
}

std::vector<std::string> training_on(const std::string& data, const std::string& ranks = "1") {
  return {"train", kTokenModel, "--batch", "2", "--steps", "2", "--threads", "1", "--ranks", ranks, "--data", data};
}

TEST(TokenErrors, GoodFilesAreTaken) {
  const TempDir folder;
  const std::string flat = folder.write("ids.bin", id_bytes<uint16_t>(some_ids(500)));
  const std::string index = write_indexed<int32_t>(folder, "m", {some_ids(300), some_ids(200)});
  for (const std::string& data : {"tokens:u16:" + flat, "tokens:" + index, index, "tokens:" + index + "," + index}) {
    const Outcome outcome = run_program(training_on(data));
    EXPECT_EQ(outcome.exit_code, 0) << data << fmt::format("{}", fmt::join(outcome.lines, "\n"));
    EXPECT_EQ(has_warning(outcome, "no test set"), data.find(',') == std::string::npos) << data;
  }
}

TEST(TokenErrors, MissingFiles) {
  for (const char* data : {"tokens:no/such.bin", "tokens:no/such.idx", "tokens:no/such.npy", "tokens:u16:no/such"}) {
    expect_refusal(training_on(data), ExitCode::missing_file, {"[data] cannot open a file, got 'no/such"});
  }
  expect_refusal(training_on("tokens:"), ExitCode::usage, {"[--data] wrong form, got 'tokens:'", "tokens:FILE"});
}

TEST(TokenErrors, SeparateDocumentsNeedDocuments) {
  const TempDir folder;
  const std::string flat = folder.write("ids.bin", id_bytes<uint16_t>(some_ids(500)));
  const std::string index = write_indexed<int32_t>(folder, "m", {some_ids(300), some_ids(200)});
  const auto refusal = [&](std::vector<std::string> words, const std::vector<std::string>& parts) {
    words.push_back("--separate-documents");
    expect_refusal(words, ExitCode::usage, parts);
  };
  refusal(training_on("tokens:u16:" + flat),
          {"[--separate-documents] '" + flat + "' has no documents, got ids without an .idx, expected one"});
  refusal(training_on("text:" + flat),
          {"[--separate-documents] no documents, got text:" + flat + ", expected tokens:FILE with an .idx"});
  refusal({"train", kTokenModel}, {"[--separate-documents] no documents, got no --data"});
  refusal({"train", "bert", "--data", "tokens:" + index}, {"[--separate-documents] bert predicts no next token"});
  refusal({"train", "lenet"}, {"[--separate-documents] lenet predicts no next token"});
  std::vector<std::string> good = training_on("tokens:" + index + "," + index, "2");
  good.push_back("--separate-documents");
  EXPECT_EQ(run_program(good).exit_code, 0);
}

TEST(TokenErrors, TheTypeOfIdsIsNotGuessed) {
  const TempDir folder;
  const std::string path = folder.write("ids.bin", id_bytes<uint16_t>(some_ids(500)));
  expect_refusal(training_on("tokens:" + path), ExitCode::usage,
                 {"[tokens] the type of the ids is not known, got '" + path + "' without '", "ids.idx'",
                  "expected tokens:u16:" + path + " or tokens:u32:" + path, ".u16, .u32 or .npy"});
}

TEST(TokenErrors, AnotherSize) {
  const TempDir folder;
  expect_refusal(training_on("tokens:" + folder.write("odd.u16", Bytes(101)).string()), ExitCode::bad_input,
                 {"[tokens] not a whole number of ids in '", "got 101 bytes, expected a multiple of 2 for u16"});
  expect_refusal(training_on("tokens:" + folder.write("none.u32", {}).string()), ExitCode::bad_input,
                 {"is too short, got 0 ids for training, expected more than 16"});
  const std::string index = write_indexed<uint16_t>(folder, "m", {some_ids(300), some_ids(200)});
  std::filesystem::resize_file(folder.path() / "m.bin", 998);
  expect_refusal(training_on("tokens:" + index), ExitCode::bad_input,
                 {"m.bin' is not the file of '" + index, "got 998 bytes, expected 1000 for 500 ids of u16"});
}

TEST(TokenErrors, MasksAreThoseOfTheirFiles) {
  const TempDir folder;
  const std::string index = write_indexed<uint16_t>(folder, "m", {some_ids(300), some_ids(200)});
  std::vector<bool> mask(500, true);
  mask[7] = false;
  for (const std::string ranks : {"1", "2", "3"}) {
    folder.write("m.mask", mask_bytes(mask));
    std::vector<std::string> words = training_on("tokens:" + index, ranks);
    words[3] = "6";  // rows of a batch
    EXPECT_EQ(run_program(words).exit_code, 0) << ranks;
    folder.write("m.mask", mask_bytes(std::vector<bool>(499, true)));
    expect_refusal(words, ExitCode::bad_input,
                   {"[tokens] '", "m.mask' is the mask of another file, got 499 ids, expected 500"});
    folder.write("m.mask", Bytes(80, 'x'));
    expect_refusal(words, ExitCode::bad_input, {"m.mask' is no mask of ids, got another file of 80 bytes"});
  }
  folder.write("m.mask", mask_bytes(mask));
  expect_refusal({"train", "t5:seq=16,target=8,layers=1,hidden=8,heads=1,vocab=100", "--data", "tokens:" + index,
                  "--batch", "2", "--steps", "1", "--threads", "1"},
                 ExitCode::usage, {"m.idx' has a mask, got a model that reads its labels, too"});
}

TEST(TokenErrors, WrongMagic) {
  const TempDir folder;
  folder.write("m.bin", Bytes(100));
  const std::string index = folder.write("m.idx", Bytes(100));
  expect_refusal(training_on("tokens:" + index), ExitCode::bad_input,
                 {"[tokens] '" + index + "': wrong magic, got 00 00 00, expected 'MMIDIDX'"});
}

// Found by one rank of two, when it reads the row.
TEST(TokenErrors, IdsBeyondTheVocabulary) {
  const TempDir folder;
  std::vector<int32_t> ids = some_ids(65);
  ids[40] = 50256;
  const std::string path = folder.write("ids.u16", id_bytes<uint16_t>(ids));
  for (const char* ranks : {"1", "2"}) {
    expect_refusal(
        training_on("tokens:" + path, ranks), ExitCode::bad_input,
        {"[tokens] id beyond the vocabulary in '" + path + "'", "got 50256 at position 40", "expected 0 to 99"});
  }
}

TEST(TokenErrors, ModelsWithoutTextsAndEvaluationsWithoutAFile) {
  const TempDir folder;
  const std::string path = folder.write("ids.u16", id_bytes<uint16_t>(some_ids(500)));
  expect_refusal({"train", "lenet", "--data", "tokens:" + path}, ExitCode::usage,
                 {"[--data] the model cannot read these rows, got tokens"});
  const std::string weights = (folder.path() / "w.safetensors").string();
  std::vector<std::string> training = training_on("tokens:" + path);
  training.insert(training.end(), {"--save", weights});
  ASSERT_EQ(run_program(training).exit_code, 0);
  expect_refusal({"eval", kTokenModel, "--load", weights, "--data", "tokens:" + path}, ExitCode::usage,
                 {"[--data] no rows to test on, got tokens:" + path, "expected tokens:TRAIN,TEST"});
  EXPECT_EQ(run_program({"eval", kTokenModel, "--load", weights, "--data", "tokens:" + path + "," + path}).exit_code,
            0);
}

}  // namespace
}  // namespace partita
