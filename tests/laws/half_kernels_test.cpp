// Law 11 for 16 bits: a loop, or attention, that takes and makes 16-bit floats among wider ones has the bits of the
// same kernel in f32 between casts. Any operands and results that it accepts may have 16 bits.

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <set>

#include "base/philox.h"
#include "ir/ops/registry.h"
#include "laws/kernel_cases.h"
#include "laws/memory_layout.h"
#include "runtime/device/cpu/onednn/engine.h"
#include "runtime/device/device.h"

namespace partita::laws {
namespace {

bool same_bits(const Array& a, const Array& b) {
  return a.type() == b.type() &&
         std::memcmp(a.data(), b.data(), static_cast<size_t>(a.type().elements()) * size_of(a.type().dtype)) == 0;
}

bool is_f64(const Case& node) { return !node.input_types.empty() && node.input_types[0].dtype == DType::f64; }

/// A query in f32 and the same one with some floats of 16 bits, chosen by `random`.
class HalfCheck {
 public:
  HalfCheck(const KernelDef& def, const Case& node, DType half, uint64_t random) : def_(def), node_(node) {
    wide_ = {.op = node.op.name, .attrs = node.attrs, .inputs = node.input_types, .outputs = node.output_types};
    wide_.input_formats.resize(node.inputs.size());
    narrow_ = wide_;
    uint64_t drawn = 0;
    const auto narrow = [&](Type& type) {
      if (type.dtype == DType::f32 && random_below(random, drawn++, 0, 3) == 0) type.dtype = half;
    };
    for (Type& type : narrow_.inputs) narrow(type);
    for (Type& type : narrow_.outputs) narrow(type);
  }

  bool is_mixed() const { return mixes_halves(narrow_); }

  /// Gives operands of four dimensions a memory format.
  void lay_out(const std::string& tag) {
    if (tag == "plain") return;
    for (auto* query : {&wide_, &narrow_}) {
      for (size_t i = 0; i < query->inputs.size(); ++i) {
        const Type& type = query->inputs[i];
        if (type.rank() != 4) continue;
        query->input_formats[i] = {tag, bytes_in(type, {tag, 1})};
        layout_ = tag;
      }
    }
  }

  /// Runs both. Returns false if the kernel refuses 16 bits; sets `wrong`.
  bool run(std::string& wrong) {
    const KernelChoice narrow = def_.propose(narrow_), wide = def_.propose(wide_);
    if (!narrow.accepted() || !wide.accepted()) return false;
    if (!same_formats(narrow, wide)) wrong = "other memory formats";
    if (!wrong.empty()) return true;
    std::vector<Array> narrow_inputs, wide_inputs;
    for (size_t i = 0; i < node_.inputs.size(); ++i) {
      narrow_inputs.push_back(cast(node_.inputs[i], narrow_.inputs[i].dtype));
      wide_inputs.push_back(cast(narrow_inputs[i], wide_.inputs[i].dtype));
    }
    const std::vector<Array> expected = computed(wide_, wide, wide_inputs, {-1, -1}, wrong);
    std::vector<std::pair<int, int>> places = narrow.in_place;
    places.emplace_back(-1, -1);
    for (const std::pair<int, int>& in_place : places) {
      const std::vector<Array> got = computed(narrow_, narrow, narrow_inputs, in_place, wrong);
      for (size_t k = 0; k < got.size() && wrong.empty(); ++k) {
        if (!same_bits(got[k], cast(expected[k], got[k].type().dtype))) wrong = fmt::format("output {} differs", k);
      }
    }
    return true;
  }

  /// Types and memory formats: equal texts of checks of one kernel and case are equal checks.
  std::string text() const {
    return fmt::format("{}({}) -> {} in {}", narrow_.op, print(narrow_.inputs), print(narrow_.outputs), layout_);
  }

 private:
  std::vector<Array> computed(KernelQuery query, const KernelChoice& choice, const std::vector<Array>& operands,
                              std::pair<int, int> in_place, std::string& wrong) const {
    query.input_formats = choice.inputs;
    KernelRun run = run_laid_out(*def_.make(query, choice), choice, operands, query.outputs, in_place);
    if (!run.overrun.empty()) {
      wrong = fmt::format("the kernel writes past the end of {}", run.overrun);
    } else if (wrong.empty()) {
      wrong = run.padding;
    }
    return std::move(run.results);
  }

