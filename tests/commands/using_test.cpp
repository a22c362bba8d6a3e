// What a user sees of the commands.

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <thread>

#include "support/places.h"
#include "support/program.h"

namespace partita {
namespace {

using UsingWords = std::vector<std::string>;

void expect_parts(const std::string& text, const UsingWords& parts) {
  for (const std::string& part : parts)
    EXPECT_NE(text.find(part), std::string::npos) << "no '" << part << "' in " << text;
}

TEST(Train, SaysWhatItDoesAfterTheTraining) {
  const TempDir folder;
  const std::string weights = (folder.path() / "w").string();
  const UsingWords words{"train", "mlp:hidden=4", "--steps", "2", "--save", weights};
  const Outcome outcome = run_program(words);
  expect_parts(outcome.output, {"testing on 1000 rows", "test accuracy 0.", "saved to " + weights});
  UsingWords quick = words;
  quick.push_back("--no-eval");
  const std::string output = run_program(quick).output;
  EXPECT_EQ(output.find("test"), std::string::npos) << output;
  expect_parts(output, {"saved to "});
  quick.insert(quick.end(), {"--quiet", "--per-print-times", "1"});
  EXPECT_EQ(run_program(quick).output, fmt::format("saved to {}\n", weights));
}

// A flag that may be given several times takes one value each time.
TEST(Flags, TakeNoWordOfOthers) {
  const UsingWords rest{"mlp:hidden=4", "--steps", "1", "--no-eval"};
  UsingWords train{"train", "--precision", "bf16", "--precision-of", "*=f32"},
      launched{"launch", "-n", "1", "-x", "A", "-x", "B", "--"};
  launched.insert(launched.end(), train.begin(), train.end());
  for (UsingWords* words : {&train, &launched}) {
    words->insert(words->end(), rest.begin(), rest.end());
    const Outcome outcome = run_program(*words);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.output << fmt::format("{}", fmt::join(outcome.lines, "\n"));
    expect_parts(outcome.output, {"step: 1, loss is "});
    EXPECT_EQ(has_warning(outcome, "[-x] B is not set, so no rank gets it"), words == &launched);
  }
}

TEST(Train, CountsTheLikeliestLabelsWhenAsked) {
  const Outcome outcome = run_program({"train", "mlp:hidden=4", "--steps", "1", "--top-k", "10"});
  expect_parts(outcome.output, {"test accuracy 0.", "test top-10 accuracy 1.0000 (1000 of 1000)"});
  EXPECT_EQ(run_program({"train", "mlp:hidden=4", "--steps", "1"}).output.find("top-"), std::string::npos);
  const TempDir folder;
  const std::string file = (folder.path() / "config.toml").string();
  std::ofstream(file) << "[evaluation]\ntop = 10\n";
  const UsingWords words{"train", "mlp:hidden=4", "--steps", "1", "--config", file};
  expect_parts(run_program(words).output, {"test top-10 accuracy 1.0000 (1000 of 1000)"});
}

TEST(Train, VerboseTellsOfPlanMemoryAndPasses) {
  const Outcome outcome = run_program(
      {"train", "mlp:hidden=4", "--steps", "1", "--no-eval", "--verbose", "--ranks", "2", "--threads", "1"});
  expect_parts(outcome.output, {"plan data: mesh data=2", "memory: ", "of each rank", "graph ", "schedule "});
}

TEST(Train, LogsTheLearningRateAndValidations) {
  const TempDir folder;
  const std::string log = (folder.path() / "log").string();
  run_program({"train", "mlp:hidden=4", "--batch", "3000", "--epochs", "1", "--validate", "--no-eval", "--lr", "0.5",
               "--lr-schedule", "constant", "--warmup-steps", "0", "--log", log});
  expect_parts(read_text(log), {"\"step\":2,", "\"learning_rate\":0.5,", "\"validation_accuracy\":0."});
}

TEST(Train, ReadsNumpyFiles) {
  const TempDir folder;
  const std::string path = (folder.path() / "rows.npz").string();
  const std::string script = fmt::format(
      "import numpy as np\nr = np.random.default_rng(1)\n"
      "np.savez('{}', x_train=r.integers(0, 255, (64, 28, 28), np.uint8), y_train=np.arange(64) % 10,\n"
      "         x_test=r.integers(0, 255, (20, 28, 28), np.uint8), y_test=np.arange(20) % 10)\n",
      path);
  ASSERT_EQ(run_command({"/usr/bin/python3", "-c", script}).exit_code, 0);
  for (const std::string& source : {path, "npz:" + path}) {
    const Outcome outcome = run_program({"train", "lenet", "--data", source, "--batch", "16", "--steps", "2"});
    EXPECT_EQ(outcome.exit_code, 0) << fmt::format("{}", fmt::join(outcome.lines, "\n"));
    expect_parts(outcome.output, {"testing on 20 rows", "test accuracy"});
  }
}

// The step that runs is finished, what was asked for is saved, and the exit code says why.
TEST(Train, AnInterruptSavesWhatWasAskedFor) {
  const TempDir folder;
  const std::string weights = (folder.path() / "w").string(), checkpoint = (folder.path() / "c").string(),
                    log = (folder.path() / "log").string();
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGINT, SIG_DFL);  // a shell ignores it for what runs in the background
    const std::string command =
        fmt::format("exec {} train mlp:hidden=64 --epochs 1000 --save {} --checkpoint {} --log {} >{} 2>&1", kProgram,
                    weights, checkpoint, log, (folder.path() / "out").string());
    ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    ::_exit(127);
  }
  for (int i = 0; i < 600 && read_text(log).find("\"step\":3,") == std::string::npos; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  ::kill(child, SIGINT);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), static_cast<int>(ExitCode::interrupted));
  expect_parts(read_text(folder.path() / "out"), {"interrupted: the training ends after step ", "saved to " + weights,
                                                  "checkpoint in " + checkpoint, "[train] interrupted"});
  EXPECT_TRUE(std::filesystem::exists(weights));
  const Outcome resumed = run_program({"train", "mlp:hidden=64", "--resume", checkpoint, "--epochs", "1000", "--steps",
                                       "1", "--resume-with", "schedule.steps"});
  EXPECT_TRUE(has_warning(resumed, "[resume] nothing left to train"))
      << fmt::format("{}", fmt::join(resumed.warnings, "\n"));
}

