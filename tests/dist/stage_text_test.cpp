// Local graphs and schedules of stages as text: read back, and refused with their line when they were changed.

#include <gtest/gtest.h>

#include "base/test_refusal.h"
#include "ir/ops/registry.h"
#include "support/job.h"
#include "support/random_plan.h"
#include "support/texts/texts.h"

namespace partita {
namespace {

constexpr const char* kTextOfStages = R"(partita graph 1
graph tied
input %x: f64[24,4] batch=0
state %w0: f64[4,6] parameter normal(0,0.5)
state %w1: f64[6,5] parameter normal(0,0.5)
%a = matmul(%x, %w0) : f64[24,6] ; stage=0
%b = tanh(%a) : f64[24,6] ; stage=1
%c = matmul(%b, %w1) : f64[24,5] ; stage=1
%d = matmul(%b, %w0) {transpose_b=true} : f64[24,4] ; stage=1
%e = square(%d) : f64[24,4] ; stage=1
%f = square(%c) : f64[24,5] ; stage=1
%first = reduce(%e) {axes=[0,1], scale=0.04} : f64[] ; stage=1
%second = reduce(%f) {axes=[0,1], scale=0.04} : f64[] ; stage=1
%loss = add(%first, %second) : f64[] ; stage=1
output loss = %loss
)";

const Program& program_of_text() {
  static const Program program = [] {
    Job job;
    job.forward = parse_graph(kTextOfStages, all_ops());
    job.training.optimizer = {.kind = OptimizerKind::adamw, .clip_norm = 1};
    job.ranks = 4;
    job.micro_batches = 4;
    job.pipeline.order = Order::zero_bubble;
    return compile_job(job);
  }();
  return program;
}

std::string refusal_of_local(const std::string& text) {
  return refusal_of([&] { parse_local_graph(text, all_ops()); });
}

std::string refusal_of_schedule(const std::string& text, const LocalGraph& local) {
  return refusal_of([&] { parse_schedule(text, local); });
}

TEST(StageText, IsReadBack) {
  for (const StageProgram& stage : program_of_text().stages) {
    const std::string local = print(stage.local, all_ops());
    const LocalGraph read = parse_local_graph(local, all_ops());
    EXPECT_EQ(print(read, all_ops()), local);
    for (size_t i = 0; i < read.graph.inputs.size(); ++i) {
      EXPECT_EQ(read.graph.inputs[i].from_stage, stage.local.graph.inputs[i].from_stage);
      EXPECT_EQ(read.graph.inputs[i].once, stage.local.graph.inputs[i].once);
      EXPECT_EQ(read.graph.inputs[i].verdict, stage.local.graph.inputs[i].verdict);
    }
    const std::string schedule = print(stage.schedule, stage.local);
    EXPECT_EQ(print(parse_schedule(schedule, stage.local), stage.local), schedule);
  }
  const std::string first = print(program_of_text().stages[0].local, all_ops());
  for (const std::string part : {"\nsections weights\n", " to=1\n", " to=1 once\n", " from=1\n", " from=1 verdict\n"}) {
    EXPECT_NE(first.find(part), std::string::npos) << part << "in\n" << first;
  }
}

TEST(StageText, LocalGraphsThatAreWrongAreRefused) {
  const std::string text = print(program_of_text().stages[0].local, all_ops());
  struct {
    std::string from, to, message;
  } const cases[] = {
      {"sections weights", "sections waits",
       "[graph line 4] [sections] unknown name, got 'waits', expected one of one backward weights"},
      {"sections weights", "sections", "[graph line 4] unexpected text, got '', expected a name"},
      {"sections weights\n", "sections weights\nsections weights\n",
       "[graph line 5] given twice, got 'sections', expected it once"},
      {"from=1 verdict", "from=1 verdicts",
       "[graph line 7] unknown property of an input, got 's', expected batch=DIMENSION or from=STAGE"},
      {"from=1 verdict", "from=", "[graph line 7] bad number, got '', expected 0 to 1023"},
      {"from=1 verdict", "from=-1", "[graph line 7] bad number, got '-1', expected 0 to 1023"},
      {"from=1 verdict", "from=1024", "[graph line 7] bad number, got '1024', expected 0 to 1023"},
      {"from=1 verdict", "from=1 once verdict",
       "[graph line 7] unknown property of an input, got 'verdict', expected batch=DIMENSION or from=STAGE"},
      {"to=1 once", "to=", "[graph line 40] bad number, got '', expected 0 to 1023"},
      {"to=1 once", "to=1,", "[graph line 40] bad number, got '', expected 0 to 1023"},
      {"to=1 once", "to=1,x", "[graph line 40] bad number, got 'x', expected 0 to 1023"},
      {"to=1 once", "to=9999", "[graph line 40] bad number, got '9999', expected 0 to 1023"},
      {"to=1 once", "too=1", "[graph line 40] unknown property of an output, got '=1', expected to=STAGES"},
      {"to=1 once", "to=1 twice",
       "[graph line 40] unknown property of an output, got 'twice', expected once or verdict"},
  };
  for (const auto& one : cases) {
    EXPECT_EQ(refusal_of_local(replaced(text, one.from, one.to)), one.message) << one.from << " -> " << one.to;
  }
}

TEST(StageText, SchedulesThatAreWrongAreRefused) {
  const StageProgram& stage = program_of_text().stages[0];
  const std::string text = print(stage.schedule, stage.local);
  const auto changed = [&](const std::string& from, const std::string& to) {
    return refusal_of_schedule(replaced(text, from, to), stage.local);
  };
  EXPECT_EQ(changed("\nbackward\n", "\n"), "[schedule] a line is missing, got none, expected 'backward'");
  EXPECT_EQ(changed("\nweight\n", "\n"), "[schedule] a line is missing, got none, expected 'weight'");
  LocalGraph without = stage.local;
  without.sections = MicroSections::backward;
  EXPECT_EQ(refusal_of_schedule(text, without),
            "[schedule] the graph does not have this section, got 'weight', expected none: it has no such part of a "
            "micro-batch");
  EXPECT_EQ(changed(" copies=2", " copies=1"), "[schedule line 12] bad number, got '1', expected 2 to 65536");
  EXPECT_EQ(changed("\noutput sent.a = %a", "\noutput sent.a = %x"),
            "[schedule line 49] wrong value of output sent.a, got '%x', expected %a");
  // The sections of the last stage in another order.
  const StageProgram& last = program_of_text().stages[1];
  std::string swapped = replaced(print(last.schedule, last.local), "\nbackward\n", "\nsection\n");
  swapped = replaced(replaced(swapped, "\nweight\n", "\nbackward\n"), "\nsection\n", "\nweight\n");
  EXPECT_EQ(refusal_of_schedule(swapped, last.local),
            "[schedule] the parts do not fit together: sections do not follow one another");
}

/// A few characters that are others.
std::string mutated(std::string text, Dice& dice) {
  static const std::vector<std::string> pieces{
      "%",    ":",    "@",        "-1", "9223372036854775807", "\n", "=", "(", " once", " to=0", " from=0", " verdict",
      "last", "late", "copies=2", ""};
  for (int64_t change = dice.below(3) + 1; change > 0; --change) {
    const auto size = static_cast<int64_t>(text.size());
    const auto at = static_cast<size_t>(dice.below(size)), other = static_cast<size_t>(dice.below(size));
    const auto count = static_cast<size_t>(dice.below(12));
    switch (dice.below(4)) {
      case 0:
        text.replace(at, count, pieces[static_cast<size_t>(dice.below(static_cast<int64_t>(pieces.size())))]);
        break;
      case 1: text.replace(at, count, text.substr(other, count)); break;
      case 2: text[at] = static_cast<char>(dice.below(256)); break;
      default: {  // a line that is elsewhere, or missing
        const size_t begin = text.rfind('\n', at) + 1, end = std::min(text.find('\n', at), text.size() - 1) + 1;
        const std::string line = text.substr(begin, end - begin);
        text.erase(begin, line.size());
        if (dice.below(2) == 0 && !text.empty()) text.insert(text.rfind('\n', other % text.size()) + 1, line);
      }
    }
    if (text.empty()) return text;
  }
  return text;
}

// Another error than InvalidArgument ends the test.
TEST(StageText, NoTextCrashesTheReaders) {
  Dice dice(5);
  int accepted = 0;
  for (const StageProgram& stage : program_of_text().stages) {
    const std::string local = print(stage.local, all_ops()), schedule = print(stage.schedule, stage.local);
    for (int round = 0; round < 1500; ++round) {
      const std::string bad = mutated(local, dice);
      if (refusal_of_local(bad) == "accepted") ++accepted;
      if (refusal_of_schedule(mutated(schedule, dice), stage.local) == "accepted") ++accepted;
    }
  }
  EXPECT_GT(accepted, 0);
  EXPECT_LT(accepted, 3000);
}

}  // namespace
}  // namespace partita
