#include "compiler/emit/segments.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "compiler/compile.h"
#include "compiler/emit/test_graph.h"
#include "compiler/partition/collectives.h"
#include "ir/ops/registry.h"
#include "runtime/device/xla/xla_device.h"

namespace partita {
namespace {

/// The training of two products on two ranks, in two micro-batches, for an accelerator.
Program program_of_segments(int64_t level) {
  const auto device = make_device(all_ops(), {.name = "xla:cpu"});
  TrainingOptions training;
  training.optimizer = {.kind = OptimizerKind::adamw, .clip_norm = 1};
  return compile(parse_graph(kTwoProducts, all_ops()), all_ops(), device->catalog(),
                 {.ranks = 2,
                  .mesh = Mesh({{"data", 2}}),
                  .plan = {.micro_batches = 2, .zero = {.level = level, .threshold = 0}},
                  .training = training});
}

Segmenter segmenter_of(const Program& program) { return {program.schedule(), program.local(), all_ops()}; }

/// Segments that end where sections do; those of an executor end there, too.
std::vector<Segment> segments_of_sections(const Program& program) {
  const Schedule& schedule = program.schedule();
  return segmenter_of(program).segments({schedule.begins.begin(), schedule.begins.end()});
}

bool holds(const std::vector<int>& places, int place) { return std::ranges::find(places, place) != places.end(); }

int count_of(std::string_view text, std::string_view part) {
  int count = 0;
  for (size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(Segments, HoldEachComputationOnceAndNoCollective) {
  for (const int64_t level : {0, 3}) {
    const Program program = program_of_segments(level);
    const Schedule& schedule = program.schedule();
    const Segmenter segmenter(schedule, program.local(), all_ops());
    std::vector<size_t> covered, expected;
    for (const Segment& segment : segments_of_sections(program)) {
      EXPECT_LT(segment.begin, segment.end);
      for (size_t i = segment.begin; i < segment.end; ++i) covered.push_back(i);
    }
    int others = 0;
    for (size_t i = 0; i < schedule.instructions.size(); ++i) {
      const Instruction& instruction = schedule.instructions[i];
      const bool communicates =
          instruction.bucket >= 0 || instruction.kind == Instruction::collective || instruction.is_single_message();
      EXPECT_FALSE(communicates && segmenter.in_program(instruction)) << i;
      if (instruction.kind == Instruction::compute) {
        EXPECT_TRUE(segmenter.in_program(instruction)) << program.local().graph.nodes[instruction.node].name;
      }
      if (segmenter.in_program(instruction)) {
        expected.push_back(i);
      } else {
        ++others;
      }
    }
    EXPECT_EQ(covered, expected);
    EXPECT_GT(others, 0) << "gradients are reduced";
  }
}

TEST(Segments, EndAtBorders) {
  const Program program = program_of_segments(0);
  const Schedule& schedule = program.schedule();
  const size_t count = schedule.instructions.size();
  for (const size_t every : {1, 3}) {
    std::vector<size_t> borders;
    for (size_t border = 0; border <= count; border += every) borders.push_back(border);
    const std::vector<Segment> segments = segmenter_of(program).segments(borders);
    EXPECT_GT(segments.size(), segments_of_sections(program).size());
    for (const Segment& segment : segments) {
      EXPECT_EQ(segment.begin / every, (segment.end - 1) / every) << segment.begin << " to " << segment.end;
      if (every > 1) continue;
      const Segment alone = segmenter_of(program).segment_of(segment.begin);
      EXPECT_EQ(alone.end, segment.end);
      EXPECT_EQ(alone.inputs, segment.inputs);
      for (const int place : segment.outputs) EXPECT_TRUE(holds(alone.outputs, place)) << place;
      std::set<int> written;
      for (const int buffer : schedule.instructions[segment.begin].outputs) {
        written.insert(segmenter_of(program).places()[static_cast<size_t>(buffer)]);
      }
      EXPECT_EQ(std::set<int>(alone.outputs.begin(), alone.outputs.end()), written);
    }
  }
}

/// Runs a step with the number of its last writer in place of each value: once with all values, and once with those
/// alone that segments give and that are not released. Whoever reads a value has to find the same writer in both.
class Writers {
 public:
  Writers(const Program& program, const std::vector<Segment>& segments)
      : schedule_(program.schedule()),
        places_(places_of(schedule_)),
        last_readers_(segmenter_of(program).last_readers()) {
    for (const Segment& segment : segments) segments_.emplace(segment.begin, segment);
  }

  void run_step(int64_t micro_batches) {
    ++now_;
    for (const int place : placed(schedule_.inputs)) all_[place] = given_[place] = now_;
    run(0, schedule_.micro_begin(), true);
    for (int64_t m = 0; m < micro_batches; ++m) {
      run(schedule_.micro_begin(), schedule_.micro_end(), m + 1 == micro_batches);
    }
    run(schedule_.micro_end(), schedule_.instructions.size(), true);
  }

  int released() const { return released_; }

  void expect_kept() const {
    for (const std::vector<int>* kept : {&schedule_.entry, &schedule_.outputs}) {
      for (const int place : placed(*kept)) expect_equal(place, schedule_.instructions.size());
    }
  }

 private:
  using Numbers = std::map<int, int>;  // by place

  void run(size_t begin, size_t end, bool is_last) {
    for (size_t i = begin; i < end;) {
      const auto segment = segments_.find(i);
      if (segment != segments_.end()) {
        run_segment(segment->second);
        for (; i < segment->second.end; ++i) release(i, is_last);
        continue;
      }
      const Instruction& instruction = schedule_.instructions[i];
      if (!instruction.last || is_last) {
        for (const int place : reads(instruction)) expect_equal(place, i);
        ++now_;
        for (const int place : writes(instruction)) all_[place] = given_[place] = now_;
        release(i, is_last);
      }
      ++i;
    }
  }

  void release(size_t instruction, bool is_last) {
    for (size_t place = 0; place < places_.size(); ++place) {
      const std::optional<LastReader>& last = last_readers_[place];
      if (!last || last->instruction != instruction || !(last->in_each_micro_batch || is_last)) continue;
      given_[static_cast<int>(place)] = -1;
      ++released_;
    }
  }

  void run_segment(const Segment& segment) {
    for (const int place : segment.inputs) expect_equal(place, segment.begin);
    std::set<int> known(segment.inputs.begin(), segment.inputs.end());
    for (size_t i = segment.begin; i < segment.end; ++i) {
      const Instruction& instruction = schedule_.instructions[i];
      for (const int place : reads(instruction)) EXPECT_TRUE(known.contains(place)) << "instruction " << i;
      ++now_;
      for (const int place : writes(instruction)) {
        known.insert(place);
        all_[place] = now_;
      }
    }
    for (const int place : segment.outputs) given_[place] = all_[place];
  }

  std::vector<int> reads(const Instruction& instruction) const {
    std::vector<int> read = placed(instruction.inputs);
    if (instruction.kind == Instruction::accumulate) read.push_back(placed(instruction.outputs).at(0));
    for (const int place : members(instruction)) read.push_back(place);
    return read;
  }

  std::vector<int> writes(const Instruction& instruction) const {
    std::vector<int> written = placed(instruction.outputs);
    for (const int place : members(instruction)) written.push_back(place);
    return written;
  }

  std::vector<int> members(const Instruction& instruction) const {
    return instruction.bucket < 0 ? std::vector<int>{}
                                  : placed(schedule_.buckets[static_cast<size_t>(instruction.bucket)].buffers);
  }

  std::vector<int> placed(const std::vector<int>& buffers) const {
    std::vector<int> found;
    for (const int buffer : buffers) found.push_back(places_[static_cast<size_t>(buffer)]);
    return found;
  }

  void expect_equal(int place, size_t reader) const {
    const auto number = [&](const Numbers& numbers) { return numbers.contains(place) ? numbers.at(place) : 0; };
    EXPECT_EQ(number(given_), number(all_)) << "place " << place << " for instruction " << reader;
  }

  const Schedule& schedule_;
  const std::vector<int> places_;
  std::map<size_t, Segment> segments_;  // by the first instruction
  Numbers all_, given_;
  int now_ = 0;
  const std::vector<std::optional<LastReader>> last_readers_;
  int released_ = 0;
};

TEST(Segments, GiveWhatOthersRead) {
  for (const int64_t level : {0, 1, 3}) {
    const Program program = program_of_segments(level);
    const Schedule& schedule = program.schedule();
    std::vector<size_t> often(schedule.begins.begin(), schedule.begins.end());
    for (size_t border = 0; border < schedule.instructions.size(); border += 2) often.push_back(border);
    for (const std::vector<Segment>& segments :
         {segments_of_sections(program), segmenter_of(program).segments(often)}) {
      Writers writers(program, segments);
      for (int step = 0; step < 2; ++step) {
        writers.run_step(program.local().mesh.micro_batches());
        writers.expect_kept();
      }
      EXPECT_GT(writers.released(), 0);
    }
  }
}

TEST(Segments, KeepToThemselvesWhatNobodyElseReads) {
  const Program program = program_of_segments(0);
  const Schedule& schedule = program.schedule();
  const std::vector<int> places = places_of(schedule);
  std::set<int> written;
  size_t given = 0;
  for (const Segment& segment : segments_of_sections(program)) {
    for (size_t i = segment.begin; i < segment.end; ++i) {
      for (const int buffer : schedule.instructions[i].outputs) written.insert(places[static_cast<size_t>(buffer)]);
    }
    given += segment.outputs.size();
  }
  EXPECT_LT(given, written.size());
}

TEST(Segments, StatesAreDonatedToTheirUpdates) {
  const Program program = program_of_segments(0);
  const Schedule& schedule = program.schedule();
  const std::vector<int> places = places_of(schedule);
  const auto segments = segments_of_sections(program);
  for (size_t s = 0; s < schedule.entry.size(); ++s) {
    const int entry = schedule.entry[s], exit = schedule.exit[s];
    if (exit < 0 || exit == entry) continue;
    const int place = places[static_cast<size_t>(entry)];
    const bool is_donated = std::ranges::any_of(segments, [&](const Segment& segment) {
      return holds(segment.inputs, place) && holds(segment.outputs, place);
    });
    EXPECT_TRUE(is_donated) << "state " << s;
  }
}

TEST(Segments, ModulesHaveTheirOperandsAndResults) {
  const Program program = program_of_segments(0);
  int accumulating = 0, donated = 0;
  for (const Segment& segment : segments_of_sections(program)) {
    const std::string text = segmenter_of(program).module_of(segment, program.local().mesh.coordinates(1, 0));
    const size_t arrow = text.find(") -> (");
    ASSERT_NE(arrow, std::string::npos) << text;
    const std::string_view parameters = std::string_view(text).substr(0, arrow);
    const std::string_view results = std::string_view(text).substr(arrow, text.find('\n', arrow) - arrow);
    EXPECT_EQ(count_of(parameters, ": tensor<"), static_cast<int>(segment.inputs.size()) + segment.accumulates) << text;
    EXPECT_EQ(count_of(parameters, "%is_first: tensor<i1>"), static_cast<int>(segment.accumulates)) << text;
    EXPECT_EQ(count_of(results, "tensor<"), static_cast<int>(segment.outputs.size())) << text;
    accumulating += static_cast<int>(segment.accumulates);
    for (size_t k = 0; k < segment.outputs.size(); ++k) {
      const auto name = fmt::format("{{tf.aliasing_output = {} : i32}}", k);
      const bool is_input = holds(segment.inputs, segment.outputs[k]);
      EXPECT_EQ(count_of(parameters, name), static_cast<int>(is_input)) << text;
      donated += static_cast<int>(is_input);
    }
  }
  EXPECT_GT(accumulating, 0) << "gradients of two micro-batches are added up";
  EXPECT_GT(donated, 0);
}

}  // namespace
}  // namespace partita
