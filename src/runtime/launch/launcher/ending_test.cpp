#include "runtime/launch/launcher/ending.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <random>

#include "base/error.h"
#include "runtime/launch/launcher/job.h"

namespace partita {
namespace {

AgentReport ended(int rank, int code, int signal = 0, int lost = -1, bool was_stopped = false) {
  return {.kind = AgentReport::Kind::ended,
          .rank = rank,
          .code = code,
          .signal = signal,
          .was_stopped = was_stopped,
          .lost = lost,
          .step = 7,
          .last = "barrier"};
}

/// Ranks 0 and 1 on a, 2 and 3 on b, which end in this order.
Ending of(const std::vector<AgentReport>& reports) {
  Watch watch({{"a", 2}, {"b", 2}});
  for (const AgentReport& report : reports) watch.take(report.rank / 2, report);
  EXPECT_TRUE(watch.all_ended());
  return watch.ending();
}

TEST(Ending, BlamesTheRankThatFailedItself) {
  EXPECT_EQ(of({ended(0, 0), ended(1, 0), ended(2, 0), ended(3, 0)}).code, 0);
  // Killed, though others ended first for its sake.
  Ending ending = of({ended(0, 76, 0, 2), ended(1, 76, 0, 2), ended(2, 0, 9), ended(3, 76, 0, 2)});
  EXPECT_EQ(ending.text, "rank 2 on b was killed by signal 9 (Killed), last operation: barrier");
  EXPECT_EQ(ending.code, 76);
  EXPECT_EQ(ending.steps, 7);
  EXPECT_TRUE(ending.may_pass);
  // Frozen: the others miss it, and it has to be stopped.
  ending = of({ended(0, 77, 0, 3), ended(1, 77, 0, 3), ended(2, 77, 0, 3), ended(3, 0, 9, -1, true)});
  EXPECT_EQ(ending.text, "rank 3 on b did not answer any more and was stopped, last operation: barrier");
  EXPECT_EQ(ending.code, 77);
  // One that waited for it at the start, without a record, was missed in turn.
  ending = of({ended(1, 77), ended(0, 76, 0, 1), ended(2, 76, 0, 1), ended(3, 0, 9, -1, true)});
  EXPECT_EQ(ending.rank, 3);
  EXPECT_EQ(ending.code, 77);
  // An error of one, which the others repeat.
  ending = of({ended(0, 79), ended(1, 79), ended(2, 79), ended(3, 79)});
  EXPECT_EQ(ending.rank, 0);
  EXPECT_EQ(ending.code, 79);
  EXPECT_FALSE(ending.may_pass);
  ending = of({ended(0, 76, 0, 1), ended(1, 71), ended(2, 76, 0, 1), ended(3, 76, 0, 1)});
  EXPECT_EQ(ending.rank, 1);
  EXPECT_TRUE(ending.may_pass);
}

TEST(Ending, SaysWhyTheNumberOfRanksWasRefused) {
  AgentReport refusal = ended(0, 64);
  refusal.refusal = "[train] 4 ranks";
  EXPECT_EQ(parse_report(print(refusal)).refusal, "[train] 4 ranks");
  EXPECT_EQ(of({refusal, ended(1, 64), ended(2, 64), ended(3, 64)}).refusal, "[train] 4 ranks");
  EXPECT_EQ(of({ended(1, 64), refusal, ended(2, 64), ended(3, 64)}).refusal, "") << "rank 1 made another mistake";
  refusal.code = 65;
  EXPECT_EQ(of({refusal, ended(1, 64), ended(2, 64), ended(3, 64)}).refusal, "") << "it went on, and ended later";
}

TEST(Ending, ARankWhoseDeviceIsLostIsBlamed) {
  const Ending ending = of({ended(0, 76, 0, 1), ended(1, 76), ended(2, 0, 9, -1, true), ended(3, 76, 0, 1)});
  EXPECT_EQ(ending.rank, 1);
  EXPECT_EQ(ending.code, 76);
  EXPECT_TRUE(ending.may_pass);
}

TEST(Ending, ARankThatEndsWellBeforeTheOthersIsAFailure) {
  const Ending ending = of({ended(1, 0), ended(0, 77, 0, 1), ended(2, 76, 0, 1), ended(3, 76, 0, 1)});
  EXPECT_EQ(ending.code, 77);
  EXPECT_TRUE(ending.text.starts_with("rank 1 on a ended with exit code 0 while others waited for it")) << ending.text;
  EXPECT_TRUE(ending.may_pass);
}

TEST(Ending, RanksThatWereAskedToEndHaveTimeForIt) {
  Watch watch({{"a", 2}});
  watch.take(0, ended(0, 143));
  EXPECT_FALSE(watch.has_failed());
  watch.take(0, ended(1, 143));
  EXPECT_EQ(watch.ending().code, 143);
  EXPECT_FALSE(watch.ending().may_pass);
}

TEST(Ending, OfASignalIsTheExitCodeOfTheSignal) {
  Watch watch({{"a", 2}});
  watch.take(0, ended(0, 77, 0, 1));  // missed the other, which could not handle the signal yet
  EXPECT_FALSE(watch.was_killed());
  watch.take(0, ended(1, 0, SIGTERM));
  EXPECT_TRUE(watch.was_killed());
  EXPECT_EQ(code_when_asked(watch.ending(), SIGTERM), 143);
  EXPECT_EQ(code_when_asked(watch.ending(), SIGINT), 76) << "another signal killed it";
  EXPECT_EQ(code_when_asked(of({ended(0, 0), ended(1, 0), ended(2, 0), ended(3, 0)}), SIGINT), 0) << "all was done";
  EXPECT_EQ(code_when_asked(of({ended(0, 73), ended(1, 130), ended(2, 130), ended(3, 130)}), SIGINT), 73);
}

TEST(Ending, AHostThatIsLost) {
  Watch watch({{"a", 1}, {"b", 2}});
  watch.lose_host(1, "can no longer be reached");
  EXPECT_FALSE(watch.all_ended());
  watch.take(0, ended(0, 76, 0, 1));
  EXPECT_EQ(watch.ending().text, "host b can no longer be reached");
  EXPECT_TRUE(watch.ending().lost_host);
}

TEST(Ending, AHostWhoseLinkIsCut) {
  // In training all have met: each misses one on the other side.
  Ending ending = of({ended(2, 77, 0, 0), ended(0, 77, 0, 2), ended(1, 77, 0, 3), ended(3, 77, 0, 1)});
  EXPECT_TRUE(ending.text.starts_with("host b is cut off: ")) << ending.text;
  EXPECT_EQ(ending.host, "b");
  EXPECT_EQ(ending.code, 77);
  EXPECT_TRUE(ending.lost_host && ending.may_pass);
  EXPECT_EQ(ending.rank, -1);
  // While they meet: rank 1 only hears it from rank 0, and rank 3 was stopped before it could say so.
  ending = of({ended(0, 77, 0, 2), ended(1, 77), ended(2, 77, 0, 0), ended(3, 0, 9, -1, true)});
  EXPECT_EQ(ending.host, "b");
  EXPECT_TRUE(ending.lost_host);
  // A rank that is frozen is missed on its own host, too, or stopped without a word: no link is cut.
  ending = of({ended(0, 77, 0, 3), ended(1, 77, 0, 3), ended(2, 77, 0, 3), ended(3, 0, 9, -1, true)});
  EXPECT_FALSE(ending.lost_host);
  EXPECT_EQ(ending.rank, 3);
  // A rank that failed by itself is the reason.
  ending = of({ended(2, 70), ended(0, 76, 0, 2), ended(1, 76, 0, 2), ended(3, 76, 0, 0)});
  EXPECT_FALSE(ending.lost_host);
  EXPECT_EQ(ending.code, 70);
  // Of three hosts the one that the two others miss.
  Watch watch({{"a", 1}, {"b", 1}, {"c", 1}});
  watch.take(1, ended(1, 77, 0, 0));
  watch.take(0, ended(0, 77, 0, 1));
  watch.take(2, ended(2, 77, 0, 0));
  EXPECT_EQ(watch.ending().host, "a");
}

TEST(Ending, AnAgentThatCannotStartItsRanksSaysWhy) {
  for (const int code : {64, 71, 73, 76, 0}) {
    Watch watch({{"a", 2}});
    watch.take(0, {.kind = AgentReport::Kind::failed, .text = "[launch] cannot", .code = code});
    EXPECT_TRUE(watch.all_ended());
    EXPECT_EQ(watch.ending().text, "host a says: [launch] cannot");
    EXPECT_EQ(watch.ending().code, code == 0 ? 70 : code);
    EXPECT_EQ(watch.ending().may_pass, code == 76) << code;
  }
}

TEST(RestartCommand, GoesOnFromTheNewestCheckpoint) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(restart_command({"train", "mlp"}), (Words{"train", "mlp"}));
  EXPECT_EQ(restart_command({"train", "mlp", "--checkpoint", "d"}),
            (Words{"train", "mlp", "--checkpoint", "d", "--resume", "latest"}));
  EXPECT_EQ(restart_command({"train", "--resume", "old", "--checkpoint=d", "--lr", "1", "--resume=x"}),
            (Words{"train", "--checkpoint=d", "--lr", "1", "--resume", "latest"}));
}

TEST(Orders, AreReadAsTheyWereWritten) {
  const AgentOrder order{.kind = AgentOrder::Kind::start,
                         .start = {.command = {"a b", "c\"\n"},
                                   .environment = {{"X", "\xff"}, {"Y", "2"}},
                                   .folder = "/",
                                   .secret = "s",
                                   .first_rank = 3,
                                   .ranks = 2,
                                   .size = 8,
                                   .stall_timeout = 1.5}};
  const AgentOrder read = parse_order(print(order));
  EXPECT_EQ(read.start.command, order.start.command);
  EXPECT_EQ(read.start.environment, order.start.environment);
  EXPECT_EQ(read.start.stall_timeout, 1.5);
  EXPECT_EQ(read.start.first_rank, 3);
  const AgentReport report = parse_report(print(ended(2, 76, 0, 1)));
  EXPECT_EQ(report.rank, 2);
  EXPECT_EQ(report.lost, 1);
  EXPECT_EQ(report.last, "barrier");
  EXPECT_THROW(parse_report("{}"), InvalidFile);
  EXPECT_THROW(parse_order("x"), InvalidFile);
}

// Arguments, variables and outputs may have any encoding.
TEST(Orders, KeepEveryByte) {
  std::mt19937 random(5);
  const auto below = [&](int64_t count) { return static_cast<int64_t>(random() % static_cast<uint64_t>(count)); };
  for (int round = 0; round < 300; ++round) {
    const auto bytes = [&](int64_t most) {
      std::string text;
      for (int64_t left = below(most + 1); left > 0; --left) text += static_cast<char>(below(256));
      return text;
    };
    const AgentReport report{.text = bytes(400), .rank = 1};
    const std::string line = print(report);
    EXPECT_EQ(parse_report(line).text, report.text);
    EXPECT_TRUE(std::ranges::all_of(line, [](char c) { return c >= ' ' && c <= '~'; })) << line;
    AgentOrder order{.kind = AgentOrder::Kind::start, .start = {.command = {"a", bytes(9)}, .ranks = 1, .size = 1}};
    order.start.folder = bytes(20);
    for (int64_t i = below(5); i > 0; --i) order.start.environment[bytes(6)] = bytes(30);
    const StartOrder start = parse_order(print(order)).start;
    EXPECT_EQ(start.command, order.start.command);
    EXPECT_EQ(start.folder, order.start.folder);
    EXPECT_EQ(start.environment, order.start.environment);
  }
  const std::string line = print(AgentReport{.text = "text", .rank = 1});
  for (const char* wrong : {"\\u0100", "\\u20ac", "\\ud83d\\ude00", "\xc4\x80", "\xe2\x82\xac"}) {
    std::string changed = line;
    changed.replace(changed.find("\"text\":\"text") + 8, 4, wrong);
    EXPECT_THROW(parse_report(changed), InvalidFile) << changed;
  }
}

/// Whether a line of JSON is refused once `from` is replaced.
template <class Parse>
void expect_refused(const Parse& parse, std::string line, const std::string& from, const std::string& to) {
  EXPECT_NO_THROW(parse(line)) << line;
  const size_t at = line.find(from);
  ASSERT_NE(at, std::string::npos) << line;
  line.replace(at, from.size(), to);
  try {
    parse(line);
    ADD_FAILURE() << line;
  } catch (const InvalidFile& error) {
    EXPECT_TRUE(std::string_view(error.what()).starts_with("[launch] not a line of a launcher, got '")) << error.what();
  }
}

TEST(Orders, ThatMakeNoSenseAreRefused) {
  const std::string order = print(
      AgentOrder{.kind = AgentOrder::Kind::start, .start = {.command = {"a"}, .first_rank = 3, .ranks = 2, .size = 8}});
  expect_refused(parse_order, order, "\"start\"", "\"begin\"");
  expect_refused(parse_order, order, "\"ranks\":2", "\"ranks\":6");
  expect_refused(parse_order, order, "\"ranks\":2", "\"ranks\":0");
  expect_refused(parse_order, order, "\"ranks\":2", "\"ranks\":4294967297");
  expect_refused(parse_order, order, "\"ranks\":2", "\"ranks\":1.5");
  expect_refused(parse_order, order, "\"ranks\":2", "\"ranks\":18446744073709551615");
  expect_refused(parse_order, order, "\"size\":8", "\"size\":1e300");
  expect_refused(parse_order, order, "\"first_rank\":3", "\"first_rank\":2147483647");
  expect_refused(parse_order, order, "[\"a\"]", "[]");
  const std::string report = print(ended(2, 76, 0, 1));
  // Of an exit code a shell sees eight bits: this one would be 0.
  expect_refused(parse_report, report, "\"code\":76", "\"code\":256");
  expect_refused(parse_report, report, "\"code\":76", "\"code\":null");
  expect_refused(parse_report, report, "\"rank\":2", "\"rank\":1e10");
}

TEST(Orders, OfDeepOrLongJsonAreRefused) {
  const std::string order = print(AgentOrder{.kind = AgentOrder::Kind::start, .start = {.command = {"a"}, .size = 8}});
  const std::string report = print(ended(2, 76, 0, 1));
  const std::string deep = std::string(200'000, '[') + std::string(200'000, ']');
  std::string many = "{\"x\":0";
  for (int i = 0; i < 200'000; ++i) many += fmt::format(",\"{}\":0", i);
  many += "}";
  for (const std::string& bad : {deep, many, std::string(17, '[') + std::string(17, ']')}) {
    expect_refused(parse_order, order, "\"order\":", "\"more\":" + bad + ",\"order\":");
    expect_refused(parse_report, report, "\"report\":", "\"more\":" + bad + ",\"report\":");
    try {
      parse_order(bad);
    } catch (const InvalidFile& error) {
      EXPECT_LT(std::string_view(error.what()).size(), 1200u) << "a message as long as the line";
    }
  }
  const std::string legal = std::string(15, '[') + std::string(15, ']');
  EXPECT_NO_THROW(parse_order("{\"more\":" + legal + "," + order.substr(1)));
}

}  // namespace
}  // namespace partita
