// partita calibrate: this machine as a cluster file.

#include "calibrate/calibrate.h"

#include <unistd.h>

#include <iostream>
#include <memory>

#include "cli/command_line.h"
#include "cli/options.h"
#include "planner/cluster/toml.h"
#include "runtime/checkpoint/weights.h"
#include "runtime/launch/place.h"

namespace partita {
namespace {

constexpr double kMaxDisturbance = 1.1;

struct CalibrateFlags {
  std::string out, name = "this machine";
  double seconds = 10;
};

void run_calibrate(const CalibrateFlags& flags) {
  if (!(flags.seconds > 0 && flags.seconds <= 3600)) {
    throw InvalidArgument("[--seconds] out of range, got {}, expected above 0 to 3600", flags.seconds);
  }
  const Place place = this_place();
  if (place.launched) {
    throw InvalidArgument(
        "[calibrate] calibration runs in a single process, got {} processes of {}, expected no launcher", place.ranks(),
        place.launched->launcher);
  }
  if (!flags.out.empty()) check_writable(flags.out);
  const CalibrationOptions options{.name = flags.name,
                                   .cores = place.process_cores(),
                                   .seconds = flags.seconds,
                                   .progress = [](const std::string& line) { std::cerr << line << std::endl; }};
  const Measurements measured = measure_machine(options);
  if (const double times = measured.disturbance(); times > kMaxDisturbance) {
    warn(
        fmt::format("[calibrate] other programs used the cores: kernels took up to {:.0f} % longer than their "
                    "computation; calibrate again when the machine is idle",
                    100 * (times - 1)));
  }
  const Cluster cluster = fit_machine(measured, options);
  std::cerr << describe_fit(measured, options, cluster);
  if (flags.out.empty()) {
    std::cout << print(cluster);
  } else {
    save_text(flags.out, print(cluster));
  }
}

}  // namespace

void add_calibrate(CLI::App& app) {
  const auto flags = std::make_shared<CalibrateFlags>();
  CLI::App* command =
      add_command(app, "calibrate", "Measure this machine and write it as a cluster file", flags, run_calibrate);
  command->add_option("--out", flags->out, "The file; without it the cluster is printed")->type_name("FILE");
  command->add_option("--name", flags->name, "Name of the cluster")->capture_default_str();
  command->add_option("--seconds", flags->seconds, "Approximate seconds to measure")->capture_default_str();
  command->footer("Example: partita calibrate --out machine.toml");
}

}  // namespace partita
