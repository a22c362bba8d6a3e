#include "runtime/device/cpu/loops/plane_lines.h"

#include <algorithm>

#include "base/floor_div.h"
#include "runtime/device/cpu/loops/vectors.h"

namespace partita {
PlaneLines::PlaneLines(Patches patches) : patches_(std::move(patches)) {
  const int64_t step = patches_.column_step;
  row_size_ = (patches_.columns + kBlock - 1) / kBlock * kBlock;
  int64_t after = 0;
  for (const Patches::Tap& tap : patches_.taps) {
    before_ = std::max(before_, -floor_div(tap.column, step));
    after = std::max(after, floor_div(tap.column, step));
  }
  line_size_ = before_ + row_size_ + after;
  for (const Patches::Tap& tap : patches_.taps) {
    const int64_t offset = floor_div(tap.column, step), rest = tap.column - offset * step;
    begins_.push_back(rest * patches_.height * line_size_ + before_ + offset);
  }
}

void PlaneLines::load(const double* plane, double* lines) const {
  const int64_t step = patches_.column_step, width = patches_.width;
  for (int64_t rest = 0; rest < step; ++rest) {
    const int64_t covered = width > rest ? (width - rest + step - 1) / step : 0;
    const int64_t count = std::min(covered, line_size_ - before_);
    for (int64_t y = 0; y < patches_.height; ++y, lines += line_size_) {
      const double* from = plane + y * width + rest;
      std::fill_n(lines, before_, 0.0);
      if (step == 1) {
        std::copy_n(from, count, lines + before_);
      } else {
        for (int64_t i = 0; i < count; ++i) lines[before_ + i] = from[i * step];
      }
      std::fill(lines + before_ + count, lines + line_size_, 0.0);
    }
  }
}

void PlaneLines::add_correlation(const double* lines, const double* weights, double* sums) const {
  constexpr int64_t kVectors = kBlock / kLanes;
  for (int64_t row = 0; row < patches_.rows; ++row) {
    for (int64_t begin = 0; begin < row_size_; begin += kBlock) {
      double* to = sums + row * row_size_ + begin;
      Vector total[kVectors];
      for (int64_t v = 0; v < kVectors; ++v) total[v] = load_vector(to + v * kLanes);
      for (size_t t = 0; t < patches_.taps.size(); ++t) {
        const double* under = line(lines, t, row);
        if (under == nullptr) continue;
        for (int64_t v = 0; v < kVectors; ++v) total[v] += weights[t] * load_vector(under + begin + v * kLanes);
      }
      for (int64_t v = 0; v < kVectors; ++v) store_vector(total[v], to + v * kLanes);
    }
  }
}

void PlaneLines::add_products(const double* lines, const double* places, double* tap_sums) const {
  constexpr int64_t kVectors = kBlock / kLanes;
  for (size_t t = 0; t < patches_.taps.size(); ++t) {
    double* to = tap_sums + static_cast<int64_t>(t) * kBlock;
    Vector total[kVectors];
    for (int64_t v = 0; v < kVectors; ++v) total[v] = load_vector(to + v * kLanes);
    for (int64_t row = 0; row < patches_.rows; ++row) {
      const double* under = line(lines, t, row);
      if (under == nullptr) continue;
      for (int64_t begin = 0; begin < row_size_; begin += kBlock) {
        const double* from = places + row * row_size_ + begin;
        for (int64_t v = 0; v < kVectors; ++v) {
          total[v] += load_vector(from + v * kLanes) * load_vector(under + begin + v * kLanes);
        }
      }
    }
    for (int64_t v = 0; v < kVectors; ++v) store_vector(total[v], to + v * kLanes);
  }
}

double PlaneLines::total(const double* tap_sums, int64_t tap) {
  double total = 0;
  for (int64_t i = 0; i < kBlock; ++i) total += tap_sums[tap * kBlock + i];
  return total;
}

}  // namespace partita
