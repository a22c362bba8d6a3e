#pragma once
// A locale as programs of users set it: a comma begins the fraction of a number, and its digits are grouped.

#include <locale>
#include <string>

namespace partita {

/// While it lives, streams of C++ that are made print 1234.5 as "1.234,5", and functions of C follow a locale of the
/// system.
class ForeignLocale {
 public:
  /// `name`: a locale of the system, such as "de_DE"; it is compiled if it is not installed. "": C functions stay.
  explicit ForeignLocale(const std::string& name);
  ~ForeignLocale();
  ForeignLocale(const ForeignLocale&) = delete;
  ForeignLocale& operator=(const ForeignLocale&) = delete;

  /// Whether the system has the locale, or could compile it.
  bool is_set() const { return is_set_; }

 private:
  std::string c_before_, paths_before_;
  bool is_set_ = true;
  std::locale before_;
};

}  // namespace partita
