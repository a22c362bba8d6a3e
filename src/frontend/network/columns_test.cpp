#include "frontend/network/columns.h"

#include <gtest/gtest.h>

#include "frontend/network/build_graph.h"
#include "frontend/network/functions.h"
#include "ir/ops/registry.h"

namespace partita {
namespace {

/// Returns the error message for rows of a shape that are read as `declared`, or "none".
std::string said_of(const Shape& shape, const Shape& declared) {
  const Network network(
      "net",
      [&](Context&, Columns& columns) {
        return NamedValues{{"logits", columns.at("image", declared)}};
      },
      [](Context&, Columns&, const NamedValues& outputs) {
        return NamedValues{{"loss", reduce_mean(outputs[0].second)}};
      });
  try {
    build_graph(network, all_ops(), {.batch = 4, .columns = {{"image", {DType::f32, shape}}}});
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "none";
}

TEST(Columns, RowsOfAnotherShapeThanANetworkDeclaresAreRefused) {
  EXPECT_EQ(said_of({3, 32, 32}, {3, 32, 32}), "none");
  EXPECT_EQ(said_of({3, 32, 40}, {3, -1, -1}), "none");
  const std::string begin = "[data] the rows of 'image' have the wrong shape, got ";
  EXPECT_NE(said_of({32, 32, 3}, {3, 32, 32}).find(begin + "f32[32,32,3], expected [3,32,32]"), std::string::npos);
  EXPECT_NE(said_of({4, 32, 32}, {3, -1, -1}).find(begin + "f32[4,32,32], expected [3,-1,-1]"), std::string::npos);
  for (const Shape& shape : {Shape{3, 32}, Shape{3, 32, 32, 1}, Shape{}}) {
    EXPECT_NE(said_of(shape, {3, -1, -1}).find(begin), std::string::npos);
  }
}

}  // namespace
}  // namespace partita
