// The collective communication interface on threads, on processes of one host and of several: the same calls, the same
// bits.

#include "support/ranks.h"

#include <gtest/gtest.h>

#include <numeric>

#include "base/philox.h"
#include "runtime/comm/named_groups.h"

namespace partita {
namespace {

constexpr int kRankCounts[] = {2, 3, 4, 6, 8};
constexpr int64_t kCounts[] = {1, 1000, 200'003};

/// Contribution of rank `rank`. Every rank can compute those of the others.
std::vector<float> rank_values(int rank, int64_t count) {
  const uint64_t key = random_key(rank, "values");
  std::vector<float> values(count);
  for (int64_t i = 0; i < count; ++i) values[i] = static_cast<float>(random_normal(key, i, 0));
  return values;
}

/// Contributions added in group order.
std::vector<float> sum_of(std::span<const int> ranks, int64_t count) {
  std::vector<float> sum = rank_values(ranks[0], count);
  for (size_t r = 1; r < ranks.size(); ++r) {
    const std::vector<float> next = rank_values(ranks[r], count);
    for (int64_t i = 0; i < count; ++i) sum[i] += next[i];
  }
  return sum;
}

std::vector<int> all_of(int ranks) {
  std::vector<int> all(ranks);
  std::iota(all.begin(), all.end(), 0);
  return all;
}

void for_ranks(const std::function<void(Communicator&)>& fn) {
  for (const int ranks : kRankCounts) {
    if (can_run(ranks)) on_ranks(ranks, fn);
  }
}

TEST(Ranks, SumsAreFormedInGroupOrder) {
  for_ranks([](Communicator& comm) {
    for (const int64_t count : kCounts) {
      std::vector<float> values = rank_values(comm.rank(), count);
      comm.all_reduce(values.data(), count, DType::f32, Reduce::sum);
      EXPECT_EQ(values, sum_of(all_of(comm.size()), count)) << comm.rank() << " of " << comm.size();
    }
  });
}

// The receiver reaches the barrier only after it has the message. It would never reach it if the message waited for the
// sender's next call.
TEST(Ranks, PostedMessagesAreSentWhileTheirSenderWaitsElsewhere) {
  constexpr int64_t kLarge = 200'003;  // more than MPI sends on its own
  for_ranks([](Communicator& comm) {
    const int next = (comm.rank() + 1) % comm.size(), before = (comm.rank() + comm.size() - 1) % comm.size();
    const int evens = (comm.size() + 1) / 2;
    for (int round = 0; round < 3; ++round) {
      const std::vector<float> own = rank_values(comm.rank() + round, kLarge);
      std::vector<float> got(kLarge);
      const bool sends_first = comm.rank() < evens;
      if (sends_first) comm.post(own.data(), kLarge, DType::f32, next);
      if (!sends_first) comm.recv(got.data(), kLarge, DType::f32, before, std::chrono::seconds(20));
      if (!sends_first) comm.post(own.data(), kLarge, DType::f32, next);
      if (sends_first && comm.rank() > 0) comm.recv(got.data(), kLarge, DType::f32, before, std::chrono::seconds(20));
      comm.barrier(std::chrono::seconds(20));
      if (comm.rank() == 0) comm.recv(got.data(), kLarge, DType::f32, before, std::chrono::seconds(20));
      EXPECT_EQ(got, rank_values(before + round, kLarge)) << comm.rank() << " of " << comm.size();
    }
  });
}

TEST(Ranks, PartsMayBeUneven) {
  for_ranks([](Communicator& comm) {
    for (const int64_t count : kCounts) {
      std::vector<int64_t> counts;
      for (int r = 0; r < comm.size(); ++r) counts.push_back(r == 1 ? 0 : count / (r + 1));
      const int64_t total = std::accumulate(counts.begin(), counts.end(), int64_t{0});
      std::vector<float> gathered(total), expected, part(counts[comm.rank()]);
      comm.all_gather(rank_values(comm.rank(), counts[comm.rank()]).data(), gathered.data(), counts, DType::f32);
      for (int r = 0; r < comm.size(); ++r) {
        const std::vector<float> piece = rank_values(r, counts[r]);
        expected.insert(expected.end(), piece.begin(), piece.end());
      }
      EXPECT_EQ(gathered, expected);
      comm.reduce_scatter(rank_values(comm.rank(), total).data(), part.data(), counts, DType::f32, Reduce::sum);
      const std::vector<float> sum = sum_of(all_of(comm.size()), total);
      const int64_t begin = std::accumulate(counts.begin(), counts.begin() + comm.rank(), int64_t{0});
      EXPECT_EQ(part, std::vector<float>(sum.begin() + begin, sum.begin() + begin + counts[comm.rank()]));
    }
  });
}

TEST(Ranks, EachSendsToEach) {
  for_ranks([](Communicator& comm) {
    // Rank a gives a * 10,000 + b elements of its own to rank b.
    const auto count_of = [](int from, int to) { return int64_t{from} * 10'000 + to; };
    std::vector<int64_t> give, take;
    std::vector<float> sent, expected;
    for (int r = 0; r < comm.size(); ++r) {
      give.push_back(count_of(comm.rank(), r));
      take.push_back(count_of(r, comm.rank()));
      sent.insert(sent.end(), give.back(), static_cast<float>(100 * comm.rank() + r));
      expected.insert(expected.end(), take.back(), static_cast<float>(100 * r + comm.rank()));
    }
    std::vector<float> got(expected.size());
    comm.all_to_all(sent.data(), give, got.data(), take, DType::f32);
    EXPECT_EQ(got, expected);
    std::vector<float> from_last = rank_values(comm.rank(), 1000);
    comm.broadcast(from_last.data(), 1000, DType::f32, comm.size() - 1);
    EXPECT_EQ(from_last, rank_values(comm.size() - 1, 1000));
  });
}

TEST(Ranks, MessagesGoRound) {
  for_ranks([](Communicator& comm) {
    const int next = (comm.rank() + 1) % comm.size(), before = (comm.rank() + comm.size() - 1) % comm.size();
    const int64_t count = 200'003;
    std::vector<float> got(count);
    const auto give = [&] { comm.send(rank_values(comm.rank(), count).data(), count, DType::f32, next); };
    if (comm.rank() > 0) give();
    comm.recv(got.data(), count, DType::f32, before);
    if (comm.rank() == 0) give();
    EXPECT_EQ(got, rank_values(before, count));
    comm.barrier();
  });
}

TEST(Ranks, GroupsHaveTheirOwnOrder) {
  for_ranks([](Communicator& comm) {
    NamedGroups groups(comm);
    std::vector<int> reversed = all_of(comm.size());
    std::reverse(reversed.begin(), reversed.end());
    groups.create("turned", reversed);
    groups.create("ends", std::vector<int>{comm.size() - 1, 0});
    for (const char* name : {"turned", "ends"}) {
      if (!groups.contains(name, comm.rank())) continue;
      Communicator& group = groups.at(name);
      EXPECT_EQ(group.rank(), groups.group_rank(name, comm.rank()));
      EXPECT_EQ(group.world_ranks()[group.rank()], comm.world_ranks()[comm.rank()]);
      std::vector<float> values = rank_values(comm.rank(), 1000);
      group.all_reduce(values.data(), 1000, DType::f32, Reduce::sum);
      EXPECT_EQ(values, sum_of(groups.ranks(name), 1000));
    }
    EXPECT_GE(comm.host_place().rank, 0);
    EXPECT_LT(comm.host_place().rank, comm.host_place().size);
    EXPECT_LE(comm.host_place().size, 8);
  });
}

TEST(Ranks, BadArgumentsAreRefusedBeforeAnyMeeting) {
  for_ranks([](Communicator& comm) {
    float data[8] = {};
    const std::vector<int64_t> one{1};
    EXPECT_THROW(comm.all_reduce(data, -1, DType::f32, Reduce::sum), InvalidArgument);
    EXPECT_THROW(comm.all_reduce(nullptr, 1, DType::f32, Reduce::sum), InvalidArgument);
    EXPECT_THROW(comm.all_reduce(data, 1, DType::f32, Reduce::none), InvalidArgument);
    EXPECT_THROW(comm.all_gather(data, data, one, DType::f32), InvalidArgument);
    EXPECT_THROW(comm.broadcast(data, 1, DType::f32, comm.size()), InvalidArgument);
    EXPECT_THROW(comm.send(data, 1, DType::f32, -1), InvalidArgument);
    EXPECT_THROW(comm.split(std::vector<int>{comm.rank(), comm.rank()}), InvalidArgument);
    comm.barrier();
  });
}

TEST(Ranks, AWaitHasAnEndAndNamesWhoIsMissing) {
  if (!can_run(2)) return;
  on_ranks(2, [](Communicator& comm) {
    float value = 0;
    if (comm.rank() == 0) {
      try {
        comm.recv(&value, 1, DType::f32, 1, std::chrono::milliseconds(100));
        ADD_FAILURE() << "a message came";
      } catch (const RuntimeFailure& error) {
        EXPECT_EQ(error.code(), ExitCode::peer_stalled);
        EXPECT_STREQ(error.what(), "[recv] timed out after 0.1 s (f32[1]): waiting for rank 1 of group (0,1)");
      }
    }
    comm.barrier();
    // Nothing of the wait is left: the message that comes after it goes to the next receive.
    const float sent = 7;
    if (comm.rank() == 1) comm.send(&sent, 1, DType::f32, 0);
    if (comm.rank() == 0) comm.recv(&value, 1, DType::f32, 1);
    EXPECT_EQ(value, comm.rank() == 0 ? 7 : 0);
  });
}

TEST(Ranks, MessagesOfAnotherSizeAreRefused) {
  if (!can_run(2)) return;
  for (const int64_t sent : {1, 100}) {
    on_ranks(2, [&](Communicator& comm) {
      std::vector<float> data(100);
      const auto group = comm.split(all_of(2));
      try {
        if (comm.rank() == 1) group->send(data.data(), sent, DType::f32, 0);
        if (comm.rank() == 0) group->recv(data.data(), 10, DType::f32, 1);
        EXPECT_EQ(comm.rank(), 1);  // a sender may be done by then
      } catch (const RuntimeFailure& error) {
        EXPECT_EQ(error.code(), ExitCode::ranks_disagree) << error.what();
      }
    });
  }
}

TEST(Ranks, GroupsThatDoNotFitAreRefused) {
  if (!can_run(2)) return;
  on_ranks(2, [](Communicator& comm) {
    try {
      comm.split(comm.rank() == 0 ? std::vector<int>{0, 1} : std::vector<int>{1, 0});
      ADD_FAILURE() << "two groups for one";
    } catch (const RuntimeFailure& error) {
      EXPECT_EQ(error.code(), ExitCode::ranks_disagree);
      EXPECT_STREQ(error.what(), "[split] ranks disagree: rank 0 calls split (0,1), rank 1 calls split (1,0)");
    }
  });
}

}  // namespace
}  // namespace partita
