#include "runtime/comm/sockets/sockets.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <atomic>
#include <cstring>
#include <deque>
#include <latch>
#include <numeric>
#include <random>
#include <thread>

#include "base/error.h"
#include "runtime/comm/run_ranks.h"
#include "runtime/comm/sockets/gate.h"
#include "runtime/comm/sockets/socket.h"

namespace partita {
namespace {

using namespace std::chrono_literals;

constexpr const char* kSecret = "a secret of sixteen characters or more";

/// A place where ranks meet, on a port of their own.
struct MeetingPoint {
  Socket listener = listen_on({"127.0.0.1", 0});
  std::string master = print(local_endpoint(listener));
};

/// The host of each rank; below 0: the one that this process runs on.
using Layout = std::vector<int>;

/// Ranks split evenly over `hosts`, in order; with one host, that of this process.
Layout split_evenly(int size, int hosts) {
  Layout layout;
  for (int rank = 0; rank < size; ++rank) layout.push_back(hosts == 1 ? -1 : rank * hosts / size);
  return layout;
}

SocketWorldOptions options_of(MeetingPoint& point, int rank, const Layout& layout) {
  const int size = static_cast<int>(layout.size());
  return {.rank = rank,
          .size = size,
          .master = point.master,
          .listener = rank == 0 ? point.listener.release() : -1,
          .secret = kSecret,
          .start_timeout = 20s,
          .stall_timeout = 20s,
          .host = layout[rank] < 0 ? "" : fmt::format("host{}", layout[rank])};
}

/// Thrown by a rank that ends without a word.
struct Killed {};

/// Runs `fn` on ranks that are threads of this process, but communicate over sockets.
void with_sockets(const Layout& layout, const std::function<void(Communicator&)>& fn) {
  const int size = static_cast<int>(layout.size());
  MeetingPoint point;
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, options = options_of(point, rank, layout)] {
      try {
        const auto world = make_socket_world(options);
        fn(*world);
      } catch (const Killed&) {
      } catch (const std::exception& error) {
        ADD_FAILURE() << "rank " << options.rank << " of " << size << ": " << error.what();
      }
    });
  }
}

template <class T>
std::vector<T> random_vector(int64_t count, int seed) {
  std::mt19937 engine(static_cast<unsigned>(seed));
  std::vector<T> values(count);
  for (T& value : values) value = static_cast<T>(static_cast<float>(engine()) * 1e-7f - 200);
  return values;
}

template <class T>
void check_all(Communicator& comm, Communicator& oracle, int64_t count, int seed) {
  constexpr DType dtype = DTypeOf<T>::value;
  const int rank = comm.rank(), size = comm.size();
  const auto same = [](const std::vector<T>& a, const std::vector<T>& b) {
    return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
  };
  for (const Reduce reduce : {Reduce::sum, Reduce::max}) {
    std::vector<T> mine = random_vector<T>(count, seed + rank), theirs = mine;
    comm.all_reduce(mine.data(), count, dtype, reduce);
    oracle.all_reduce(theirs.data(), count, dtype, reduce);
    EXPECT_TRUE(same(mine, theirs)) << "all_reduce of " << count << " on " << size;
  }
  std::vector<int64_t> counts(size), back(size);
  for (int r = 0; r < size; ++r) counts[r] = (r + seed) % 3 == 0 ? 0 : count / (1 + (r + seed) % 4);
  const int64_t total = std::accumulate(counts.begin(), counts.end(), int64_t{0});
  const std::vector<T> part = random_vector<T>(counts[rank], seed + rank), whole = random_vector<T>(total, seed + rank);
  std::vector<T> mine(total), theirs(total);
  comm.all_gather(part.data(), mine.data(), counts, dtype);
  oracle.all_gather(part.data(), theirs.data(), counts, dtype);
  EXPECT_TRUE(same(mine, theirs)) << "all_gather";
  mine.resize(counts[rank]), theirs.resize(counts[rank]);
  comm.reduce_scatter(whole.data(), mine.data(), counts, dtype, Reduce::sum);
  oracle.reduce_scatter(whole.data(), theirs.data(), counts, dtype, Reduce::sum);
  EXPECT_TRUE(same(mine, theirs)) << "reduce_scatter";
  for (int r = 0; r < size; ++r) {
    counts[r] = (count + r + 2 * rank) % 5 * 7;
    back[r] = (count + rank + 2 * r) % 5 * 7;
  }
  const auto sent = random_vector<T>(std::accumulate(counts.begin(), counts.end(), int64_t{0}), seed + rank);
  mine.assign(std::accumulate(back.begin(), back.end(), int64_t{0}), T(0));
  theirs = mine;
  comm.all_to_all(sent.data(), counts, mine.data(), back, dtype);
  oracle.all_to_all(sent.data(), counts, theirs.data(), back, dtype);
  EXPECT_TRUE(same(mine, theirs)) << "all_to_all";
  for (const int root : {0, size - 1}) {
    mine = random_vector<T>(count, seed + rank), theirs = mine;
    comm.broadcast(mine.data(), count, dtype, root);
    oracle.broadcast(theirs.data(), count, dtype, root);
    EXPECT_TRUE(same(mine, theirs)) << "broadcast from " << root;
  }
  comm.barrier();
}

