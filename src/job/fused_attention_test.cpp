// Which attention becomes a call of cuDNN, and what is said of the rest.

#include "job/fused_attention.h"

#include <gtest/gtest.h>

#include "compiler/emit/rank_programs.h"
#include "ir/ops/registry.h"
#include "runtime/device/xla/xla_device.h"
#include "runtime/launch/place.h"
#include "support/texts/texts.h"
#include "zoo/zoo_job.h"

namespace partita {
namespace {

int count_in(std::string_view text, std::string_view part) {
  int count = 0;
  for (size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

/// An attention of 2 heads of this width between products, and a loss.
Graph attention_of(int64_t width) {
  return parse_graph(
      fmt::format("partita graph 1\ngraph net\ninput %x: f32[4,6,{0}] batch=0\n"
                  "state %u: f32[{0},{0}] parameter normal(0,1)\n"
                  "state %w: f32[{0},{0}] parameter normal(0,1)\n"
                  "%q = matmul(%x, %u) : f32[4,6,{0}]\n"
                  "%y, %lse = attention(%q, %q, %q) {{heads=2, causal=true}} : f32[4,6,{0}], f32[4,2,6]\n"
                  "%o = matmul(%y, %w) : f32[4,6,{0}]\n"
                  "%s = square(%o) : f32[4,6,{0}]\n"
                  "%loss = reduce(%s) {{axes=[0,1,2], scale=0.1}} : f32[]\noutput loss = %loss\n",
                  2 * width),
      all_ops());
}

Program train_fused(const Graph& graph, AttentionMode mode, MixedPrecision precision,
                    const std::vector<std::string>& switched_off = {}) {
  const auto device = make_device(all_ops(), {.name = "cuda", .attention = mode});
  TrainingOptions training;
  training.precision.precision = precision;
  return compile(graph, all_ops(), device->catalog(), {.training = training, .passes = {.switched_off = switched_off}});
}

std::string texts_of(const Program& program) {
  std::string all;
  for (const RankProgram& one : programs_of_rank(program.pipeline, program.stages, all_ops(), 0).programs) {
    all += one.text;
  }
  return all;
}

TEST(FusedAttention, IsOneCallForwardAndOneBackward) {
  for (const MixedPrecision precision : {MixedPrecision::bf16, MixedPrecision::f16}) {
    const Program program = train_fused(attention_of(8), AttentionMode::fused, precision);
    EXPECT_EQ(warning_of_composed(program), "");
    const std::string text = texts_of(program);
    EXPECT_EQ(count_in(text, "@__cudnn$fmhaSoftmax("), 1);
    EXPECT_EQ(count_in(text, "@__cudnn$fmhaSoftmaxBackward("), 1);
    EXPECT_EQ(count_in(text, "stablehlo.exponential"), 0) << "no softmax is composed";
    EXPECT_EQ(count_in(text, precision == MixedPrecision::bf16 ? R"(\"BF16\")" : R"(\"F16\")"), 2);
  }
  const Program composed = train_fused(attention_of(8), AttentionMode::composed, MixedPrecision::bf16);
  EXPECT_EQ(count_in(texts_of(composed), "cudnn"), 0);
  EXPECT_EQ(count_in(texts_of(composed), "stablehlo.exponential"), 2);
}

TEST(FusedAttention, WarnsOfWhatIsComposed) {
  const auto warning = [](const Program& program) {
    EXPECT_EQ(count_in(texts_of(program), "cudnn"), 0);
    return warning_of_composed(program);
  };
  const std::string begin = "[--attention] fused has no effect on 2 of 2 attentions and their gradients, got ";
  const std::string end =
      ", expected 16 bits (--precision), heads of q and v of one width, a multiple of 8 up to 256, an even number of "
      "queries and keys, and ranks that have all of them";
  EXPECT_EQ(warning(train_fused(attention_of(4), AttentionMode::fused, MixedPrecision::bf16)),
            begin + "heads of width 4 in y" + end);
  EXPECT_EQ(warning(train_fused(attention_of(8), AttentionMode::fused, MixedPrecision::f32)),
            begin + "operands of f32 in y" + end);
  EXPECT_EQ(warning(train_fused(attention_of(8), AttentionMode::fused, MixedPrecision::bf16, {"fold_casts"})),
            begin + "operands of f32 in y" + end);
  const std::string no_attention =
      "partita graph 1\ngraph net\ninput %x: f32[4,6] batch=0\nstate %u: f32[6,6] parameter normal(0,1)\n"
      "%q = matmul(%x, %u) : f32[4,6]\n%loss = reduce(%q) {axes=[0,1], scale=0.1} : f32[]\noutput loss = %loss\n";
  EXPECT_EQ(warning(train_fused(parse_graph(no_attention, all_ops()), AttentionMode::fused, MixedPrecision::bf16)),
            "[--attention] has no effect, got fused for a network without attention that could be fused, expected "
            "composed or no --attention");
}

TEST(FusedAttention, TrainingsWarn) {
  JobConfig config;
  config.model = "gpt:layers=1,hidden=16,heads=2,seq=8,vocab=16";
  config.ranks.device = "cuda";
  for (const AttentionChoice mode : {AttentionChoice::automatic, AttentionChoice::composed, AttentionChoice::fused}) {
    for (const MixedPrecision precision : {MixedPrecision::f32, MixedPrecision::bf16}) {
      config.ranks.attention = mode;
      config.training.precision = precision;
      const Program program = ZooJob(config, Place{}).program(Purpose::training);
      std::string all;
      for (const std::string& warning : program.warnings) all += warning + "\n";
      const bool warns = mode == AttentionChoice::fused && precision == MixedPrecision::f32;
      EXPECT_EQ(all.find("[--attention] fused has no effect on 2 of 2 ") != std::string::npos, warns) << all;
      EXPECT_EQ(composes_attention(program), mode != AttentionChoice::fused && precision == MixedPrecision::bf16);
    }
  }
}

/// A graph on 2 ranks, cut as `cut` says, with fused attention.
Program compile_on_ranks(const std::string& text, const std::string& cut) {
  const auto device = make_device(all_ops(), {.name = "cuda", .attention = AttentionMode::fused});
  const Graph graph = parse_graph(text, all_ops());
  CompileOptions options{.ranks = 2};
  options.own_plan = [&](const Graph& whole, int64_t) {
    return parse_plan("partita plan 1\nmesh model=2\n" + cut, whole, all_ops());
  };
  return compile(graph, all_ops(), device->catalog(), options);
}

/// The gradient of an attention with one head of keys, whose 2 heads of queries are cut if `cut` says so.
Program gradient_on_ranks(const std::string& cut) {
  return compile_on_ranks(
      "partita graph 1\ngraph net\ninput %q: bf16[2,6,16]\ninput %k: bf16[2,6,8]\ninput %lse: f32[2,2,6]\n"
      "%a = cast(%q) {dtype=f32} : f32[2,6,16]\n%b = cast(%k) {dtype=f32} : f32[2,6,8]\n"
      "%d_q, %d_k, %d_v = attention_grad(%a, %b, %b, %a, %lse, %a) {heads=2, kv_heads=1} : "
      "f32[2,6,16], f32[2,6,8], f32[2,6,8]\noutput d_k = %d_k\n",
      cut);
}

// A call rounds its results, and parts of a sum are not to be rounded.
TEST(FusedAttention, MakesNoPartsOfSums) {
  const Program whole = gradient_on_ranks("");
  EXPECT_EQ(warning_of_composed(whole), "");
  EXPECT_EQ(count_in(texts_of(whole), "@__cudnn$fmhaSoftmaxBackward("), 1);
  const Program cut = gradient_on_ranks("node d_q g={model}\n");
  EXPECT_NE(warning_of_composed(cut).find("1 of 1 attentions and their gradients, got parts of sums over ranks in d_q"),
            std::string::npos)
      << warning_of_composed(cut);
  EXPECT_EQ(count_in(texts_of(cut), "cudnn"), 0);
}

TEST(FusedAttention, NeedsAllKeys) {
  const std::string text =
      "partita graph 1\ngraph net\ninput %q: bf16[2,6,16]\n%a = cast(%q) {dtype=f32} : f32[2,6,16]\n"
      "%y, %lse = attention(%a, %a, %a) {heads=2} : f32[2,6,16], f32[2,2,6]\noutput y = %y\n";
  EXPECT_EQ(warning_of_composed(compile_on_ranks(text, "")), "");
  const std::string warning = warning_of_composed(compile_on_ranks(text, "node y k={model}\n"));
  EXPECT_NE(warning.find("1 of 1 attentions and their gradients, got keys that are split over ranks, expected "),
            std::string::npos)
      << warning;
}

}  // namespace
}  // namespace partita
