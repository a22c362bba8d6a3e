#pragma once
// Tests that need a PJRT plugin for CPUs.

#include <gtest/gtest.h>

#include <cstdlib>

namespace partita {

/// A fixture whose tests are skipped unless PARTITA_PJRT_PLUGIN names a plugin (tools/xla/get_plugin.sh).
class NeedsPlugin : public testing::Test {
 protected:
  void SetUp() override {
    const char* path = std::getenv("PARTITA_PJRT_PLUGIN");
    if (path == nullptr || *path == '\0') GTEST_SKIP() << "no PARTITA_PJRT_PLUGIN: tools/xla/get_plugin.sh";
  }
};

}  // namespace partita
