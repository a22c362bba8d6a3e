// partita diagnose: what the flight records of a job's ranks say together.

#include "runtime/launch/diagnose.h"

#include <iostream>
#include <memory>

#include "cli/command_line.h"
#include "cli/options.h"

namespace partita {

void add_diagnose(CLI::App& app) {
  const auto folder = std::make_shared<std::string>();
  CLI::App* command = add_command(
      app, "diagnose", "Find the rank that the others waited for, and its call, from the records of all ranks", folder,
      +[](const std::string& path) {
        std::cout << printable_lines(print_diagnosis(diagnose(read_flight_records(path))));
      });
  command->add_option("DIR", *folder, "Folder of a launch's logs, or of --flight-record")->required();
  command->footer("Example: partita diagnose logs");
}

}  // namespace partita
