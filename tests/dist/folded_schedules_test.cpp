// Which casts a schedule leaves out, for a device whose products mix types.

#include <gtest/gtest.h>

#include "compiler/partition/partition.h"
#include "compiler/schedule/fold_casts.h"
#include "compiler/schedule/schedule.h"
#include "compiler/search/make_plan.h"
#include "ir/ops/registry.h"
#include "runtime/device/device.h"
#include "support/mixing_device.h"
#include "support/texts/texts.h"

namespace partita {
namespace {

/// A product of what was rounded, then `rest`.
LocalGraph product_then(std::string_view rest, int64_t ranks = 1, std::string_view cut = "") {
  const std::string text = fmt::format(R"(partita graph 1
graph product
input %x: f32[10,6] batch=0
state %w: f32[6,5] parameter normal(0,1)
%x16 = cast(%x) {{dtype=bf16}} : bf16[10,6]
%w16 = cast(%w) {{dtype=bf16}} : bf16[6,5]
%x32 = cast(%x16) {{dtype=f32}} : f32[10,6]
%w32 = cast(%w16) {{dtype=f32}} : f32[6,5]
%y = matmul(%x32, %w32) : f32[10,5]{}
{})",
                                       cut, rest);
  const Graph graph = parse_graph(text, all_ops());
  const PlanOptions options{.parallel = cut.empty() ? Parallel::hybrid : Parallel::semi,
                            .dataset = cut.empty() ? PlanOptions{}.dataset : parse_dataset_sharding("((1,1))")};
  return partition(graph, all_ops(), make_plan(graph, all_ops(), make_mesh(graph, ranks, options), options));
}

constexpr std::string_view kRounded = "%y16 = cast(%y) {dtype=bf16} : bf16[10,5]\noutput y = %y16\n";

/// The kernels, with the values that they take and make: "loops.cast x -> x16".
std::vector<std::string> kernels_of(const LocalGraph& local, const KernelCatalog& catalog) {
  const Schedule schedule = make_schedule(local, all_ops(), catalog);
  verify(schedule, local);
  const std::string text = print(schedule, local);
  EXPECT_EQ(print(parse_schedule(text, local), local), text);
  std::vector<std::string> lines;
  for (const Instruction& instruction : schedule.instructions) {
    if (instruction.kind != Instruction::compute) continue;
    std::string line = instruction.choice.kernel;
    for (const int buffer : instruction.inputs) line += " " + local.graph.values[schedule.buffers[buffer].value].name;
    line += " ->";
    for (const int buffer : instruction.outputs) line += " " + local.graph.values[schedule.buffers[buffer].value].name;
    lines.push_back(std::move(line));
  }
  return lines;
}

using Lines = std::vector<std::string>;

Lines mixing_kernels_of(const LocalGraph& local) {
  return kernels_of(local, make_mixing_device(1, KernelSet::fast)->catalog());
}

TEST(FoldedSchedules, TakesAndMakes16Bits) {
  EXPECT_EQ(mixing_kernels_of(product_then(kRounded)),
            (Lines{"loops.cast x -> x16", "loops.cast w -> w16", "mixing.onednn.matmul x16 w16 -> y16"}));
}

TEST(FoldedSchedules, KeepsAllDigitsOfWhatNoCastAloneUses) {
  const Lines casts{"loops.cast x -> x16", "loops.cast w -> w16", "mixing.onednn.matmul x16 w16 -> y"};
  EXPECT_EQ(mixing_kernels_of(product_then("output y = %y\n")), casts);
  Lines both = casts;
  both.push_back("loops.cast y -> y16");
  EXPECT_EQ(mixing_kernels_of(product_then(std::string(kRounded) + "output full = %y\n")), both);
  Lines twice = both;
  twice.push_back("loops.pointwise y -> z");
  EXPECT_EQ(
      mixing_kernels_of(product_then(std::string(kRounded) + "%z = relu(%y) : f32[10,5]\noutput z = %z\n")).size(),
      twice.size());
  // A cast to the other type of 16 bits is another rounding.
  EXPECT_EQ(mixing_kernels_of(product_then("%h = cast(%y) {dtype=f16} : f16[10,5]\noutput y = %h\n")).back(),
            "loops.cast y -> h");
}

TEST(FoldedSchedules, LeavesCastsThatOthersUse) {
  const Lines lines = mixing_kernels_of(product_then(std::string(kRounded) + "output r = %x32\n"));
  EXPECT_EQ(std::count(lines.begin(), lines.end(), "loops.cast x16 -> x32"), 1);
  EXPECT_EQ(std::count(lines.begin(), lines.end(), "loops.cast w16 -> w32"), 0);
  EXPECT_EQ(std::count(lines.begin(), lines.end(), "mixing.onednn.matmul x16 w16 -> y16"), 1);
}

TEST(FoldedSchedules, RoundsSumsOfPartsWhenTheyAreWhole) {
  // Two ranks have one half each of the inner dimension.
  const LocalGraph local = product_then(kRounded, 2, " ; forward shard=((1,2),(2,1))");
  bool found = false;
  for (const std::string& line : mixing_kernels_of(local)) {
    if (!line.starts_with("mixing.")) continue;
    found = true;
    EXPECT_TRUE(line.ends_with("-> y")) << line;
  }
  EXPECT_TRUE(found);
}

/// Refuses products that mix types with `rows` rows.
class RefusesRows final : public KernelCatalog {
 public:
  RefusesRows(const KernelCatalog& catalog, int64_t rows) : catalog_(catalog), rows_(rows) {}
  KernelChoice choose(const KernelQuery& query) const override {
    const bool is_mixed = query.op == "matmul" && query.inputs[0].dtype == DType::bf16;
    if (is_mixed && query.inputs[0].shape[0] == rows_) return {.reason = "too many rows"};
    return catalog_.choose(query);
  }
  int64_t bytes(const Type& type, const MemoryFormat& format) const override { return catalog_.bytes(type, format); }

