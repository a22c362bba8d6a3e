#include "runtime/comm/inproc/inproc.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <thread>

#include "base/test_memory.h"
#include "runtime/comm/run_ranks.h"

namespace partita {
namespace {

using namespace std::chrono_literals;

constexpr int kSizes[] = {1, 2, 3, 4, 6, 7, 8};
constexpr int64_t kCounts[] = {0, 1, 7, 64, 1000, 4097, 100'000};

/// The contribution of one rank.
template <class T>
std::vector<T> random_values(int64_t count, int rank, uint32_t seed = 1) {
  std::mt19937 engine(seed * 100 + rank);
  std::vector<T> values(count);
  for (T& value : values) {
    if constexpr (std::is_integral_v<T>) {
      value = static_cast<T>(engine());
    } else {
      value = static_cast<T>(std::normal_distribution<float>()(engine));
    }
  }
  return values;
}

template <class T>
double as_number(T value) {
  if constexpr (std::is_same_v<T, bf16> || std::is_same_v<T, f16>)
    return static_cast<float>(value);
  else
    return static_cast<double>(value);
}

/// The sum in rank order that the contract promises, written without the kernels.
template <class T>
std::vector<T> sequential_sum(const std::vector<std::vector<T>>& parts) {
  std::vector<T> sums = parts[0];
  for (size_t i = 0; i < sums.size(); ++i) {
    if constexpr (std::is_same_v<T, bf16> || std::is_same_v<T, f16>) {
      float sum = parts[0][i];
      for (size_t r = 1; r < parts.size(); ++r) sum += static_cast<float>(parts[r][i]);
      sums[i] = T(sum);
    } else if constexpr (std::is_integral_v<T>) {
      uint64_t sum = 0;
      for (const auto& part : parts) sum += static_cast<uint64_t>(part[i]);
      sums[i] = static_cast<T>(sum);
    } else {
      for (size_t r = 1; r < parts.size(); ++r) sums[i] += parts[r][i];
    }
  }
  return sums;
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  if (a.size() != b.size()) return false;
  return a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

template <class T>
std::vector<std::vector<T>> all_contributions(int size, int64_t count) {
  std::vector<std::vector<T>> parts;
  for (int r = 0; r < size; ++r) parts.push_back(random_values<T>(count, r));
  return parts;
}

/// Runs `fn` and returns what it threw.
std::string message_of(ExitCode code, const std::function<void()>& fn) {
  try {
    fn();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  return "no error";
}

template <class T>
class AllReduce : public testing::Test {};
using SummableTypes = testing::Types<double, float, bf16, f16, int64_t, int32_t, uint8_t, uint32_t>;
TYPED_TEST_SUITE(AllReduce, SummableTypes);

TYPED_TEST(AllReduce, EqualsTheSequentialSumBitForBit) {
  for (int size : kSizes) {
    for (int64_t count : kCounts) {
      const auto parts = all_contributions<TypeParam>(size, count);
      const auto expected = sequential_sum(parts);
      run_ranks(size, [&](Communicator& comm) {
        auto values = parts[comm.rank()];
        comm.all_reduce(values.data(), count, DTypeOf<TypeParam>::value, Reduce::sum);
        EXPECT_TRUE(same_bits(values, expected)) << size << " ranks, " << count << " elements";
      });
    }
  }
}

TYPED_TEST(AllReduce, MaxAndMin) {
  constexpr int kSize = 3;
  constexpr int64_t kCount = 1000;
  const auto parts = all_contributions<TypeParam>(kSize, kCount);
  run_ranks(kSize, [&](Communicator& comm) {
    auto largest = parts[comm.rank()];
    auto smallest = parts[comm.rank()];
    comm.all_reduce(largest.data(), kCount, DTypeOf<TypeParam>::value, Reduce::max);
    comm.all_reduce(smallest.data(), kCount, DTypeOf<TypeParam>::value, Reduce::min);
    for (int64_t i = 0; i < kCount; ++i) {
      const auto value = [&](int r) { return as_number(parts[r][i]); };
      EXPECT_EQ(as_number(largest[i]), std::max({value(0), value(1), value(2)}));
      EXPECT_EQ(as_number(smallest[i]), std::min({value(0), value(1), value(2)}));
    }
  });
}

TEST(AllReduceOf, BoolsIsAnyOrAll) {
  run_ranks(3, [](Communicator& comm) {
    const bool mine = comm.rank() == 1;
    bool any[2] = {mine, false};
    bool all[2] = {mine, true};
    comm.all_reduce(any, 2, DType::boolean, Reduce::sum);
    comm.all_reduce(all, 2, DType::boolean, Reduce::min);
    EXPECT_TRUE(any[0]);
    EXPECT_FALSE(any[1]);
    EXPECT_FALSE(all[0]);
    EXPECT_TRUE(all[1]);
  });
}

TEST(AllReduceOf, NanIsSeenByEveryReduction) {
  run_ranks(4, [](Communicator& comm) {
    for (DType dtype : {DType::f32, DType::bf16, DType::f16}) {
      for (Reduce reduce : {Reduce::sum, Reduce::max, Reduce::min}) {
        for_float(dtype, [&](auto zero) {
          using T = decltype(zero);
          T value = comm.rank() == 2 ? T(std::numeric_limits<float>::quiet_NaN()) : T(1.0f);
          comm.all_reduce(&value, 1, dtype, reduce);
          EXPECT_TRUE(std::isnan(as_number(value))) << name_of(dtype) << " " << name_of(reduce);
        });
      }
    }
  });
}

/// Counts per rank with a zero among them; the larger scale makes ranks share the work.
std::vector<int64_t> uneven_counts(int size, int64_t scale) {
  std::vector<int64_t> counts(size);
  for (int r = 0; r < size; ++r) counts[r] = r % 3 == 1 ? 0 : (r + 1) * scale + r;
  return counts;
}

int64_t sum_of(const std::vector<int64_t>& counts, int first = -1) {
  const auto end = first < 0 ? counts.end() : counts.begin() + first;
  return std::accumulate(counts.begin(), end, int64_t{0});
}

TEST(AllGather, UnevenCountsAlsoInPlace) {
  for (int size : kSizes) {
    for (int64_t scale : {1, 9000}) {
      const auto counts = uneven_counts(size, scale);
      std::vector<float> expected;
      for (int r = 0; r < size; ++r) {
        const auto part = random_values<float>(counts[r], r);
        expected.insert(expected.end(), part.begin(), part.end());
      }
      run_ranks(size, [&](Communicator& comm) {
        const auto mine = random_values<float>(counts[comm.rank()], comm.rank());
        std::vector<float> all(expected.size());
        comm.all_gather(mine.data(), all.data(), counts, DType::f32);
        EXPECT_EQ(all, expected);

        std::vector<float> in_place(expected.size());
        float* own = in_place.data() + sum_of(counts, comm.rank());
        std::copy(mine.begin(), mine.end(), own);
        comm.all_gather(own, in_place.data(), counts, DType::f32);
        EXPECT_EQ(in_place, expected);
      });
    }
  }
}

TEST(ReduceScatter, UnevenCounts) {
  for (int size : kSizes) {
    for (int64_t scale : {1, 9000}) {
      const auto counts = uneven_counts(size, scale);
      const auto parts = all_contributions<float>(size, sum_of(counts));
      const auto sums = sequential_sum(parts);
      run_ranks(size, [&](Communicator& comm) {
        std::vector<float> mine(counts[comm.rank()]);
        comm.reduce_scatter(parts[comm.rank()].data(), mine.data(), counts, DType::f32, Reduce::sum);
        const auto begin = sums.begin() + sum_of(counts, comm.rank());
        EXPECT_TRUE(same_bits(mine, std::vector<float>(begin, begin + counts[comm.rank()])));
      });
    }
  }
}

TEST(AllToAll, UnevenCounts) {
  for (int size : kSizes) {
    for (int64_t scale : {1, 5000}) {
      const auto count = [&](int from, int to) { return (from * 2 + to) % 4 * scale; };
      const auto value = [&](int from, int to, int64_t i) {
        return static_cast<int32_t>(from * 1'000'000 + to * 100'000 + i);
      };
      run_ranks(size, [&](Communicator& comm) {
        std::vector<int64_t> send_counts(size), recv_counts(size);
        std::vector<int32_t> sent, expected;
        for (int r = 0; r < size; ++r) {
          send_counts[r] = count(comm.rank(), r);
          recv_counts[r] = count(r, comm.rank());
          for (int64_t i = 0; i < send_counts[r]; ++i) sent.push_back(value(comm.rank(), r, i));
          for (int64_t i = 0; i < recv_counts[r]; ++i) expected.push_back(value(r, comm.rank(), i));
        }
        std::vector<int32_t> received(expected.size());
        comm.all_to_all(sent.data(), send_counts, received.data(), recv_counts, DType::i32);
        EXPECT_EQ(received, expected);
      });
    }
  }
}

TEST(Broadcast, FromEveryRoot) {
  for (int size : kSizes) {
    run_ranks(size, [&](Communicator& comm) {
      for (int root = 0; root < size; ++root) {
        for (int64_t count : kCounts) {
          auto values = random_values<double>(count, comm.rank());
          comm.broadcast(values.data(), count, DType::f64, root);
          EXPECT_EQ(values, random_values<double>(count, root));
        }
      }
    });
  }
}

TEST(SendRecv, KeepsOrderInARing) {
  for (int size : kSizes) {
    run_ranks(size, [&](Communicator& comm) {
      const int next = (comm.rank() + 1) % size;
      const int previous = (comm.rank() + size - 1) % size;
      for (int round = 0; round < 5; ++round) {
        for (int64_t count : kCounts) {  // everyone sends before anyone receives
          const auto values = random_values<float>(count, comm.rank(), round);
          comm.send(values.data(), count, DType::f32, next);
        }
        for (int64_t count : kCounts) {
          std::vector<float> values(count);
          comm.recv(values.data(), count, DType::f32, previous);
          EXPECT_EQ(values, random_values<float>(count, previous, round));
        }
      }
    });
  }
}

TEST(SendRecv, ASenderFarAheadWaits) {
  run_ranks(2, [](Communicator& comm) {
    for (int i = 0; i < 1000; ++i) {
      int32_t value = i;
      if (comm.rank() == 0) {
        comm.send(&value, 1, DType::i32, 1);
      } else {
        comm.recv(&value, 1, DType::i32, 0);
        EXPECT_EQ(value, i);
      }
    }
  });
}

TEST(Split, GroupsProceedIndependently) {
  run_ranks(7, [](Communicator& world) {
    const std::vector<int> evens{6, 4, 2, 0}, odds{1, 3, 5};
    const std::vector<int>& members = world.rank() % 2 == 0 ? evens : odds;
    const auto group = world.split(members);
    EXPECT_EQ(members[group->rank()], world.rank());
    const int rounds = world.rank() % 2 == 0 ? 200 : 50;
    for (int i = 0; i < rounds; ++i) {
      int64_t value = world.rank();
      group->all_reduce(&value, 1, DType::i64, Reduce::sum);
      EXPECT_EQ(value, world.rank() % 2 == 0 ? 12 : 9);
    }
    const auto alone = group->split(std::vector<int>{group->rank()});
    alone->barrier();
    EXPECT_EQ(alone->size(), 1);
    world.barrier();
  });
}

TEST(Split, TwoGroupsOfTheSameRanksRunAtTheSameTime) {
  run_ranks(4, [](Communicator& world) {
    const auto twin = world.split(std::vector<int>{0, 1, 2, 3});
    const auto work = [](Communicator& comm, int64_t count) {
      for (int i = 0; i < 30; ++i) {
        std::vector<float> values(count, 1.0f);
        comm.all_reduce(values.data(), count, DType::f32, Reduce::sum);
        EXPECT_EQ(values, std::vector<float>(count, 4.0f));
      }
    };
    std::jthread other([&] { work(*twin, 30'000); });
    work(world, 500);
  });
}

/// Every rank's error in a call that must fail on all of them.
std::vector<std::string> messages_of_ranks(int size, ExitCode code, const std::function<void(Communicator&)>& fn) {
  std::vector<std::string> messages(size);
  run_ranks(size, [&](Communicator& comm) { messages[comm.rank()] = message_of(code, [&] { fn(comm); }); });
  return messages;
}

TEST(Disagreement, NamesBothSidesOnEveryRank) {
  const auto messages = messages_of_ranks(4, ExitCode::ranks_disagree, [](Communicator& comm) {
    const int64_t count = comm.rank() == 3 ? 99 : 100;
    std::vector<float> values(100, 1.0f);
    comm.barrier();
    try {
      comm.all_reduce(values.data(), count, DType::f32, Reduce::sum);
    } catch (...) {
      EXPECT_EQ(values, std::vector<float>(100, 1.0f));
      throw;
    }
  });
  for (const std::string& message : messages) {
    EXPECT_EQ(message,
              "[all_reduce] ranks disagree: rank 0 calls all_reduce f32[100] sum, rank 3 calls "
              "all_reduce f32[99] sum");
  }
}

TEST(Disagreement, OfEveryKind) {
  float data[64] = {};
  const auto expect = [&](const std::string& text, const std::function<void(Communicator&)>& fn) {
    for (const auto& message : messages_of_ranks(2, ExitCode::ranks_disagree, fn)) {
      EXPECT_EQ(message, text);
    }
  };
  expect("[barrier] ranks disagree: rank 0 calls barrier, rank 1 calls broadcast f32[4] from rank 1",
         [&](Communicator& comm) {
           if (comm.rank() == 0) return comm.barrier();
           comm.broadcast(data, 4, DType::f32, 1);
         });
  expect(
      "[all_reduce] ranks disagree: rank 0 calls all_reduce f32[4] sum, rank 1 calls all_reduce "
      "f32[4] max",
      [&](Communicator& comm) {
        const Reduce reduce = comm.rank() == 0 ? Reduce::sum : Reduce::max;
        comm.all_reduce(data, 4, DType::f32, reduce);
      });
  expect(
      "[all_gather] ranks disagree: rank 0 calls all_gather f32[(1,2)], rank 1 calls all_gather "
      "f32[(2,1)]",
      [&](Communicator& comm) {
        const int64_t counts[] = {1 + comm.rank(), 2 - comm.rank()};
        comm.all_gather(data, data + 8, counts, DType::f32);
      });
  expect("[all_to_all] ranks disagree: rank 0 sends i32[2] to rank 1, which expects i32[3]", [&](Communicator& comm) {
    const int64_t sent[] = {0, comm.rank() == 0 ? 2 : 0};
    const int64_t received[] = {comm.rank() == 0 ? 0 : 3, 0};
    comm.all_to_all(data, sent, data + 8, received, DType::i32);
  });
  expect("[split] ranks disagree: rank 0 calls split (0,1), rank 1 calls split (1)", [&](Communicator& comm) {
    const std::vector<int> both{0, 1}, one{1};
    comm.split(comm.rank() == 0 ? both : one);
  });
}

TEST(Disagreement, OfSendAndRecv) {
  for (bool is_sender_late : {false, true}) {
    float data[100] = {};
    std::string received;
    run_ranks(2, [&](Communicator& comm) {
      if ((comm.rank() == 0) == is_sender_late) std::this_thread::sleep_for(30ms);
      if (comm.rank() == 1) {
        received = message_of(ExitCode::ranks_disagree, [&] { comm.recv(data, 99, DType::f32, 0); });
        return;
      }
      try {
        comm.send(data, 100, DType::f32, 1);
      } catch (const RuntimeFailure& error) {
        EXPECT_EQ(error.code(), ExitCode::ranks_disagree);
      }
    });
    EXPECT_EQ(received, "[recv] ranks disagree: rank 0 calls send f32[100], rank 1 calls recv f32[99]");
  }
}

TEST(Disagreement, LeavesTheGroupUsable) {
  run_ranks(3, [](Communicator& comm) {
    float value = 1;
    const Reduce reduce = comm.rank() == 0 ? Reduce::sum : Reduce::min;
    EXPECT_THROW(comm.all_reduce(&value, 1, DType::f32, reduce), RuntimeFailure);
    comm.all_reduce(&value, 1, DType::f32, Reduce::sum);
    EXPECT_EQ(value, 3);
  });
}

TEST(TimedOut, NamesTheMissingRanksAsRanksOfTheWorld) {
  const auto messages = messages_of_ranks(6, ExitCode::peer_stalled, [](Communicator& world) {
    const std::vector<int> odds{1, 3, 5}, evens{0, 2, 4};
    const bool is_odd = world.rank() % 2 == 1;
    const auto group = world.split(is_odd ? odds : evens);
    float data[512] = {};
    group->barrier();
    if (world.rank() > 2) std::this_thread::sleep_for(300ms);
    group->all_reduce(data, 512, DType::f32, Reduce::sum, 100ms);
  });
  for (int r = 0; r < 6; ++r) {
    EXPECT_EQ(messages[r], r % 2 == 1
                               ? "[all_reduce] timed out after 0.1 s at call 2 (f32[512]): waiting for ranks 3, 5 of "
                                 "group (1,3,5)"
                               : "[all_reduce] timed out after 0.1 s at call 2 (f32[512]): waiting for rank 4 of "
                                 "group "
                                 "(0,2,4)");
  }
}

TEST(TimedOut, SendAndRecvNameThePeer) {
  const auto messages = messages_of_ranks(2, ExitCode::peer_stalled, [](Communicator& comm) {
    float value = 0;
    if (comm.rank() == 0) comm.recv(&value, 1, DType::f32, 1, 50ms);
    while (true) comm.send(&value, 1, DType::f32, 0, 50ms);
  });
  EXPECT_EQ(messages[1], "[send] timed out after 0.1 s (f32[1]): waiting for rank 0 of group (0,1)");
}

TEST(Abort, WakesEveryRankInEveryGroup) {
  const auto messages = messages_of_ranks(6, ExitCode::non_finite, [](Communicator& world) {
    const std::vector<int> low{0, 1, 2}, high{3, 4, 5};
    const auto group = world.split(world.rank() < 3 ? low : high);
    float value = 0;
    if (world.rank() == 5) {
      std::this_thread::sleep_for(50ms);
      group->abort("loss is nan", ExitCode::non_finite);
      group->abort("a later reason", ExitCode::peer_lost);
    }
    if (world.rank() == 0) world.recv(&value, 1, DType::f32, 1);
    if (world.rank() < 3) group->barrier();
    group->all_reduce(&value, 1, DType::f32, Reduce::sum);
  });
  for (const std::string& message : messages) EXPECT_EQ(message, "loss is nan");
}

TEST(Abort, HoldsForEveryLaterCall) {
  run_ranks(2, [](Communicator& comm) {
    comm.barrier();
    comm.abort("enough", ExitCode::peer_lost);
    float value = 0;
    EXPECT_THROW(comm.barrier(), RuntimeFailure);
    EXPECT_THROW(comm.send(&value, 1, DType::f32, 0), RuntimeFailure);
    EXPECT_THROW(comm.recv(&value, 1, DType::f32, 0), RuntimeFailure);
    EXPECT_THROW(comm.split(std::vector<int>{comm.rank()}), RuntimeFailure);
  });
}

TEST(Abort, DuringTrafficNeverHangsNorTouchesFreedBuffers) {
  for (int round = 0; round < 30; ++round) {
    EXPECT_THROW(run_ranks(4,
                           [&](Communicator& comm) {
                             for (int i = 0;; ++i) {
                               if (comm.rank() == 1 && i == round) {
                                 throw InvalidArgument("[test] on purpose");
                               }
                               std::vector<float> values(40'000);
                               comm.all_reduce(values.data(), 40'000, DType::f32, Reduce::sum);
                             }
                           }),
                 InvalidArgument);
  }
}

TEST(RunRanks, RethrowsTheFirstErrorAndTellsTheOthers) {
  std::vector<std::string> messages(4);
  const auto run = [&] {
    run_ranks(4, [&](Communicator& comm) {
      if (comm.rank() == 3) throw InvalidArgument("[layer] bad width", ErrorKind::type);
      messages[comm.rank()] = message_of(ExitCode::usage, [&] { comm.barrier(); });
    });
  };
  try {
    run();
    FAIL();
  } catch (const InvalidArgument& error) {
    EXPECT_EQ(error.kind(), ErrorKind::type);
    EXPECT_STREQ(error.what(), "[layer] bad width");
  }
  for (int r = 0; r < 3; ++r) EXPECT_EQ(messages[r], "rank 3: [layer] bad width");
}

TEST(RunRanks, NobodyWaitsForARankThatHasReturned) {
  for (int ranks : {2, 3, 4, 8}) {
    std::vector<std::string> messages(ranks);
    run_ranks(ranks, [&](Communicator& comm) {
      std::vector<float> data(50'000, 1.0f);
      comm.all_reduce(data.data(), 50'000, DType::f32, Reduce::sum);
      EXPECT_EQ(data[49'999], static_cast<float>(ranks));
      if (comm.rank() == 1) return;
      messages[comm.rank()] =
          message_of(ExitCode::ranks_disagree, [&] { comm.broadcast(data.data(), 3, DType::f32, 0); });
    });
    EXPECT_NE(messages[0].find("calls broadcast f32[3] from rank 0, which rank 1 of group (0,1"), std::string::npos)
        << messages[0];
    EXPECT_NE(messages[0].find("does not: it is done"), std::string::npos) << messages[0];
    for (int r = 2; r < ranks; ++r) EXPECT_NE(messages[r].find("[broadcast] ranks disagree"), std::string::npos);
  }
}

TEST(RunRanks, NobodyWaitsForARankThatHasGivenUpItsGroup) {
  std::string message;
  run_ranks(3, [&](Communicator& comm) {
    const std::vector<int> all{2, 1, 0};
    auto group = comm.split(all);
    group->barrier();
    if (comm.rank() == 1) group = nullptr;
    if (comm.rank() == 2) message = message_of(ExitCode::ranks_disagree, [&] { group->barrier(); });
    if (comm.rank() == 0) {
      EXPECT_THROW(group->barrier(), RuntimeFailure);
    }
    comm.barrier();  // of another group
  });
  EXPECT_NE(message.find("which rank 1 of group (2,1,0) does not: it is done"), std::string::npos) << message;
}

/// The rank that comes last to a split makes the group for all.
bool every_rank_learns_of_a_lack_of_memory() {
  std::atomic<int> failed = 0;
  try {
    run_ranks(4, [&](Communicator& comm) {
      const std::vector<int> members{0, 1, 2, 3};
      comm.barrier();
      if (comm.rank() == 0) use_up_memory(Left::small);  // the calls themselves succeed, a new group does not
      comm.barrier();
      try {
        comm.split(members);
      } catch (...) {
        ++failed;
        throw;
      }
    });
  } catch (const std::bad_alloc&) {
    return failed == 4;
  } catch (const Error& error) {
    return failed == 4 && error.code() == ExitCode::out_of_memory;
  }
  return false;
}

TEST(RunRanks, NobodyHangsWhenMemoryRunsOut) {
  if (!can_use_up_memory()) GTEST_SKIP();
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(exit_when_true(&every_rank_learns_of_a_lack_of_memory), testing::ExitedWithCode(0), "");
}

TEST(InvalidCalls, AreRefusedBeforeAnyMeeting) {
  EXPECT_THROW(make_inproc_world(0), InvalidArgument);
  EXPECT_THROW(make_inproc_world(1'000'000), InvalidArgument);
  const auto world = make_inproc_world(2);
  Communicator& comm = *world[0];
  float data[4] = {};
  const std::vector<int64_t> one{1}, negative{1, -1}, huge{1, INT64_MAX};
  EXPECT_THROW(comm.all_reduce(data, -1, DType::f32, Reduce::sum), InvalidArgument);
  EXPECT_THROW(comm.all_reduce(nullptr, 1, DType::f32, Reduce::sum), InvalidArgument);
  EXPECT_THROW(comm.all_reduce(data, 1, DType::f32, Reduce::none), InvalidArgument);
  EXPECT_THROW(comm.all_gather(data, data, one, DType::f32), InvalidArgument);
  EXPECT_THROW(comm.all_gather(data, data, negative, DType::f32), InvalidArgument);
  EXPECT_THROW(comm.all_gather(data, data, huge, DType::f32), InvalidArgument);
  EXPECT_THROW(comm.broadcast(data, 1, DType::f32, 2), InvalidArgument);
  EXPECT_THROW(comm.send(data, 1, DType::f32, -1), InvalidArgument);
  EXPECT_THROW(comm.split(std::vector<int>{1}), InvalidArgument);
  EXPECT_THROW(comm.split(std::vector<int>{0, 0}), InvalidArgument);
  EXPECT_THROW(comm.split(std::vector<int>{0, 2}), InvalidArgument);
}

}  // namespace
}  // namespace partita
