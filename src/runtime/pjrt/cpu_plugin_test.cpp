// Programs on the devices of a real plugin for CPUs, the one that PARTITA_PJRT_PLUGIN names (tools/xla/get_plugin.sh).

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <random>
#include <thread>

#include "base/error.h"
#include "runtime/pjrt/plugin.h"

namespace partita::pjrt {
namespace {

constexpr int kDevices = 8;
constexpr int64_t kRows = 16, kInputs = 32, kHidden = 24, kOutputs = 10;
constexpr double kRate = 0.5;

/// The devices of the plugin; the same for all tests, since a client starts threads. None if there is no plugin.
const Client* cpu_client() {
  static const std::unique_ptr<const Client> client = []() -> std::unique_ptr<const Client> {
    const char* path = std::getenv("PARTITA_PJRT_PLUGIN");
    if (path == nullptr || *path == '\0') return nullptr;
    Client made = Plugin::load(path).make_client({{"cpu_device_count", int64_t{kDevices}}});
    return made.platform() == "cpu" ? std::make_unique<const Client>(std::move(made)) : nullptr;
  }();
  return client.get();
}

#define REQUIRE_PLUGIN() \
  if (cpu_client() == nullptr) GTEST_SKIP() << "no PARTITA_PJRT_PLUGIN for CPUs: tools/xla/get_plugin.sh"

using Values = std::vector<double>;

Values random_values(int64_t count, double scale, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal(0, scale);
  Values values(static_cast<size_t>(count));
  for (double& value : values) value = normal(random);
  return values;
}

/// The mean squared error of tanh(x a) b on the rows of all ranks, and a step down its gradient.
struct Mlp {
  Values a = random_values(kInputs * kHidden, 1 / std::sqrt(double{kInputs}), 1);
  Values b = random_values(kHidden * kOutputs, 1 / std::sqrt(double{kHidden}), 2);

