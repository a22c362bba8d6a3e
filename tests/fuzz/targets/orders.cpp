// What a launcher and its agents say to each other.

#include "runtime/launch/launcher/orders.h"

#include "fuzz/target.h"
#include "runtime/launch/launcher/ending.h"

namespace partita {
namespace {

std::vector<std::string> some_orders() {
  const StartOrder start{.command = {"./train", "--batch", "32"},
                         .environment = {{"OMP_NUM_THREADS", "1"}},
                         .folder = "/tmp",
                         .log_dir = "/tmp/logs",
                         .host = "b",
                         .address = "10.0.0.2",
                         .secret = "0123456789abcdef",
                         .run = "0",
                         .master = "10.0.0.1:2950",
                         .first_rank = 2,
                         .ranks = 2,
                         .size = 4};
  const std::string first = print(AgentOrder{.kind = AgentOrder::Kind::start, .start = start});
  return {first, with_large_members(first), print(AgentOrder{.kind = AgentOrder::Kind::listen, .address = "10.0.0.1"}),
          print(AgentOrder{.kind = AgentOrder::Kind::signal, .signal = 15})};
}

std::vector<std::string> some_reports() {
  return {
      print(AgentReport{.kind = AgentReport::Kind::listening, .text = "10.0.0.1:2950"}),
      print(AgentReport{.kind = AgentReport::Kind::output, .text = "loss 0.5\n", .is_error = true}),
      print(AgentReport{.kind = AgentReport::Kind::ended, .rank = 1, .signal = 9, .lost = 0, .step = 7, .lines = "x"}),
      print(AgentReport{.kind = AgentReport::Kind::ended, .rank = 2, .code = 76, .lost = 1})};
}

void read_order(const std::string& input) {
  const AgentOrder order = parse_order(input);
  require_fixed_point([](const AgentOrder& read) { return print(read); }, parse_order, print(order));
  if (order.kind != AgentOrder::Kind::start) return;
  const StartOrder& start = order.start;
  require(start.first_rank >= 0 && start.ranks >= 1 && int64_t{start.first_rank} + start.ranks <= start.size,
          "ranks that are not of the world");
  require(!start.command.empty() && start.attempt >= 0 && start.stall_timeout > 0, "an order that cannot be obeyed");
}

/// Reads one report per line, from two agents with two ranks each.
void read_reports(const std::string& input) {
  Watch watch({{"a", 2}, {"b", 2}});
  for (size_t begin = 0; begin < input.size();) {
    const size_t end = std::min(input.find('\n', begin), input.size());
    const AgentReport report = parse_report(input.substr(begin, end - begin));
    begin = end + 1;
    require_fixed_point([](const AgentReport& read) { return print(read); }, parse_report, print(report));
    if (report.kind == AgentReport::Kind::ended || report.kind == AgentReport::Kind::failed) watch.take(1, report);
  }
  watch.lose_host(0, "does not answer");
  watch.lose_host(1, "does not answer");
  const Ending ending = watch.ending();
  require(watch.all_ended() && (ending.code == 0 || !ending.text.empty()), "an end that nobody can tell");
}

}  // namespace

std::vector<FuzzTarget> orders_targets() {
  const std::vector<std::string> words{
      "\"order\":\"start\"",  "\"signal\":",           "\"ranks\":", "\"size\":", "\"rank\":",
      "\"report\":\"ended\"", "\"report\":\"failed\"", "\"step\":",  "\"code\":", deep_lists()};
  return {{.name = "orders", .seeds = some_orders, .read = read_order, .words = words},
          {.name = "reports",
           .seeds =
               [] {
                 std::string all;
                 for (const std::string& line : some_reports()) all += line + "\n";
                 return std::vector{all, with_large_members(some_reports()[2])};
               },
           .read = read_reports,
           .words = words}};
}

}  // namespace partita