  const KernelDef& def_;
  const Case& node_;
  KernelQuery wide_, narrow_;
  std::string layout_ = "plain";
};

/// Whether a kernel computes from operands of 16 bits as it does in f32. Products of 16 bits sum in other orders.
bool has_bits_of_casts(const KernelDef& def, DType half) {
  if (def.name == "onednn.attention") return half == DType::f16 || !multiplies_bf16();
  return def.name.starts_with("loops.");
}

TEST(HalfKernels, HaveTheBitsOfCasts) {
  std::map<std::string, std::set<std::string>> mixed;
  uint64_t random = 0;
  make_cpu_device(all_ops(), 3)->enter_thread();
  for (const KernelDef& def : fast_kernels()) {
    if (!def.mixes_halves) continue;
    const std::set<std::string> ops(def.ops.begin(), def.ops.end());
    for (const auto& [name, node] : all_cases()) {
      if (!ops.contains(node.op.name) || is_f64(node)) continue;
      std::set<std::string> done;  // few types are drawn again and again; without images also for each format
      for (const std::string tag : {"plain", "acdb", "aBcd8b", "aBcd16b"}) {
        for (const DType half : {DType::bf16, DType::f16}) {
          for (int repeat = 0; repeat < 6 && has_bits_of_casts(def, half); ++repeat) {
            HalfCheck check(def, node, half, ++random);
            check.lay_out(tag);
            std::string wrong;
            if (!check.is_mixed() || !done.insert(check.text()).second || !check.run(wrong)) continue;
            EXPECT_EQ(wrong, "") << def.name << " on " << name << " as " << check.text();
            mixed[def.name].insert(node.op.name);
          }
        }
      }
    }
  }
  for (const std::string name :
       {"loops.pointwise", "loops.bias_add", "loops.row_norm", "loops.reduce", "loops.dropout"}) {
    EXPECT_FALSE(mixed[name].empty()) << name;
  }
  EXPECT_GT(mixed["loops.pointwise"].size(), 20u);
  EXPECT_EQ(mixed["loops.row_norm"].size(), 4u);
  EXPECT_EQ(mixed["loops.batch_norm"].size(), 8u);
  EXPECT_EQ(mixed["loops.max_pool"].size(), 2u);
  EXPECT_EQ(mixed["onednn.attention"].size(), 6u);
}

/// Whether these types are the op's own.
bool gives(const OpDef& op, const KernelQuery& query) {
  try {
    return op.infer({query.attrs, query.inputs, {}}) == query.outputs;
  } catch (const InvalidArgument&) {
    return false;
  }
}

// Where no kernel is said to mix types, none is asked to, and the reference refuses.
TEST(HalfKernels, AreNotFoundByAccident) {
  const auto device = make_cpu_device(all_ops(), 1), plain = make_cpu_device(all_ops(), 1, KernelSet::reference);
  device->enter_thread();
  uint64_t random = 0;
  for (const auto& [name, node] : all_cases()) {
    if (is_f64(node)) continue;
    KernelQuery query{
        .op = node.op.name, .attrs = node.attrs, .inputs = node.input_types, .outputs = node.output_types};
    query.input_formats.resize(query.inputs.size());
    for (Type& type : query.inputs) {
      if (type.dtype == DType::f32 && random_below(7, random++, 0, 2) == 1) type.dtype = DType::bf16;
    }
    if (!mixes_halves(query) || node.op.traits.is_conversion || gives(node.op, query)) continue;
    EXPECT_FALSE(plain->catalog().choose(query).accepted()) << name << " " << print(query.inputs);
    const KernelChoice choice = device->catalog().choose(query);
    if (!choice.accepted()) continue;
    const auto def = std::find_if(fast_kernels().begin(), fast_kernels().end(),
                                  [&](const KernelDef& one) { return one.name == choice.kernel; });
    ASSERT_NE(def, fast_kernels().end()) << name << ": " << choice.kernel;
    EXPECT_TRUE(def->mixes_halves) << name << ": " << choice.kernel;
  }
}

}  // namespace
}  // namespace partita::laws
