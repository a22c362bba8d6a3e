#include "support/foreign_locale.h"

#include <unistd.h>

#include <clocale>
#include <cstdlib>
#include <filesystem>

#include "support/program.h"

namespace partita {
namespace {

struct CommaNumbers : std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};

/// Makes the C functions of this process follow a locale. Returns whether the system has it or could compile it, into
/// a folder for temporary files that other tests of this user use, too.
bool set_locale(const std::string& name) {
  const std::string file = name + ".UTF-8";
  if (std::setlocale(LC_ALL, file.c_str()) != nullptr) return true;
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / fmt::format("partita_locales_{}", ::getuid());
  // The C library remembers that a folder lacks a locale, so it is looked for after it was made. localedef replaces
  // the folder of a locale at once; warnings about other categories than numbers end with exit code 1.
  std::filesystem::create_directories(folder);
  if (!std::filesystem::exists(folder / file)) {
    run_command({"localedef", "-c", "-i", name, "-f", "UTF-8", (folder / file).string()});
  }
  ::setenv("LOCPATH", folder.c_str(), 1);
  return std::setlocale(LC_ALL, file.c_str()) != nullptr;
}

}  // namespace

ForeignLocale::ForeignLocale(const std::string& name)
    : c_before_(std::setlocale(LC_ALL, nullptr)),
      before_(std::locale::global(std::locale(std::locale::classic(), new CommaNumbers))) {
  if (const char* paths = std::getenv("LOCPATH")) paths_before_ = paths;
  if (!name.empty()) is_set_ = set_locale(name);
  std::setlocale(LC_MESSAGES, "C");  // reasons that the system gives stay in English, as tests expect them
}

ForeignLocale::~ForeignLocale() {
  std::locale::global(before_);
  std::setlocale(LC_ALL, c_before_.c_str());
  if (paths_before_.empty()) ::unsetenv("LOCPATH");
  if (!paths_before_.empty()) ::setenv("LOCPATH", paths_before_.c_str(), 1);
}

}  // namespace partita