// 6,000 generated rows are 3 steps an epoch, of which the recipe has 2.
TEST(Train, StepsAloneGovern) {
  const TempDir folder;
  const std::string log = (folder.path() / "log").string(), file = (folder.path() / "job.toml").string();
  const auto steps_of = [&](const UsingWords& more, const std::string& told) {
    UsingWords words{"train", "mlp:hidden=4", "--batch", "2000", "--no-eval", "--log", log};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome outcome = run_program(words);
    EXPECT_EQ(outcome.exit_code, 0) << fmt::format("{}", fmt::join(outcome.lines, "\n"));
    const size_t line = outcome.output.find("the training ends after ");
    EXPECT_EQ(line == std::string::npos ? "" : outcome.output.substr(line, outcome.output.find('\n', line) - line),
              told);
    const std::string steps = read_text(log);
    return std::count(steps.begin(), steps.end(), '\n');
  };
  EXPECT_EQ(steps_of({}, ""), 6);
  EXPECT_EQ(steps_of({"--steps", "8"}, ""), 8) << "in place of the epochs of the recipe";
  EXPECT_EQ(steps_of({"--steps", "8", "--epochs", "2"},
                     "the training ends after 6 steps: the smaller of --steps 8 and --epochs 2, 6 steps"),
            6);
  EXPECT_EQ(steps_of({"--epochs", "3", "--steps", "8"},
                     "the training ends after 8 steps: the smaller of --steps 8 and --epochs 3, 9 steps"),
            8);
  write_text(file, "[training]\nsteps = 8\n");
  EXPECT_EQ(steps_of({"--config", file}, ""), 8);
  // What is printed is the same training.
  write_text(file, run_program({"train", "mlp:hidden=4", "--batch", "2000", "--steps", "8", "--print-config"}).output);
  EXPECT_EQ(steps_of({"--config", file}, ""), 8);
  write_text(file, "[training]\nsteps = 8\nepochs = 2\n");
  EXPECT_EQ(
      steps_of({"--config", file}, "the training ends after 6 steps: the smaller of --steps 8 and --epochs 2, 6 steps"),
      6);
  EXPECT_EQ(
      run_program({"train", "mlp:hidden=4", "--batch", "2000", "--steps", "8", "--epochs", "1", "--no-eval", "--quiet"})
          .output,
      "");
  expect_refusal({"train", "mlp:hidden=4", "--epochs", "0"}, ExitCode::usage,
                 {"[--epochs] the training has no length, got 0 and no --steps, expected 1 epoch or more"});
}

