// Words of the command line that cannot be accepted: exit code 64 and, where one is near, the right name.

#include <cstdlib>

#include "support/program.h"

namespace partita {
namespace {

void expect_usage(const std::vector<std::string>& arguments, const std::vector<std::string>& parts) {
  expect_refusal(arguments, ExitCode::usage, parts);
}

TEST(CommandLineErrors, Schedule) {
  expect_usage({"schedule"}, {"[schedule] no model"});
  expect_usage({"schedule", "mlp", "--full=1"}, {"[--full] this flag takes no value, got '1'"});
  expect_usage({"schedule", "mlp", "--rank", "1"}, {"[schedule] unknown flag, got '--rank'"});
  expect_usage({"schedule", "mlp", "--ranks", "2", "--stages", "4", "--batch-norm", "global"},
               {"[stages] fewer ranks than groups of stages"});
  expect_usage({"schedule", "mlp", "--batch", "32", "--micro-batches", "5"}, {"got 5 micro-batches of batch 32"});
}

TEST(CommandLineErrors, Calibrate) {
  expect_usage({"calibrate", "--seconds", "0"}, {"[--seconds] out of range, got 0, expected above 0 to 3600"});
  expect_usage({"calibrate", "--seconds", "nan"}, {"[--seconds]"});
  expect_usage({"calibrate", "--out", ""}, {"[--out]"});
  expect_usage({"calibrate", "--uot", "x.toml"}, {"[calibrate]", "'--uot'", "did you mean '--out'?"});
  expect_refusal({"calibrate", "--out", "/nowhere/x.toml"}, ExitCode::cannot_write, {"cannot write /nowhere/x.toml"});
}

TEST(CommandLineErrors, Completion) {
  expect_usage({"completion", "tcsh"}, {"[completion] unknown shell, got 'tcsh', expected one of bash zsh fish"});
}

TEST(CommandLineErrors, NoCommand) {
  expect_usage(
      {},
      {"no command",
       "expected one of train eval report compare sweep generate graph partition plan explain diff calibrate cluster "
       "schedule compile ops summary checkpoint import export launch diagnose doctor tokenize completion; see --help"});
}

TEST(CommandLineErrors, UnknownCommand) {
  expect_usage({"trian"}, {"unknown command", "got 'trian'", "did you mean 'train'?"});
}

TEST(CommandLineErrors, UnknownFlag) {
  expect_usage({"train", "mlp", "--lr-shcedule", "step"},
               {"[train]", "'--lr-shcedule'", "did you mean '--lr-schedule'?"});
  expect_usage({"eval", "mlp", "--laod=x", "--load=y"}, {"[eval]", "'--laod'", "did you mean '--load'?"});
}

TEST(CommandLineErrors, MissingModel) {
  expect_usage({"train"}, {"[train] no model", "expected MODEL or a configuration file"});
}

TEST(CommandLineErrors, WordTooMany) {
  expect_usage({"train", "mlp", "lenet"}, {"unexpected argument, got 'lenet', expected none"});
}

TEST(CommandLineErrors, UnknownModel) {
  expect_usage({"train", "lanet"}, {"unknown model", "got 'lanet'", "[mlp, lenet, resnet18,", "did you mean 'lenet'?"});
}

TEST(CommandLineErrors, UnknownOp) {
  expect_usage({"ops", "conv3d"}, {"[ops] unknown op, got 'conv3d', expected one of ", "did you mean 'conv2d'?"});
  const Outcome outcome = run_program({"ops", "foo"});
  ASSERT_EQ(outcome.lines.size(), 1u);
  EXPECT_TRUE(outcome.lines[0].ends_with(" ops")) << outcome.lines[0];
}

TEST(CommandLineErrors, UnknownOptimizer) {
  expect_usage({"train", "mlp", "--optimizer", "momentm"}, {"[--optimizer]", "'momentm'", "did you mean 'momentum'?"});
}

TEST(CommandLineErrors, UnknownLoss) {
  expect_usage({"train", "mlp", "--loss", "sprase"}, {"[--loss]", "'sprase'", "did you mean 'sparse'?"});
}

TEST(CommandLineErrors, UnknownParallelMode) {
  expect_usage({"train", "mlp", "--parallel", "dta"}, {"[--parallel]", "'dta'", "did you mean 'data'?"});
}

TEST(CommandLineErrors, UnknownSchedule) {
  expect_usage({"train", "mlp", "--lr-schedule", "csine"}, {"[--lr-schedule]", "'csine'", "did you mean 'cosine'?"});
}

TEST(CommandLineErrors, UnknownData) {
  expect_usage({"train", "mlp", "--data", "minst:x"}, {"[--data]", "'minst'", "did you mean 'mnist'?"});
}

TEST(CommandLineErrors, BadModelOption) {
  expect_usage({"train", "mlp:hiden=3"}, {"[mlp]", "got 'hiden'", "did you mean 'hidden'?"});
  expect_usage({"train", "mlp:hidden"}, {"got 'hidden'", "expected name=value"});
  expect_usage({"train", "mlp:hidden=wide"}, {"'hidden' is not a number", "got 'wide'", "1 to 1048576"});
  expect_usage({"train", "mlp:hidden=3,hidden=4"}, {"'hidden' appears twice"});
}

TEST(CommandLineErrors, ModelOptionOutOfRange) {
  expect_usage({"train", "mlp:hidden=0"}, {"[mlp]", "'hidden'", "got 0", "expected 1 to 1048576"});
  expect_usage({"train", "lenet:dropout=1.5"}, {"[lenet]", "'dropout'", "got 1.5", "expected 0 to 0.99"});
  expect_usage({"train", "mlp:hidden=99999999999999999999"}, {"[mlp]", "'hidden'", "expected 1 to 1048576"});
}

TEST(CommandLineErrors, RanksOutOfRange) {
  expect_usage({"train", "mlp", "--ranks", "257"}, {"[--ranks]", "got 257", "expected 1 to 256"});
  expect_usage({"train", "mlp", "--ranks", "-1"}, {"[--ranks]", "got -1", "expected 0 to"});
}

TEST(CommandLineErrors, BadThreads) {
  expect_usage({"train", "mlp", "--threads", "-3"}, {"[--threads]", "got -3", "expected 0 to "});
  expect_usage({"train", "mlp", "--threads", "1000000"},
               {"[--threads]", "got 1000000", "eight times the cores, and no fewer than 64"});
  expect_usage({"train", "mlp", "--threads", "many"},
               {"[--threads] not a number, got 'many', expected a whole number"});
}

TEST(CommandLineErrors, BadLearningRate) {
  expect_usage({"train", "mlp", "--lr", "fast"}, {"--lr", "fast", "expected a number"});
  expect_usage({"train", "mlp", "--lr", "nan"}, {"[--lr]", "got nan", "expected 0 to"});
  expect_usage({"train", "mlp", "--lr", "1e300"}, {"[lr]", "infinite in f32", "got 1e+300"});
}

TEST(CommandLineErrors, NumbersOutOfRange) {
  for (const char* steps :
       {"9223372036854775808", "9223372036854775807", "-1", "1099511627777", "-9223372036854775809"}) {
    expect_usage({"train", "mlp", "--warmup-steps", steps},
                 {"[--warmup-steps] out of range", fmt::format("got {}, expected", steps)});
  }
  const std::vector<std::string> flags{"--steps",          "--epochs",  "--warmup-steps",     "--resize",
                                       "--ranks",          "--threads", "--checkpoint-every", "--patience",
                                       "--per-print-times"};
  for (const std::string& flag : flags) {
    for (const char* number : {"99999999999999999999", "9223372036854775807", "-9223372036854775808"}) {
      expect_usage({"train", "mlp", flag, number}, {"[" + flag + "] out of range", fmt::format("got {}", number)});
    }
    for (const char* text : {"3x", "1e3", "0x10", "1.5", "x", "-", "+", "++1", " 1"}) {
      expect_usage({"train", "mlp", flag + "=" + text},
                   {"[" + flag + "] not a number", fmt::format("got '{}', expected a whole number", text)});
    }
  }
  for (const char* flag : {"--lr", "--momentum", "--weight-decay"}) {
    expect_usage({"train", "mlp", flag, "1e999"}, {fmt::format("[{}] out of range, got 1e999", flag)});
    expect_usage({"train", "mlp", flag, "1,5"}, {fmt::format("[{}] not a number, got '1,5', expected a number", flag)});
  }
  expect_usage({"graph", "lenet", "--ranks", "4294967297"}, {"[--ranks] out of range, got 4294967297"});
  expect_usage({"partition", "mlp", "--rank", "9223372036854775808"}, {"[--rank] out of range"});
  expect_usage({"generate", "gpt", "--load", "w", "--length", "9223372036854775808"}, {"[--length] out of range"});
  EXPECT_EQ(run_program({"train", "mlp:hidden=4", "--steps", "+1", "--lr", "+0.1", "--warmup-steps", "0"}).exit_code,
            0);
}

TEST(CommandLineErrors, FlagsTakeNoValue) {
  for (const char* flag : {"--nesterov", "--deterministic", "--validate"}) {
    for (const char* value : {"5", "true", "false", "0", ""}) {
      expect_usage({"train", "mlp", fmt::format("{}={}", flag, value)},
                   {fmt::format("[{0}] this flag takes no value, got '{1}', expected {0} alone", flag, value)});
    }
  }
  expect_usage({"partition", "mlp", "--print-plan=2"}, {"[--print-plan] this flag takes no value, got '2'"});
  expect_usage({"graph", "lenet", "--run=no"}, {"[--run] this flag takes no value, got 'no'"});
}

TEST(CommandLineErrors, BadMomentum) {
  expect_usage({"train", "mlp", "--momentum", "nan"}, {"[--momentum]", "got nan", "expected 0 to 1"});
  expect_usage({"train", "mlp", "--weight-decay=-1"}, {"[--weight-decay]", "got -1", "expected 0 to 1"});
}

TEST(CommandLineErrors, BadPrecision) {
  const auto refused = [](const std::vector<std::string>& flags, const std::vector<std::string>& message) {
    std::vector<std::string> arguments{"train", "mlp:hidden=4", "--steps", "1"};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    expect_usage(arguments, message);
  };
  refused({"--precision", "f8"}, {"[--precision]", "got 'f8'", "expected one of f32 bf16 f16"});
  refused({"--residual", "bf16"}, {"[--residual]", "got 'bf16'", "expected one of half f32"});
  refused({"--reduce-dtype", "f16"}, {"[--reduce-dtype]", "got 'f16'", "expected one of f32 bf16"});
  refused({"--loss-scaling", "fixed"}, {"[--loss-scaling]", "got 'fixed'", "expected one of auto off static dynamic"});
  refused({"--on-nan", "ignore"}, {"[--on-nan]", "got 'ignore'", "expected one of stop skip"});
  for (const char* scale : {"inf", "nan", "0.5", "1e39"}) {
    refused({"--loss-scale", scale}, {fmt::format("[--loss-scale] out of range, got {}, expected 1 to ", scale)});
  }
  refused({"--loss-scale-factor", "1", "--loss-scaling", "dynamic"},
          {"[--loss-scale-factor] out of range, got 1, expected 1.001 to 65536"});
  refused({"--loss-scale-window", "0", "--loss-scaling", "dynamic"}, {"[--loss-scale-window] out of range, got 0"});
  refused({"--loss-scaling", "static"},
          {"[--loss-scaling] no scale, got static, expected --loss-scale NUMBER, or dynamic"});
  refused({"--precision-of", "net/fc1=f32"}, {"[--precision-of] has no effect, got net/fc1=f32 with --precision f32"});
  refused({"--residual", "f32"}, {"[--residual] has no effect, got f32 with --precision f32"});
}

TEST(CommandLineErrors, FlagsWithoutEffect) {
  expect_usage({"train", "mlp", "--optimizer", "sgd", "--momentum", "0.5"},
               {"[--momentum] has no effect", "got --optimizer sgd, expected --optimizer", "momentum"});
  expect_usage({"train", "mlp", "--optimizer", "sgd", "--nesterov"}, {"[--nesterov] has no effect"});
  const auto refused = [](const std::vector<std::string>& flags, const std::string& message) {
    std::vector<std::string> arguments{"train", "mlp:hidden=4", "--steps", "1"};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    expect_usage(arguments, {message});
  };
  refused({"--schedule-steps", "9", "--lr-schedule", "constant"},
          "[--schedule-steps] has no effect, got --lr-schedule constant, expected --lr-schedule linear, cosine, step, "
          "polynomial or one_cycle");
  refused({"--schedule-steps", "9", "--lr-schedule", "step", "--lr-step-every", "3"},
          "[--schedule-steps] has no effect, got --lr-step-every 3, expected only one of the two");
  refused({"--resume-with", "training.seed"}, "[--resume-with] has no effect, got no --resume, expected --resume FILE");
  refused({"--no-eval", "--top-k", "3"}, "[--top-k] has no effect, got --no-eval, expected --eval");
  refused({"--no-eval", "--validate", "--top-k", "3"}, "[--top-k] has no effect, got --no-eval, expected --eval");
  refused({"--no-eval", "--eval-batch", "3"},
          "[--eval-batch] has no effect, got --no-eval, expected --eval or --validate");
  refused({"--zero-group", "2"}, "[--zero-group] has no effect, got --zero 0, expected 1, 2 or 3");
  refused({"--zero-threshold", "9"}, "[--zero-threshold] has no effect, got --zero 0, expected 1, 2 or 3");
  refused({"--zero", "1", "--optimizer", "sgd"},
          "[--zero] has no effect, got --zero 1 with --optimizer sgd, which has no states, expected --zero 2 or 3");
  refused({"--micro-loss", "sum"},
          "[--micro-loss sum] has no effect, got --micro-batches 1, expected 2 micro-batches or more, or --micro-loss "
          "mean");
  refused({"--gradients", "sum"}, "[--gradients] has no effect, got --ranks 1, expected 2 ranks or more");
  refused({"--on-nan", "stop", "--precision", "f16"},
          "[--on-nan] has no effect, got --loss-scaling dynamic, expected --loss-scaling static, or off");
  refused({"--on-nan", "stop", "--loss-scaling", "dynamic"},
          "[--on-nan] has no effect, got --loss-scaling dynamic, expected --loss-scaling static, or off");
  refused({"--loss-scale-window", "9", "--precision", "bf16"},
          "[--loss-scale-window] has no effect, got --loss-scaling off, expected --loss-scaling dynamic");
  refused({"--loss-scale-factor", "3", "--loss-scale", "8"},
          "[--loss-scale-factor] has no effect, got --loss-scaling static, expected --loss-scaling dynamic");
  refused({"--loss-scale", "8", "--loss-scaling", "off"},
          "[--loss-scale] has no effect, got --loss-scaling off, expected --loss-scaling static");
  refused({"--reduce-dtype", "bf16", "--ranks", "2", "--dtype", "f64"},
          "[--reduce-dtype] has no effect, got --dtype f64, expected --dtype f32");
  EXPECT_EQ(run_program({"train", "mlp:hidden=4", "--steps", "1", "--no-eval", "--reduce-dtype", "bf16"}).exit_code, 0)
      << "one rank is as others";
  EXPECT_EQ(run_program({"train", "mlp:hidden=4", "--steps", "1", "--gradients", "mean", "--no-eval", "--validate",
                         "--eval-batch", "500", "--lr-schedule", "cosine", "--schedule-steps", "9"})
                .exit_code,
            0);
  const std::vector<std::string> alone{"train", "mlp", "--parallel", "none", "--ranks", "4", "--threads", "1"};
  for (const auto& [flag, value] : {std::pair{"--gradients", "sum"}, std::pair{"--batch-norm", "local"}}) {
    auto arguments = alone;
    arguments.insert(arguments.end(), {flag, value});
    expect_usage(arguments, {fmt::format("[{} {}] has no effect", flag, value), "expected --parallel data"});
  }
}

TEST(CommandLineErrors, RunOnManyRanks) {
  expect_usage({"graph", "lenet", "--run", "--ranks", "2"}, {"[--run]", "--ranks 2", "expected --ranks 1"});
}

TEST(CommandLineErrors, EmptyTexts) {
  for (const char* flag : {"--save", "--log", "--load", "--data", "--dump", "--loss"}) {
    expect_usage({"train", "mlp", flag, ""}, {fmt::format("[{}] empty", flag), "got ''"});
  }
  expect_usage({"eval", "mlp", "--load", ""}, {"[--load] empty"});
  expect_usage({"ops", "--kernels", ""}, {"[--kernels] empty"});
  expect_usage({"graph", ""}, {"empty, got ''"});
}

TEST(CommandLineErrors, BadSeed) {
  for (const char* seed : {"-1", "+1", "18446744073709551617", "0x10", "one"}) {
    expect_usage({"train", "mlp", "--seed", seed},
                 {"[--seed] not a whole number", fmt::format("got {},", seed), "expected 0 to 18446744073709551615"});
  }
  expect_usage({"graph", "lenet", "--seed=-1"}, {"[--seed]", "got -1"});
}

TEST(CommandLineErrors, BadBatch) {
  expect_usage({"train", "mlp", "--batch", "18446744073709551617"}, {"[--batch]", "got 18446744073709551617"});
  expect_usage({"graph", "lenet", "--batch", "0"}, {"[--batch]", "got 0", "expected 1 to"});
  expect_usage({"train", "mlp", "--batch", "0"}, {"[--batch]", "got 0", "expected 1 to"});
  expect_usage({"train", "mlp", "--batch", "10000000", "--steps", "1"}, {"[train]", "got 6000", "10000000"});
  expect_usage({"graph", "lenet", "--batch=-3"}, {"[--batch]", "got -3"});
}

TEST(CommandLineErrors, BatchThatRanksDoNotDivide) {
  expect_usage({"train", "mlp", "--batch", "30", "--ranks", "4", "--threads", "1"},
               {"got batch 30 on 4 ranks", "expected a multiple of 4", "28 or 32, or --parallel hybrid"});
  expect_usage({"train", "mlp", "--batch", "3", "--ranks", "4", "--threads", "1"}, {"got batch 3 on 4 ranks", ": 4"});
  expect_usage({"graph", "lenet", "--ranks", "3"}, {"got batch 32 on 3 ranks", "30 or 33, or --parallel hybrid"});
}

TEST(CommandLineErrors, LongValuesAreShortened) {
  const std::string value(100'000, 'a'), blanks = std::string(100'000, ' ') + "b";
  const std::vector<std::vector<std::string>> commands{
      {value},
      {"train", value},
      {"train", "mlp:" + value},
      {"train", "mlp:hidden=" + value},
      {"train", "mlp:hidden=3," + value + "=4"},
      {"train", "mlp", "--" + value},
      {"train", "mlp", value},
      {"train", "mlp", "--loss", value},
      {"train", "mlp", "--loss", blanks},
      {"train", "mlp", "--seed", value},
      {"train", "mlp", "--seed", blanks},
      {"train", "mlp", "--steps", value},
      {"train", "mlp", "--lr", value},
      {"train", "mlp", "--lr=" + blanks},
      {"train", "mlp", "--nesterov=" + value},
      {"train", "mlp", "--data", value},
      {"train", "mlp", "--data", "mnist:" + value},
      {"train", "mlp", "--save", value},
      {"train", "mlp", "--log", value},
      {"train", "mlp", "--no-pass", value},
      {"train", "mlp", "--parallel", "auto", "--shard", value},
      {"train", "mlp", "--parallel", "auto", "--ranks", "2", "--dataset-strategy", "(" + value},
      {"eval", "mlp", "--load", value},
      {"ops", value},
      {"graph", "no/" + value},
  };
  for (const auto& command : commands) {
    const Outcome outcome = run_program(command);
    EXPECT_GE(outcome.exit_code, 64);
    ASSERT_EQ(outcome.lines.size(), 1u);
    EXPECT_LT(outcome.lines[0].size(), 2200u) << command[0] << outcome.lines[0].substr(0, 400);
  }
  expect_usage({"train", "mlp", "--loss", value},
               {"got '" + std::string(80, 'a') + "...' (100000 characters), expected"});
  const Outcome outcome = run_program({"train", "mlp"}, [&] {
    ::setenv("OMPI_COMM_WORLD_SIZE", "2", 1);
    ::setenv("OMPI_COMM_WORLD_RANK", value.c_str(), 1);
  });
  ASSERT_EQ(outcome.lines.size(), 1u);
  EXPECT_LT(outcome.lines[0].size(), 500u);
}

TEST(CommandLineErrors, ControlCharactersStayInOneLine) {
  expect_usage({"train", "le\nnet"}, {"unknown model", "got 'le?net'"});
  expect_usage({"train", "le\x1b[2J\xff\xc2\x9bnet"}, {"got 'le?[2J???net'"});
  expect_usage({"train", "nét"}, {"got 'nét'"});
}

}  // namespace
}  // namespace partita
