#include "runtime/checkpoint/manifest.h"

#include <gtest/gtest.h>

#include <cmath>
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

/// Returns what is refused of a manifest with a scale of the loss; "none" if it is read back as it was.
std::string said_of_scale(const LossScaleState& scale, int64_t losses_steps = 0, int64_t not_finite = 0) {
  const Manifest manifest{.position = {.step = 1,
                                       .batch = 1,
                                       .rows = 1,
                                       .loss_scale = scale,
                                       .epoch = {.steps = losses_steps, .uncounted = not_finite}}};
  try {
    const Manifest read = parse_manifest(print_manifest(manifest), "m");
    EXPECT_EQ(read.position.loss_scale, scale);
    EXPECT_EQ(read.position.epoch.uncounted, not_finite);
  } catch (const InvalidFile& error) {
    return error.what();
  }
  return "none";
}

TEST(Manifest, HasTheScaleOfTheLoss) {
  EXPECT_EQ(said_of_scale({.scale = 1.5, .good_steps = 7, .bad_steps = 3}, 5, 5), "none");
  const std::string bad = "[checkpoint] m: the manifest has a bad 'loss_scale', 'good_steps' or 'bad_steps'";
  EXPECT_EQ(said_of_scale({.scale = 0.5}), bad);
  EXPECT_EQ(said_of_scale({.scale = 1e300}), bad);
  EXPECT_EQ(said_of_scale({.good_steps = std::numeric_limits<int64_t>::max()}), bad);
  EXPECT_EQ(said_of_scale({}, 4, 5), "[checkpoint] m: the manifest has a bad 'losses_not_finite'");
}

TEST(Manifest, RefusesTextsThatAreNotUtf8) {
  const Manifest manifest{.position = {.step = 1, .batch = 1, .rows = 1}};
  Manifest tensor = manifest, plan = manifest, training = manifest;
  tensor.tensors.push_back({.name = "w\xff"});
  plan.plan = "\xff";
  training.position.metadata["note"] = "\xff";
  for (const Manifest& bad : {tensor, plan, training}) EXPECT_THROW(print_manifest(bad), InvalidArgument);
}

// Programs that do not know of scales read what has none, and refuse the others.
TEST(Manifest, HasTheVersionThatItNeeds) {
  Manifest manifest{.position = {.step = 1, .batch = 1, .rows = 1}};
  EXPECT_NE(print_manifest(manifest).find("\"version\":1,"), std::string::npos);
  manifest.position.loss_scale = LossScaleState{};
  EXPECT_NE(print_manifest(manifest).find("\"version\":2,"), std::string::npos);
}

TEST(Manifest, FilesOfWholeTrainingsHaveTheScaleOfTheLoss) {
  const TrainingPosition position{.step = 3, .batch = 2, .rows = 9, .loss_scale = LossScaleState{512, 4, 1}};
  std::map<std::string, Array> tensors = position_tensors(position);
  EXPECT_EQ(take_position(tensors, "f").loss_scale, position.loss_scale);
  EXPECT_TRUE(tensors.empty());
  for (const auto& [numbers, got] :
       std::vector<std::pair<Array, std::string>>{{Array({3}, std::vector<double>{0.5, 0, 0}), "0.5, 0, 0"},
                                                  {Array({3}, std::vector<double>{2, -1, 0}), "2, -1, 0"},
                                                  {Array({3}, std::vector<double>{2, 0, 1.5}), "2, 0, 1.5"},
                                                  {Array({3}, std::vector<double>{NAN, 0, 0}), "nan, 0, 0"},
                                                  {Array({2}, std::vector<double>{2, 0}), "f64[2]"}}) {
    std::map<std::string, Array> bad = position_tensors(position);
    bad.at("checkpoint.loss_scale") = numbers;
    try {
      take_position(bad, "f");
      ADD_FAILURE() << got;
    } catch (const InvalidFile& error) {
      EXPECT_EQ(std::string(error.what()),
                fmt::format("[resume] f: a bad loss scale, got {} in 'checkpoint.loss_scale', expected a number from 1 "
                            "and two counts",
                            got));
    }
  }
}

}  // namespace
}  // namespace partita
