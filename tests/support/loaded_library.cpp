// A shared library that tests open: a function, and a plugin that is broken as PARTITA_BROKEN_PLUGIN says.

#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>

extern "C" __attribute__((visibility("default"))) int partita_loaded_library() { return 42; }

extern "C" __attribute__((visibility("default"))) const void* GetPjrtApi() {
  const char* how = std::getenv("PARTITA_BROKEN_PLUGIN");
  if (how != nullptr && std::strcmp(how, "crashes") == 0) std::abort();
  if (how != nullptr && std::strcmp(how, "ends") == 0) ::_exit(3);
  while (how != nullptr && std::strcmp(how, "hangs") == 0) ::pause();
  return nullptr;
}
