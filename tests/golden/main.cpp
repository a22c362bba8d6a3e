// Runs the tests of this folder. With --renew, golden texts are written in place of compared.

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

#include "base/error.h"
#include "golden/golden_text.h"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    std::string refusal;
    if (word == "--renew") {
      refusal = partita::refusal_of_renewal(std::getenv("CI"), std::getenv("PARTITA_CI"));
    } else {
      refusal = fmt::format("[golden_tests] unknown argument, got {}, expected --renew or flags of GoogleTest", word);
    }
    if (!refusal.empty()) {
      std::cerr << "golden_tests: error: " << refusal << "\n";
      return static_cast<int>(partita::ExitCode::usage);
    }
    partita::renews_golden_texts() = true;
  }
  return RUN_ALL_TESTS();
}
