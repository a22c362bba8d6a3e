#pragma once
// The files of names/, which the build embeds: tables of names (runtime/checkpoint/name_table.h), one for each family
// of models.

#include <vector>

#include "base/embedded_text.h"

namespace partita {

const std::vector<EmbeddedText>& name_texts();

}  // namespace partita