// A last batch that is not full is left out of each whole epoch.
TEST(Train, SaysHowManyRowsAnEpochLeavesOut) {
  const auto told = [](const UsingWords& more) {
    UsingWords words{"train", "mlp:hidden=4", "--no-eval"};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome outcome = run_program(words);
    EXPECT_EQ(outcome.exit_code, 0) << fmt::format("{}", fmt::join(outcome.lines, "\n"));
    const size_t line = outcome.output.find("each epoch leaves out ");
    return line == std::string::npos ? "" : outcome.output.substr(line, outcome.output.find('\n', line) - line);
  };
  const std::string expected = "each epoch leaves out 750 of 6000 rows, which fill no batch of 1750";
  EXPECT_EQ(told({"--batch", "1750", "--epochs", "1"}), expected);
  EXPECT_EQ(told({"--batch", "1750", "--steps", "3"}), expected);
  EXPECT_EQ(told({"--batch", "1750", "--steps", "2"}), "") << "no epoch ends";
  EXPECT_EQ(told({"--batch", "1750", "--epochs", "1", "--quiet"}), "");
  EXPECT_EQ(told({"--batch", "2000", "--epochs", "1"}), "") << "all batches are full";
}

// A training that is stopped in the middle of an epoch says the time of the steps that each process took.
TEST(Train, AResumedEpochSaysTheTimeOfItsOwnSteps) {
  const TempDir folder;
  const std::string run = (folder.path() / "run").string();
  const UsingWords train{"train", "mlp:hidden=4", "--batch",  "200", "--schedule-steps",
                         "100",   "--no-eval",    "--verbose"};
  const auto monitored = [&](const char* steps) {
    UsingWords words = train;
    words.insert(words.end(), {"--checkpoint", run, "--resume", "latest", "--checkpoint-every", "1"});
    words.insert(words.end(), {"--threads", "1", "--steps", steps});
    const std::string output = run_program(words).output;
    double epoch = 0, step = 0, exposed = -1;
    const size_t line = output.find("epoch time: ");
    EXPECT_NE(line, std::string::npos) << output;
    EXPECT_EQ(
        std::sscanf(output.c_str() + line, "epoch time: %lf ms, per step time: %lf ms, exposed communication: %lf",
                    &epoch, &step, &exposed),
        3)
        << output;
    return std::pair(epoch, step);
  };
  for (const auto& [until, taken] : {std::pair{"20", 20}, {"26", 6}, {"30", 4}}) {
    const auto [epoch, step] = monitored(until);
    EXPECT_NEAR(step, epoch / taken, 0.001) << until;
  }
}

