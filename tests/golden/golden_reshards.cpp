// The text of a reshard: its moves as a rank's program prints them.

#include <sstream>

#include "base/scanner.h"
#include "compiler/partition/materialisations.h"
#include "compiler/partition/partition.h"
#include "compiler/partition/print_rank.h"
#include "golden/golden_programs.h"
#include "ir/graph/print.h"
#include "ir/ops/registry.h"
#include "support/texts/texts.h"

namespace partita {
namespace {

/// A reshard as its input says it: "mesh ..", "from TYPE", "to TYPE" and, for another rank than 0, "rank N".
struct GoldenReshard {
  Mesh mesh;
  Type type;
  Sharding from, to;
  int64_t rank = 0;
};

GoldenReshard parse_reshard(const std::string& input) {
  // Types with shardings are read as those of the inputs of a graph.
  std::string text = "partita graph 1\n";
  GoldenReshard reshard;
  std::istringstream lines(input);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("from ")) {
      text += "input %x: " + line.substr(5) + "\n";
    } else if (line.starts_with("to ")) {
      text += "input %to: " + line.substr(3) + "\n";
    } else if (line.starts_with("rank ")) {
      reshard.rank = std::stoll(line.substr(5));
    } else {
      text += line + "\n";
    }
  }
  const AnnotatedGraph ends = parse_annotated(text, all_ops());
  PARTITA_CHECK(ends.graph.inputs.size() == 2, "a reshard has a line 'from' and a line 'to'");
  reshard.mesh = parse_mesh(ends.mesh);
  reshard.type = ends.graph.values[0].type;
  PARTITA_CHECK(reshard.type == ends.graph.values[1].type, "a reshard keeps the type");
  reshard.from = parse_sharding(ends.types[0], reshard.type, reshard.mesh);
  reshard.to = parse_sharding(ends.types[1], reshard.type, reshard.mesh);
  return reshard;
}

}  // namespace

std::string reshard_of_golden(const std::string& input) {
  const auto [mesh, type, from, to, rank] = parse_reshard(input);
  ReshardedGraph resharded;
  resharded.mesh = mesh;
  UsedNames names;
  names.add("x");
  Materialisations values(resharded, names);
  const ValueId x = values.add_value("x", type, /*producer=*/-1, /*output=*/0, from);
  resharded.graph.inputs.push_back({.value = x});
  const ValueId y = values.reshard_to(x, to, "reshard");
  resharded.graph.outputs.push_back({.name = "y", .value = y});
  const LocalGraph local = partition(std::move(resharded));
  const std::string text = print_rank(local, all_ops(), rank);
  // Halos are no part of the search for moves.
  return to.halos.empty() ? text + fmt::format("received {} bytes\n", Resharder(mesh).path(type, from, to).cost) : text;
}

}  // namespace partita
