#include "planner/explain/common_scope.h"

namespace partita {

std::string common_scope(const Graph& graph, size_t begin, size_t end) {
  std::string_view common = graph.nodes[begin].scope;
  for (size_t n = begin; n < end; ++n) {
    const std::string_view scope = graph.nodes[n].scope;
    while (scope.substr(0, common.size()) != common || (scope.size() > common.size() && scope[common.size()] != '/')) {
      const size_t slash = common.rfind('/');
      if (slash == common.npos) return "";
      common = common.substr(0, slash);
    }
  }
  return std::string(common);
}

}  // namespace partita