TEST(Train, AResumedTrainingIsTheSameOrSaysWhatDiffers) {
  const TempDir folder;
  const std::string checkpoint = (folder.path() / "c").string();
  const UsingWords gpt{"train", "gpt:layers=1,hidden=16,heads=2,seq=8", "--no-eval", "--schedule-steps", "100"};
  const auto run = [&](UsingWords words, const UsingWords& more) {
    words.insert(words.end(), more.begin(), more.end());
    return run_program(words);
  };
  ASSERT_EQ(run(gpt, {"--steps", "2", "--checkpoint", checkpoint}).exit_code, 0);
  const UsingWords go_on{"--resume", checkpoint, "--steps", "3"};
  const auto refused = [&](UsingWords words, const UsingWords& more, const UsingWords& parts) {
    words.insert(words.end(), go_on.begin(), go_on.end());
    words.insert(words.end(), more.begin(), more.end());
    expect_refusal(words, ExitCode::bad_input, parts);
  };
  refused({"train", "gpt:layers=1,hidden=16,heads=4,seq=8", "--no-eval", "--schedule-steps", "100"}, {},
          {"[resume]", "model = gpt:layers=1,hidden=16,heads=4,seq=8 instead of gpt:layers=1,hidden=16,heads=2,seq=8"});
  refused({"train", "gpt:layers=1,hidden=16,heads=2,seq=8,dropout=0.1"}, {}, {"dropout=0.1"});
  refused(gpt, {"--loss", "dense"}, {"training.loss = dense instead of sparse"});
  refused(gpt, {"--lr-schedule", "linear"}, {"schedule.kind = linear instead of cosine"});
  refused(gpt, {"--lr", "0.5", "--weight-decay", "0.5"},
          {"schedule.learning_rate = 0.5 instead of 0.001", "optimizer.weight_decay = 0.5 instead of 0.1"});
  refused(gpt, {"--dtype", "f64"}, {"training.dtype = f64 instead of f32"});
  const std::string text = (folder.path() / "book.txt").string();
  write_text(text, std::string(56000, 'x'));  // as many windows as were generated
  EXPECT_EQ(run(gpt, {"--resume", checkpoint, "--steps", "3", "--ranks", "2", "--threads", "1"}).exit_code, 0);
  // Options that save memory do not change the training.
  EXPECT_EQ(run(gpt, {"--resume", checkpoint, "--steps", "3", "--ranks", "2", "--zero", "3", "--zero-threshold", "0"})
                .exit_code,
            0);
  EXPECT_EQ(run(gpt, {"--resume", checkpoint, "--steps", "3", "--micro-batches", "2", "--recompute", "full"}).exit_code,
            0);
  EXPECT_EQ(run(gpt, {"--resume", checkpoint, "--steps", "3", "--ranks", "8", "--threads", "1", "--parallel", "auto",
                      "--tensor-parallel", "2", "--sequence-parallel", "--context-parallel", "2"})
                .exit_code,
            0);
  const UsingWords own_length{"train", "gpt:layers=1,hidden=16,heads=2,seq=8", "--no-eval"};
  refused(own_length, {},
          {"[resume]", "got schedule.steps = 3 instead of 100, expected the same",
           "--schedule-steps N says how long the learning rate falls"});
  EXPECT_EQ(run(own_length, {"--resume", checkpoint, "--steps", "3", "--resume-with", "schedule.steps"}).exit_code, 0);
  EXPECT_EQ(run(gpt, {"--resume", checkpoint, "--steps", "3", "--lr", "0.5", "--resume-with", "schedule.learning_rate"})
                .exit_code,
            0);
  expect_refusal({"train", "gpt", "--resume", checkpoint, "--resume-with", "schedule.learning_rat"}, ExitCode::usage,
                 {"[--resume-with] unknown name", "did you mean 'schedule.learning_rate'?"});
}

TEST(Train, RefusesWhatDoesNotFitTheMachine) {
  expect_refusal({"train", "gpt:seq=1000000", "--steps", "1"}, ExitCode::out_of_memory,
                 {"[memory] the program does not fit", "TiB", "--force"});
}

TEST(Train, AWarmUpLongerThanTheRunIsRefused) {
  expect_refusal({"train", "mlp:hidden=4", "--steps", "5", "--warmup-steps", "6"}, ExitCode::usage,
                 {"[--warmup-steps] longer than the training, got 6 of 5 steps"});
}

TEST(Partition, WarnsOfAnnotationsThatChangeNothing) {
  const Outcome outcome = run_program({"partition", "mlp:layers=1,hidden=12", "--ranks", "2", "--parallel", "data",
                                       "--shard", "net/fc1/matmul=((1,2),(1,2))"});
  EXPECT_TRUE(has_warning(outcome, "got --parallel data, expected semi or auto"));
}

// --shard takes the names of nodes that commands print. The refusal of an unknown name lists known ones.
TEST(Shard, TakesTheNamesThatArePrinted) {
  const Outcome graph = run_program({"graph", "mlp:layers=1,hidden=12"});
  expect_parts(graph.output, {"%matmul = matmul(", "scope=net/fc1"});
  for (const char* name : {"matmul", "net/fc1/matmul"}) {
    EXPECT_EQ(run_program({"partition", "mlp:layers=1,hidden=12", "--ranks", "2", "--parallel", "auto", "--shard",
                           fmt::format("{}=((1,2),(1,2))", name)})
                  .exit_code,
              0)
        << name;
  }
  expect_refusal(
      {"partition", "mlp:layers=1,hidden=12", "--ranks", "2", "--parallel", "auto", "--shard", "fc1=((1,2),(1,2))"},
      ExitCode::usage, {"got 'fc1'", "net/fc1/matmul"});
}

