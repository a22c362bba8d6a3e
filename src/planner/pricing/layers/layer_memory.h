#pragma once
// The memory of a micro-batch in the units of a folded graph: what is kept for the backward pass, and what is
// temporary.

#include "planner/pricing/layers/layer_values.h"

namespace partita {

/// The change of memory at a moment of the backward pass of a single micro-batch, while activations are released and
/// gradients of parameters are made.
struct BackwardMoment {
  double bytes = 0;      // bytes of activations
  double gradients = 0;  // elements of parameters' gradients
};

/// The change of memory by the backward pass of one unit.
struct UnitBackward {
  BackwardMoment left;                 // change from before to after it
  std::vector<BackwardMoment> within;  // changes since its begin, at the moments that no later one exceeds in both
};

/// The memory of the units of a folded graph for any number of rows in a micro-batch.
class LayerMemory {
 public:
  /// The values need not outlive this object.
  explicit LayerMemory(const LayerValues& values);

  /// Bytes that a unit keeps from the forward pass to the backward pass of a micro-batch of `rows`.
  double kept(size_t unit, const RelativeRows& rows) const { return kept_[unit].at(rows) + results_[unit].at(rows); }
  /// Bytes of the values of a micro-batch that units before `unit` make and that it or later ones use in the forward
  /// pass.
  double boundary(size_t unit, const RelativeRows& rows) const { return boundaries_[unit].at(rows); }
  /// Bytes of those values of `boundary` that the backward pass reads, but only in this unit or later ones.
  double handed(size_t unit, const RelativeRows& rows) const { return handed_[unit].at(rows); }
  /// Bytes of the inputs that have rows, such as images and labels.
  double inputs(const RelativeRows& rows) const { return inputs_.at(rows); }
  /// Returns the bytes by which the peak of a micro-batch exceeds what all units keep, at least 0, plus those of the
  /// largest value that is gathered again (`gathered`).
  double workspace(const RelativeRows& rows) const;
  /// Bytes of the largest value that is gathered again in the backward pass.
  double gathered(const RelativeRows& rows) const { return gathered_.at(rows); }
  /// Returns, by unit, how its backward pass changes the memory of a micro-batch of `rows`.
  std::vector<UnitBackward> backward(const RelativeRows& rows) const;

 private:
  friend class LayerMemoryBuilder;
  /// The change of live bytes by a node.
  struct Change {
    size_t unit = 0;
    bool backward = false;
    PerRow made, freed;
    double gradients = 0;  // elements of parameters' gradients that it makes
  };
  std::vector<Change> changes_;                     // in execution order
  std::vector<PerRow> kept_, boundaries_, handed_;  // per unit
  std::vector<PerRow> results_;                     // per unit: kept results of recomputed nodes
  PerRow inputs_;
  PerRow gathered_;            // largest value that is gathered again in the backward pass
  double gradient_bytes_ = 0;  // per element of a gradient, before it is added to those of other micro-batches
};

}  // namespace partita
