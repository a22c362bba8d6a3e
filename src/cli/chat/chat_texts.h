#pragma once
// The file render.py, which the build embeds (cmake/embedded_texts.cmake).

#include <vector>

#include "base/embedded_text.h"

namespace partita {

const std::vector<EmbeddedText>& chat_texts();

}  // namespace partita
