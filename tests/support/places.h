#pragma once
// Paths of this build. They are values of one source, and not macros, so that a compiler cache has the objects of tests
// for every checkout.

namespace partita {

extern const char* const kSourceDir;      // the checkout
extern const char* const kProgram;        // the program `partita`
extern const char* const kLoadedLibrary;  // a library whose loading fails as $PARTITA_BROKEN_PLUGIN says

}  // namespace partita
