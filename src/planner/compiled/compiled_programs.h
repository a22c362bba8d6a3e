#pragma once
// Programs of ranks, compiled for a chip that is not there, and reports about them.

#include <optional>
#include <string>
#include <vector>

#include "compiler/emit/rank_programs.h"
#include "job/accelerator_modes.h"
#include "runtime/pjrt/optimized_program.h"
#include "runtime/pjrt/targets.h"

namespace partita {

struct CompiledProgram {
  int64_t rank = 0;  // the first rank that has it
  RankProgram program;
  pjrt::MemoryUse memory;
  std::optional<pjrt::KernelCounts> kernels;  // none if the plugin's format is not known
  double seconds = 0;                         // to compile it
  std::string text_file{}, optimized_file{};  // "" without a folder

  /// Bytes on the device while it runs.
  int64_t bytes() const { return memory.arguments + memory.outputs - memory.aliased + memory.temporaries; }
  /// Bytes of the rank on the device while it runs, with values that other programs of its stage use.
  int64_t bytes_of_step() const { return program.held.all() + memory.temporaries; }
};

/// The programs of the ranks that were asked for, and their chip.
struct CompiledJob {
  std::string model, plugin;  // plugin: its version, such as "0.115"
  pjrt::Target target{};
  AcceleratorModes modes{};
  std::vector<CompiledProgram> programs{};
  int64_t host_ops = 0, messages = 0, sent = 0;  // between the programs of these ranks, as RankPrograms counts them

  /// The program with the most bytes. Throws InternalError if there is none.
  const CompiledProgram& largest() const;
  /// Index of the program while which a rank has the most bytes. Throws InternalError if there is none.
  size_t peak() const;
};

/// Compiles a program and, if `folder` is not "", writes its StableHLO to program_INDEX.mlir and the optimised program
/// to program_INDEX.hlo.pb (an HloModuleProto), or to program_INDEX.FORMAT in another format. Throws
/// RuntimeFailure if the plugin refuses it, with the plugin's message and the file of the text: out_of_memory if the
/// chip lacks memory, else internal. Throws RuntimeFailure(cannot_write) for a file that cannot be written.
CompiledProgram compile_program(const pjrt::Topology& topology, const pjrt::Target& target, int64_t rank,
                                RankProgram program, size_t index, const std::string& folder);

/// Returns a table with a line per program and their sum, the largest program, the step, and what runs between
/// programs.
std::string print_table(const CompiledJob& job);
/// Returns the same numbers, in bytes, as JSON.
std::string to_json(const CompiledJob& job);

}  // namespace partita
