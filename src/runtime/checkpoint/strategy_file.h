#pragma once
// Strategy files of MindSpore in their binary form. The format is one protobuf message, ParallelStrategyMap:
//
//   message ParallelStrategyMap { uint32 current_stage = 1; repeated Node node = 2; repeated LayoutOf layout = 3; }
//   message Node { string name = 1; Strategies strategies = 2; }
//   message Strategies { uint32 stage = 1; repeated Numbers strategy = 2; }
//   message LayoutOf { string parameter = 1; Layout layout = 2; }
//   message Layout {
//     repeated Numbers dev_matrix = 1, tensor_map = 2, param_split_shape = 3, indices_offset = 4;
//     int32 field = 5, opt_weight_shard_step = 6, opt_weight_shard_size = 7;
//   }
//   message Numbers { repeated int64 dim = 1; }

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace partita {

/// How a parameter is cut: `dev_matrix` has the sizes of the axes of a stage's ranks, and `tensor_map`, for each
/// dimension, the axes that cut it, counted from the last one; -1 for none.
struct StrategyLayout {
  std::string name;
  std::vector<int64_t> dev_matrix;
  std::vector<std::vector<int64_t>> tensor_map;
  std::vector<int64_t> param_split_shape;  // sizes of uneven parts
  int64_t field = 0;
  int64_t opt_weight_shard_step = 0, opt_weight_shard_size = 0;  // parts along the first dimension; -1: all others
};

struct StrategyFile {
  int64_t stage = 0;  // stage of its first node
  std::vector<StrategyLayout> layouts;
};

/// Parses the bytes of a strategy file. Throws InvalidFile, naming `path`, if they are none, or have no layouts.
StrategyFile parse_strategy_file(std::string_view bytes, const std::string& path);

}  // namespace partita
