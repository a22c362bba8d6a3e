// Calls a target with random changes of its seeds, where there is no libFuzzer: PROGRAM [SECONDS=10] [SEED=1];
// PROGRAM --seeds DIR writes the seeds, for libFuzzer.
// Prints how many inputs it gave. A finding ends the process; its input is in ./finding.

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>

#include "fuzz/target.h"

namespace {

/// Some changes of bytes, numbers and ranges of a text.
std::string changed(std::string text, const std::vector<std::string>& others, std::mt19937_64& random) {
  const auto below = [&](size_t count) { return count == 0 ? size_t{0} : static_cast<size_t>(random() % count); };
  static const std::vector<std::string> words{"0",
                                              "-1",
                                              "18446744073709551615",
                                              "9223372036854775807",
                                              "1e999",
                                              "null",
                                              "\"",
                                              "[",
                                              "]",
                                              "{",
                                              "}",
                                              ",",
                                              "[[",
                                              "\\u0000",
                                              "\xff",
                                              "1.5",
                                              "true"};
  for (size_t changes = 1 + below(6); changes > 0; --changes) {
    const size_t at = below(text.size() + 1), length = std::min(below(20), text.size() - at);
    switch (below(6)) {
      case 0:
        if (!text.empty()) text[below(text.size())] ^= static_cast<char>(1 << below(8));
        break;
      case 1: text.erase(at, length); break;
      case 2: text.insert(at, words[below(words.size())]); break;
      case 3: text.insert(at, text.substr(below(text.size() + 1), length)); break;
      case 4: text.replace(at, length, words[below(words.size())]); break;
      default: {
        const std::string& other = others[below(others.size())];
        text = text.substr(0, at) + other.substr(std::min(at, other.size()));
      }
    }
  }
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 2 && std::string(argv[1]) == "--seeds") {
    size_t number = 0;
    for (const std::string& seed : seeds()) {
      std::ofstream(std::string(argv[2]) + "/" + std::to_string(number++), std::ios::binary) << seed;
    }
    return 0;
  }
  const double seconds = argc > 1 ? std::atof(argv[1]) : 10;
  std::mt19937_64 random(argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1);
  std::vector<std::string> inputs = seeds();
  const size_t kept = inputs.size();
  const auto begin = std::chrono::steady_clock::now();
  const auto passed = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(); };
  long count = 0;
  double slowest = 0;
  for (; passed() < seconds; ++count) {
    const std::string input = changed(inputs[random() % inputs.size()], inputs, random);
    std::ofstream("finding", std::ios::binary | std::ios::trunc) << input;
    const double before = passed();
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()), input.size());
    slowest = std::max(slowest, passed() - before);
    // A few changed inputs are changed further.
    if (input.size() < 20000 && random() % 50 == 0) {
      if (inputs.size() < kept + 100) {
        inputs.push_back(input);
      } else {
        inputs[kept + random() % 100] = input;
      }
    }
  }
  std::remove("finding");
  std::printf("%ld inputs in %.0f s, the slowest %.3f s\n", count, seconds, slowest);
}
