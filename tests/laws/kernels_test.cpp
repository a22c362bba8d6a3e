// Law 11: a fast kernel equals the reference, or refuses with a reason; whatever the memory formats it meets, in
// the place of an operand that it may overwrite, and within the memory that it asked for.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "ir/ops/matmul/matmul.h"
#include "ir/ops/registry.h"
#include "ir/ops/support.h"
#include "laws/kernel_cases.h"
#include "laws/memory_layout.h"
#include "runtime/device/device.h"

namespace partita::laws {
namespace {

constexpr int kThreads = 2;
constexpr double kTolerance32 = 2e-5, kTolerance64 = 1e-11;  // relative to the largest element

bool may_be_blocked(const Type& type) { return type.rank() == 4 && type.dtype != DType::f64; }

/// One kernel on one case, with the memory formats that its operands have before.
class Check {
 public:
  using Compare = std::function<std::string(const Array& got, const Array& expected, double tolerance)>;

  Check(const KernelDef& def, const Case& node, const std::string& tag, Compare compare = differs)
      : def_(def), node_(node), compare_(std::move(compare)) {
    for (const Array& input : node.inputs) {
      const bool first = is_float(input.type().dtype) && input.type().elements() > 0;
      has_nan_ = has_nan_ || (first && std::isnan(input.at(0)));
    }
    query_ = {.op = node.op.name, .attrs = node.attrs, .inputs = node.input_types, .outputs = node.output_types};
    for (const Type& type : node.input_types) {
      MemoryFormat format;
      if (tag == "any" || may_be_blocked(type)) format.tag = tag;
      if (!format.plain() && !format.any()) format.bytes = bytes_in(type, format);
      query_.input_formats.push_back(format);
    }
  }

  /// "" or what is wrong.
  std::string run() {
    choice_ = def_.propose(query_);
    if (!choice_.accepted()) return choice_.reason.empty() ? "refused without a reason" : "";
    if (choice_.kernel != def_.name) return fmt::format("calls itself {}", choice_.kernel);
    if (choice_.inputs.size() != query_.inputs.size() || choice_.outputs.size() != query_.outputs.size()) {
      return "does not choose all memory formats";
    }
    for (const auto* side : {&choice_.inputs, &choice_.outputs}) {
      const std::vector<Type>& types = side == &choice_.inputs ? query_.inputs : query_.outputs;
      for (size_t i = 0; i < types.size(); ++i) {
        const MemoryFormat& format = (*side)[i];
        if (format.any()) return "leaves a memory format open";
        if (!format.plain() && format.bytes != bytes_in(types[i], format)) {
          return fmt::format("{} in {} has {} bytes, not {}", print(types[i]), format.tag, bytes_in(types[i], format),
                             format.bytes);
        }
      }
    }
    query_.input_formats = choice_.inputs;  // as the executor does
    kernel_ = def_.make(query_, choice_);
    std::string wrong = run_once({-1, -1});
    // Once more in other memory, and in the place of each operand.
    const std::vector<Array> first = std::exchange(results_, {});
    if (wrong.empty()) wrong = run_once({-1, -1});
    for (size_t k = 0; k < first.size() && wrong.empty(); ++k) {
      const bool same = std::memcmp(first[k].data(), results_[k].data(), first[k].type().bytes()) == 0;
      if (!same) wrong = fmt::format("output {} has other bits in a second run", k);
    }
    for (const std::pair<int, int>& pair : choice_.in_place) {
      if (wrong.empty()) wrong = run_once(pair);
      if (!wrong.empty()) return fmt::format("output {} in the place of input {}: {}", pair.second, pair.first, wrong);
    }
    return wrong;
  }

  bool accepted() const { return choice_.accepted(); }
  /// Outputs of the last run.
  const std::vector<Array>& results() const { return results_; }

 private:
  /// By the coarsest float among operands and results.
  double tolerance_of_types() const {
    for (const auto* types : {&query_.inputs, &query_.outputs}) {
      for (const Type& type : *types) {
        if (type.dtype == DType::f32) return kTolerance32;
      }
    }
    return kTolerance64;
  }

  std::string run_once(std::pair<int, int> in_place) {
    KernelRun run = run_laid_out(*kernel_, choice_, node_.inputs, node_.output_types, in_place);
    if (!run.overrun.empty()) return fmt::format("the kernel writes past the end of {}", run.overrun);
    if (!run.padding.empty() && !has_nan_) return run.padding;  // NaN times the zeros of padding is NaN
    for (size_t k = 0; k < run.results.size(); ++k) {
      const double tolerance = is_float(run.results[k].type().dtype) ? tolerance_of_types() : 0;
      const std::string wrong = compare_(run.results[k], node_.outputs[k], tolerance);
      if (!wrong.empty()) return fmt::format("output {} in {}: {}", k, choice_.outputs[k].tag, wrong);
    }
    results_ = std::move(run.results);
    return "";
  }

