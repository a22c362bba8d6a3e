#pragma once
// What arithmetic does with subnormal numbers: floats so small that their first digit is 0, with which some processors
// compute a hundred times slower. Every thread has a setting of its own, which new threads take from their maker.

#include <cstdint>
#include <optional>

#include "base/dtype.h"

namespace partita {

/// keep: computed with as IEEE 754 says; flush: zero wherever arithmetic reads or would make one.
enum class Subnormals { keep, flush };

/// For work on elements of one type: f64 is exact, other floats flush, and to the rest it is all one.
std::optional<Subnormals> subnormals_of(DType dtype);
/// For work on elements of both kinds: exact where one of them is.
std::optional<Subnormals> subnormals_of_both(std::optional<Subnormals> a, std::optional<Subnormals> b);

/// A thread's setting, of subnormal numbers alone. On processors other than x86-64 and AArch64 there is one, `keep`.
class SubnormalSetting {
 public:
  explicit SubnormalSetting(Subnormals subnormals);
  /// Of the calling thread; it may flush operands or results alone, or both.
  static SubnormalSetting current();
  /// Makes it that of the calling thread; rounding, exceptions and the rest stay as they are.
  void apply() const;
  bool operator==(const SubnormalSetting&) const = default;

 private:
  explicit SubnormalSetting(uint64_t bits) : bits_(bits) {}
  uint64_t bits_;
};

/// Applies a setting to the calling thread until the end of the scope.
class SubnormalScope {
 public:
  explicit SubnormalScope(std::optional<Subnormals> wanted) {
    if (wanted) SubnormalSetting(*wanted).apply();
  }
  ~SubnormalScope() { before_.apply(); }
  SubnormalScope(const SubnormalScope&) = delete;
  SubnormalScope& operator=(const SubnormalScope&) = delete;

 private:
  SubnormalSetting before_ = SubnormalSetting::current();
};

}  // namespace partita
