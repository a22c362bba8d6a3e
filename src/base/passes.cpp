#include "base/passes.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/error.h"

namespace partita {

void Passes::check_switched_off(const std::vector<PassName>& passes) const {
  std::vector<std::string> optional;
  for (const PassName& pass : passes) {
    if (pass.is_optional) optional.emplace_back(pass.name);
  }
  for (const std::string& name : options_.switched_off) {
    if (std::ranges::find(optional, name) != optional.end()) continue;
    const bool exists = std::ranges::any_of(passes, [&](const PassName& pass) { return pass.name == name; });
    throw InvalidArgument("[passes] {}, got '{}', expected {}{}",
                          exists ? "a pass that cannot be switched off" : "unknown pass", name,
                          optional.empty() ? "none" : fmt::format("one of {}", fmt::join(optional, " ")),
                          exists ? "" : did_you_mean(name, optional));
  }
}

bool Passes::runs(std::string_view name) const {
  const auto& names = options_.switched_off;
  return std::ranges::find(names, name) == names.end();
}

void Passes::finish(const std::string& name, std::chrono::steady_clock::time_point begin) {
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
  times_.push_back({name, passed.count()});
}

void Passes::write(const std::string& name, const std::string& text) const {
  const std::filesystem::path path = std::filesystem::path(options_.dump_dir) / name;
  std::error_code failure;
  std::filesystem::create_directories(path.parent_path(), failure);
  errno = 0;
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (!file) {
    throw RuntimeFailure(ExitCode::cannot_write, "[dump] cannot write {}: {}", path.string(),
                         failure ? failure.message() : std::strerror(errno));
  }
}

}  // namespace partita
