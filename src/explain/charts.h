#pragma once
// Drawings of a plan as SVG, in classes of the page's style sheet.

#include <string>
#include <vector>

#include "pipeline/sequence.h"

namespace partita {

/// How a step goes on, as far as it is drawn.
struct DrawnOrder {
  Order order;
  PipelineShape shape;
  std::vector<double> kept;    // bytes of a micro-batch by stage
  std::vector<double> states;  // bytes by group that stay
  double memory = 0;           // bytes of a device
};

/// So few micro-batches that a drawing of all sections stays small.
int64_t drawn_micro_batches(const PipelineShape& shape);

/// A row for each group of ranks, its sections over time.
std::string timeline_chart(const DrawnOrder& drawn);
/// Bytes of groups of ranks over the same time.
std::string memory_chart(const DrawnOrder& drawn);

}  // namespace partita
