#include "cli/output_files.h"

#include <fmt/format.h>

#include "base/error.h"
#include "cli/options.h"
#include "runtime/checkpoint/weights.h"

namespace partita {

void require_outputs(const std::vector<FlagFile>& written, const std::vector<FlagFile>& read) {
  std::vector<FlagFile> others = read;
  for (const FlagFile& file : written) {
    if (file.path.empty()) continue;
    for (const FlagFile& other : others) {
      if (other.path.empty() || !same_file(file.path, other.path)) continue;
      throw InvalidArgument("[{}] the same file as {}, got {}, expected another file", file.flag, other.flag,
                            file.path);
    }
    others.push_back(file);
    try {
      check_writable(file.path);
    } catch (const RuntimeFailure& error) {
      const std::string_view message = error.what();
      throw RuntimeFailure(error.code(), "[{}{}", file.flag, message.substr(message.find(']')));
    }
  }
}

}  // namespace partita
