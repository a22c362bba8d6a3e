// Trainings that cannot start, and trainings that go wrong after they have started.

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <functional>
#include <limits>

#include "support/places.h"
#include "support/program.h"

namespace partita {
namespace {

constexpr const char* kModel = "mlp:hidden=4";

/// A folder with the weights of a short training.
struct Weights {
  Weights() {
    const Outcome outcome = run_program({"train", kModel, "--steps", "1", "--save", path()});
    EXPECT_EQ(outcome.exit_code, 0);
  }
  std::string path() const { return (folder.path() / "weights.safetensors").string(); }
  void expect_load(const std::vector<std::string>& parts) const {
    for (const char* command : {"train", "eval"}) {
      expect_refusal({command, kModel, "--load", path()}, ExitCode::bad_input, parts);
    }
  }
  void replace(const std::string& from, const std::string& to) const {
    std::string bytes = read_text(path());
    ASSERT_EQ(from.size(), to.size());
    ASSERT_NE(bytes.find(from), std::string::npos);
    write(bytes.replace(bytes.find(from), from.size(), to));
  }
  /// Writes the file as a program without checksums would.
  void write(std::string bytes) const {
    const std::string_view key = "partita.checksums";
    ASSERT_NE(bytes.find(key), std::string::npos);
    write_text(path(), bytes.replace(bytes.find(key), key.size(), "without.checksums"));
  }

  TempDir folder;
};

TEST(TrainingErrors, ImageTooSmallForTheModel) {
  expect_refusal({"train", "lenet", "--resize", "4", "--steps", "1"}, ExitCode::usage,
                 {"[conv2d]", "window of 5 on 2", "net/conv2 at zoo/lenet.cpp:"});
}

TEST(TrainingErrors, BatchNormsOverOneValue) {
  const std::vector<std::string> one{"train", "resnet50:width=4", "--batch", "8", "--steps", "1", "--threads", "1"};
  for (const char* cut : {"--ranks", "--micro-batches"}) {
    std::vector<std::string> args = one;
    args.insert(args.end(), {cut, "8"});
    expect_refusal(args, ExitCode::usage,
                   {"[batch_norm] each channel has only one value",
                    "in 8 groups of rows in net/layer4/0/bn2/batch_norm", "expected a batch of at least 16, "});
  }
}

TEST(TrainingErrors, PrecisionsOfUnknownLayersWhereverANetworkRuns) {
  const TempDir folder;
  const std::string config = (folder.path() / "half.toml").string(), text = (folder.path() / "gpt").string();
  write_text(config, "[training]\nprecision = \"bf16\"\nprecision_of = [\"net/fc9=f32\"]\n");
  const Weights weights;
  for (const char* command : {"train", "eval"}) {
    expect_refusal({command, kModel, "--load", weights.path(), "--config", config}, ExitCode::usage,
                   {"[--precision-of] unknown layer, got 'net/fc9', expected one of ", "did you mean 'net/fc1'?"});
  }
  const char* gpt = "gpt:layers=1,hidden=8,heads=2,seq=8";
  EXPECT_EQ(run_program({"train", gpt, "--steps", "1", "--save", text}).exit_code, 0);
  expect_refusal({"generate", gpt, "--load", text, "--config", config}, ExitCode::usage,
                 {"[--precision-of] unknown layer, got 'net/fc9', expected one of "});
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"eval", kModel, "--load", weights.path()}, {"generate", gpt, "--load", text}}) {
    std::vector<std::string> unused = words, unknown = words;
    unused.insert(unused.end(), {"--precision-of", "net/fc1=f32"});
    expect_refusal(unused, ExitCode::usage,
                   {"[--precision-of] has no effect, got net/fc1=f32 with --precision f32, expected --precision bf16"});
    unknown.insert(unknown.end(), {"--precision", "bf16", "--precision-of", "net/fc9=f32"});
    expect_refusal(unknown, ExitCode::usage, {"[--precision-of] unknown layer, got 'net/fc9'"});
  }
}

