// Programs with collectives on ranks that are processes. Threads stand for them, and a fake plugin for theirs.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "runtime/execute/xla/gang.h"
#include "support/fake_accelerated.h"
#include "support/forwarding_communicator.h"

namespace partita {
namespace {

/// Shows each rank as a process: what all bring alike, when they say where they are, differs. With `pairs` two ranks
/// share a process.
class AsProcesses final : public ForwardingCommunicator {
 public:
  explicit AsProcesses(Communicator& inner, bool pairs = false) : ForwardingCommunicator(inner), pairs_(pairs) {}
  std::unique_ptr<Communicator> split(std::span<const int> members, Timeout timeout) override {
    return inner().split(members, timeout);
  }
  void all_gather(const void* send, void* recv, std::span<const int64_t> counts, DType dtype,
                  Timeout timeout) override {
    ForwardingCommunicator::all_gather(send, recv, counts, dtype, timeout);
    if (dtype != DType::i64) return;
    auto* all = static_cast<int64_t*>(recv);
    if (std::count(all, all + counts.size(), all[0]) != static_cast<std::ptrdiff_t>(counts.size())) return;
    for (size_t rank = 0; rank < counts.size(); ++rank) all[rank] = static_cast<int64_t>(pairs_ ? rank / 2 : rank);
  }

 private:
  const bool pairs_;
};

class ProcessGang : public FakeAccelerated {
 protected:
  void SetUp() override {
    FakeAccelerated::SetUp();
    if (fake_ != nullptr) fake_->program_devices = 1;
  }

  const Accelerator& accelerator(int rank) const { return rank % 2 == 0 ? *accelerator_ : *second_; }
};

constexpr const char* kText = "module @one { func.func public @main(%a: tensor<2xf64>) -> tensor<2xf64> }";

TEST_F(ProcessGang, TheFirstProcessCompilesForAll) {
  for (const bool can_serialize : {true, false}) {
    start();
    fake_->program_devices = 1;
    if (!can_serialize) fake_->failing[Function::executable_serialize] = ErrorCode::unimplemented;
    std::atomic<int> compiled = 0;
    on_ranks(2, [&](Communicator& world) {
      AsProcesses processes(world);
      const Gang gang(processes, accelerator(world.rank()));
      EXPECT_EQ(gang.devices(), (std::vector<int64_t>{0, 1}));
      compiled += gang.compile(kText) != nullptr;
      world.barrier();
    });
    EXPECT_EQ(compiled, 2);
    EXPECT_EQ(fake_->calls[Function::client_compile], can_serialize ? 1 : 2);
    EXPECT_EQ(fake_->calls[Function::executable_deserialize_and_load], can_serialize ? 1 : 0);
  }
}

TEST_F(ProcessGang, EachProcessStartsItsPartUnderOneNumber) {
  for (int i = 0; i < 7; ++i) accelerator_->next_run();
  on_ranks(2, [&](Communicator& world) {
    AsProcesses processes(world);
    Gang gang(processes, accelerator(world.rank()));
    const auto program = gang.compile(kText);
    const Array values({DType::f64, {2}});
    const pjrt::Buffer buffer = accelerator_->client().upload(static_cast<size_t>(world.rank()), values.tensor());
    for (int step = 0; step < 3; ++step) {
      size_t parts = 0;
      const pjrt::Results results = gang.run({&buffer}, [&](const Gang::Arguments& all, pjrt::RunId run) {
        parts = all.size();
        return program->run_all(all, run);
      });
      EXPECT_EQ(parts, 1u);
      EXPECT_EQ(results.buffers.size(), 1u);
    }
  });
  EXPECT_EQ(fake_->calls[Function::loaded_executable_execute], 6);
  EXPECT_EQ(fake_->launches.size(), 3u) << "three runs, each with one number on both ranks";
  EXPECT_GT(*fake_->launches.begin(), 7);
}

TEST_F(ProcessGang, AStartThatFailsIsToldOnceAndEndsAll) {
  std::atomic<int> told = 0, lost = 0;
  const auto [message, code] = failure_of([&] {
    on_ranks(2, [&](Communicator& world) {
      AsProcesses processes(world);
      Gang gang(processes, accelerator(world.rank()));
      const Gang::Launch launch = [&](const Gang::Arguments&, pjrt::RunId) {
        if (world.rank() == 1) throw InternalError("no room");
        std::vector<pjrt::Results> results;
        results.push_back({{}, pjrt::Completion(nullptr, nullptr)});
        return results;
      };
      try {
        for (int step = 0; step < 2; ++step) gang.run({}, launch);
      } catch (const InternalError&) {
        ++told;
        throw;
      } catch (const RuntimeFailure&) {
        ++lost;
        throw;
      }
    });
  });
  EXPECT_EQ(told, 1) << "the rank whose start failed";
  EXPECT_EQ(lost, 1) << "the other one, in its next start";
  EXPECT_EQ(message, "no room");
  EXPECT_EQ(code, ExitCode::internal);
}

/// A device that remembers where it was told to be.
class JoiningDevice final : public Device {
 public:
  JoiningDevice(Device& inner, JoinedProcess& place) : inner_(inner), place_(place) {}
  const KernelCatalog& catalog() const override { return inner_.catalog(); }
  std::shared_ptr<void> allocate(int64_t bytes) override { return inner_.allocate(bytes); }
  void discard(void* begin, int64_t bytes) override { inner_.discard(begin, bytes); }
  std::unique_ptr<Kernel> make_kernel(const KernelQuery& query, const KernelChoice& choice) override {
    return inner_.make_kernel(query, choice);
  }
  std::unique_ptr<Kernel> make_reorder(const Type& type, const MemoryFormat& from, const MemoryFormat& to) override {
    return inner_.make_reorder(type, from, to);
  }
  std::unique_ptr<RowReader> make_row_reader(const Type& type, const MemoryFormat& from) override {
    return inner_.make_row_reader(type, from);
  }
  void enter_thread() override { inner_.enter_thread(); }
  void set_subnormals(SubnormalSetting setting) override { inner_.set_subnormals(setting); }
  const Accelerator* accelerator() override { return inner_.accelerator(); }
  void join(const JoinedProcess& place) override {
    place_ = place;
    values_ = place.share();
    values_->put(fmt::format("rank {}", place.rank), "here");
    EXPECT_EQ(values_->get(fmt::format("rank {}", 1 - place.rank), std::chrono::seconds(60)), "here");
  }
  CollectiveMode collectives() const override { return CollectiveMode::whole; }

