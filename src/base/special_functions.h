#pragma once
// Functions of float and double that networks use less often: those of the C library, and special functions that it
// lacks. Loops over them do not vectorize. Formulas of ops can also be written down with them (ir/graph/traced.h).

#include <cmath>
#include <concepts>

namespace partita {

template <std::floating_point T>
T sin_of(T x) {
  return std::sin(x);
}
template <std::floating_point T>
T cos_of(T x) {
  return std::cos(x);
}
template <std::floating_point T>
T tan_of(T x) {
  return std::tan(x);
}
template <std::floating_point T>
T asin_of(T x) {
  return std::asin(x);
}
template <std::floating_point T>
T acos_of(T x) {
  return std::acos(x);
}
template <std::floating_point T>
T atan_of(T x) {
  return std::atan(x);
}
template <std::floating_point T>
T atan2_of(T y, T x) {
  return std::atan2(y, x);
}
template <std::floating_point T>
T sinh_of(T x) {
  return std::sinh(x);
}
template <std::floating_point T>
T cosh_of(T x) {
  return std::cosh(x);
}
template <std::floating_point T>
T asinh_of(T x) {
  return std::asinh(x);
}
template <std::floating_point T>
T acosh_of(T x) {
  return std::acosh(x);
}
template <std::floating_point T>
T atanh_of(T x) {
  return std::atanh(x);
}
template <std::floating_point T>
T expm1_of(T x) {
  return std::expm1(x);
}
/// Computes log(1 + x) for any x; `log1p_of` is for 0 <= x <= 1.
template <std::floating_point T>
T log_plus_one_of(T x) {
  return std::log1p(x);
}
template <std::floating_point T>
T erfc_of(T x) {
  return std::erfc(x);
}

/// Computes log |gamma(x)|; infinity at 0 and the negative integers. Safe on several threads, as std::lgamma is not.
double lgamma_of(double x);
/// Computes the inverse of the error function: infinite at -1 and 1, NaN beyond them.
double erfinv_of(double x);
/// Computes the derivative of log gamma: -infinity at 0 (infinity at -0), NaN at the negative integers.
double digamma_of(double x);
/// Computes the derivative of digamma of an order from 1 on: infinite or NaN at 0 and the negative integers.
double polygamma_of(int order, double x);

inline float lgamma_of(float x) { return static_cast<float>(lgamma_of(static_cast<double>(x))); }
inline float erfinv_of(float x) { return static_cast<float>(erfinv_of(static_cast<double>(x))); }
inline float digamma_of(float x) { return static_cast<float>(digamma_of(static_cast<double>(x))); }
inline float polygamma_of(int order, float x) {
  return static_cast<float>(polygamma_of(order, static_cast<double>(x)));
}

}  // namespace partita