/// Trains `ranks` ranks into a loss that is not a number, over weights that were saved before.
void expect_not_finite(int ranks) {
  const Weights weights;
  const std::string before = read_text(weights.path());
  EXPECT_FALSE(before.empty());
  std::vector<std::string> parts{"the loss is not finite",
                                 "first made by",
                                 "in net/fc",
                                 "zoo/mlp.cpp:",
                                 "; in step ",
                                 ", of rows ",
                                 " of epoch 1"};
  if (ranks > 1) parts.push_back(" on rank ");
  expect_refusal({"train", kModel, "--lr", "1e30", "--warmup-steps", "0", "--steps", "20", "--ranks",
                  std::to_string(ranks), "--threads", "1", "--save", weights.path()},
                 ExitCode::non_finite, parts);
  EXPECT_EQ(read_text(weights.path()), before);
  const std::filesystem::directory_iterator files(weights.folder.path());
  EXPECT_EQ(std::distance(begin(files), end(files)), 1) << "nothing else is left behind";
}

TEST(TrainingErrors, LossNotFinite) { expect_not_finite(1); }

TEST(TrainingErrors, LossNotFiniteOnFourRanks) { expect_not_finite(4); }

TEST(TrainingErrors, LossNotFiniteWritesNoFile) {
  const TempDir folder;
  expect_refusal({"train", kModel, "--lr", "1e30", "--warmup-steps", "0", "--steps", "20", "--save",
                  (folder.path() / "new.safetensors").string()},
                 ExitCode::non_finite, {"zoo/mlp.cpp:"});
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(TrainingErrors, LastUpdateNotFinite) {
  const Weights weights;
  const std::string before = read_text(weights.path());
  // The bias at the label moves by twice 0.9 times the largest f32.
  expect_refusal({"train", kModel, "--steps", "1", "--batch", "1", "--lr", "3.4e38", "--warmup-steps", "0",
                  "--optimizer", "momentum", "--momentum", "1", "--nesterov", "--save", weights.path()},
                 ExitCode::non_finite, {"[train] '", "is not finite after the last update", "inf at element"});
  EXPECT_EQ(read_text(weights.path()), before);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(weights.folder.path()), {}), 1);
}

/// The process of a command, killed as soon as `due` says so; false when it ended before.
bool kill_when(std::vector<std::string> words, const std::function<bool()>& due) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    const int nothing = ::open("/dev/null", O_RDWR);
    for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) ::dup2(nothing, stream);
    ::execv(pointers[0], pointers.data());
    ::_exit(127);
  }
  bool running = true;
  while ((running = ::waitpid(child, nullptr, WNOHANG) == 0) && !due()) ::usleep(100);
  if (!running) return false;
  ::kill(child, SIGKILL);
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFSIGNALED(status);
}

std::vector<std::filesystem::path> files_in(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) files.push_back(entry.path());
  return files;
}

TEST(TrainingErrors, AKilledSaveLeavesNothingForLong) {
  const TempDir folder;
  const std::string path = (folder.path() / "w").string();
  // Large enough to be caught while it is written: 40 MB.
  const std::vector<std::string> train{kProgram, "train", "mlp:layers=1,hidden=12000", "--steps", "1", "--batch", "1",
                                       "--save", path};
  const auto is_writing = [&] {
    const auto files = files_in(folder.path());
    std::error_code gone;
    const auto size = files.empty() ? 0 : std::filesystem::file_size(files[0], gone);
    return !gone && size > 0 && files[0] != path;
  };
  bool killed = false;
  for (int attempt = 0; attempt < 5 && !killed; ++attempt) {
    std::filesystem::remove(path);
    killed = kill_when(train, is_writing) && !std::filesystem::exists(path);
  }
  ASSERT_TRUE(killed);
  ASSERT_EQ(files_in(folder.path()).size(), 1u) << "a part of the file";
  EXPECT_EQ(run_program({"train", kModel, "--steps", "1", "--save", path}).exit_code, 0);
  EXPECT_EQ(files_in(folder.path()), std::vector<std::filesystem::path>{path});
}

