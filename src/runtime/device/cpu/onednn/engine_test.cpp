#include "runtime/device/cpu/onednn/engine.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace partita {
namespace {

template <class Fn>
ExitCode code_of(Fn&& fn) {
  try {
    fn();
  } catch (const Error& error) {
    EXPECT_NE(std::string_view(error.what()).find("could not create a primitive"), std::string_view::npos);
    return error.code();
  }
  return ExitCode::ok;
}

TEST(OneDnn, ItsErrorsAreOurs) {
  const auto failing = [](dnnl_status_t status) {
    return [status]() -> int { throw dnnl::error(status, "could not create a primitive"); };
  };
  EXPECT_EQ(code_of([&] { report_onednn(failing(dnnl_out_of_memory)); }), ExitCode::out_of_memory);
  EXPECT_EQ(code_of([&] { report_onednn(failing(dnnl_runtime_error)); }), ExitCode::internal);
  EXPECT_EQ(report_onednn([] { return 3; }), 3);
}

TEST(OneDnn, ALackOfMemoryIsNoRefusal) {
  const dnnl::error unknown(dnnl_unimplemented, "could not create a primitive"),
      shortage(dnnl_out_of_memory, "could not create a primitive");
  EXPECT_EQ(no_such("product", unknown), "oneDNN has no such product: could not create a primitive");
  EXPECT_EQ(code_of([&] { no_such("product", shortage); }), ExitCode::out_of_memory);
}

}  // namespace
}  // namespace partita
