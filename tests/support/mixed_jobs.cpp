#include "support/mixed_jobs.h"

#include <gtest/gtest.h>

#include <cmath>

namespace partita {

const std::vector<MixedCase>& mixed_cases() {
  static const std::vector<MixedCase> all{
      {"mlp:hidden=12,dropout=0.2", {1, 6, 5}},
      {"lenet", {1, 28, 28}},
      {"resnet18:width=4,size=8", {3, 8, 8}},
      {"gpt:layers=2,hidden=8,heads=4,seq=6,vocab=12,dropout=0.2"},
      {"llama:layers=2,hidden=16,heads=4,kv_heads=2,intermediate=12,seq=6,vocab=12"},
      {"moe:layers=2,hidden=8,heads=4,seq=6,vocab=12,experts=4,capacity=0.75,shared=1"},
  };
  return all;
}

std::vector<MixedCase> mixed_cases_without_dropout() {
  std::vector<MixedCase> cases = mixed_cases();
  for (MixedCase& one : cases) one.spec = one.spec.substr(0, one.spec.find(",dropout"));
  return cases;
}

Job mixed_job(const MixedCase& one, MixedPrecision precision, DType dtype, int steps) {
  Job job = model_job(one.spec, {.dtype = dtype, .image = one.image, .batch = one.batch, .steps = steps});
  job.training.precision.precision = precision;
  return job;
}

Arrays exact_gradients(const MixedCase& one, const Job& job) {
  const auto widened = [](const Arrays& arrays) {
    Arrays wide;
    for (const auto& [name, array] : arrays) {
      const DType dtype = array.type().dtype == DType::f32 ? DType::f64 : array.type().dtype;
      Array copy({dtype, array.type().shape});
      for (int64_t i = 0; i < array.type().elements(); ++i) copy.set(i, array.at(i));
      wide.emplace(name, std::move(copy));
    }
    return wide;
  };
  Job exact = mixed_job(one, MixedPrecision::f32, DType::f64, /*steps=*/1);
  exact.states = widened(job.states);
  exact.batch = [&](int step) { return widened(job.batch(step)); };
  return interpret_job(exact).gradients;
}

double distance(const Array& a, const Array& b) {
  double sum = 0;
  for (int64_t i = 0; i < a.type().elements(); ++i) sum += (a.at(i) - b.at(i)) * (a.at(i) - b.at(i));
  return std::sqrt(sum);
}

double norm(const Array& a) { return distance(a, Array(a.type())); }

void expect_near_losses(const JobResult& result, const JobResult& single, double tolerance, const std::string& what) {
  ASSERT_EQ(result.losses.size(), single.losses.size()) << what;
  double sum = 0;
  for (size_t i = 0; i < single.losses.size(); ++i) {
    EXPECT_NEAR(result.losses[i], single.losses[i], 2 * tolerance * single.losses[i]) << what << ", step " << i;
    sum += result.losses[i] / single.losses[i] - 1;
  }
  EXPECT_LE(std::abs(sum), tolerance / 2 * static_cast<double>(single.losses.size())) << what;
}

}  // namespace partita
