#pragma once
// A file that the build embeds (cmake/embedded_texts.cmake).

#include <string_view>

namespace partita {

struct EmbeddedText {
  std::string_view name, text;
};

}  // namespace partita