 private:
  Device& inner_;
  JoinedProcess& place_;
  std::shared_ptr<pjrt::KeyValueStore> values_;
};

TEST_F(ProcessGang, ProcessesLearnTheirPlacesAndShareATable) {
  std::vector<JoinedProcess> places(2);
  on_ranks(2, [&](Communicator& world) {
    AsProcesses processes(world);
    const auto inner = make_device(all_ops(), accelerator(world.rank()), 1, CollectiveMode::whole);
    JoiningDevice device(*inner, places[static_cast<size_t>(world.rank())]);
    join_devices(processes, device);
    world.barrier();  // rank 0 holds the table
  });
  for (int rank = 0; rank < 2; ++rank) {
    EXPECT_EQ(places[static_cast<size_t>(rank)].rank, rank);
    EXPECT_EQ(places[static_cast<size_t>(rank)].count, 2);
    EXPECT_EQ(places[static_cast<size_t>(rank)].on_host, rank);
  }
}

TEST_F(ProcessGang, RanksThatCannotBeJoinedAreRefusedOnAllRanks) {
  const auto refusals = [&](int ranks, bool pairs, bool one_device) {
    std::multiset<std::string> messages;
    std::mutex mutex;
    on_ranks(ranks, [&](Communicator& world) {
      AsProcesses processes(world, pairs);
      const auto device =
          make_device(all_ops(), one_device ? *accelerator_ : accelerator(world.rank()), 1, CollectiveMode::whole);
      const auto [message, code] = failure_of([&] { join_devices(processes, *device); });
      EXPECT_EQ(code, ExitCode::usage);
      const std::lock_guard lock(mutex);
      messages.insert(message);
    });
    EXPECT_EQ(messages.size(), static_cast<size_t>(ranks));
    EXPECT_EQ(std::set<std::string>(messages.begin(), messages.end()).size(), 1u);
    return *messages.begin();
  };
  EXPECT_EQ(refusals(4, true, false),
            "[collectives] collectives in programs of threads and of processes, got ranks of which some share a "
            "process, expected ranks that are all threads, or a process each, or --collectives cut");
  // Four ranks on two devices: the plugin has given ids twice.
  EXPECT_EQ(refusals(4, false, false),
            "[collectives] a plugin that does not join the devices of processes, got 2 ids of devices on 4 ranks, "
            "expected an id for each, ranks that are threads (--ranks), or --collectives cut");
}

/// Gives rank 1 another version of the plugin.
class OtherVersion final : public ForwardingCommunicator {
 public:
  using ForwardingCommunicator::ForwardingCommunicator;
  std::unique_ptr<Communicator> split(std::span<const int> members, Timeout timeout) override {
    return inner().split(members, timeout);
  }
  void all_gather(const void* send, void* recv, std::span<const int64_t> counts, DType dtype,
                  Timeout timeout) override {
    ForwardingCommunicator::all_gather(send, recv, counts, dtype, timeout);
    char& first = static_cast<char*>(recv)[counts[0]];
    if (dtype == DType::u8 && first != 0) first = 'F';
  }
};

TEST_F(ProcessGang, OtherDevicesOrPluginsAreNamedOnAllRanks) {
  std::atomic<int> refusals = 0;
  on_ranks(2, [&](Communicator& world) {
    OtherVersion other(world);
    AsProcesses processes(other);
    const auto device = make_device(all_ops(), accelerator(world.rank()), 1, CollectiveMode::whole);
    const auto [message, code] = failure_of([&] { join_devices(processes, *device); });
    EXPECT_EQ(message,
              "[collectives] ranks with different devices or plugins, got Fake chip, PJRT 0.90, fake 1 on rank 1, "
              "expected fake chip, PJRT 0.90, fake 1, which rank 0 has, or --collectives cut");
    refusals += code == ExitCode::ranks_disagree;
  });
  EXPECT_EQ(refusals, 2);
}

TEST_F(ProcessGang, ADeviceThatHangsEndsItsProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // no client survives a fork
  const auto hang = [&] {
    on_ranks(2, [&](Communicator& world) {
      AsProcesses processes(world);
      const Gang gang(processes, accelerator(world.rank()), std::chrono::seconds(1));
      world.barrier();
      if (world.rank() == 1) {
        fake_->is_stuck = true;
        const Array values({DType::f64, {2}});
        second_->client().upload(1, values.tensor());
      }
      world.barrier();
    });
  };
  EXPECT_EXIT(
      hang(), testing::ExitedWithCode(static_cast<int>(ExitCode::peer_stalled)),
      "partita: error: \\[collectives\\] a program with collectives does not end, got nothing from the device of "
      "rank [01] in 1 s, expected its results: the device of another rank has stopped, or is not reached");
}

}  // namespace
}  // namespace partita