TEST(TrainingErrors, SaveToWhatIsNotAFile) {
  const TempDir folder;
  const std::string pipe = (folder.path() / "pipe").string();
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string& path : {pipe, std::string("/dev/null")}) {
    expect_refusal({"train", kModel, "--steps", "1", "--save", path}, ExitCode::cannot_write,
                   {"[save] cannot write " + path, "it is not a regular file"});
  }
}

TEST(TrainingErrors, LogOverTheWeights) {
  const Weights weights;
  const std::string before = read_text(weights.path());
  const std::string link = (weights.folder.path() / "link").string();
  std::filesystem::create_symlink("weights.safetensors", link);
  for (const char* flag : {"--save", "--load"}) {
    for (const std::string& log : {weights.path(), link}) {
      expect_refusal({"train", kModel, "--steps", "1", flag, weights.path(), "--log", log}, ExitCode::usage,
                     {fmt::format("[--log] the same file as {}", flag), log, "expected another file"});
    }
  }
  const std::string fresh = (weights.folder.path() / "new").string();
  const std::string detour = (weights.folder.path() / "." / "new").string();
  expect_refusal({"train", kModel, "--save", fresh, "--log", detour}, ExitCode::usage, {"[--log]"});
  EXPECT_EQ(read_text(weights.path()), before);
  EXPECT_EQ(
      run_program({"train", kModel, "--steps", "1", "--load", weights.path(), "--save", weights.path()}).exit_code, 0);
}

TEST(TrainingErrors, ALogStaysUntilTheTrainingBegins) {
  const TempDir folder;
  const std::filesystem::path log = folder.path() / "log.jsonl";
  write_text(log, "of before");
  expect_refusal({"train", kModel, "--data", "cifar10:no/such", "--log", log.string()}, ExitCode::missing_file,
                 {"no/such"});
  expect_refusal({"train", kModel, "--load", "no.safetensors", "--log", log.string()}, ExitCode::missing_file,
                 {"no.safetensors"});
  EXPECT_EQ(read_text(log), "of before");
  EXPECT_EQ(run_program({"train", kModel, "--steps", "1", "--log", log.string()}).exit_code, 0);
  EXPECT_TRUE(read_text(log).starts_with("{\"step\":1,"));
}

TEST(TrainingErrors, SaveToMissingFolder) {
  expect_refusal({"train", kModel, "--steps", "1", "--save", "no/such/folder/w.safetensors"}, ExitCode::cannot_write,
                 {"[save] cannot write no/such/folder/w.safetensors", "No such file or directory"});
}

TEST(TrainingErrors, SaveToFolder) {
  const TempDir folder;
  expect_refusal({"train", kModel, "--steps", "1", "--save", folder.path().string()}, ExitCode::cannot_write,
                 {"[save] cannot write", "it is a folder"});
}

TEST(TrainingErrors, LogToMissingFolder) {
  expect_refusal({"train", kModel, "--steps", "1", "--log", "no/such/folder/log.jsonl"}, ExitCode::cannot_write,
                 {"[log] cannot write no/such/folder/log.jsonl"});
}

