#pragma once
// A segment of a stage with its compiled programs.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "compiler/emit/segments.h"
#include "runtime/pjrt/client.h"

namespace partita {

struct LoadedSegment {
  Segment segment;
  std::vector<std::shared_ptr<const pjrt::Executable>>
      programs;  // one, or one per micro-batch; none: nothing but waits
  bool writes_states = false;
  std::vector<int> replaced;  // outputs that are no inputs
};

/// Compiles text for the devices of a stage.
using CompileText = std::function<std::shared_ptr<const pjrt::Executable>(const std::string& text)>;

/// Compiles a segment for a rank of its stage's mesh. `owner`: end of messages. Throws what `compile` throws, with the
/// segment's nodes, and InvalidArgument for an op that cannot be written.
LoadedSegment load_segment(const Segmenter& segmenter, Segment segment, int64_t rank, const std::string& owner,
                           const CompileText& compile);

/// Names the first and the last node of a segment: "first (matmul in net) to loss (reduce)".
std::string nodes_of(const Segmenter& segmenter, const Segment& segment);
/// Says where an error of a segment comes from, and what its program takes if it lacks memory.
std::string description_of(const Segmenter& segmenter, const LoadedSegment& loaded, const Error& error,
                           const std::string& owner);

}  // namespace partita
