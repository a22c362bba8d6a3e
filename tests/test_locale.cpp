// With PARTITA_TEST_LOCALE, tests run in a program that has set a locale: "de_DE", or "c++" for that of streams alone.

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "support/foreign_locale.h"

namespace partita {
namespace {

std::unique_ptr<ForeignLocale> given_locale() {
  const char* name = std::getenv("PARTITA_TEST_LOCALE");
  if (name == nullptr || *name == '\0') return nullptr;
  auto locale = std::make_unique<ForeignLocale>(std::string(name) == "c++" ? "" : name);
  if (locale->is_set()) return locale;
  std::fprintf(stderr, "no locale %s\n", name);
  std::exit(1);
}

[[maybe_unused]] const std::unique_ptr<ForeignLocale> locale = given_locale();

}  // namespace
}  // namespace partita
