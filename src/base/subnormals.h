#pragma once
// Handling of subnormal numbers: floats so small that their leading digit is 0. Some processors compute a hundred times
// slower with them. Each thread has its own setting, inherited by the threads it starts.

#include <cstdint>
#include <optional>

#include "base/dtype.h"

namespace partita {

/// keep: computed as IEEE 754 says. flush: treated as zero wherever arithmetic reads or would produce one.
enum class Subnormals { keep, flush };

/// Returns the setting for work on elements of one type: `keep` for f64, `flush` for other floats, nothing for other
/// types, to which it makes no difference.
std::optional<Subnormals> subnormals_of(DType dtype);
/// Returns the setting for work on elements of two kinds: `keep` if either needs it, nothing if neither has one.
std::optional<Subnormals> subnormals_of_both(std::optional<Subnormals> a, std::optional<Subnormals> b);

/// A thread's setting for subnormal numbers. Processors other than x86-64 and AArch64 have only `keep`.
class SubnormalSetting {
 public:
  explicit SubnormalSetting(Subnormals subnormals);
  /// Returns the setting of the calling thread. It may flush only operands, only results, or both.
  static SubnormalSetting current();
  /// Applies this setting to the calling thread. Rounding, exceptions and other modes stay as they are.
  void apply() const;
  bool operator==(const SubnormalSetting&) const = default;

 private:
  explicit SubnormalSetting(uint64_t bits) : bits_(bits) {}
  uint64_t bits_;
};

/// Applies a setting to the calling thread until the end of the scope. Nothing = no change.
class SubnormalScope {
 public:
  explicit SubnormalScope(std::optional<Subnormals> wanted) {
    if (wanted) SubnormalSetting(*wanted).apply();
  }
  ~SubnormalScope() { before_.apply(); }
  SubnormalScope& operator=(SubnormalScope&&) = delete;

 private:
  SubnormalSetting before_ = SubnormalSetting::current();
};

}  // namespace partita
