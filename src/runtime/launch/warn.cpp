#include "runtime/launch/warn.h"

#include <iostream>

#include "base/error.h"
#include "base/printable.h"
#include "runtime/launch/console.h"

namespace partita {
namespace {

void print_warning(std::string_view message) {
  std::cout.flush();
  std::cerr << fmt::format("partita: warning: {}\n", printable(shortened(message)));
}

}  // namespace

void warn(std::string_view message) {
  if (const auto rank = this_rank(); rank && rank->rank > 0) return;
  print_warning(message);
}

void warn_of_rank(std::string_view message) {
  const auto rank = this_rank();
  print_warning(rank ? fmt::format("rank {}: {}", rank->rank, message) : std::string(message));
}

}  // namespace partita