TEST(TrainingErrors, Trace) {
  expect_refusal({"train", kModel, "--steps", "1", "--ranks", "2", "--trace", "no/such/folder/trace"},
                 ExitCode::cannot_write, {"[trace] cannot write no/such/folder/trace: No such file or directory"});
  expect_refusal({"train", kModel, "--trace-steps", "2"}, ExitCode::usage,
                 {"[--trace-steps] has no effect, got no --trace, expected --trace FILE"});
  expect_refusal({"train", kModel, "--trace", "t", "--trace-steps", "0"}, ExitCode::usage,
                 {"[--trace-steps]", "got 0"});
  expect_refusal({"train", kModel, "--cluster", "cpu"}, ExitCode::usage,
                 {"[--cluster] has no effect, got no --trace, expected --trace FILE"});
  expect_refusal({"train", kModel, "--trace", "trace_of_no_cluster", "--cluster", "h101"}, ExitCode::usage,
                 {"h101", "did you mean", "h100"});
  EXPECT_FALSE(std::filesystem::exists("trace_of_no_cluster"));
  const TempDir folder;
  const std::string file = (folder.path() / "file").string();
  expect_refusal({"train", kModel, "--trace", file, "--log", file}, ExitCode::usage,
                 {"[--log] the same file as --trace"});
  // A trace that cannot be written any more does not end the training.
  const Outcome full = run_program({"train", kModel, "--steps", "4", "--trace", "/dev/full"});
  EXPECT_EQ(full.exit_code, 0);
  EXPECT_TRUE(has_warning(full, "[trace] cannot write /dev/full: No space left on device; the training continues"));
}

TEST(WeightErrors, MissingFile) {
  expect_refusal({"eval", kModel, "--load", "no.safetensors"}, ExitCode::missing_file, {"[weights]", "no.safetensors"});
}

TEST(WeightErrors, Truncated) {
  const Weights weights;
  std::filesystem::resize_file(weights.path(), std::filesystem::file_size(weights.path()) - 10);
  weights.expect_load({"[weights]", weights.path(), "wrong length", "got 12830 bytes", "expected 12840"});
}

TEST(WeightErrors, HeaderLongerThanTheFile) {
  const Weights weights;
  std::string bytes = read_text(weights.path());
  const uint64_t huge = uint64_t{1} << 60;
  std::memcpy(bytes.data(), &huge, sizeof huge);
  write_text(weights.path(), bytes);
  weights.expect_load({"[weights]", "wrong header length", std::to_string(huge)});
}

TEST(WeightErrors, NotWeights) {
  const Weights weights;
  write_text(weights.path(), "hello");
  weights.expect_load({"[weights]", "too short", "got 5 bytes"});
}

TEST(WeightErrors, WrongTensor) {
  const Weights weights;
  weights.replace("[4,784]", "[784,4]");
  weights.expect_load({"[load]", "'fc1.weight' does not fit", "got f32[784,4]", "expected f32[4,784]"});
}

TEST(WeightErrors, ShapeThatIsNotTheData) {
  const Weights weights;
  weights.replace("[4,784]", "[9,784]");
  weights.expect_load({"[weights]", "tensor 'fc1.weight'", "got [0, 12544]", "f32[9,784]"});
}

TEST(WeightErrors, MissingTensor) {
  const Weights weights;
  weights.replace("fc2.weight", "fc9.weight");
  weights.expect_load({"[load]", "no tensor for 'fc2.weight', got ", " others, expected f32[4,4]"});
}

TEST(WeightErrors, TensorOfAnotherNetwork) {
  const Weights weights;
  expect_refusal({"eval", "mlp:hidden=4,layers=1", "--load", weights.path()}, ExitCode::bad_input, {"[load]", "fc2"});
}

/// Evaluates weights of which the last number is `value`.
void expect_eval_not_finite(float value, const std::vector<std::string>& parts) {
  const Weights weights;
  std::string bytes = read_text(weights.path());
  std::memcpy(bytes.data() + bytes.size() - sizeof value, &value, sizeof value);
  weights.write(bytes);
  for (const char* ranks : {"1", "4"}) {
    expect_refusal({"eval", kModel, "--load", weights.path(), "--ranks", ranks, "--threads", "1"}, ExitCode::non_finite,
                   parts);
  }
}

TEST(TrainingErrors, EvaluationNotFinite) {
  constexpr float kInfinite = std::numeric_limits<float>::infinity();
  expect_eval_not_finite(std::numeric_limits<float>::quiet_NaN(),
                         {"[eval] the results are not finite", "of 1000 rows"});
  expect_eval_not_finite(kInfinite, {"[eval] the results are not finite", "expected numbers"});
  expect_eval_not_finite(-kInfinite, {"[eval] the results are not finite", "expected numbers"});
}

