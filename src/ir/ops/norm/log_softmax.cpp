#include "ir/ops/norm/softmax.h"

namespace partita {
namespace {

struct LogSoftmax {
  static double of_sum(double sum) { return std::log(sum); }
  static double result(double x, double largest, double log_sum) { return x - largest - log_sum; }
  static Value expanded(const ExpandCall& call, const Shifted& row) {
    return call.apply("sub", {row.difference, call.apply("log", {row.sum})});
  }
  static double term(double, double d_y) { return d_y; }
  static double slope(double y, double d_y, double sum) { return d_y - std::exp(y) * sum; }
  static Value expanded_grad(const ExpandCall& call, Value y, Value d_y) {
    const Value exponential = call.apply("exp", {y});
    return call.apply("sub", {d_y, call.apply("mul", {exponential, reduce_row(call, d_y, Reduce::sum)})});
  }
};

}  // namespace

std::vector<OpDef> log_softmax_ops() {
  return softmax_family<LogSoftmax>("log_softmax", "x - log of the sum of exp(x) over the last dimension",
                                    "d_y - exp(y) * sum of d_y over the last dimension");
}

}  // namespace partita
