#pragma once
// Compiles the programs of a job for a chip that is not there.

#include <functional>

#include "compiler/compile.h"
#include "planner/compiled/compiled_programs.h"

namespace partita {

/// The programs to compile.
struct CompileRequest {
  AcceleratorModes modes{};
  std::vector<int64_t> ranks{};  // ranks whose programs are compiled; each text once
  std::string folder{};          // where programs are written; "": nowhere
};

/// Returns the first rank of each group of stages.
std::vector<int64_t> first_ranks(const Pipeline& pipeline);

/// Returns the chip of a cluster that is a preset, such as "h100:4@partita". Throws InvalidArgument if programs are not
/// compiled for its devices, or if it is a file.
const pjrt::Target& target_of_cluster(std::string_view cluster);

/// A plugin that compiles for a chip.
class ChipCompiler {
 public:
  /// Loads the plugin for `target`, and sets the target's variables unless they have a value. The plugin gets the flags
  /// of XLA_FLAGS, which `warn` is told of, if it is given. Throws RuntimeFailure(usage) if there is no plugin, or for
  /// wrong flags.
  ChipCompiler(const pjrt::Target& target, const std::function<void(std::string_view)>& warn);

  const pjrt::Target& target() const { return target_; }
  /// Compiles the programs of the ranks, which a catalog of accelerators was used for. `model` is the name in reports.
  /// Throws RuntimeFailure(usage) if the plugin does not know the chip, with the package that has the right one;
  /// InvalidArgument for programs that cannot be written, or in whole mode for several TPUs; and as `compile_program`
  /// does.
  CompiledJob compile(const Program& program, const CompileRequest& request, const std::string& model) const;

 private:
  pjrt::Target target_;  // with the flags of every compilation
  pjrt::Plugin plugin_;
};

}  // namespace partita
