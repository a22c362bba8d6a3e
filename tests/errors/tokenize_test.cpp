// Texts and tokenizers that `partita tokenize` refuses.

#include "frontend/data/readers/test_token_files.h"
#include "support/program.h"

namespace partita {
namespace {

Bytes bytes_in(const std::string& text) { return {text.begin(), text.end()}; }

TEST(Tokenize, BytesOfTextsAndLines) {
  const TempDir folder;
  const std::string lines = folder.write(
      "a.jsonl.gz", gzip(bytes_in("{\"text\": \"ab\"}\n\n{\"x\": 1, \"text\": \"\"}\n{\"text\": \"c\xff\"}")));
  const std::string text = folder.write("b.txt", bytes_in("d\n")), out = (folder.path() / "out").string();
  const Outcome outcome = run_program({"tokenize", lines, text, "--tokenizer", "bytes", "--out", out + ".bin"});
  // JSON is UTF-8, so the line with another byte is refused.
  EXPECT_EQ(outcome.exit_code, 65);
  EXPECT_FALSE(std::filesystem::exists(out + ".bin"));
  EXPECT_FALSE(std::filesystem::exists(out + ".bin.part"));
  const std::string good =
      folder.write("a.jsonl", bytes_in("{\"text\": \"ab\"}\n\n{\"text\": \"\"}\n{\"text\": \"\xc3\xa9\"}"));
  const Outcome written = run_program({"tokenize", good, text, "--tokenizer", "bytes", "--out", out + ".bin"});
  EXPECT_EQ(written.exit_code, 0);
  EXPECT_EQ(written.output, fmt::format("3 documents, 6 ids below 256 as u16 in {0}.bin and {0}.idx\n", out));
  const std::vector<std::vector<int32_t>> expected{{'a', 'b'}, {0xc3, 0xa9}, {'d', '\n'}};
  const std::string index = write_indexed<uint16_t>(folder, "expected", expected);
  EXPECT_EQ(read_bytes(out + ".idx"), read_bytes(index));
  EXPECT_EQ(read_bytes(out + ".bin"), read_bytes(folder.path() / "expected.bin"));
}

TEST(Tokenize, Refusals) {
  const TempDir folder;
  const std::string text = folder.write("a.txt", bytes_in("abc")), out = (folder.path() / "out").string();
  const auto refuses = [&](const std::string& input, const std::string& tokenizer, ExitCode code,
                           const std::vector<std::string>& parts, const std::vector<std::string>& more = {}) {
    std::vector<std::string> words{"tokenize", input, "--tokenizer", tokenizer, "--out", out};
    words.insert(words.end(), more.begin(), more.end());
    expect_refusal(words, code, parts);
    EXPECT_FALSE(std::filesystem::exists(out + ".bin"));
    EXPECT_FALSE(std::filesystem::exists(out + ".bin.part"));
  };
  refuses(text, "words", ExitCode::usage, {"[--tokenizer] unknown tokenizer, got 'words', expected bytes, a tok"});
  refuses(text, "no/such.json", ExitCode::missing_file, {"[data] cannot open a file, got 'no/such.json'"});
  refuses(text, folder.write("t.json", bytes_in("[]")), ExitCode::bad_input, {"t.json': not a tokenizer, got array"});
  refuses(text, folder.write("t.model", bytes_in("\xff\xff\xff")), ExitCode::bad_input,
          {"t.model' is no SentencePiece model, got 3 bytes"});
  refuses((folder.path() / "none.txt").string(), "bytes", ExitCode::missing_file, {"[data] cannot open a file"});
  refuses(folder.write("empty.txt", {}), "bytes", ExitCode::bad_input,
          {"[tokenize] no documents, got 1 files without a text"});
  refuses(
      folder.write("a.jsonl", bytes_in("{\"text\": \"a\"}\n{\"txt\": \"a\"}")), "bytes", ExitCode::bad_input,
      {"[tokenize] '", "a.jsonl' line 2: no text, got an object without it, expected an object with a string 'text'"});
  refuses(folder.write("b.jsonl", bytes_in("5")), "bytes", ExitCode::bad_input,
          {"b.jsonl' line 1: no text, got number"});
  refuses(folder.write("c.jsonl", bytes_in("{\"text\": \"a")), "bytes", ExitCode::bad_input,
          {"c.jsonl' line 1: no JSON, got an error at byte"});
  refuses(text, "bytes", ExitCode::usage, {"[--end] unknown token, got '</s>', expected one of 'bytes'"},
          {"--end", "</s>"});
  expect_refusal({"tokenize", text, "--tokenizer", "bytes", "--out", "/proc/none/out"}, ExitCode::cannot_write,
                 {"[--out] cannot write"});
}

}  // namespace
}  // namespace partita