TEST(TrainingErrors, CheckpointsThatCannotBeUsed) {
  const Weights weights;
  const auto expect = [](std::vector<std::string> more, ExitCode code, const std::vector<std::string>& parts) {
    more.insert(more.begin(), {"train", kModel});
    expect_refusal(more, code, parts);
  };
  expect({"--resume", weights.path()}, ExitCode::bad_input, {"[resume]", "not a checkpoint", "expected a file of"});
  expect({"--resume", "/no/such"}, ExitCode::missing_file, {"/no/such"});
  expect({"--resume", weights.path(), "--load", weights.path()}, ExitCode::usage, {"[--load] has no effect"});
  expect({"--checkpoint-every", "5"}, ExitCode::usage,
         {"[--checkpoint-every] has no effect", "expected --checkpoint DIR"});
  expect({"--checkpoint", "a", "--checkpoint-every", "-1"}, ExitCode::usage, {"[--checkpoint-every]", "got -1"});
  expect({"--patience", "-1"}, ExitCode::usage, {"[--patience]", "got -1"});
  expect({"--checkpoint", "/no/such/a"}, ExitCode::cannot_write, {"/no/such/a"});
  expect({"--checkpoint", weights.path(), "--log", weights.path()}, ExitCode::usage,
         {"[--log] the same file as --checkpoint"});

  expect({"--checkpoint", "same", "--save", "same"}, ExitCode::usage, {"[--save] the same file as --checkpoint"});
  expect_refusal({"generate", "gpt:vocab=100", "--load", weights.path()}, ExitCode::usage,
                 {"[generate] tokens are not bytes, got a vocabulary of 100, expected 256 or --tokenizer NAME"});

  const std::string path = (weights.folder.path() / "checkpoint").string();
  ASSERT_EQ(run_program({"train", kModel, "--steps", "2", "--checkpoint", path}).exit_code, 0);
  expect({"--resume", path, "--optimizer", "adam"}, ExitCode::bad_input, {"[resume]", "another network or optimizer"});
  expect({"--resume", path, "--batch", "17"}, ExitCode::bad_input, {"[resume]", "another batch, got 17"});
  expect_refusal({"train", "mlp:hidden=5", "--resume", path}, ExitCode::bad_input, {"[resume]", "does not fit"});
  expect_refusal({"eval", kModel, "--load", path, "--top-k", "-2"}, ExitCode::usage, {"[--top-k]", "got -2"});
}

TEST(TrainingErrors, GenerateNeedsALanguageModel) {
  expect_refusal({"generate", "gpt", "--load", "w.safetensors", "--device", "gpu"}, ExitCode::usage,
                 {"[device] a device that does not exist, got gpu, expected cpu, xla:cpu, cuda"});
  expect_refusal({"generate", "lenet", "--load", "w.safetensors"}, ExitCode::usage,
                 {"[generate] not a language model, got lenet, expected gpt or moe or llama with any sizes"});
  expect_refusal({"generate", "gpt", "--load", "w.safetensors", "--temperature", "-1"}, ExitCode::usage,
                 {"[--temperature] out of range, got -1, expected 0 to 100"});
  expect_refusal({"generate", "gpt", "--load", "w.safetensors", "--length", "0"}, ExitCode::usage,
                 {"[--length] out of range, got 0"});
  expect_refusal({"generate", "gpt", "--load", "w.safetensors", "--prompt", "a", "--prompts", "b"}, ExitCode::usage,
                 {"--prompt excludes --prompts"});
  expect_refusal({"generate", "gpt", "--load", "w.safetensors", "--micro-batches", "2"}, ExitCode::usage,
                 {"--micro-batches"});
}

