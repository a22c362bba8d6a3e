#include "runtime/comm/key_values.h"

#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>

#include "base/error.h"
#include "runtime/comm/run_ranks.h"
#include "runtime/comm/sockets/value_caller.h"

namespace partita {
namespace {

using namespace std::chrono_literals;

JobKey test_key() { return {"a secret of a test", "values"}; }

/// A table that listens at the loopback address.
struct Served {
  Socket listener = listen_on({"127.0.0.1", 0});
  Endpoint endpoint = local_endpoint(listener);
  ValueTable table{std::move(listener), test_key()};
};

TEST(KeyValues, EveryRankReadsWhatAnyRankSet) {
  for (const int ranks : {1, 2, 3, 8}) {
    run_ranks(ranks, [&](Communicator& world) {
      const auto values = share_key_values(world);
      const std::string own = std::to_string(world.rank());
      values->put("of " + own, std::string(1, '\0') + own);
      for (int rank = 0; rank < ranks; ++rank) {
        EXPECT_EQ(values->get(fmt::format("of {}", rank), 20s), std::string(1, '\0') + std::to_string(rank));
      }
      EXPECT_EQ(values->get("of none", 0s), std::nullopt);
      EXPECT_EQ(values->get("of none", 20ms), std::nullopt);
      world.barrier();
      if (world.rank() == ranks - 1) values->put("of 0", "another");
      world.barrier();
      EXPECT_EQ(values->get("of 0", 0s), "another");
      world.barrier();  // rank 0 holds the table
    });
  }
}

TEST(KeyValues, AGetWaitsForItsValueAndForNothingElse) {
  Served served;
  ValueCaller caller(served.endpoint, test_key());
  std::atomic<int> found = 0;
  std::vector<std::thread> waiting;
  for (int i = 0; i < 40; ++i) {
    waiting.emplace_back([&, i] {
      KeyValues& values = i % 4 == 0 ? static_cast<KeyValues&>(served.table) : caller;
      found += values.get("late", 60s) == std::string(100'000, 'x');
    });
  }
  std::this_thread::sleep_for(50ms);
  EXPECT_EQ(found, 0);
  caller.put("early", "y");  // although 30 questions of this caller have no answer yet
  EXPECT_EQ(caller.get("early", 0s), "y");
  caller.put("late", std::string(100'000, 'x'));
  for (std::thread& thread : waiting) thread.join();
  EXPECT_EQ(found, 40);
}

TEST(KeyValues, RandomTextsComeBack) {
  Served served;
  std::vector<std::thread> threads;
  for (unsigned seed = 0; seed < 4; ++seed) {
    threads.emplace_back([&, seed] {
      ValueCaller caller(served.endpoint, test_key());
      std::mt19937 random(seed);
      for (int i = 0; i < 50; ++i) {
        std::string key = fmt::format("{} {} ", seed, i), value(random() % 300'000, '\0');
        for (int k = 0; k < 5; ++k) key += static_cast<char>(random());
        for (char& one : value) one = static_cast<char>(random());
        caller.put(key, value);
        EXPECT_EQ(caller.get(key, 0s), value);
        EXPECT_EQ(served.table.get(key, 0s), value);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

/// Returns the message of a failed question.
std::string values_error(const std::function<void()>& ask) {
  try {
    ask();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(KeyValues, StrangersAndUnsoundQuestionsGetNoAnswer) {
  Served served;
  served.table.put("secret", "text");
  ValueCaller stranger(served.endpoint, JobKey("another secret of it", "values"));
  EXPECT_EQ(
      values_error([&] { stranger.get("secret", 0s); }),
      fmt::format("[values] rank 0 does not answer at {}, got a refusal, expected its answer", print(served.endpoint)));
  using Kind = ValueQuestion::Kind;
  for (const ValueQuestion& head : {ValueQuestion{.kind = static_cast<Kind>(7)},
                                    {.key_bytes = -1},
                                    {.key_bytes = kMaxKeyBytes + 1},
                                    {.value_bytes = kMaxValueBytes + 1},
                                    {.kind = Kind::get, .value_bytes = 1},
                                    {.value_bytes = INT64_MIN}}) {
    Socket socket = *connect_to(served.endpoint, deadline_after(10s));
    ASSERT_EQ(join(socket, test_key(), Hello{}, deadline_after(10s)), Joining::done);
    ASSERT_TRUE(send_all(socket, {reinterpret_cast<const std::byte*>(&head), sizeof head}, deadline_after(10s)));
    std::byte first{};
    EXPECT_FALSE(receive_all(socket, {&first, 1}, deadline_after(10s)));
  }
  ValueCaller caller(served.endpoint, test_key());
  EXPECT_EQ(values_error([&] { caller.put(std::string(kMaxKeyBytes + 1, 'x'), ""); }),
            "[values] too long, got a key of 65537 bytes and a value of 0, expected at most 65536 and 67108864");
  EXPECT_EQ(caller.get("secret", 0s), "text");
}

TEST(KeyValues, ACallerThatWaitsChecksWhetherItStillShould) {
  Served served;
  std::atomic<int> checks = 0;
  ValueCaller caller(served.endpoint, test_key(), [&] {
    if (++checks == 2) throw RuntimeFailure(ExitCode::peer_lost, "rank 2 is lost");
  });
  caller.put("a", "b");
  EXPECT_EQ(caller.get("a", 60s), "b");
  EXPECT_EQ(checks, 0);
  EXPECT_EQ(values_error([&] { caller.get("none", 60s); }), "rank 2 is lost");
  EXPECT_EQ(caller.get("a", 60s), "b") << "by another connection";
}

TEST(KeyValues, ATableThatHasEndedIsAnError) {
  auto served = std::make_unique<Served>();
  ValueCaller caller(served->endpoint, test_key());
  caller.put("a", "b");
  std::thread ending([&] {
    std::this_thread::sleep_for(50ms);
    served.reset();
  });
  EXPECT_NE(values_error([&] { caller.get("none", 60s); }).find("got the end of the connection"), std::string::npos);
  ending.join();
}

}  // namespace
}  // namespace partita
