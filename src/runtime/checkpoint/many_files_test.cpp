// Checkpoints of more files than a process may have open.

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <iostream>
#include <thread>

#include "base/open_file_limit.h"
#include "frontend/data/readers/test_files.h"
#include "runtime/checkpoint/saved_states.h"
#include "runtime/checkpoint/weights.h"

namespace partita {
namespace {

constexpr int kManyRanks = 1500;
constexpr int64_t kLongRows = 3000;

/// A training in one file: "w" f32[3000,3], "m" f32[3,3000] and a counter.
std::string whole_training(const TempDir& folder) {
  const std::string path = (folder.path() / "whole.safetensors").string();
  Array w(Type{DType::f32, {kLongRows, 3}}), m(Type{DType::f32, {3, kLongRows}}), t(Type{DType::i64, {}});
  for (int64_t i = 0; i < w.type().elements(); ++i) w.set(i, std::sin(static_cast<double>(i)));
  for (int64_t i = 0; i < m.type().elements(); ++i) m.set(i, std::cos(static_cast<double>(i)));
  write_checkpoint(path, {{"w", w}, {"w.m", m}, {"t", t}}, StateKinds{}, {.step = 7, .batch = 1, .rows = 9});
  return path;
}

/// Which rank writes what, if `ranks` ranks cut the long dimensions.
SplitTarget cut_by(const SavedStates& states, int ranks) {
  SplitTarget target{.ranks = ranks};
  for (const auto& entry : states.entries()) {
    auto& shares = target.shares.emplace_back();
    Box box = whole_box(entry.type.shape);
    const size_t dim = entry.name == "w.m" ? 1 : 0;
    for (int rank = 0; rank < (box.empty() ? 1 : ranks); ++rank) {
      if (!box.empty()) box[dim] = chunk(kLongRows, rank, ranks);
      shares.push_back({rank, box});
    }
  }
  return target;
}

/// Reads all tensors in boxes of rows or columns, on `threads` threads with readers of one checkpoint, and returns
/// whether they are those of `whole`.
bool are_read_by_threads(const std::string& path, SavedStates& whole, int threads) {
  const CheckpointReader reader(path);
  std::vector<char> is_right(static_cast<size_t>(threads), 0);
  std::map<std::string, Array> expected;
  for (const auto& entry : whole.entries()) expected.emplace(entry.name, whole.read(entry.name));
  {
    std::vector<std::jthread> running;
    for (int thread = 0; thread < threads; ++thread) {
      running.emplace_back([&, thread] {
        CheckpointReader own(reader);
        bool good = true;
        for (const auto& [name, values] : expected) {
          Box box = whole_box(values.shape());
          if (!box.empty()) box[0] = chunk(box[0].size, thread % box[0].size, std::min<int64_t>(threads, box[0].size));
          Array got(Type{values.type().dtype, shape_of(box)}), part(got.type());
          own.read(name, box, got.type().dtype, got.data());
          whole.read(name, box, part.type().dtype, part.data());
          good = good && std::memcmp(got.data(), part.data(), static_cast<size_t>(got.type().bytes())) == 0;
        }
        is_right[static_cast<size_t>(thread)] = good ? 1 : 0;
      });
    }
  }
  return std::ranges::count(is_right, 1) == threads;
}

/// Verifies, merges, splits and compares a checkpoint of kManyRanks files, and reads it with 16 threads.
void use_all(const std::string& folder, const std::string& path, const std::string& one) {
  SavedStates states(path), whole(one);
  ASSERT_EQ(states.manifest()->files.size(), static_cast<size_t>(kManyRanks));
  verify_states(states);
  const std::string merged = folder + "/merged.safetensors";
  merge_states(states, merged, /*all=*/true);
  SavedStates again(merged);
  EXPECT_TRUE(compare_states(again, whole).empty());
  EXPECT_TRUE(compare_states(states, whole).empty());
  SavedStates few(split_states(states, folder + "/few", cut_by(states, 3)));
  EXPECT_TRUE(compare_states(states, few).empty());
  EXPECT_TRUE(are_read_by_threads(path, whole, 16));
}

/// Runs `job` in a process that may have `soft` and at most `hard` files open, and returns whether it succeeds.
bool succeeds_under(rlim_t soft, rlim_t hard, const std::function<void()>& job) {
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit limit{soft, hard};
    int code = ::setrlimit(RLIMIT_NOFILE, &limit) == 0 ? 0 : 3;
    try {
      if (code == 0) job();
    } catch (const std::exception& error) {
      std::cerr << error.what() << std::endl;
      code = 2;
    }
    ::_exit(code != 0 ? code : testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(ManyFiles, AreReadUnderFewOpenFiles) {
  const TempDir folder;
  const std::string one = whole_training(folder), scratch = folder.path().string();
  SavedStates whole(one);
  const std::string path = split_states(whole, scratch + "/many", cut_by(whole, kManyRanks));
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  EXPECT_TRUE(succeeds_under(256, 256, [&] { use_all(scratch, path, one); }));
  EXPECT_TRUE(succeeds_under(64, 64, [&] { EXPECT_TRUE(are_read_by_threads(path, whole, 16)); }));
  EXPECT_TRUE(succeeds_under(256, limit.rlim_max, [&] {
    use_all(scratch, path, one);
    EXPECT_EQ(open_file_limit(), 256) << "as it was before";
  }));
}

// Each rank of a process writes a file of its own.
TEST(ManyFiles, AreWrittenInTurn) {
  const TempDir folder;
  EXPECT_TRUE(succeeds_under(48, 48, [&] {
    const std::vector<ShardPiece> pieces{{"w", {DType::f32, {4}}, {1}, whole_box({4})}};
    const float values[4] = {1, 2, 3, 4};
    std::vector<std::jthread> ranks;
    for (int rank = 0; rank < 200; ++rank) {
      ranks.emplace_back([&, rank] {
        ShardFileWriter file((folder.path() / shard_name(rank)).string(), pieces);
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        file.write(0, values);
        file.finish();
      });
    }
    ranks.clear();
    const auto files = std::filesystem::directory_iterator(folder.path());
    EXPECT_EQ(std::distance(begin(files), end(files)), 200);
  }));
}

}  // namespace
}  // namespace partita
