#include "planner/graph_file.h"

#include "base/text_file.h"
#include "ir/ops/registry.h"
#include "zoo/hugging_face/folder.h"

namespace partita {
namespace {

constexpr TextFile kGraphFile{
    .where = "graph", .purpose = "a graph", .max_bytes = int64_t{16} << 20, .may_be_pipe = false};

}  // namespace

bool is_graph_file(const std::string& model) {
  if (model.starts_with(kHuggingFace)) return false;
  return model.ends_with(".txt") || model.find('/') != std::string::npos;
}

Graph read_graph(const std::string& path) {
  const std::string text = read_text_file(path, kGraphFile);
  try {
    return parse_graph(text, all_ops());
  } catch (const InvalidArgument& error) {
    throw InvalidArgument(error.kind(), "{} (in {})", error.what(), path);
  }
}

}  // namespace partita