  const KernelDef& def_;
  const Case& node_;
  Compare compare_;
  bool has_nan_ = false;
  KernelQuery query_;
  KernelChoice choice_;
  std::unique_ptr<Kernel> kernel_;
  std::vector<Array> results_;
};

class KernelLaws : public testing::TestWithParam<size_t> {
 protected:
  void SetUp() override { make_cpu_device(all_ops(), kThreads)->enter_thread(); }
};

TEST_P(KernelLaws, EqualsTheReferenceOrRefuses) {
  const KernelDef& def = fast_kernels()[GetParam()];
  const std::set<std::string> ops(def.ops.begin(), def.ops.end());
  std::set<std::string> taken;
  for (const auto& [name, node] : all_cases()) {
    if (!ops.contains(node.op.name)) continue;
    const bool images = std::any_of(node.input_types.begin(), node.input_types.end(), may_be_blocked);
    for (const std::string tag : {"plain", "any", "acdb", "aBcd8b", "aBcd16b"}) {
      if (!images && tag != "plain" && tag != "any") continue;
      Check check(def, node, tag);
      EXPECT_EQ(check.run(), "") << def.name << " on " << name << " as " << print(node.input_types) << " in " << tag;
      if (check.accepted()) taken.insert(node.op.name);
    }
  }
  EXPECT_EQ(taken, ops) << def.name << " refused every case of some op that it lists";
}

/// "" or where the reference has a NaN and `got` a number, which would make a diverged run look sound.
std::string hides_nan(const Array& got, const Array& expected, double /*tolerance*/) {
  if (!is_float(got.type().dtype)) return "";
  for (int64_t i = 0; i < got.type().elements(); ++i) {
    if (std::isnan(expected.at(i)) && !std::isnan(got.at(i))) {
      return fmt::format("element {} is {}, expected NaN", i, got.at(i));
    }
  }
  return "";
}

TEST_P(KernelLaws, HidesNoNan) {
  const KernelDef& def = fast_kernels()[GetParam()];
  for (const std::string& op : def.ops) {
    for (const Sample& sample : all_ops().at(op).samples) {
      for (size_t operand = 0; operand < sample.inputs.size(); ++operand) {
        std::vector<Array> inputs = fill(sample);
        if (!is_float(inputs[operand].type().dtype) || inputs[operand].type().elements() == 0) continue;
        inputs[operand].set(0, std::nan(""));
        for (const DType dtype : {DType::f32, DType::f64}) {
          const Case node = cast_floats(all_ops().at(op), sample.attrs, inputs, dtype);
          EXPECT_EQ(Check(def, node, "plain", hides_nan).run(), "")
              << def.name << " on " << op << " of " << name_of(dtype) << ", operand " << operand;
        }
      }
    }
  }
}

/// "" or where one has a number and the other an infinity or NaN.
std::string differs_in_kind(const Array& got, const Array& expected, double /*tolerance*/) {
  if (!is_float(got.type().dtype)) return "";
  for (int64_t i = 0; i < got.type().elements(); ++i) {
    if (std::isfinite(got.at(i)) == std::isfinite(expected.at(i))) continue;
    return fmt::format("element {} is {}, expected {}", i, got.at(i), expected.at(i));
  }
  return "";
}

// In f64, which proves what other types promise, an infinity reaches the same elements and no others.
TEST_P(KernelLaws, PassesInfinitiesAndNansOnInF64) {
  const KernelDef& def = fast_kernels()[GetParam()];
  for (const std::string& op : def.ops) {
    for (const Sample& sample : all_ops().at(op).samples) {
      for (size_t operand = 0; operand < sample.inputs.size(); ++operand) {
        const Type& type = sample.inputs[operand].type;
        if (!is_float(type.dtype) || type.elements() == 0) continue;
        for (const double value : {std::nan(""), std::numeric_limits<double>::infinity()}) {
          for (const int64_t at : {int64_t{0}, type.elements() / 2, type.elements() - 1}) {
            std::vector<Array> inputs = fill(sample);
            inputs[operand].set(at, value);
            const Case node = cast_floats(all_ops().at(op), sample.attrs, inputs, DType::f64);
            EXPECT_EQ(Check(def, node, "plain", differs_in_kind).run(), "")
                << def.name << " on " << op << sample.attrs.print() << ", operand " << operand << ", element " << at
                << " " << value;
          }
        }
      }
    }
  }
}

// Our own loops to the bit, in every type.
TEST_P(KernelLaws, AgreesOnAnyNumberOfThreads) {
  const KernelDef& def = fast_kernels()[GetParam()];
  const std::set<std::string> ops(def.ops.begin(), def.ops.end());
  const double tolerance = def.name.starts_with("loops.") ? 1e-30 : 1e-5;
  for (const auto& [name, node] : all_cases()) {
    if (!ops.contains(node.op.name)) continue;
    std::vector<Array> alone;
    for (const int threads : {1, 3}) {
      make_cpu_device(all_ops(), threads)->enter_thread();
      Check check(def, node, "plain");
      EXPECT_EQ(check.run(), "") << def.name << " on " << name << " with " << threads << " threads";
      if (threads == 1) alone = check.results();
      for (size_t k = 0; k < alone.size(); ++k) {
        EXPECT_EQ(differs(check.results().at(k), alone[k], tolerance), "")
            << def.name << " on " << name << " with " << threads << " threads, output " << k;
      }
    }
  }
}

std::vector<size_t> kernel_indices() {
  std::vector<size_t> indices;
  for (size_t i = 0; i < fast_kernels().size(); ++i) indices.push_back(i);
  return indices;
}

std::string kernel_name(const testing::TestParamInfo<size_t>& info) {
  std::string name = fast_kernels()[info.param].name;
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Fast, KernelLaws, testing::ValuesIn(kernel_indices()), kernel_name);

TEST(Reorders, ReachEveryFormatAndComeBack) {
  const auto device = make_cpu_device(all_ops(), kThreads);
  device->enter_thread();
  for (DType dtype : {DType::f32, DType::i32}) {
    const Array array = cast(fill(sample_of({20, 35, 3, 2}, Fill::distinct), 1), dtype);
    for (const char* tag : {"acdb", "aBcd8b", "aBcd16b", "ABcd16b16a", "ABcd8a8b", "Acdb16a"}) {
      MemoryFormat format{tag, 0};
      format.bytes = bytes_in(array.type(), format);
      EXPECT_EQ(device->catalog().bytes(array.type(), format), format.bytes) << tag << " " << name_of(dtype);
      Memory plain = laid_out(array, {}), there(format.bytes), back(array.type().bytes());
      const void* from = plain.data();
      void* to = there.data();
      device->make_reorder(array.type(), {}, format)->run({&from, 1}, {&to, 1}, nullptr);
      from = there.data();
      to = back.data();
      device->make_reorder(array.type(), format, {})->run({&from, 1}, {&to, 1}, nullptr);
      std::string wrong;
      EXPECT_EQ(differs(read_back(back, array.type(), {}, wrong), array), "") << tag << " " << name_of(dtype);
      EXPECT_EQ(differs(read_back(there, array.type(), format, wrong), array), "") << tag << " " << name_of(dtype);
      EXPECT_EQ(wrong, "");
    }
  }
}

TEST(Catalog, EveryPointwiseOpHasAVectorKernel) {
  const auto device = make_cpu_device(all_ops(), kThreads);
  for (const OpDef& op : all_ops().all()) {
    if (!op.pointwise) continue;
    for (DType dtype : {DType::f32, DType::f64}) {
      const Shape shape{8, 20};
      const std::vector<Type> inputs(op.samples[0].inputs.size(), Type{dtype, shape}), none;
      const std::vector<Type> outputs = op.infer({op.attrs, inputs, none});
      const std::vector<MemoryFormat> formats(inputs.size());
      const KernelChoice choice = device->catalog().choose({op.name, op.attrs, inputs, outputs, formats});
      EXPECT_EQ(choice.kernel, "loops.pointwise") << op.name << choice.reason;
    }
  }
}

TEST(Catalog, SaysWhyAFastKernelRefused) {
  const auto device = make_cpu_device(all_ops(), kThreads);
  const Type half{DType::f16, {4, 4}};
  const KernelQuery query{.op = "matmul",
                          .attrs = Attrs(MatmulAttrs{}),
                          .inputs = {half, half},
                          .outputs = {half},
                          .input_formats = {MemoryFormat{}, MemoryFormat{}}};
  const KernelChoice choice = device->catalog().choose(query);
  EXPECT_EQ(choice.kernel, "reference");
  EXPECT_NE(choice.reason.find("onednn.matmul: f16"), std::string::npos) << choice.reason;
}

}  // namespace
}  // namespace partita::laws
