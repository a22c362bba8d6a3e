// An own layer, two inputs, two outputs and two losses, on rows from a NumPy file with the arrays left[n,16],
// right[n,8], label[n] (8 classes) and target[n,1]: example_two_losses ROWS.npz WEIGHTS
#include <partita/data.h>
#include <partita/model.h>
#include <partita/network.h>

#include <iostream>

using namespace partita;

class Joined : public Layer {  // x[n,a], y[n,b] -> [n,width]
 public:
  Joined(int64_t width, Where where = Where::current()) : Layer(where), width_(width) {}
  std::vector<Value> construct_all(Context& context, const std::vector<Value>& in) override {
    const auto weight = [&](const char* name, Value x) {
      return context.parameter(name, {x.shape()[1], width_}, normal_initializer(0, 0.1));
    };
    // The annotation: rows of x in two parts, columns of the weight in two.
    const Value left = matmul(in[0], weight("left", in[0])).shard({{2, 1}, {1, 2}});
    return {relu(left + matmul(in[1], weight("right", in[1])))};
  }

 private:
  int64_t width_;
};

int main(int, char** argv) {
  auto joined = share(Joined(64));
  auto classes = dense(8), number = dense(1);
  const auto forward = [=](Context& context, Columns& rows) -> NamedValues {
    const Value h = context.call("joined", *joined, {rows.at("left"), rows.at("right")})[0];
    return {{"logits", context.call("classes", *classes, h)}, {"number", context.call("number", *number, h)}};
  };
  const auto loss = [](Context& context, Columns& rows, const NamedValues& out) -> NamedValues {
    const Value entropy = build_loss(Loss::sparse, context.builder(), find_output(out, "logits"), rows.at("label"));
    const Value error = reduce_mean(square(find_output(out, "number") - rows.at("target")));
    return {{"loss", entropy + error * 0.5}, {"error", error}};
  };
  const DatasetPtr rows = memory_rows(read_npz(argv[1]));
  Model model({"two_losses", forward, loss}, {.training = {.batch = 16, .epochs = 40},
                                              .ranks = {.count = 4},
                                              .plan = {.options = {.parallel = Parallel::automatic}},
                                              .console = {.quiet = true}});
  model.train(shuffle(rows, /*seed=*/1));
  const Metrics metrics = model.eval(rows);
  std::cout << fmt::format("loss {:.6g} error {:.6g} accuracy {:.6g}\n", metrics.loss, metrics.others[0].second,
                           metrics.accuracy());
  model.save(argv[2]);
}
