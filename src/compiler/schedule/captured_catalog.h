#pragma once
// A device's kernel catalog as text, so that a schedule can be made, and read, where the device is not.

#include <set>
#include <string_view>

#include "ir/kernels/kernel_catalog.h"

namespace partita {

/// Answers as another catalog does and remembers every query with its answer. For one thread.
class RecordingCatalog final : public KernelCatalog {
 public:
  /// `catalog` outlives this one.
  explicit RecordingCatalog(const KernelCatalog& catalog) : catalog_(catalog) {}

  KernelChoice choose(const KernelQuery& query) const override;
  int64_t bytes(const Type& type, const MemoryFormat& format) const override;
  /// One line for each different query, in the order in which they came.
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  void add(const std::string& query, const std::string& answer) const;

  const KernelCatalog& catalog_;
  mutable std::set<std::string> known_;
  mutable std::vector<std::string> lines_;
};

/// "partita catalog 1", then a line per answer:
///   choose OP(TYPE:FORMAT, ...) {attributes} -> TYPE, ... => KERNEL(FORMAT, ...) -> FORMAT, ... [properties] ; REASON
///   choose OP(TYPE:FORMAT, ...) {attributes} -> TYPE, ... like KERNEL(FORMAT, ...) -> FORMAT, ... => ...
///   choose ... => refused: REASON
///   bytes TYPE:FORMAT => BYTES
/// A memory format is TAG or TAG/BYTES; of an operand "plain" is left out. Properties: scratch=BYTES,
/// in_place=INPUT:OUTPUT,... and view. Types in the memory formats plain and any have their dense size and get no line.
std::string print(const RecordingCatalog& recording);

/// A catalog that knows these answers and refuses all else. Queries are compared by text, so attributes need no
/// definition of their op. Throws InvalidArgument with the line.
std::unique_ptr<KernelCatalog> parse_catalog(std::string_view text);

}  // namespace partita
