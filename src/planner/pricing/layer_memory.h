#pragma once
// What the units of a folded graph keep of a micro-batch, and what comes and goes.

#include "planner/pricing/layer_values.h"

namespace partita {

/// A moment of the backward of a single micro-batch, when activations are going and gradients of parameters come.
struct BackwardMoment {
  double bytes = 0;      // of activations
  double gradients = 0;  // elements
};

/// The backward of a unit alone.
struct UnitBackward {
  BackwardMoment left;                 // what is there behind it that was not before
  std::vector<BackwardMoment> within;  // what is there more than before it, at moments none of which others exceed
};

/// For any number of rows in a micro-batch.
class LayerMemory {
 public:
  explicit LayerMemory(const LayerValues& values);

  /// Bytes of a unit: from the forward to the backward; what it gets from the units in front, and what of that these
  /// do not read in their own backward.
  double kept(size_t unit, double rows) const { return kept_[unit].at(rows) + results_[unit].at(rows); }
  double boundary(size_t unit, double rows) const { return boundaries_[unit].at(rows); }
  double handed(size_t unit, double rows) const { return handed_[unit].at(rows); }
  double inputs(double rows) const { return inputs_.at(rows); }
  /// Bytes that a micro-batch takes beside what is kept, the most at once.
  double workspace(double rows) const;
  /// Bytes of the largest value that is gathered again in the backward.
  double gathered(double rows) const { return gathered_.at(rows); }
  /// By unit.
  std::vector<UnitBackward> backward(double rows) const;

 private:
  friend class MemoryWeighing;
  /// In the order of the nodes.
  struct Change {
    size_t unit = 0;
    bool backward = false;
    PerRow made, freed;
    double gradients = 0;  // elements that are made
  };
  std::vector<Change> changes_;
  std::vector<PerRow> kept_, boundaries_, handed_;  // per unit
  std::vector<PerRow> results_;                     // per unit: of what is recomputed, kept for others
  PerRow inputs_;
  PerRow gathered_;            // the largest value that is gathered again in the backward
  double gradient_bytes_ = 0;  // of an element of a gradient before it is added to those of other micro-batches
};

}  // namespace partita
