#pragma once
// A device's kernel catalog as text, so that schedules can be made and read where the device is not present.

#include <set>
#include <string_view>

#include "ir/kernels/kernel_catalog.h"

namespace partita {

/// Forwards queries to another catalog and records each with its answer. Not thread-safe.
class RecordingCatalog final : public KernelCatalog {
 public:
  /// `catalog` must outlive this object.
  explicit RecordingCatalog(const KernelCatalog& catalog) : catalog_(catalog) {}

  KernelChoice choose(const KernelQuery& query) const override;
  int64_t bytes(const Type& type, const MemoryFormat& format) const override;
  /// One line for each different query, with its first answer, in the order in which they were first asked; none for
  /// the size of a type in the memory format plain or any.
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  void add(const std::string& query, const std::string& answer) const;

  const KernelCatalog& catalog_;
  mutable std::set<std::string> queries_;
  mutable std::vector<std::string> lines_;
};

/// Text of the recorded answers: "partita catalog 1", then a line per answer:
///   choose OP(TYPE:FORMAT, ...) {attributes} -> TYPE, ... => KERNEL(FORMAT, ...) -> FORMAT, ... [properties] ; REASON
///   choose OP(TYPE:FORMAT, ...) {attributes} -> TYPE, ... like KERNEL(FORMAT, ...) -> FORMAT, ... => ...
///   choose ... => refused: REASON
///   bytes TYPE:FORMAT => BYTES
/// A memory format is TAG or TAG/BYTES; "plain" is left out for an operand. Properties: scratch=BYTES,
/// in_place=INPUT:OUTPUT,... and view. Types in the memory formats plain and any have their dense size and get no line.
std::string print(const RecordingCatalog& recording);

/// Reads the text that `print` writes. The catalog returned gives these answers, and dense sizes for plain and any; it
/// refuses any other kernel and throws InvalidArgument for any other memory format. Queries are compared by text, so
/// attributes need no definition of their op. Throws InvalidArgument, with the line, for any other text.
std::unique_ptr<KernelCatalog> parse_catalog(std::string_view text);

}  // namespace partita