  double step(const Values& x, const Values& y) {
    const auto rows = static_cast<int64_t>(x.size()) / kInputs;
    Values da(a.size(), 0), db(b.size(), 0);
    double loss = 0;
    const double share = 1 / static_cast<double>(rows * kOutputs);
    for (int64_t r = 0; r < rows; ++r) {
      Values hidden(kHidden, 0), d_hidden(kHidden, 0);
      for (int64_t h = 0; h < kHidden; ++h) {
        for (int64_t i = 0; i < kInputs; ++i) hidden[h] += x[r * kInputs + i] * a[i * kHidden + h];
        hidden[h] = std::tanh(hidden[h]);
      }
      for (int64_t o = 0; o < kOutputs; ++o) {
        double error = -y[r * kOutputs + o];
        for (int64_t h = 0; h < kHidden; ++h) error += hidden[h] * b[h * kOutputs + o];
        loss += error * error * share;
        for (int64_t h = 0; h < kHidden; ++h) {
          db[h * kOutputs + o] += 2 * share * error * hidden[h];
          d_hidden[h] += 2 * share * error * b[h * kOutputs + o];
        }
      }
      for (int64_t h = 0; h < kHidden; ++h) {
        for (int64_t i = 0; i < kInputs; ++i) {
          da[i * kHidden + h] += x[r * kInputs + i] * d_hidden[h] * (1 - hidden[h] * hidden[h]);
        }
      }
    }
    for (size_t i = 0; i < a.size(); ++i) a[i] -= kRate * da[i];
    for (size_t i = 0; i < b.size(); ++i) b[i] -= kRate * db[i];
    return loss;
  }
};

std::string tensor_type(int64_t rows, int64_t columns) { return fmt::format("tensor<{}x{}xf64>", rows, columns); }

/// The sum of %`value` over all ranks, as %`result`.
std::string all_reduce(const std::string& result, const std::string& value, const std::string& type, int ranks) {
  std::string group;
  for (int rank = 0; rank < ranks; ++rank) group += fmt::format("{}{}", rank == 0 ? "" : ", ", rank);
  return fmt::format(
      "    %{} = \"stablehlo.all_reduce\"(%{}) ({{\n"
      "    ^bb0(%{}_one: tensor<f64>, %{}_other: tensor<f64>):\n"
      "      %{}_sum = stablehlo.add %{}_one, %{}_other : tensor<f64>\n"
      "      stablehlo.return %{}_sum : tensor<f64>\n"
      "    }}) {{replica_groups = dense<[[{}]]> : tensor<1x{}xi64>}} : ({}) -> {}\n",
      result, value, result, result, result, result, result, result, group, ranks, type, type);
}

/// The step of `Mlp` as a module for `ranks` replicas, each with kRows rows. Parameters are donated.
std::string mlp_module(int ranks) {
  const std::string a = tensor_type(kInputs, kHidden), b = tensor_type(kHidden, kOutputs),
                    x = tensor_type(kRows, kInputs), y = tensor_type(kRows, kOutputs),
                    hidden = tensor_type(kRows, kHidden);
  const double share = 1 / static_cast<double>(ranks * kRows * kOutputs);
  const auto constant = [](const std::string& name, double value, const std::string& type) {
    return fmt::format("    %{} = stablehlo.constant dense<{:.17e}> : {}\n", name, value, type);
  };
  const auto binary = [](const std::string& name, const std::string& op, const std::string& left,
                         const std::string& right, const std::string& type) {
    return fmt::format("    %{} = stablehlo.{} %{}, %{} : {}\n", name, op, left, right, type);
  };
  const auto product = [](const std::string& name, const std::string& left, int left_dim, const std::string& right,
                          int right_dim, const std::string& types) {
    return fmt::format("    %{} = stablehlo.dot_general %{}, %{}, contracting_dims = [{}] x [{}] : {}\n", name, left,
                       right, left_dim, right_dim, types);
  };
  std::string text = fmt::format(
      "module @step attributes {{mhlo.num_replicas = {} : i32, mhlo.num_partitions = 1 : i32}} {{\n"
      "  func.func public @main(%a: {} {{tf.aliasing_output = 0 : i32}}, %b: {} {{tf.aliasing_output = 1 : i32}}, "
      "%x: {}, %y: {}) -> ({}, {}, tensor<f64>) {{\n",
      ranks, a, b, x, y, a, b);
  text += product("in", "x", 1, "a", 0, fmt::format("({}, {}) -> {}", x, a, hidden));
  text += fmt::format("    %h = stablehlo.tanh %in : {}\n", hidden);
  text += product("out", "h", 1, "b", 0, fmt::format("({}, {}) -> {}", hidden, b, y));
  text += binary("error", "subtract", "out", "y", y) + binary("square", "multiply", "error", "error", y);
  text += constant("zero", 0, "tensor<f64>") + constant("share", share, "tensor<f64>");
  text += fmt::format(
      "    %total = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = [0, 1] : ({}, "
      "tensor<f64>) -> tensor<f64>\n",
      y);
  text += binary("own", "multiply", "total", "share", "tensor<f64>") + all_reduce("loss", "own", "tensor<f64>", ranks);
  text += constant("twice", 2 * share, y) + binary("d_out", "multiply", "error", "twice", y);
  text += product("own_b", "h", 0, "d_out", 0, fmt::format("({}, {}) -> {}", hidden, y, b));
  text += product("d_h", "d_out", 1, "b", 1, fmt::format("({}, {}) -> {}", y, b, hidden));
  text += binary("hh", "multiply", "h", "h", hidden) + constant("one", 1, hidden);
  text += binary("slope", "subtract", "one", "hh", hidden) + binary("d_in", "multiply", "d_h", "slope", hidden);
  text += product("own_a", "x", 0, "d_in", 0, fmt::format("({}, {}) -> {}", x, hidden, a));
  text += all_reduce("da", "own_a", a, ranks) + all_reduce("db", "own_b", b, ranks);
  text += constant("rate_a", kRate, a) + constant("rate_b", kRate, b);
  text += binary("step_a", "multiply", "da", "rate_a", a) + binary("step_b", "multiply", "db", "rate_b", b);
  text += binary("new_a", "subtract", "a", "step_a", a) + binary("new_b", "subtract", "b", "step_b", b);
  return text + fmt::format("    return %new_a, %new_b, %loss : {}, {}, tensor<f64>\n  }}\n}}\n", a, b);
}

Buffer upload(size_t device, int64_t rows, int64_t columns, const double* values) {
  return cpu_client()->upload(device, {{DType::f64, {rows, columns}}, values});
}

double scalar(const Buffer& buffer) {
  double value = 0;
  buffer.download({{DType::f64, {}}, &value});
  return value;
}

CompileOptions options_for(int ranks) {
  CompileOptions options{.replicas = ranks};
  for (int rank = 0; rank < ranks; ++rank) options.devices.push_back(cpu_client()->id(static_cast<size_t>(rank)));
  return options;
}

/// Parameters and rows of one rank on its device.
struct RankArrays {
  Buffer a, b, x, y;

  RankArrays(size_t rank, const Mlp& mlp, const Values& x_all, const Values& y_all)
      : a(upload(rank, kInputs, kHidden, mlp.a.data())),
        b(upload(rank, kHidden, kOutputs, mlp.b.data())),
        x(upload(rank, kRows, kInputs, x_all.data() + rank * kRows * kInputs)),
        y(upload(rank, kRows, kOutputs, y_all.data() + rank * kRows * kOutputs)) {}

