// The doctor and schedules name the algorithms of collectives that run.

#include <fstream>
#include <nlohmann/json.hpp>

#include "base/collective_algorithm.h"
#include "support/places.h"
#include "support/program.h"

namespace partita {
namespace {

bool has(const Outcome& outcome, const std::string& text) { return outcome.output.find(text) != std::string::npos; }

TEST(Algorithms, InATableOfTheDoctor) {
  const Outcome text = run_program({"doctor"}, [] { keep_cores(1); });
  for (const std::string line :
       {"last_rank      last_rank      last_rank      direct         2 threads: all_reduce, ",
        "shared_memory  shared_memory  shared_memory  shared_memory  2 processes: all_reduce, ",
        "exchange       exchange       chain          chain          2 hosts of 2 processes: "
        "all_reduce\n",
        "2 hosts of 2 processes: all_reduce of 16-bit floats, reduce_scatter, all_to_all\n",
        "host_shares    2 hosts of 2 processes: all_gather, broadcast\n",
        "dissemination  2 hosts of 2 processes: barrier\n"}) {
    EXPECT_TRUE(has(text, line)) << line << "\n" << text.output;
  }
  for (const AlgorithmInfo& info : runtime_algorithms())
    EXPECT_TRUE(has(text, fmt::format("{}: {}\n", name_of(info.algorithm), info.meaning))) << text.output;
}

TEST(Algorithms, OfTheDoctorForPrograms) {
  const auto json = nlohmann::json::parse(run_program({"doctor", "--json"}, [] { keep_cores(1); }).output);
  ASSERT_EQ(json.at("algorithms").size(), std::size(kRuntimeAlgorithms));
  EXPECT_EQ(json.at("algorithms")[1].at("name"), "direct");
  EXPECT_EQ(json.at("algorithms")[1].at("ranks"), "threads");
  EXPECT_EQ(json.at("algorithms")[4].at("collectives"), (nlohmann::json{"all_reduce", "reduce_scatter"}));
  int chains = 0;
  for (const auto& row : json.at("collectives")) {
    for (const auto& one : row.at("by_bytes")) {
      EXPECT_NO_THROW(parse_name<CollectiveAlgorithm>("doctor", one.at("algorithm").get<std::string>()));
      if (one.at("algorithm") != "chain") continue;
      ++chains;
      EXPECT_EQ(row.at("collective"), "all_reduce");
      EXPECT_EQ(row.at("dtype"), "f32");
      EXPECT_EQ(row.at("ranks"), "2 hosts of 2 processes");
      EXPECT_GE(one.at("bytes"), kMinHostBytes);
    }
  }
  EXPECT_EQ(chains, 2);
}

TEST(Algorithms, OfASchedule) {
  const auto schedule = [](std::vector<std::string> more, const std::string& model = "mlp:layers=1,hidden=64") {
    std::vector<std::string> words{"schedule", model, "--batch", "32", "--threads", "1"};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome outcome = run_program(words, [] { keep_cores(1); });
    EXPECT_EQ(outcome.exit_code, 0) << fmt::format("{}", fmt::join(outcome.lines, "\n"));
    return outcome;
  };
  const std::string sum = "all_reduce sum over {data} by ",
                    sum16 = "all_reduce sum over {data.0,data.1,data.2,data.3} by ";
  EXPECT_TRUE(has(schedule({"--ranks", "2"}), sum + "direct, 198.9 KiB"));
  EXPECT_TRUE(has(schedule({"--ranks", "2"}, "mlp:layers=1,hidden=8"), sum + "last_rank, "));
  EXPECT_TRUE(has(schedule({"--ranks", "2", "--cluster", "cpu:2"}), sum + "direct, "));
  EXPECT_TRUE(has(schedule({"--ranks", "16", "--cluster", "cpu:2"}), sum16 + "chain, "));
  EXPECT_TRUE(has(schedule({"--ranks", "16", "--cluster", "cpu:2", "--reduce-dtype", "bf16"}), sum16 + "exchange, "));
  EXPECT_TRUE(has(schedule({"--ranks", "2", "--cluster", "v5e"}), sum + "ring, "));
  // More ranks than a process has threads.
  const Outcome many = run_program({"schedule", "mlp:layers=1,hidden=64", "--batch", "512", "--ranks", "512"});
  EXPECT_TRUE(has(many, "all_reduce sum over {data.") && !has(many, " by ")) << many.output;
}

}  // namespace
}  // namespace partita
