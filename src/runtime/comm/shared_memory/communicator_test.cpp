#include "runtime/comm/shared_memory/communicator.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <numeric>
#include <random>
#include <thread>

#include "base/error.h"
#include "runtime/comm/run_ranks.h"
#include "runtime/comm/shared_memory/presence.h"
#include "runtime/comm/shared_memory/segment.h"

namespace partita {
namespace {

/// Memory for a group, ready for its communicator.
SharedSegment make_segment(int ranks) {
  auto segment = SharedSegment::create(SharedMemoryCommunicator::bytes(ranks));
  if (!segment) throw std::runtime_error("no shared memory");
  SharedMemoryCommunicator::prepare(segment->data(), ranks);
  return std::move(*segment);
}

/// Runs `fn(rank, communicator, comm)` on threads that have a communicator and, as an oracle, the in-process
/// collectives.
template <class Fn>
void with_communicators(int ranks, Fn&& fn) {
  const SharedSegment first = make_segment(ranks);
  run_ranks(ranks, [&](Communicator& comm) {
    std::vector<int> world_ranks(ranks);
    std::iota(world_ranks.begin(), world_ranks.end(), 10);
    // As in other processes, the segment is elsewhere.
    const auto own = SharedSegment::open(first.name(), SharedMemoryCommunicator::bytes(ranks));
    ASSERT_TRUE(own.has_value());
    comm.barrier();
    if (comm.rank() == 0) first.unlink();
    SharedMemoryCommunicator communicator(own->data(), comm.rank(), world_ranks, wait_policy(ranks, 1));
    fn(comm.rank(), communicator, comm);
  });
}

std::vector<float> noise(int64_t count, int seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& value : values) value = normal(random);
  return values;
}

constexpr Timeout kLong = std::chrono::minutes(5);
// None, one, less than a chunk of any group, several chunks and a rest.
constexpr int64_t kLengths[] = {0, 1, 1000, 300'001};

/// Different on every rank, some of them empty.
std::vector<int64_t> uneven(int64_t count, int ranks, int turn) {
  std::vector<int64_t> counts(ranks);
  for (int r = 0; r < ranks; ++r) counts[r] = (r + turn) % 3 == 0 ? 0 : count / (1 + (r + turn) % 4);
  return counts;
}

TEST(SharedMemoryCommunicator, MovesWhatTheInProcessCollectivesMove) {
  for (int ranks : {1, 2, 3, 4, 6, 8}) {
    with_communicators(ranks, [&](int rank, SharedMemoryCommunicator& communicator, Communicator& comm) {
      for (const int64_t count : kLengths) {
        std::vector<float> mine = noise(count, rank), theirs = mine;
        communicator.run({.kind = Collective::all_reduce,
                          .dtype = DType::f32,
                          .reduce = Reduce::sum,
                          .count = count,
                          .recv = mine.data()},
                         kLong);
        comm.all_reduce(theirs.data(), count, DType::f32, Reduce::sum);
        EXPECT_EQ(mine, theirs);

        std::vector<int64_t> counts = uneven(count, ranks, 0);
        const int64_t total = std::accumulate(counts.begin(), counts.end(), int64_t{0});
        const std::vector<float> part = noise(counts[rank], 20 + rank), whole = noise(total, 40 + rank);
        mine.assign(total, 0);
        theirs = mine;
        communicator.run({.kind = Collective::all_gather,
                          .dtype = DType::f32,
                          .count = total,
                          .counts = counts,
                          .send = part.data(),
                          .recv = mine.data()},
                         kLong);
        comm.all_gather(part.data(), theirs.data(), counts, DType::f32);
        EXPECT_EQ(mine, theirs);

        mine.assign(counts[rank], 0);
        theirs = mine;
        communicator.run({.kind = Collective::reduce_scatter,
                          .dtype = DType::f32,
                          .reduce = Reduce::max,
                          .count = total,
                          .counts = counts,
                          .send = whole.data(),
                          .recv = mine.data()},
                         kLong);
        comm.reduce_scatter(whole.data(), theirs.data(), counts, DType::f32, Reduce::max);
        EXPECT_EQ(mine, theirs);
      }
    });
  }
}

TEST(SharedMemoryCommunicator, NobodyOverwritesWhatASlowRankStillReads) {
  for (int ranks : {2, 3, 4}) {
    with_communicators(ranks, [&](int rank, SharedMemoryCommunicator& communicator, Communicator&) {
      for (int i = 0; i < 2000; ++i) {
        std::vector<int32_t> values(1 + i % 3, rank + i);
        communicator.run({.kind = Collective::all_reduce,
                          .dtype = DType::i32,
                          .reduce = Reduce::sum,
                          .count = static_cast<int64_t>(values.size()),
                          .recv = values.data()},
                         kLong);
        ASSERT_EQ(values, std::vector<int32_t>(values.size(), ranks * i + ranks * (ranks - 1) / 2)) << i;
      }
    });
  }
}

TEST(SharedMemoryCommunicator, EveryPairMayExchangeAnotherCount) {
  for (int ranks : {2, 3, 8}) {
    with_communicators(ranks, [&](int rank, SharedMemoryCommunicator& communicator, Communicator& comm) {
      for (const int64_t count : kLengths) {
        const std::vector<int64_t> give = uneven(count, ranks, rank);
        std::vector<int64_t> take;
        for (int r = 0; r < ranks; ++r) take.push_back(uneven(count, ranks, r)[rank]);
        const int64_t sent = std::accumulate(give.begin(), give.end(), int64_t{0});
        const std::vector<float> from = noise(sent, rank);
        std::vector<float> mine(std::accumulate(take.begin(), take.end(), int64_t{0})), theirs = mine;
        communicator.run({.kind = Collective::all_to_all,
                          .dtype = DType::f32,
                          .count = sent,
                          .counts = give,
                          .recv_counts = take,
                          .send = from.data(),
                          .recv = mine.data()},
                         kLong);
        comm.all_to_all(from.data(), give, theirs.data(), take, DType::f32);
        EXPECT_EQ(mine, theirs);
      }
    });
  }
}

TEST(SharedMemoryCommunicator, BroadcastsFromEveryRootAndMeets) {
  with_communicators(3, [&](int rank, SharedMemoryCommunicator& communicator, Communicator&) {
    for (int root = 0; root < 3; ++root) {
      std::vector<float> values = noise(200'000, rank);
      communicator.run(
          {.kind = Collective::broadcast, .dtype = DType::f32, .root = root, .count = 200'000, .recv = values.data()},
          kLong);
      EXPECT_EQ(values, noise(200'000, root));
      communicator.run({}, kLong);
    }
  });
}

template <class Fn>
std::string failure(ExitCode code, Fn&& fn) {
  try {
    fn();
  } catch (const RuntimeFailure& error) {
    EXPECT_EQ(error.code(), code);
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}

TEST(SharedMemoryCommunicator, RanksThatDisagreeLearnSoBeforeDataMove) {
  with_communicators(3, [&](int rank, SharedMemoryCommunicator& communicator, Communicator&) {
    std::vector<float> values(4, 1.0f);
    const std::string text = failure(ExitCode::ranks_disagree, [&] {
      communicator.run({.kind = Collective::all_reduce,
                        .dtype = DType::f32,
                        .reduce = rank == 1 ? Reduce::max : Reduce::sum,
                        .count = 4,
                        .recv = values.data()},
                       kLong);
    });
    EXPECT_EQ(text,
              "[all_reduce] ranks disagree: rank 10 calls all_reduce f32[4] sum, rank 11 calls all_reduce f32[4] max");
    EXPECT_EQ(values, std::vector<float>(4, 1.0f));
    communicator.run({}, kLong);  // the group stays usable
  });
}

TEST(SharedMemoryCommunicator, CountsOfAnExchangeAreCompared) {
  with_communicators(2, [&](int rank, SharedMemoryCommunicator& communicator, Communicator&) {
    const std::vector<int64_t> give{1, 4}, take = rank == 0 ? std::vector<int64_t>{1, 1} : std::vector<int64_t>{8, 4};
    std::vector<float> from(5), to(12);
    const std::string text = failure(ExitCode::ranks_disagree, [&] {
      communicator.run({.kind = Collective::all_to_all,
                        .dtype = DType::f32,
                        .count = 5,
                        .counts = give,
                        .recv_counts = take,
                        .send = from.data(),
                        .recv = to.data()},
                       kLong);
    });
    EXPECT_EQ(text, "[all_to_all] ranks disagree: rank 10 sends f32[4] to rank 11, which expects f32[8]");
  });
}

TEST(SharedMemoryCommunicator, GroupsOfASplitAreCompared) {
  with_communicators(2, [&](int rank, SharedMemoryCommunicator& communicator, Communicator&) {
    const std::vector<int> members = rank == 0 ? std::vector<int>{0, 1} : std::vector<int>{1, 0};
    const std::string text = failure(ExitCode::ranks_disagree,
                                     [&] { communicator.run({.kind = Collective::split, .members = members}, kLong); });
    EXPECT_EQ(text, "[split] ranks disagree: rank 10 calls split (10,11), rank 11 calls split (11,10)");
    communicator.run({.kind = Collective::split, .members = std::vector<int>{1, 0}}, kLong);
  });
}

TEST(SharedMemoryCommunicator, WhoeverGivesUpFailsTheGroupForAll) {
  with_communicators(3, [&](int rank, SharedMemoryCommunicator& communicator, Communicator& comm) {
    const std::string expected = "[barrier] timed out after 0.1 s at call 1: waiting for rank 12 of group (10,11,12)";
    if (rank != 2) {
      const Timeout timeout = rank == 0 ? std::chrono::milliseconds(100) : kLong;
      EXPECT_EQ(failure(ExitCode::peer_stalled, [&] { communicator.run({}, timeout); }), expected);
    }
    comm.barrier();
    // Also for the one that comes too late, and for good.
    EXPECT_EQ(failure(ExitCode::peer_stalled, [&] { communicator.run({}, kLong); }), expected);
  });
}

TEST(SharedMemoryCommunicator, NobodyWaitsForARankThatHasLeft) {
  for (int ranks : {2, 3, 4, 8}) {
    with_communicators(ranks, [&](int rank, SharedMemoryCommunicator& communicator, Communicator& comm) {
      std::vector<float> values(300'000, 1.0f);
      const auto reduce = [&] {
        communicator.run({.kind = Collective::all_reduce,
                          .dtype = DType::f32,
                          .reduce = Reduce::sum,
                          .count = static_cast<int64_t>(values.size()),
                          .recv = values.data()},
                         kLong);
      };
      reduce();  // ranks leave while others still read
      EXPECT_EQ(values, std::vector<float>(values.size(), static_cast<float>(ranks)));
      if (rank == 1) {
        communicator.leave();
      } else {
        const std::string text = failure(ExitCode::ranks_disagree, reduce);
        EXPECT_NE(text.find("calls all_reduce f32[300000] sum, which rank 11 of group (10,"), std::string::npos)
            << text;
        EXPECT_NE(text.find(") does not: it is done"), std::string::npos) << text;
        failure(ExitCode::ranks_disagree, reduce);  // for good
      }
      comm.barrier();
    });
  }
}

TEST(SharedMemoryCommunicator, RanksLeaveAtTheirEnd) {
  with_communicators(4, [&](int rank, SharedMemoryCommunicator& communicator, Communicator&) {
    for (int i = 0; i < 50; ++i) communicator.run({}, kLong);
    if (rank % 2 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    communicator.leave();
  });
}

/// A rank of three in a process of its own, which ends with the code of its error and tells what it says.
class RankProcess {
 public:
  /// `fn(communicator)` runs once every rank has entered `presence`.
  template <class Fn>
  RankProcess(const SharedSegment& segment, const Presence& presence, int rank, Fn&& fn) {
    if (pipe(ready_) != 0 || pipe(go_) != 0 || pipe(said_) != 0) throw std::runtime_error("no pipe");
    pid_ = fork();
    if (pid_ != 0) {  // ends that only the process keeps end with it
      for (int* end : {&ready_[1], &go_[0], &said_[1]}) close(std::exchange(*end, -1));
      return;
    }
    alarm(20);
    const auto own = SharedSegment::open(segment.name(), SharedMemoryCommunicator::bytes(3));
    auto here = Presence::open(presence.name());
    if (!own || !here || !here->enter(rank)) _exit(1);
    SharedMemoryCommunicator communicator(own->data(), rank, {0, 1, 2}, wait_policy(3, 1), &*here);
    char sign = 0;
    if (write(ready_[1], &sign, 1) != 1 || read(go_[0], &sign, 1) != 1) _exit(2);
    try {
      fn(communicator);
    } catch (const RuntimeFailure& error) {
      const std::string text = error.what();
      _exit(write(said_[1], text.data(), text.size()) < 0 ? 3 : static_cast<int>(error.code()));
    }
    _exit(0);
  }
  ~RankProcess() {
    for (const int* ends : {ready_, go_, said_}) {
      for (int end : {ends[0], ends[1]}) {
        if (end >= 0) close(end);
      }
    }
  }
  RankProcess(const RankProcess&) = delete;
  RankProcess& operator=(const RankProcess&) = delete;

  void wait_until_ready() const {
    char sign = 0;
    ASSERT_EQ(read(ready_[0], &sign, 1), 1);
  }
  void go() const { ASSERT_EQ(write(go_[1], "", 1), 1); }
  void kill() const { ::kill(pid_, SIGKILL); }
  void expect(int code, const std::string& text) const {
    int status = 0;
    ASSERT_EQ(waitpid(pid_, &status, 0), pid_);
    EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
    EXPECT_EQ(WEXITSTATUS(status), code);
    char said[1024];
    const ssize_t count = code == 0 ? 0 : read(said_[0], said, sizeof said);
    EXPECT_EQ(std::string(said, static_cast<size_t>(std::max<ssize_t>(0, count))), text);
  }

 private:
  pid_t pid_ = 0;
  int ready_[2], go_[2], said_[2];
};

/// Sums over all ranks, the last of which the victim never comes to.
void sum_twice(SharedMemoryCommunicator& communicator) {
  for (int i = 0; i < 2; ++i) {
    std::vector<float> values(1000, 1.0f);
    communicator.run({.kind = Collective::all_reduce,
                      .dtype = DType::f32,
                      .reduce = Reduce::sum,
                      .count = 1000,
                      .recv = values.data()},
                     kLong);
    if (values[999] != 3.0f) _exit(4);
  }
}

// One rank is killed while the others wait for it, or while it waits itself.
TEST(SharedMemoryCommunicator, AKilledProcessIsLost) {
  for (const bool in_wait : {false, true}) {
    const SharedSegment segment = make_segment(3);
    const auto presence = Presence::create();
    ASSERT_TRUE(presence.has_value());
    const RankProcess first(segment, *presence, 0, sum_twice);
    const RankProcess victim(segment, *presence, 1, [&](SharedMemoryCommunicator& communicator) {
      if (!in_wait) pause();
      sum_twice(communicator);
      _exit(5);
    });
    const RankProcess last(segment, *presence, 2, sum_twice);
    for (const RankProcess* rank : {&first, &victim, &last}) rank->wait_until_ready();
    presence->unlink();
    segment.unlink();
    first.go();
    victim.go();
    if (!in_wait) last.go();
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    victim.kill();
    const std::string lost =
        "[all_reduce] a rank was lost at call 1 (f32[1000]): the process of rank 1 ended, got no answer, expected one "
        "in group (0,1,2)";
    first.expect(76, lost);
    if (in_wait) last.go();
    last.expect(76, lost);
    int status = 0;
    while (waitpid(-1, &status, 0) > 0) {
    }
  }
}

TEST(Presence, SaysWhoIsGone) {
  auto one = Presence::create();
  ASSERT_TRUE(one.has_value());
  auto two = Presence::open(one->name());
  ASSERT_TRUE(two.has_value() && one->enter(0) && two->enter(5));
  EXPECT_FALSE(one->enter(5));  // there is one already
  one->unlink();
  EXPECT_FALSE(Presence::open(one->name()).has_value());
  ASSERT_TRUE(one->enter(0));
  EXPECT_FALSE(one->is_gone(0));
  EXPECT_FALSE(one->is_gone(5));
  EXPECT_FALSE(two->is_gone(0));
  EXPECT_TRUE(two->is_gone(3));
  two.reset();
  EXPECT_TRUE(one->is_gone(5));
}

TEST(SharedSegment, TooMuchMemoryIsNotPromised) { EXPECT_FALSE(SharedSegment::create(size_t{1} << 50).has_value()); }

TEST(SharedSegment, ANameThatWasForgottenIsGone) {
  const auto segment = SharedSegment::create(4096);
  ASSERT_TRUE(segment.has_value());
  segment->unlink();
  EXPECT_FALSE(SharedSegment::open(segment->name(), 4096).has_value());
}

}  // namespace
}  // namespace partita