 private:
  const KernelCatalog& catalog_;
  const int64_t rows_;
};

TEST(FoldedSchedules, NeedsOneKernelForAllShards) {
  const LocalGraph local = product_then(kRounded, 4);  // ranks have 2 or 3 rows
  const auto device = make_mixing_device(1, KernelSet::fast);
  const auto mixing = [&](int64_t refused) {
    const Lines lines = kernels_of(local, RefusesRows(device->catalog(), refused));
    return std::count_if(lines.begin(), lines.end(), [](const auto& line) { return line.starts_with("mixing."); });
  };
  EXPECT_EQ(mixing(4), 1);
  EXPECT_EQ(mixing(3), 0);
  EXPECT_EQ(mixing(2), 0);
}

TEST(FoldedSchedules, ChangesNothingWithoutSuchKernels) {
  const auto device = make_mixing_device(1, KernelSet::reference);
  const LocalGraph local = product_then(kRounded);
  EXPECT_TRUE(
      fold_casts(local, all_ops(), make_cpu_device(all_ops(), 1, KernelSet::reference)->catalog()).nodes.empty());
  EXPECT_TRUE(fold_casts(local, all_ops(), FoldingCatalog(all_ops(), device->catalog(), false)).nodes.empty());
  EXPECT_EQ(fold_casts(local, all_ops(), device->catalog()).nodes.size(), 1u);
  EXPECT_EQ(kernels_of(local, FoldingCatalog(all_ops(), device->catalog(), false)).size(), 6u);
}

TEST(FoldedSchedules, TextsNameOnlyValuesThatAreCastsOfOneAnother) {
  const LocalGraph local = product_then(kRounded);
  const auto device = make_mixing_device(1, KernelSet::fast);
  std::string text = print(make_schedule(local, all_ops(), device->catalog()), local);
  const std::string own = "(%x16, %w16)";
  text.replace(text.find(own), own.size(), "(%w16, %w16)");
  try {
    parse_schedule(text, local);
    ADD_FAILURE() << "no error";
  } catch (const InvalidArgument& error) {
    EXPECT_NE(std::string_view(error.what()).find("wrong operand of y, got '%w16', expected %x32"),
              std::string_view::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace partita
