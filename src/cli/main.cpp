#include "cli/command_line.h"
#include "cli/waiting.h"

int main(int argc, char** argv) {
  partita::bound_spinning(argv);
  return partita::run_command_line(argc, argv);
}
