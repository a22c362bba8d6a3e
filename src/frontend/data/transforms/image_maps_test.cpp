#include "frontend/data/transforms/image_maps.h"

#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include "frontend/data/readers/test_files.h"

namespace partita {
namespace {

Array image(Shape shape) {
  Array result(Type{DType::u8, std::move(shape)});
  std::iota(result.as<uint8_t>(), result.as<uint8_t>() + result.type().elements(), 0);
  return result;
}

TEST(Pixels, RescalesNormalizesAndReorders) {
  EXPECT_EQ(numbers(apply(*rescale(2, 1), image({2, 2}))), (std::vector<double>{1, 3, 5, 7}));
  const Array normalized = apply(*normalize({1, 2}, {2, 4}), image({1, 2, 2}));
  EXPECT_EQ(print(normalized.type()), "f32[1,2,2]");
  EXPECT_EQ(numbers(normalized), (std::vector<double>{-0.5, -0.25, 0.5, 0.25}));
  const Array planar = apply(*hwc_to_chw(), image({1, 3, 2}));
  EXPECT_EQ(print(planar.type()), "u8[2,1,3]");
  EXPECT_EQ(numbers(planar), (std::vector<double>{0, 2, 4, 1, 3, 5}));
}

TEST(Pixels, FusedEqualsOneByOne) {
  const std::vector<std::vector<ValueMapPtr>> lists = {
      {rescale(1 / 255.0, 0), normalize({0.4, 0.5, 0.6}, {0.2, 0.3, 0.4}), hwc_to_chw()},
      {hwc_to_chw(), rescale(0.5, -1), rescale(3, 2)},
      {normalize({1, 2, 3}, {1, 2, 3}), rescale(2, 0.25), hwc_to_chw()},
      {rescale(2, 1), resize(3, 3), hwc_to_chw(), cast(DType::f64)},
      {resize(7, 9), rescale(1 / 255.0, 0), normalize({0.4, 0.5, 0.6}, {0.2, 0.3, 0.4}), hwc_to_chw()},
      {resize(3, 2), hwc_to_chw(), rescale(2, 1)},
      {resize_shorter(3), hwc_to_chw(), rescale(2, 1)},
      {resize_shorter(5), rescale(0.5, 1)},
      {resize(9, 3), rescale(0.5, 1), normalize({1, 2, 3}, {1, 2, 3})}};
  for (const auto& list : lists) {
    const Array start = image({4, 5, 3});
    Array expected = start;
    for (const ValueMapPtr& map : list) expected = apply(*map, expected);
    const Array found = apply(*chain(list), start);
    ASSERT_EQ(found.type(), expected.type());
    for (int64_t i = 0; i < found.type().elements(); ++i) {
      EXPECT_NEAR(found.at(i), expected.at(i), 1e-5);
    }
  }
}

TEST(Pixels, RefusesWrongShapesAndNumbers) {
  const Type rgb{DType::u8, {4, 4, 3}};
  expect_error<InvalidArgument>([&] { normalize({1}, {1})->type(rgb); }, "expected [height,width,1]");
  expect_error<InvalidArgument>(
      [&] {
        chain({hwc_to_chw(), normalize({1, 1, 1}, {1, 1, 1})})->type(rgb);
      },
      "got u8[3,4,4]");
  expect_error<InvalidArgument>([] { hwc_to_chw()->type({DType::u8, {4, 4}}); }, "got u8[4,4]");
  expect_error<InvalidArgument>([] { normalize({1, 2}, {1}); }, "got 2 means and 1 stds");
  expect_error<InvalidArgument>([] { normalize({1}, {0}); }, "positive std");
  expect_error<InvalidArgument>([] { rescale(NAN, 0); }, "finite");
  expect_error<InvalidArgument>([] { chain({}); }, "empty list");
}

TEST(Resize, KeepsTheProportionsOfTheShorterSide) {
  const std::vector<std::pair<Shape, Shape>> sizes{
      {{8, 6, 3}, {6, 5, 3}}, {{6, 8, 3}, {5, 6, 3}}, {{5, 5, 1}, {5, 5, 1}}, {{100, 33, 3}, {15, 5, 3}}};
  for (const auto& [from, to] : sizes) {
    const ValueMapPtr map = resize_shorter(5);
    EXPECT_EQ(map->type({DType::f32, from}).shape, to) << from[0] << " x " << from[1];
    EXPECT_EQ(numbers(apply(*map, image(from))), numbers(apply(*resize(to[0], to[1]), image(from))));
  }
}

TEST(Resize, UsesHalfPixelCentres) {
  const Array line({1, 4, 1}, std::vector<float>{0, 1, 2, 3});
  EXPECT_EQ(numbers(apply(*resize(1, 2), line)), (std::vector<double>{0.5, 2.5}));
  const Array pair({1, 2, 1}, std::vector<float>{0, 4});
  EXPECT_EQ(numbers(apply(*resize(1, 4), pair)), (std::vector<double>{0, 1, 3, 4}));
  EXPECT_EQ(numbers(apply(*resize(4, 5), image({4, 5, 3}))), numbers(image({4, 5, 3})));
  const Array bytes({2, 1, 2}, std::vector<uint8_t>{0, 10, 255, 20});
  EXPECT_EQ(numbers(apply(*resize(1, 1), bytes)), (std::vector<double>{128, 15}));
  expect_error<InvalidArgument>([] { resize(0, 4); }, "got 0 x 4");
  expect_error<InvalidArgument>([] { resize(2, 2)->type({DType::u8, {0, 4, 1}}); }, "got u8[0,4,1]");
  expect_error<InvalidArgument>([] { resize(2, 2)->type({DType::i32, {4, 4, 1}}); }, "got i32");
  expect_error<InvalidArgument>([] { resize_shorter(0); }, "got 0, expected a side of 1");
  expect_error<InvalidArgument>([] { resize_shorter(9)->type({DType::u8, {1, 900000, 1}}); }, "1 x 900000 to 9");
}

TEST(Cast, StaysInRange) {
  const float infinity = std::numeric_limits<float>::infinity();
  const Array floats({6}, std::vector<float>{1.75f, -3, 300, NAN, infinity, -infinity});
  EXPECT_EQ(numbers(apply(*cast(DType::u8), floats)), (std::vector<double>{1, 0, 255, 0, 255, 0}));
  EXPECT_EQ(apply(*cast(DType::i64), floats).as<int64_t>()[4], std::numeric_limits<int64_t>::max());
  EXPECT_EQ(apply(*cast(DType::boolean), floats).at(1), 1);
  EXPECT_EQ(apply(*cast(DType::bf16), floats).at(0), 1.75);
  const Array integers({3}, std::vector<int64_t>{-5, 70'000, int64_t{1} << 40});
  EXPECT_EQ(numbers(apply(*cast(DType::i32), integers)), (std::vector<double>{-5, 70'000, 2147483647}));
  EXPECT_EQ(numbers(apply(*cast(DType::u32), integers)), (std::vector<double>{0, 70'000, 4294967295}));
}

TEST(Augment, CropsInsideThePaddedImage) {
  const ValueMapPtr crop = random_crop(4, 4, {2, 2, 2, 2}, 9);
  const Array start = image({4, 4, 1});
  int changed = 0;
  for (int64_t sample = 0; sample < 50; ++sample) {
    const Array found = apply(*crop, start, {.epoch = 1, .sample = sample});
    EXPECT_EQ(numbers(found), numbers(apply(*random_crop(4, 4, {2, 2, 2, 2}, 9), start, {1, sample})));
    changed += numbers(found) != numbers(start);
    // Neighbours in a row of the window are neighbours in the image.
    for (int64_t i = 0; i < 15; ++i) {
      if (i % 4 == 3 || found.at(i) == 0 || found.at(i + 1) == 0) continue;
      EXPECT_EQ(found.at(i + 1), found.at(i) + 1);
    }
  }
  EXPECT_GT(changed, 30);
  expect_error<InvalidArgument>([&] { random_crop(9, 4, {2, 2, 2, 2}, 0)->type(start.type()); }, "got 9 x 4");
  expect_error<InvalidArgument>([] { random_crop(0, 4, {2, 2, 2, 2}, 0); }, "got 0 x 4");
}

TEST(Augment, PadsEachSideByItsOwnNumber) {
  // Left, top, right, bottom: a window may extend beyond the left and the bottom only.
  const ValueMapPtr crop = random_crop(4, 4, {3, 0, 0, 3}, 1);
  const Array start = image({4, 4, 1});
  std::set<std::pair<int, int>> places;
  for (int64_t sample = 0; sample < 400; ++sample) {
    const Array found = apply(*crop, start, {.epoch = 0, .sample = sample});
    int left = 0, bottom = 0;
    while (left < 3 && found.at(left) == 0 && found.at(left + 1) != 1) ++left;
    for (int y = 3; y > 0 && found.at(4 * y + 3) == 0; --y) ++bottom;
    places.insert({left, bottom});
    EXPECT_EQ(found.at(3) + left, start.at(3) + 4 * bottom);
  }
  EXPECT_EQ(places.size(), 16);
  expect_error<InvalidArgument>([] { random_crop(4, 4, {0, -1, 0, 0}, 0); }, "padding (0, -1, 0, 0)");
}

TEST(OneHot, MarksTheLabel) {
  const Array labels({2}, std::vector<int32_t>{2, 0});
  const Array found = apply(*one_hot(3, 0.9, 0.1), labels);
  EXPECT_EQ(print(found.type()), "f32[2,3]");
  EXPECT_FLOAT_EQ(static_cast<float>(found.at(2)), 0.9f);
  EXPECT_FLOAT_EQ(static_cast<float>(found.at(3)), 0.9f);
  EXPECT_FLOAT_EQ(static_cast<float>(found.at(0)), 0.1f);
  expect_error<InvalidArgument>([&] { apply(*one_hot(2), labels); }, "[one_hot] label out of range, got 2");
  expect_error<InvalidArgument>([] { one_hot(2, NAN); }, "[one_hot] bad values, got on nan");
  expect_error<InvalidArgument>([] { one_hot(0); }, "bad number of classes, got 0");
  expect_error<InvalidArgument>([] { one_hot(2)->type({DType::f32, {}}); }, "labels are not integers");
}

TEST(Augment, FlipsHalfOfTheRows) {
  const Array start = image({1, 3, 2});
  int flipped = 0;
  for (int64_t sample = 0; sample < 200; ++sample) {
    const std::vector<double> found = numbers(apply(*random_horizontal_flip(4), start, {0, sample}));
    if (found == numbers(start)) continue;
    EXPECT_EQ(found, (std::vector<double>{4, 5, 2, 3, 0, 1}));
    ++flipped;
  }
  EXPECT_GT(flipped, 70);
  EXPECT_LT(flipped, 130);
}

}  // namespace
}  // namespace partita
