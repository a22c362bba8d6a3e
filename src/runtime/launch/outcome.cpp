#include "runtime/launch/outcome.h"

#include <algorithm>
#include <new>

namespace partita {
namespace {

constexpr size_t kMaxErrorBytes = 1024;

}  // namespace

RankOutcome outcome_of(const std::function<void()>& job) {
  try {
    job();
    return {};
  } catch (const Error& error) {
    return {error.code(), error.what()};
  } catch (const std::bad_alloc&) {
    return {ExitCode::out_of_memory, "[memory] out of memory"};
  } catch (const std::exception& error) {
    return {ExitCode::internal, error.what()};
  }
}

RankOutcome agreed(const RankOutcome& own, Communicator& comm) {
  const std::vector<int64_t> ones(static_cast<size_t>(comm.size()), 1);
  std::vector<int64_t> codes(ones.size());
  const auto code = static_cast<int64_t>(own.code);
  comm.all_gather(&code, codes.data(), ones, DType::i64);
  const auto failed = std::ranges::find_if(codes, [](int64_t one) { return one != 0; });
  if (failed == codes.end()) return {};
  std::string text = own.error;
  text.resize(kMaxErrorBytes, '\0');
  comm.broadcast(text.data(), static_cast<int64_t>(text.size()), DType::u8, static_cast<int>(failed - codes.begin()));
  return {static_cast<ExitCode>(*failed), text.c_str()};
}

}  // namespace partita
