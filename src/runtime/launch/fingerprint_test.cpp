#include "runtime/launch/fingerprint.h"

#include <gtest/gtest.h>

#include <atomic>

#include "base/error.h"
#include "runtime/comm/run_ranks.h"

namespace partita {
namespace {

TEST(Agreement, HoldsAndFails) {
  for (int size : {1, 2, 5}) {
    run_ranks(size, [](Communicator& comm) {
      require_same_fingerprint({{"seed", "1"}, {"plan", print_digest(digest_of("x"))}}, comm);
    });
  }
  std::atomic<int> thrown = 0;
  run_ranks(4, [&](Communicator& comm) {
    try {
      require_same_fingerprint({{"seed", "1"}, {"steps", comm.rank() == 2 ? "20" : "10"}}, comm);
    } catch (const RuntimeFailure& error) {
      EXPECT_EQ(error.code(), ExitCode::ranks_disagree);
      EXPECT_STREQ(error.what(),
                   "[launch] ranks were started differently, got steps=20 on rank 2, expected steps=10 as on rank 0");
      ++thrown;
    }
  });
  EXPECT_EQ(thrown, 4) << "every rank leaves";
}

TEST(Agreement, DigestsAreStable) {
  EXPECT_EQ(print_digest(digest_of("")), "cbf29ce484222325");
  EXPECT_EQ(print_digest(digest_of("a")), "af63dc4c8601ec8c");
}

}  // namespace
}  // namespace partita