TEST(Summary, ListsLayersShapesAndParameters) {
  const Outcome outcome = run_program({"summary", "lenet", "--batch", "64"});
  expect_parts(outcome.output, {"conv1", "conv2d, bias_add", "f32[64,6,28,28]", "156", "parameters 61706", "fc3"});
}

TEST(Summary, TablesThatOtherLayersReadHaveNoResult) {
  const Outcome outcome = run_program({"summary", "gpt:layers=1,hidden=16,heads=2,seq=8,vocab=100"});
  std::istringstream lines(outcome.output);
  int tables = 0;
  for (std::string line; std::getline(lines, line);) {
    EXPECT_EQ(line.find("[]"), std::string::npos) << line;
    if (!line.starts_with("wte ") && !line.starts_with("wpe ")) continue;
    ++tables;
    std::istringstream words(line);
    std::string name, output, parameters;
    words >> name >> output >> parameters;
    EXPECT_EQ(output, "-") << line;
    EXPECT_EQ(parameters, name == "wte" ? "1600" : "128") << line;
  }
  EXPECT_EQ(tables, 2) << outcome.output;
}

TEST(Using, WeightsAreUsedInThePrecisionThatAFlagSays) {
  const TempDir folder;
  const std::string weights = folder.path() / "gpt", config = folder.path() / "half.toml";
  write_text(config, "[training]\nprecision = \"bf16\"\n");
  ASSERT_EQ(run_program({"train", "gpt:layers=1,hidden=16,heads=2,seq=8", "--steps", "2", "--batch", "4", "--no-eval",
                         "--quiet", "--save", weights})
                .exit_code,
            0);
  for (const char* command : {"eval", "generate"}) {
    const auto output = [&](std::vector<std::string> words) {
      words.insert(words.begin(), {command, "--load", weights});
      const Outcome outcome = run_program(words);
      EXPECT_EQ(outcome.exit_code, 0) << command;
      return outcome.output;
    };
    const std::string half = output({"--precision", "bf16"});
    EXPECT_EQ(half, output({"--config", config}));
    EXPECT_EQ(output({"--config", config, "--precision", "f32"}), output({}));
    if (std::string(command) == "eval") {
      EXPECT_NE(half, output({}));
    }
  }
}

// A file of weights names its model, so commands that load it need no sizes.
TEST(Using, WeightsSayTheirModel) {
  const TempDir folder;
  const auto in = [&](const char* name) { return (folder.path() / name).string(); };
  const std::string gpt = "gpt:layers=1,hidden=16,heads=2,seq=8";
  const std::vector<std::string> train{"--steps", "2", "--batch", "4", "--no-eval", "--quiet", "--threads", "1"};
  const auto trained = [&](std::vector<std::string> words) {
    words.insert(words.begin(), "train");
    words.insert(words.end(), train.begin(), train.end());
    EXPECT_EQ(run_program(words).exit_code, 0);
  };
  trained({gpt, "--save", in("gpt"), "--checkpoint", in("parts")});
  trained({"mlp:hidden=7,layers=1", "--loss", "binary", "--save", in("mlp")});
  const auto output = [](const std::vector<std::string>& words) {
    const Outcome outcome = run_program(words);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
    return outcome.output;
  };
  const std::string written = output({"generate", gpt, "--load", in("gpt"), "--length", "20"});
  for (const char* weights : {"gpt", "parts"}) {
    EXPECT_EQ(output({"generate", "--load", in(weights), "--length", "20"}), written) << weights;
  }
  EXPECT_EQ(output({"eval", "--load", in("mlp")}),
            output({"eval", "mlp:hidden=7,layers=1", "--loss", "binary", "--load", in("mlp")}));
  EXPECT_NE(output({"eval", "--load", in("mlp"), "--loss", "mse"}), output({"eval", "--load", in("mlp")}));
  expect_refusal({"eval", "mlp:hidden=8", "--load", in("mlp")}, ExitCode::bad_input, {"[load]"});
  std::string bytes = read_text(in("mlp"));
  bytes.replace(bytes.find("partita.config"), 14, "another.config");
  write_text(in("other"), bytes);
  expect_refusal({"eval", "--load", in("other")}, ExitCode::usage,
                 {"[eval] no model, got " + in("other") + " without a model name, expected MODEL"});
}

