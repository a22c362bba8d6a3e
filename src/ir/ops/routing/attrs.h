#pragma once
// Attributes of the ops of this folder.

#include "base/fields.h"

namespace partita {

struct AssignSlotsAttrs {
  int64_t experts = 1;   // number of experts; ids are below it
  int64_t capacity = 1;  // slots per expert
  static constexpr auto fields() {
    return std::tuple{field("experts", &AssignSlotsAttrs::experts), field("capacity", &AssignSlotsAttrs::capacity)};
  }
};

struct DispatchAttrs {
  int64_t size = 1;   // slots of the result
  int64_t begin = 0;  // global index of its first slot
  int64_t total = 0;  // slots of the whole; 0 = those of the result
  static constexpr auto fields() {
    return std::tuple{field("size", &DispatchAttrs::size), field("begin", &DispatchAttrs::begin),
                      field("total", &DispatchAttrs::total)};
  }
};

struct CombineAttrs {
  int64_t begin = 0;  // global index of the first local slot
  int64_t total = 0;  // slots of the whole; 0 = those of the operand
  static constexpr auto fields() {
    return std::tuple{field("begin", &CombineAttrs::begin), field("total", &CombineAttrs::total)};
  }
};

}  // namespace partita