  std::vector<const Buffer*> arguments() const { return {&a, &b, &x, &y}; }
  /// Takes the updated parameters, and returns the loss.
  double take(Results& results) {
    results.done.wait();
    EXPECT_TRUE(a.is_donated() && b.is_donated());
    a = std::move(results.buffers[0]);
    b = std::move(results.buffers[1]);
    return scalar(results.buffers[2]);
  }
};

TEST(CpuPlugin, TrainsAnMlpOnAllDevicesAtOnce) {
  REQUIRE_PLUGIN();
  ASSERT_EQ(cpu_client()->devices(), size_t{kDevices});
  for (const int ranks : {1, 2, 3, 8}) {
    Mlp mlp;
    const Values x = random_values(ranks * kRows * kInputs, 1, 3), y = random_values(ranks * kRows * kOutputs, 1, 4);
    const Executable step = cpu_client()->compile(mlp_module(ranks), options_for(ranks));
    EXPECT_EQ(step.outputs(), 3U);
    EXPECT_EQ(step.devices(), static_cast<size_t>(ranks));
    EXPECT_GT(step.memory().arguments, 8 * kRows * kInputs);
    const Executable loaded = cpu_client()->load(step.serialized());
    std::vector<RankArrays> arrays;
    for (int rank = 0; rank < ranks; ++rank) arrays.emplace_back(rank, mlp, x, y);
    for (int i = 0; i < 20; ++i) {
      std::vector<std::vector<const Buffer*>> arguments;
      for (const RankArrays& own : arrays) arguments.push_back(own.arguments());
      std::vector<Results> results = (i % 2 == 0 ? step : loaded).run_all(arguments, i);
      const double expected = mlp.step(x, y);
      for (int rank = 0; rank < ranks; ++rank) {
        EXPECT_NEAR(arrays[rank].take(results[rank]), expected, 1e-12 * expected) << ranks << " ranks, step " << i;
      }
    }
  }
}

TEST(CpuPlugin, TrainsWithAThreadPerDevice) {
  REQUIRE_PLUGIN();
  constexpr int kRanks = 4;
  Mlp mlp;
  const Values x = random_values(kRanks * kRows * kInputs, 1, 5), y = random_values(kRanks * kRows * kOutputs, 1, 6);
  const Executable step = cpu_client()->compile(mlp_module(kRanks), options_for(kRanks));
  std::vector<Values> losses(kRanks);
  std::vector<std::thread> threads;
  for (size_t rank = 0; rank < kRanks; ++rank) {
    threads.emplace_back([&, rank, start = mlp] {
      RankArrays own(rank, start, x, y);
      for (int i = 0; i < 20; ++i) {
        Results results = step.run(rank, own.arguments(), i);
        losses[rank].push_back(own.take(results));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int i = 0; i < 20; ++i) {
    const double expected = mlp.step(x, y);
    for (const Values& of_rank : losses) EXPECT_NEAR(of_rank.at(i), expected, 1e-12 * expected) << i;
  }
}

TEST(CpuPlugin, RunsAPortableProgramOnAnyDeviceInEveryType) {
  REQUIRE_PLUGIN();
  const std::pair<DType, const char*> types[] = {{DType::f64, "f64"}, {DType::f32, "f32"},  {DType::bf16, "bf16"},
                                                 {DType::f16, "f16"}, {DType::i64, "i64"},  {DType::i32, "i32"},
                                                 {DType::u8, "ui8"},  {DType::u32, "ui32"}, {DType::boolean, "i1"}};
  for (const auto& [dtype, name] : types) {
    const std::string type = fmt::format("tensor<2x3x{}>", name);
    const Executable turned = cpu_client()->compile(
        fmt::format("module {{ func.func public @main(%x: {}) -> tensor<3x2x{}> {{\n  %y = stablehlo.transpose %x, "
                    "dims = [1, 0] : ({}) -> tensor<3x2x{}>\n  return %y : tensor<3x2x{}>\n}} }}",
                    type, name, type, name, name),
        {.portable = true, .flags = {{"xla_backend_optimization_level", int64_t{0}}}});
    const size_t size = size_of(dtype);
    std::vector<unsigned char> bytes(6 * size), found(6 * size);
    for (size_t i = 0; i < bytes.size(); ++i)
      bytes[i] = static_cast<unsigned char>(dtype == DType::boolean ? i % 2 : i);
    for (const size_t device : {size_t{0}, size_t{5}}) {
      const Buffer x = cpu_client()->upload(device, {{dtype, {2, 3}}, bytes.data()});
      const Buffer* arguments[] = {&x};
      Results results = turned.run(device, arguments);
      EXPECT_EQ(results.buffers[0].type(), (Type{dtype, {3, 2}}));
      results.buffers[0].download({{dtype, {3, 2}}, found.data()});
      for (size_t i = 0; i < 6 * size; ++i) {
        const size_t element = i / size, row = element / 2, column = element % 2;
        EXPECT_EQ(found[i], bytes[(column * 3 + row) * size + i % size]) << name;
      }
    }
  }
}

TEST(CpuPlugin, SaysWhatIsWrongWithAProgram) {
  REQUIRE_PLUGIN();
  const auto message_of = [](const std::string& text) -> std::string {
    try {
      cpu_client()->compile(text, {});
    } catch (const InternalError& error) {
      return error.what();
    }
    return "";
  };
  const std::string bad = message_of("module { bad");
  EXPECT_NE(bad.find("PJRT_Client_Compile failed with code"), std::string::npos) << bad;
  EXPECT_NE(bad.find("custom op 'bad' is unknown"), std::string::npos) << bad;
  EXPECT_NE(message_of("module { func.func public @main() -> tensor<f32> {\n %x = stablehlo.nothing : tensor<f32>\n "
                       "return %x : tensor<f32> } }"),
            "");
}

}  // namespace
}  // namespace partita::pjrt