TEST(Help, GroupsWrapsAndSaysDefaults) {
  const std::string help = run_program({"train", "--help"}).output;
  expect_parts(
      help, {"\nTraining:\n", "\nOptimizer:\n", "\nFiles:\n", "--[no-]eval", "[default: fast]", "--clip-norm NUMBER"});
  expect_parts(help, {"--optimizer adadelta|", "|\n      momentum|"});  // too long for a line
  std::string words;
  std::istringstream all(help);
  for (std::string word; all >> word;) words += word + " ";
  expect_parts(
      words, {"the processes that mpirun or srun started; 0: automatic", "(quickstart: on 1 rank or a multiple of 8)"});
  std::istringstream lines(help);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 110u) << line;
}

TEST(Suggestions, AreByMeaning) {
  for (const auto& [given, meant] : std::map<std::string, std::string>{{"--batch-size", "--batch"},
                                                                       {"--learning-rate", "--lr"},
                                                                       {"--epoch", "--epochs"},
                                                                       {"--devices", "--ranks"},
                                                                       {"--workers", "--ranks"},
                                                                       {"--grad-clip", "--clip-norm"}}) {
    expect_refusal({"train", "mlp", given, "4"}, ExitCode::usage, {fmt::format("did you mean '{}'?", meant)});
  }
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"--gpu"}, {"--gpu=all"}, {"--cuda"}, {"--wandb"}, {"--wandb", "project"}}) {
    std::vector<std::string> arguments{"train", "mlp"};
    arguments.insert(arguments.end(), words.begin(), words.end());
    const Outcome outcome = run_program(arguments);
    EXPECT_EQ(outcome.exit_code, static_cast<int>(ExitCode::usage));
    ASSERT_EQ(outcome.lines.size(), 1u);
    const std::string advice = words[0].starts_with("--wandb")  ? "--run DIR records the training for partita report"
                               : words[0].starts_with("--cuda") ? "--device cuda computes on GPUs of NVIDIA"
                                                                : "--device NAME computes on an accelerator";
    EXPECT_NE(outcome.lines[0].find("expected one that --help lists; " + advice), std::string::npos)
        << outcome.lines[0];
    EXPECT_EQ(outcome.lines[0].find("did you mean"), std::string::npos) << outcome.lines[0];
  }
}

TEST(Devices, OtherNamesAreRefused) {
  expect_refusal({"train", "mlp", "--device", "gpu"}, ExitCode::usage,
                 {"[device] a device that does not exist, got gpu, expected cpu, xla:cpu, cuda, rocm, oneapi, tpu, or "
                  "one of these with an index, as cuda:0"});
  expect_refusal({"train", "mlp", "--device", "4"}, ExitCode::usage, {"[device] a device that does not exist, got 4"});
}

// Where a step's time goes on machines that nobody needs to have, and on those that take turns on cores.
TEST(Using, ScheduleOnACluster) {
  for (const std::string cluster : {"h100", "cpu"}) {
    const Outcome outcome =
        run_program({"schedule", "gpt:layers=4,hidden=32,heads=4,seq=16", "--batch", "16", "--ranks", "4", "--stages",
                     "2", "--micro-batches", "4", "--order", "zero_bubble", "--cluster", cluster});
    EXPECT_EQ(outcome.exit_code, 0);
    for (const std::string& part :
         {"predicted on " + cluster + ": ", std::string(" ms a step"), std::string("bubble "),
          std::string("ranks 2 to 3: compute "), std::string("exposed "), std::string("; in use ")})
      EXPECT_NE(outcome.output.find(part), std::string::npos) << part << " in " << outcome.output;
  }
}

}  // namespace
}  // namespace partita
