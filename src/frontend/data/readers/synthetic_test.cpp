#include "frontend/data/readers/synthetic.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "frontend/data/loading/batch.h"
#include "frontend/data/readers/test_files.h"

namespace partita {
namespace {

const Type kMnist{DType::u8, {28, 28, 1}};
constexpr int64_t kPixels = 784;
constexpr int kClasses = 10;

struct Samples {
  std::vector<float> images;  // (pixel - 128) / 64
  std::vector<int> labels;
};

Samples samples(Split split, int64_t rows) {
  const Batcher batcher(make_synthetic(kMnist, kClasses, rows, 3, split), {.batch = rows});
  const Batch batch = batcher.batch(0, 0);
  Samples result;
  for (int64_t i = 0; i < rows * kPixels; ++i) {
    result.images.push_back((batch.arrays[0].as<uint8_t>()[i] - 128) / 64.0f);
  }
  for (int64_t i = 0; i < rows; ++i) result.labels.push_back(batch.arrays[1].as<int32_t>()[i]);
  return result;
}

float dot(const float* a, const float* b) { return std::inner_product(a, a + kPixels, b, 0.0f); }

/// Softmax regression by stochastic gradient descent, with weights [class, pixel].
std::vector<float> train_linear(const Samples& data, int epochs, float rate) {
  std::vector<float> weights(kClasses * kPixels);
  for (int epoch = 0; epoch < epochs; ++epoch) {
    for (size_t i = 0; i < data.labels.size(); ++i) {
      const float* image = data.images.data() + i * kPixels;
      std::array<float, kClasses> scores;
      for (int k = 0; k < kClasses; ++k) scores[k] = dot(image, weights.data() + k * kPixels);
      const float most = *std::ranges::max_element(scores);
      float total = 0;
      for (float& score : scores) total += score = std::exp(score - most);
      for (int k = 0; k < kClasses; ++k) {
        const float step = rate * ((k == data.labels[i]) - scores[k] / total);
        for (int64_t p = 0; p < kPixels; ++p) weights[k * kPixels + p] += step * image[p];
      }
    }
  }
  return weights;
}

/// Returns the fraction of rows whose label has the largest score(template . image).
template <class Score>
double accuracy(const Samples& data, const std::vector<float>& templates, Score score) {
  int right = 0;
  for (size_t i = 0; i < data.labels.size(); ++i) {
    std::array<float, kClasses> scores;
    for (int k = 0; k < kClasses; ++k) {
      scores[k] = score(dot(data.images.data() + i * kPixels, templates.data() + k * kPixels));
    }
    right += std::ranges::max_element(scores) - scores.begin() == data.labels[i];
  }
  return right / static_cast<double>(data.labels.size());
}

TEST(Synthetic, NeedsMoreThanALinearModel) {
  const Samples train = samples(Split::train, 2000);
  const Samples test = samples(Split::test, 1000);
  const auto linear = [](float value) { return value; };
  EXPECT_LT(accuracy(test, train_linear(train, 5, 0.005f), linear), 0.6);

  // The first image of each class is its template, compared up to sign.
  std::vector<float> templates(kClasses * kPixels);
  for (int k = 0; k < kClasses; ++k) {
    const auto found = std::ranges::find(train.labels, k);
    ASSERT_NE(found, train.labels.end());
    const auto* image = train.images.data() + (found - train.labels.begin()) * kPixels;
    std::copy_n(image, kPixels, templates.data() + k * kPixels);
  }
  EXPECT_GT(accuracy(test, templates, [](float value) { return std::abs(value); }), 0.95);
}

TEST(Synthetic, RowsDependOnSeedSplitAndIndexAlone) {
  const Type cifar{DType::u8, {32, 32, 3}};
  const auto image = [&](uint64_t seed, Split split, int64_t rows, int64_t epoch) {
    const Row row = make_synthetic(cifar, kClasses, rows, seed, split)->row(epoch, 7);
    return Bytes(row[0].as<uint8_t>(), row[0].as<uint8_t>() + 3072);
  };
  const Bytes first = image(1, Split::train, 8, 0);
  EXPECT_EQ(first, image(1, Split::train, 100, 5));
  EXPECT_NE(first, image(2, Split::train, 8, 0));
  EXPECT_NE(first, image(1, Split::test, 8, 0));
}

TEST(Synthetic, RefusesWhatItCannotMake) {
  const auto make = [](Type type, int classes, int64_t rows) {
    return [=] { make_synthetic(type, classes, rows, 0, Split::train); };
  };
  expect_error<InvalidArgument>(make({DType::f32, {28, 28, 1}}, 10, 1), "got f32[28,28,1]");
  expect_error<InvalidArgument>(make({DType::u8, {28, 28}}, 10, 1), "got u8[28,28]");
  expect_error<InvalidArgument>(make({DType::u8, {28, 0, 1}}, 10, 1), "bad image type");
  expect_error<InvalidArgument>(make({DType::u8, {8, 8, 1}}, 10, 1), "expected sides of 12");
  expect_error<InvalidArgument>(make(kMnist, 1, 1), "got 1, expected 2 to");
  expect_error<InvalidArgument>(make(kMnist, 10, -1), "got -1");
}

}  // namespace
}  // namespace partita
