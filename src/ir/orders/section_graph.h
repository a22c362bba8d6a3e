#pragma once
// The sections of all stages and their dependencies within a micro-batch. Orders are made from it and replayed with it.

#include <span>

#include "ir/orders/sequence.h"

namespace partita {

/// Slots of each group, in the order in which its ranks run them.
using GroupQueues = std::vector<std::vector<Slot>>;

/// A pipeline shape and its dependencies, checked. Sections and slots are numbered; the slots of a section are
/// contiguous, by micro-batch.
class SectionGraph {
 public:
  /// `has_weight`: whether weight slots are separate from backward slots. Throws InvalidArgument for a bad shape (no or
  /// too many stages or micro-batches, groups that are not 0 to the highest, negative times or too few), a dependency
  /// of an unknown stage or on a later section, and a cycle.
  SectionGraph(const PipelineShape& shape, const std::vector<Dependency>& dependencies, bool has_weight);

  int stages() const { return shape_.stages(); }
  int groups() const { return groups_; }
  int64_t micro_batches() const { return shape_.micro_batches; }
  bool has_weight() const { return has_weight_; }
  int group_of(int stage) const { return shape_.groups[stage]; }
  const std::vector<int>& stages_of(int group) const { return stages_of_[group]; }

  int sections() const { return stages() * sections_per_stage_; }
  int64_t slots() const { return sections() * micro_batches(); }
  int section(int stage, StageSection section) const { return stage * sections_per_stage_ + static_cast<int>(section); }
  /// Returns the number of a slot; inverse of `slot`.
  int64_t number(const Slot& slot) const {
    return section(slot.stage, slot.section) * micro_batches() + slot.micro_batch;
  }
  Slot slot(int64_t number) const;

  /// Returns the sections that wait for this one.
  std::span<const int> users(int section) const { return users_.of(section); }
  /// Returns the sections that this one waits for.
  std::span<const int> needs(int section) const { return needs_.of(section); }
  /// Returns the estimated seconds of a slot of the section.
  double seconds(int section) const { return seconds_[section]; }
  /// Returns the same graph with one second per section; a backward pass that includes weights takes two.
  SectionGraph with_unit_times() const;

 private:
  /// Lists of sections in one array.
  struct Lists {
    std::vector<int> begins, members;
    std::span<const int> of(int section) const {
      return std::span(members).subspan(begins[section], begins[section + 1] - begins[section]);
    }
  };
  static Lists lists(int count, const std::vector<std::pair<int, int>>& edges);
  void set_seconds();
  std::vector<std::pair<int, int>> edges_of(const std::vector<Dependency>& dependencies) const;
  void require_no_cycle() const;

  PipelineShape shape_;
  bool has_weight_;
  int sections_per_stage_;  // forward, backward and weight, or the first one or two of them
  int groups_;
  std::vector<std::vector<int>> stages_of_;
  Lists users_, needs_;
  std::vector<double> seconds_;
};

}  // namespace partita
