#include "base/subnormals.h"

#include <gtest/gtest.h>

#include <thread>

namespace partita {
namespace {

/// Hidden from the compiler, which would otherwise compute it as the standard says.
volatile float tiny = 1e-39F;
volatile double tiny_double = 1e-312;

TEST(Subnormals, FollowTheType) {
  EXPECT_EQ(subnormals_of(DType::f64), Subnormals::keep);
  for (DType dtype : {DType::f32, DType::bf16, DType::f16}) EXPECT_EQ(subnormals_of(dtype), Subnormals::flush);
  for (DType dtype : {DType::i64, DType::i32, DType::u8, DType::u32, DType::boolean}) {
    EXPECT_EQ(subnormals_of(dtype), std::nullopt);
  }
  EXPECT_EQ(subnormals_of_both(Subnormals::flush, Subnormals::keep), Subnormals::keep);
  EXPECT_EQ(subnormals_of_both(Subnormals::keep, Subnormals::flush), Subnormals::keep);
  EXPECT_EQ(subnormals_of_both(std::nullopt, Subnormals::flush), Subnormals::flush);
  EXPECT_EQ(subnormals_of_both(Subnormals::flush, std::nullopt), Subnormals::flush);
  EXPECT_EQ(subnormals_of_both(std::nullopt, std::nullopt), std::nullopt);
}

TEST(Subnormals, AreReadAndMadeAsAsked) {
  const SubnormalSetting keep(Subnormals::keep), flush(Subnormals::flush);
  if (keep == flush) GTEST_SKIP() << "this processor has no such setting";
  EXPECT_EQ(SubnormalSetting::current(), keep);
  EXPECT_NE(tiny * 1e10F, 0);
  {
    const SubnormalScope scope(Subnormals::flush);
    EXPECT_EQ(SubnormalSetting::current(), flush);
    EXPECT_EQ(tiny * 1e10F, 0);             // an operand
    EXPECT_EQ((tiny + 1e-30F) * 1e-9F, 0);  // a result
    {
      const SubnormalScope inner(Subnormals::keep);
      EXPECT_NE(tiny_double * 1e10, 0);
      const SubnormalScope same(std::nullopt);
      EXPECT_EQ(SubnormalSetting::current(), keep);
    }
    EXPECT_EQ(SubnormalSetting::current(), flush);
    SubnormalSetting of_new_thread(Subnormals::keep);
    std::thread([&] { of_new_thread = SubnormalSetting::current(); }).join();
    EXPECT_EQ(of_new_thread, flush) << "a new thread has another setting than its maker";
  }
  EXPECT_EQ(SubnormalSetting::current(), keep);
}

}  // namespace
}  // namespace partita
