// The code that CONTRIBUTING.md shows is code that the laws run.

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "support/places.h"

namespace partita {
namespace {

std::string text_of(const std::string& path) {
  std::ifstream file(std::string(kSourceDir) + "/" + path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(Contributing, ShowsTheFilesOfItsExamples) {
  const std::string page = text_of("CONTRIBUTING.md");
  for (const char* path : {"src/ir/ops/elementwise/leaky_relu.cpp", "src/ir/ops/shape/reverse.cpp"}) {
    const std::string code = text_of(path);
    ASSERT_FALSE(code.empty()) << path;
    EXPECT_NE(page.find("```cpp\n" + code + "```\n"), std::string::npos) << path << " is not what the page shows";
  }
}

}  // namespace
}  // namespace partita
