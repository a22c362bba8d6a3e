// Orders of small pipelines as text and as drawings, and the page that shows them.

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "golden/golden_text.h"
#include "ir/orders/draw.h"
#include "ir/orders/text.h"
#include "support/places.h"
#include "support/texts/texts.h"

namespace partita {
namespace {

struct DrawnPipeline {
  Order order;
  std::vector<int> groups;
  int64_t micro_batches;
  bool is_on_page;
};

const DrawnPipeline kDrawn[] = {
    {Order::gpipe, {0, 1}, 2, false},
    {Order::gpipe, {0, 1, 2}, 4, false},
    {Order::gpipe, {0, 1, 2, 3}, 8, true},
    {Order::one_forward_one_backward, {0, 1}, 2, false},
    {Order::one_forward_one_backward, {0, 1, 2}, 4, false},
    {Order::one_forward_one_backward, {0, 1, 2, 3}, 8, true},
    {Order::zero_bubble, {0, 1}, 2, false},
    {Order::zero_bubble, {0, 1, 2}, 4, false},
    {Order::zero_bubble, {0, 1, 2, 3}, 8, true},
    {Order::interleaved, {0, 1, 0, 1}, 4, true},
};

std::string text_of_file(const std::string& path) {
  std::ifstream file(std::string(kSourceDir) + "/" + path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(PipelineOrders, EveryFileIsRead) {
  EXPECT_EQ(files_of(std::string(kSourceDir) + "/tests/golden/pipeline").size(), std::size(kDrawn));
}

TEST(PipelineOrders, TextAndDrawing) {
  const std::string page = text_of_file("docs/internals/schedule.md");
  for (const DrawnPipeline& drawn : kDrawn) {
    const PipelineShape shape{drawn.groups, drawn.micro_batches};
    const std::vector<Dependency> dependencies = chain_of(shape.stages());
    const Sequence sequence = make_sequence(drawn.order, shape, dependencies);
    const std::string path = fmt::format("tests/golden/pipeline/{}_{}_stages_{}_micro_batches.txt",
                                         name_of(drawn.order), shape.stages(), shape.micro_batches);
    const std::string expected = text_of_file(path);
    ASSERT_FALSE(expected.empty()) << path;
    EXPECT_EQ(print(sequence, shape) + "\n" + draw(sequence, shape, dependencies), expected) << path;
    EXPECT_EQ(parse_sequence(expected.substr(0, expected.find("\n\n") + 1), shape, dependencies), sequence) << path;
    if (drawn.is_on_page) {
      EXPECT_NE(page.find("```\n" + expected + "```\n"), page.npos)
          << path << " is not what docs/internals/schedule.md shows";
    }
  }
}

}  // namespace
}  // namespace partita
