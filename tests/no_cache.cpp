// Tests neither use nor fill the user's cache of compiled programs, unless PARTITA_CACHE names a folder for them.

#include <cstdlib>

namespace {

[[maybe_unused]] const int is_unset = ::setenv("PARTITA_CACHE", "off", /*overwrite=*/0);

}  // namespace
