// The same readers for libFuzzer, one of them a process: PARTITA_FUZZ_TARGET names it, --list lists them. With
// PARTITA_FUZZ_SEEDS=DIR the process writes right inputs to DIR, and the words of the format to DIR.words, and ends.

#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "base/error.h"
#include "fuzz/target.h"

namespace {

using namespace partita;

const FuzzTarget* target = nullptr;

/// Quotes a word in the form that libFuzzer reads.
std::string quoted(const std::string& word) {
  std::string text;
  for (const char c : word) text += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  return "\"" + text + "\"\n";
}

void write_seeds(const std::string& folder) {
  size_t number = 0;
  for (const std::string& seed : target->seeds()) {
    std::ofstream(fmt::format("{}/seed_{}", folder, number++), std::ios::binary) << seed;
  }
  std::ofstream words(folder + ".words", std::ios::binary);
  words << "# " << target->name << "\n";  // an empty file is refused
  for (const std::string& word : target->words) words << quoted(word);
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  const char* name = std::getenv("PARTITA_FUZZ_TARGET");
  const char* folder = std::getenv("PARTITA_FUZZ_SEEDS");
  if (name != nullptr && std::string_view(name) == "--list") {
    for (const FuzzTarget& one : listed_fuzz_targets()) std::printf("%s\n", one.name.c_str());
    std::exit(0);
  }
  try {
    target = &fuzz_target(name == nullptr ? "" : name);
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    std::exit(1);
  }
  if (folder != nullptr) {
    write_seeds(folder);
    std::exit(0);
  }
  give(*target, target->seeds()[0]);  // what is made once
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  give(*target, std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
