#include "runtime/checkpoint/manifest.h"

#include <gtest/gtest.h>

#include <random>

#include "base/error.h"

namespace partita {
namespace {

/// Returns what is refused of a tensor whose pieces lie in one file each.
std::string said_of_pieces(const Shape& shape, const std::vector<Box>& boxes) {
  Manifest manifest{.position = {.step = 1, .batch = 1, .rows = 1}};
  manifest.tensors.push_back(
      {"w", {DType::f32, shape}, StateKind::parameter, std::vector<int64_t>(shape.size(), 1), {}});
  for (size_t i = 0; i < boxes.size(); ++i) {
    manifest.files.push_back({shard_name(static_cast<int>(i)), 8, std::string(32, '0')});
    manifest.tensors[0].pieces.push_back({static_cast<int64_t>(i), boxes[i], 1});
  }
  try {
    parse_manifest(print_manifest(manifest), "m");
  } catch (const InvalidFile& error) {
    return error.what();
  }
  return "none";
}

/// A grid of boxes, cut at random places.
std::vector<Box> random_grid(std::mt19937& random, const Shape& shape) {
  std::vector<Box> boxes{{}};
  for (const int64_t size : shape) {
    std::set<int64_t> cuts{0, size};
    for (int i = static_cast<int>(random() % 4); i > 0; --i) cuts.insert(static_cast<int64_t>(random()) % size);
    std::vector<Box> longer;
    for (const Box& box : boxes) {
      for (auto next = std::next(cuts.begin()); next != cuts.end(); ++next) {
        longer.push_back(box);
        longer.back().push_back({*std::prev(next), *next, size});
      }
    }
    boxes = std::move(longer);
  }
  std::shuffle(boxes.begin(), boxes.end(), random);
  return boxes;
}

TEST(Manifest, PiecesMakeUpTheirTensorInAnyOrder) {
  std::mt19937 random(8);
  for (int trial = 0; trial < 200; ++trial) {
    Shape shape;
    for (int d = static_cast<int>(random() % 4); d > 0; --d) shape.push_back(1 + static_cast<int64_t>(random() % 9));
    std::vector<Box> boxes = random_grid(random, shape);
    EXPECT_EQ(said_of_pieces(shape, boxes), "none") << trial;
    if (boxes.size() < 2) continue;
    // One in place of another of the same size: as many elements, but some twice and some not at all.
    const auto same = std::find_if(boxes.begin() + 1, boxes.end(),
                                   [&](const Box& box) { return elements_of(box) == elements_of(boxes[0]); });
    if (same == boxes.end()) continue;
    *same = boxes[0];
    EXPECT_NE(said_of_pieces(shape, boxes).find("has pieces that overlap"), std::string::npos) << trial;
  }
}

// Each pair of pieces would be compared if these were sorted along a dimension that does not cut them.
TEST(Manifest, ManyPiecesAlongALaterDimensionTakeNoTime) {
  constexpr int64_t kCount = 20'000;
  std::vector<Box> boxes;
  for (int64_t i = 0; i < kCount; ++i) boxes.push_back({{0, 2, 2}, {0, 1, 1}, {i, i + 1, kCount}});
  EXPECT_EQ(said_of_pieces({2, 1, kCount}, boxes), "none");
}

}  // namespace
}  // namespace partita
