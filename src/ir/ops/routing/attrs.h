#pragma once
// Attributes of the ops of this folder.

#include "ir/ops/index/attrs.h"

namespace partita {

struct AssignSlotsAttrs {
  int64_t experts = 1;   // number of experts; ids are below it
  int64_t capacity = 1;  // slots per expert
  static constexpr auto fields() {
    return std::tuple{field("experts", &AssignSlotsAttrs::experts), field("capacity", &AssignSlotsAttrs::capacity)};
  }
};

using DispatchAttrs = ResultPartAttrs;
using CombineAttrs = PartAttrs;

}  // namespace partita
