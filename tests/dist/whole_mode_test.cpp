// Programs with collectives train as one rank does. They run if PARTITA_PJRT_PLUGIN names a plugin for CPUs
// (tools/xla/get_plugin.sh).

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "compiler/emit/emit_collective.h"
#include "ir/ops/registry.h"
#include "runtime/device/xla/accelerator.h"
#include "support/job.h"
#include "support/ranks.h"

namespace partita {
namespace {

class WholeMode : public testing::Test {
 protected:
  void SetUp() override {
    const char* path = std::getenv("PARTITA_PJRT_PLUGIN");
    if (path == nullptr || *path == '\0') GTEST_SKIP() << "no PARTITA_PJRT_PLUGIN: tools/xla/get_plugin.sh";
    if (ranks_are_processes()) GTEST_SKIP() << "ranks are threads";
  }
};

/// A job of 16 rows, which 2, 4 and 8 ranks cut evenly.
Job whole_job(const std::string& spec, const Shape& image = {}) {
  Job job = model_job(spec, {.image = image, .batch = 16, .steps = 3});
  job.device_name = "xla:cpu";
  job.collectives = CollectiveMode::whole;
  return job;
}

struct WholeCase {
  std::string spec;
  Shape image;
};

TEST_F(WholeMode, TrainsAsOneRank) {
  for (const auto& [spec, image] :
       std::vector<WholeCase>{{"mlp:hidden=16", {1, 6, 5}}, {"gpt:layers=1,hidden=16,heads=4,seq=6,vocab=16", {}}}) {
    Job job = whole_job(spec, image);
    const JobResult oracle = interpret_job(job);
    for (const int ranks : {1, 2, 4, 8}) {
      job.ranks = ranks;
      expect_same_training(run_job(job), oracle, 1e-9, fmt::format("{} on {} ranks", spec, ranks));
    }
  }
}

}  // namespace
}  // namespace partita
