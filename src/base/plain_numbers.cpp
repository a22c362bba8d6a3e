#include "base/plain_numbers.h"

namespace partita {

PlainNumbers::PlainNumbers() : plain_(::newlocale(LC_NUMERIC_MASK, "C", nullptr)) {
  if (plain_ != nullptr) before_ = ::uselocale(plain_);
}

PlainNumbers::~PlainNumbers() {
  if (plain_ == nullptr) return;
  ::uselocale(before_);
  ::freelocale(plain_);
}

}  // namespace partita
