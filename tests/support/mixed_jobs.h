#pragma once
// Trainings in mixed precision that several tests run, and how near their numbers are.

#include "support/job.h"

namespace partita {

struct MixedCase {
  std::string spec;
  Shape image{};
  int64_t batch = 24;
};

/// Models of all families, two of them with dropout.
const std::vector<MixedCase>& mixed_cases();
/// Returns the same models without dropout, which draws other numbers in f32 than in f64.
std::vector<MixedCase> mixed_cases_without_dropout();

Job mixed_job(const MixedCase& one, MixedPrecision precision, DType dtype = DType::f64, int steps = 20);

/// Returns the gradients of the first step in f64 without 16 bits, from the states and rows of an f32 job.
Arrays exact_gradients(const MixedCase& one, const Job& job);

/// Euclidean norms of a - b, and of a.
double distance(const Array& a, const Array& b);
double norm(const Array& a);

/// Fails the test unless each loss is within twice `tolerance`, a part of it, of the loss of one rank, and their mean
/// within half of it: roundings of few rows differ much, but in both directions.
void expect_near_losses(const JobResult& result, const JobResult& single, double tolerance, const std::string& what);

}  // namespace partita
