#pragma once
// A scope in which libraries read and print numbers as C programs do, whatever the locale of the program is.

#include <locale.h>

namespace partita {

/// While it lives, numbers of this thread have a point and no groups for functions of C, such as strtod, with which
/// libraries parse. The locale of the process stays: other threads see nothing. Does nothing without memory for it.
class PlainNumbers {
 public:
  PlainNumbers();
  ~PlainNumbers();
  PlainNumbers& operator=(PlainNumbers&&) = delete;

 private:
  locale_t plain_, before_ = nullptr;
};

}  // namespace partita
