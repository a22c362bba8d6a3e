#include "frontend/data/readers/record_rows.h"

#include "base/philox.h"
#include "frontend/data/readers/generated_rows.h"

namespace partita {

std::vector<Column> record_columns(const RecordFormat& format) {
  std::vector<Column> columns{{"ids", {DType::i32, {format.ids}}}};
  if (format.features > 0) columns.push_back({"features", {DType::f32, {format.features}}});
  columns.push_back({"label", {DType::i32, {}}});
  return columns;
}

DatasetPtr make_synthetic_records(int64_t count, const RecordFormat& format, uint64_t seed, Split split) {
  const uint64_t weights = random_key(seed, "records/weights"), mixed = random_key(seed, "records/mixed");
  const uint64_t drawn = random_key(seed, split == Split::train ? "records/train" : "records/test");
  const auto make = [=](int64_t, int64_t index, std::span<const Tensor> row) {
    const auto at = static_cast<uint64_t>(index);
    double sum = 0;
    auto* ids = row[0].as<int32_t>();
    for (int64_t i = 0; i < format.ids; ++i) {
      const double u = uniform_of(random_word(drawn, static_cast<uint64_t>(i), at));
      ids[i] = static_cast<int32_t>(static_cast<double>(format.rows) * u * u * u);
      sum += random_normal(weights, static_cast<uint64_t>(ids[i]), 0);
    }
    for (int64_t i = 0; i < format.features; ++i) {
      const double x = random_normal(drawn, static_cast<uint64_t>(format.ids + i), at);
      row[1].as<float>()[i] = static_cast<float>(x);
      sum += x * random_normal(weights, static_cast<uint64_t>(i), 1);
      if (i == 0) sum += 2 * x * random_normal(mixed, static_cast<uint64_t>(ids[0]), 0);
    }
    *row.back().as<int32_t>() = sum > 0 ? 1 : 0;
  };
  return generated_rows(record_columns(format), count, make);
}

}  // namespace partita