TEST(TrainingErrors, FilesOfPromptsWithoutPrompts) {
  const TempDir folder;
  const std::string weights = (folder.path() / "w").string();
  const std::string model = "gpt:layers=1,hidden=8,heads=2,seq=8";
  ASSERT_EQ(run_program({"train", model, "--steps", "1", "--no-eval", "--save", weights}).exit_code, 0);
  const auto refusal = [&](const std::string& name, const std::string& text, const std::string& part) {
    const std::string path = (folder.path() / name).string();
    std::ofstream(path) << text;
    expect_refusal({"generate", model, "--load", weights, "--prompts", path}, ExitCode::bad_input, {path, part});
  };
  refusal("empty.txt", "\n\n", "no prompts, got 2 lines without text, expected one");
  refusal("a.jsonl", "{\"prompt\": \"x\"}\n[1]\n", "2: no prompt, got array, expected an object with a text");
  refusal("b.jsonl", "{\"text\": \"x\"}\n", "1: no prompt, got an object without it");
  refusal("c.jsonl", "{\"prompt\": 5}\n", "1: no prompt, got a \"prompt\" that is number");
  refusal("e.jsonl", "{\"prompt\": \"x\"}\n{\"prompt\": \"\"}\n", ":2: no tokens, got '', expected a text");
  refusal("d.jsonl", "{\"prompt\": \n", "1: no prompt, got an error at byte");
  expect_refusal({"generate", model, "--load", weights, "--prompts", "no/such"}, ExitCode::missing_file,
                 {"[prompts] cannot read no/such"});
}

TEST(TrainingErrors, DeterministicSumsAreThoseOfTheHost) {
  expect_refusal({"train", "mlp", "--device", "xla:cpu", "--ranks", "2", "--collectives", "whole", "--deterministic"},
                 ExitCode::usage,
                 {"[--deterministic] in programs the plugin chooses the order of sums over ranks, got --collectives "
                  "whole, expected cut, or no --deterministic"});
  expect_refusal({"train", "mlp", "--device", "oneapi:1", "--deterministic"}, ExitCode::usage,
                 {"[--deterministic] the plugin has no flag for it, got oneapi:1, expected cpu, xla:cpu, cuda, rocm or "
                  "tpu, or no --deterministic"});
}

TEST(TrainingErrors, ExpertsThatTokensCannotChoose) {
  const auto expect = [](const std::string& model, const std::vector<std::string>& parts) {
    expect_refusal({"train", "moe:" + model, "--steps", "1", "--no-eval"}, ExitCode::usage, parts);
  };
  expect("experts=4,top_k=5", {"[experts] a token cannot go to that many experts, got 5 of 4, expected 1 to 4"});
  expect("top_k=0", {"[moe] option 'top_k' is outside its range, got 0, expected 1 to 65536"});
  expect("capacity=-1", {"[moe] option 'capacity' is outside its range, got -1, expected 0 to 65536"});
  expect("experts=x", {"[moe] option 'experts' is not a number, got 'x'"});
  expect("expert=4", {"[moe] unknown option, got 'expert'", "did you mean 'experts'?"});
  expect("hidden=6,heads=4", {"[attention] heads do not divide the width, got 4 heads of f32[32,128,6]"});
  expect("experts=65536,seq=65536,hidden=4,expert_hidden=4,capacity=0",
         {"[assign_slots] too many slots, got {experts=65536, capacity=65536}", "layer net/h/0/moe/router"});
}

TEST(TrainingErrors, RowsOfAnotherKind) {
  expect_refusal({"train", "gpt", "--data", "mnist:/nowhere"}, ExitCode::usage,
                 {"[--data] the model cannot read these rows, got mnist, expected text:FILE"});
  expect_refusal({"train", "lenet", "--data", "text:/nowhere"}, ExitCode::usage,
                 {"[--data] the model cannot read these rows, got text, expected mnist:DIR, cifar10:DIR or "
                  "images:DIR"});
  expect_refusal({"train", "gpt", "--data", "text:/no/where"}, ExitCode::missing_file, {"/no/where"});
  expect_refusal({"train", "gpt", "--resize", "8"}, ExitCode::usage, {"[--resize] gpt reads no images"});
}

}  // namespace
}  // namespace partita