/// On one host, on two and three, each rank on its own; the last host the largest, and the first.
std::vector<Layout> some_layouts() {
  std::vector<Layout> layouts{{0, 1, 1, 1}, {0, 0, 0, 1, 1, 1, 2, 2, 2, 2}, {0, 0, 0, 0, 1, 1, 1}};
  for (const int size : {1, 2, 3, 4, 6, 8}) {
    for (const int hosts : {1, 2, 3, size}) {
      if (hosts <= size && (hosts != 3 || size > 3)) layouts.push_back(split_evenly(size, hosts));
    }
  }
  return layouts;
}

TEST(Sockets, MoveTheBitsThatThreadsMove) {
  for (const Layout& layout : some_layouts()) {
    const int size = static_cast<int>(layout.size());
    MeetingPoint point;
    run_ranks(size, [&](Communicator& oracle) {
      SocketWorldOptions options;
      for (int rank = 0; rank < size; ++rank) {  // one after the other: rank 0 takes the listener
        if (rank == oracle.rank()) options = options_of(point, rank, layout);
        oracle.barrier();
      }
      const auto world = make_socket_world(options);
      EXPECT_EQ(world->host_place().size, std::count(layout.begin(), layout.end(), layout[oracle.rank()]));
      for (const int64_t count : {0, 1, 1000, 70'001}) {
        check_all<float>(*world, oracle, count, static_cast<int>(count) + size);
      }
      // Long enough to go by host, where that is another way.
      const bool is_by_host =
          layout.front() != layout.back() && std::adjacent_find(layout.begin(), layout.end()) != layout.end();
      check_all<bf16>(*world, oracle, is_by_host ? 50'001 : 3001, 5);
      check_all<double>(*world, oracle, is_by_host ? 12'001 : 501, 7);
      check_all<int64_t>(*world, oracle, 501, 9);
    });
  }
}

// Messages of several frames, short ones between them, in both directions of a connection at once.
TEST(Sockets, LongMessagesAmongOthers) {
  const std::vector<int64_t> lengths{300'000, 10, 1'000'003, 20'000, 65'536, 1};
  for (const int size : {2, 3}) {
    with_sockets(split_evenly(size, size), [&](Communicator& world) {
      const int rank = world.rank();
      const auto seed = [](int from, int to, size_t i) { return 100 * from + 10 * to + static_cast<int>(i); };
      for (int to = 0; to < size; ++to) {
        for (size_t i = 0; i < lengths.size() && to != rank; ++i) {
          world.post(random_vector<float>(lengths[i], seed(rank, to, i)).data(), lengths[i], DType::f32, to);
        }
      }
      std::vector<int64_t> sums(500'000, rank + 1);
      world.all_reduce(sums.data(), static_cast<int64_t>(sums.size()), DType::i64, Reduce::sum);
      EXPECT_EQ(sums, std::vector<int64_t>(sums.size(), size * (size + 1) / 2));
      for (int from = size - 1; from >= 0; --from) {
        for (size_t i = 0; i < lengths.size() && from != rank; ++i) {
          std::vector<float> received(static_cast<size_t>(lengths[i]));
          world.recv(received.data(), lengths[i], DType::f32, from);
          EXPECT_EQ(received, random_vector<float>(lengths[i], seed(from, rank, i))) << i << " from " << from;
        }
      }
      world.barrier();
    });
  }
}

TEST(Sockets, GroupsAndMessages) {
  with_sockets(split_evenly(6, 3), [](Communicator& world) {
    const int rank = world.rank();
    const std::vector<int> members = rank % 2 == 0 ? std::vector{4, 2, 0} : std::vector{1, 3, 5};
    const auto group = world.split(members);
    int64_t sum = rank;
    group->all_reduce(&sum, 1, DType::i64, Reduce::sum);
    EXPECT_EQ(sum, rank % 2 == 0 ? 6 : 9);
    // Large and small messages of both groups between the same pairs, posted before anyone takes one.
    const int to = (rank + 1) % 6, from = (rank + 5) % 6;
    for (int i = 0; i < 20; ++i) {
      const std::vector<int32_t> mine(i % 3 == 0 ? 100'000 : 10, 100 * rank + i);
      world.post(mine.data(), static_cast<int64_t>(mine.size()), DType::i32, to);
    }
    for (int i = 0; i < 20; ++i) {
      std::vector<int32_t> theirs(i % 3 == 0 ? 100'000 : 10);
      world.recv(theirs.data(), static_cast<int64_t>(theirs.size()), DType::i32, from);
      EXPECT_EQ(theirs, std::vector<int32_t>(theirs.size(), 100 * from + i));
    }
    world.barrier();
  });
}

/// Returns the error text of `fn`, which must throw with `code`; "nothing" if it does not throw.
std::string thrown(ExitCode code, const std::function<void()>& fn) {
  try {
    fn();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  return "nothing";
}

TEST(Sockets, ALostRankIsNamedByAllWithWhatWaited) {
  for (const int hosts : {1, 3}) {
    std::latch left_barrier(3);
    with_sockets(split_evenly(3, hosts), [&](Communicator& world) {
      world.barrier();
      left_barrier.arrive_and_wait();  // one that still waits there would name the barrier
      world.begin_step(7);
      if (world.rank() == 1) {
        // As a process that is killed: its connections end without a word.
        throw Killed();
      }
      const auto begin = std::chrono::steady_clock::now();
      float value = 0;
      const std::string text =
          thrown(ExitCode::peer_lost, [&] { world.all_reduce(&value, 1, DType::f32, Reduce::sum); });
      EXPECT_LT(std::chrono::steady_clock::now() - begin, 10s);
      EXPECT_TRUE(text.starts_with("[all_reduce] a rank was lost at call 2 (f32[1]) of step 7: the process of rank 1 "))
          << text;
    });
  }
}

// Six ranks on two hosts: some wait in shared memory, some for messages.
TEST(Sockets, CallsByHostNameWhoWasLostAndWhoDiffers) {
  const Layout layout{0, 0, 0, 1, 1, 1};
  constexpr int64_t kEach = 10'000, kAll = 6 * kEach;
  const std::vector<int64_t> counts(6, kEach);
  const auto call = [&](Communicator& world, Collective kind, Reduce reduce) {
    std::vector<float> all(kAll), own(kEach);
    switch (kind) {
      case Collective::all_reduce: return world.all_reduce(all.data(), kAll, DType::f32, reduce);
      case Collective::reduce_scatter: return world.reduce_scatter(all.data(), own.data(), counts, DType::f32, reduce);
      case Collective::all_gather: return world.all_gather(own.data(), all.data(), counts, DType::f32);
      default: return world.broadcast(all.data(), kAll, DType::f32, 1);
    }
  };
  for (const Collective kind :
       {Collective::all_reduce, Collective::reduce_scatter, Collective::all_gather, Collective::broadcast}) {
    for (const int lost : {1, 4}) {
      with_sockets(layout, [&](Communicator& world) {
        world.barrier();
        world.begin_step(7);
        if (world.rank() == lost) {
          std::this_thread::sleep_for(100ms);  // all others wait
          throw Killed();
        }
        const std::string text = thrown(ExitCode::peer_lost, [&] {
          call(world, kind, Reduce::sum);
          world.barrier();  // a rank that has all it needs of a broadcast learns it here
        });
        EXPECT_NE(text.find(fmt::format("of step 7: the process of rank {} ", lost)), std::string::npos) << text;
        const bool is_late = kind == Collective::broadcast && text.starts_with("[barrier] a rank was lost at call 3");
        EXPECT_TRUE(is_late || text.starts_with(fmt::format("[{}] a rank was lost at call 2 ", name_of(kind)))) << text;
        EXPECT_NE(thrown(ExitCode::peer_lost, [&] { world.barrier(); }), "nothing");
      });
    }
  }
  with_sockets(layout, [&](Communicator& world) {
    const std::string text = thrown(ExitCode::ranks_disagree, [&] {
      call(world, Collective::reduce_scatter, world.rank() == 5 ? Reduce::max : Reduce::sum);
    });
    world.abort(text, ExitCode::ranks_disagree);
    EXPECT_NE(text.find("[reduce_scatter] ranks disagree: "), std::string::npos) << text;
  });
}

TEST(Sockets, AnAbortWakesEveryCallAndAnotherWorldMayFollow) {
  for (int round = 0; round < 2; ++round) {
    for (const int hosts : {1, 2}) {
      with_sockets(split_evenly(4, hosts), [&](Communicator& world) {
        const auto pair = world.split(world.rank() < 2 ? std::vector{0, 1} : std::vector{2, 3});
        if (world.rank() == 3) {
          std::this_thread::sleep_for(50ms);
          world.abort("rank 3: [train] the loss is not finite", ExitCode::non_finite);
          return;
        }
        int value = 0;
        // One waits for a message, one in another group, one for all.
        const std::string text = thrown(ExitCode::non_finite, [&] {
          if (world.rank() == 0) pair->recv(&value, 1, DType::i32, 1);
          if (world.rank() == 2) pair->barrier();
          world.barrier();
        });
        EXPECT_EQ(text, "rank 3: [train] the loss is not finite");
      });
    }
  }
}

TEST(Sockets, CallsThatDifferAreToldBeforeDataMove) {
  with_sockets(split_evenly(2, 2), [](Communicator& world) {
    std::vector<float> values(10);
    const std::string text = thrown(ExitCode::ranks_disagree, [&] {
      if (world.rank() == 0) {
        world.all_reduce(values.data(), 10, DType::f32, Reduce::sum);
      } else {
        world.all_reduce(values.data(), 10, DType::f32, Reduce::max);
      }
    });
    EXPECT_EQ(text,
              fmt::format("[all_reduce] ranks disagree: rank {} calls all_reduce f32 {}, rank {} calls all_reduce "
                          "f32 {}",
                          1 - world.rank(), world.rank() == 0 ? "max" : "sum", world.rank(),
                          world.rank() == 0 ? "sum" : "max"));
    world.abort("over", ExitCode::ranks_disagree);
  });
}

TEST(Sockets, OnlyRanksOfTheJobJoin) {
  MeetingPoint point;
  std::vector<std::jthread> threads;
  std::atomic<int> refused = 0;
  // Another secret, and another run of the same.
  for (int i = 0; i < 2; ++i) {
    SocketWorldOptions options = options_of(point, 1, split_evenly(2, 1));
    (i == 0 ? options.secret : options.run) += "another";
    threads.emplace_back([&, options] {
      const std::string text = thrown(ExitCode::ranks_disagree, [&] { make_socket_world(options); });
      refused += text.find("got another secret or run") != std::string::npos ? 1 : 0;
    });
  }
  // Strangers: random bytes, too few, far too many.
  const Endpoint master = parse_endpoint("test", point.master);
  threads.emplace_back([&] {
    std::mt19937 random(3);
    for (int i = 0; i < 200; ++i) {
      auto link = connect_to(master, deadline_after(5s));
      if (!link) continue;
      std::vector<std::byte> bytes(random() % 5000);
      for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
      send_all(*link, bytes, deadline_after(100ms));
    }
  });
  threads.emplace_back(
      [&, options = options_of(point, 0, split_evenly(2, 1))] { make_socket_world(options)->barrier(); });
  std::this_thread::sleep_for(300ms);
  threads.emplace_back(
      [&, options = options_of(point, 1, split_evenly(2, 1))] { make_socket_world(options)->barrier(); });
  threads.clear();
  EXPECT_EQ(refused, 2);
}

/// The two ends of a challenge: what a rank does that knows the key, in its parts.
struct Caller {
  Socket socket;
  Digest nonce{}, mine{};

  explicit Caller(const Endpoint& endpoint) : socket(*connect_to(endpoint, deadline_after(5s))) {}
  void respond(const JobKey& key) {
    ASSERT_TRUE(receive_all(socket, nonce, deadline_after(5s)));
    const Digest proof = key.proof("calls", nonce, mine);
    ASSERT_TRUE(send_all(socket, mine, deadline_after(5s)) && send_all(socket, proof, deadline_after(5s)));
  }
};

TEST(Sockets, StrangersThatOnlyConnectPushOutNobodyWhoKnowsTheKey) {
  const JobKey key("0123456789abcdef", "1");
  Gate gate(listen_on({"127.0.0.1", 0}), key, 4);
  const Endpoint endpoint = local_endpoint(gate.listener());
  const auto look = [&] { EXPECT_FALSE(gate.next(deadline_after(20ms))); };
  Caller rank(endpoint);
  look();
  rank.respond(key);
  look();
  std::vector<Caller> strangers;
  for (int i = 0; i < 50; ++i) strangers.emplace_back(endpoint);
  look();
  const Hello hello{.rank = 1, .size = 2};
  ASSERT_TRUE(send_all(rank.socket, {reinterpret_cast<const std::byte*>(&hello), sizeof hello}, deadline_after(5s)));
  const auto joined = gate.next(deadline_after(5s));
  ASSERT_TRUE(joined);
  EXPECT_EQ(joined->hello.rank, 1);
  EXPECT_EQ(gate.strangers(), 47);
  // Those that are left have half a second as long as there are too many.
  strangers.emplace_back(endpoint);
  EXPECT_FALSE(gate.next(deadline_after(900ms)));
  EXPECT_GE(gate.strangers(), 50);
}

TEST(Sockets, ACallerThatWasPushedOutMayCallAgain) {
  const JobKey key("0123456789abcdef", "1"), other("another secret of the job", "1");
  Gate gate(listen_on({"127.0.0.1", 0}), key, 1);
  const Endpoint endpoint = local_endpoint(gate.listener());
  // Each caller finds the next stranger before it is answered.
  for (const bool knows : {true, false}) {
    Joining end = Joining::done;
    std::jthread caller([&] {
      const auto socket = connect_to(endpoint, deadline_after(5s));
      end = join(*socket, knows ? key : other, {.rank = 1, .size = 2}, deadline_after(5s));
    });
    if (knows) {
      std::this_thread::sleep_for(100ms);
      const Caller stranger(endpoint);
      EXPECT_FALSE(gate.next(deadline_after(1ms)));
      caller.join();
      EXPECT_EQ(end, Joining::no_answer);
    } else {
      EXPECT_FALSE(gate.next(deadline_after(1500ms)));
      caller.join();
      EXPECT_EQ(end, Joining::refused) << "another secret";
    }
  }
}

TEST(Sockets, RanksMeetAmongStrangersThatOnlyConnect) {
  MeetingPoint point;
  const Endpoint master = parse_endpoint("test", point.master);
  std::atomic<bool> is_over = false;
  std::vector<std::jthread> floods;
  for (int i = 0; i < 2; ++i) {
    floods.emplace_back([&] {
      std::deque<Socket> held;
      while (!is_over) {
        // Nobody listens any more once all ranks have come.
        auto socket = connect_to(master, deadline_after(1ms));
        if (socket) held.push_back(std::move(*socket));
        if (held.size() > 200) held.pop_front();
      }
    });
  }
  std::vector<std::jthread> ranks;
  for (int rank = 0; rank < 4; ++rank) {
    ranks.emplace_back([options = options_of(point, rank, split_evenly(4, 2))] {
      if (options.rank > 0) std::this_thread::sleep_for(options.rank * 100ms);
      make_socket_world(options)->barrier();
    });
  }
  ranks.clear();
  is_over = true;
}

TEST(Sockets, RanksThatDoNotComeAreNamed) {
  MeetingPoint point;
  std::vector<std::jthread> threads;
  for (const int rank : {0, 2}) {
    SocketWorldOptions options = options_of(point, rank, split_evenly(4, 1));
    options.start_timeout = 600ms;
    threads.emplace_back([options] {
      EXPECT_EQ(thrown(ExitCode::peer_stalled, [&] { make_socket_world(options); }),
                "[rendezvous] timed out after 0.6 s: waiting for ranks 1, 3, got 2 of 4 ranks, expected all");
    });
  }
}

TEST(Sockets, AddressesAndSecretsAreChecked) {
  for (const char* text : {"", "host", "host:", ":1", "host:0", "host:65536", "host:1x"}) {
    EXPECT_EQ(thrown(ExitCode::usage, [&] { parse_endpoint("test", text); }),
              fmt::format("[test] not an address, got '{}', expected HOST:PORT with a port of 1 to 65535", text));
  }
  EXPECT_EQ(print(parse_endpoint("test", "[::1]:80")), "[::1]:80");
  EXPECT_EQ(print(parse_endpoint("test", "2001:db8::12:29500")), "[2001:db8::12]:29500");
  EXPECT_EQ(
      thrown(ExitCode::usage, [] { parse_endpoint("test", "2001:db8::12"); }),
      "[test] not an address, got '2001:db8::12', expected HOST:PORT, as [2001:db8::12]:2950, with a port of 1 to "
      "65535");
  EXPECT_EQ(thrown(ExitCode::usage, [] { JobKey("short", ""); }),
            "[secret] too short, got 5 characters, expected 16 or more");
}

}  // namespace
}  // namespace partita
