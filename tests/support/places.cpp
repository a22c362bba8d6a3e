#include "support/places.h"

namespace partita {

const char* const kSourceDir = PARTITA_SOURCE_DIR;
const char* const kProgram = PARTITA_PROGRAM;
const char* const kLoadedLibrary = PARTITA_LOADED_LIBRARY;

}  // namespace partita
