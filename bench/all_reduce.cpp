// Time of all-reduces, or of another collective: `bench_all_reduce [LARGEST_MIB] [RUNS] [CALL]` as a rank that a
// launcher started; CALL is all_reduce, reduce_scatter, all_gather or broadcast. Lines are "BYTES SECONDS", as
// bench_mpi_all_reduce prints them; bench/transport.sh compares both. BYTES are those of the whole buffer.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "launch/run_process.h"
#include "usage.h"

namespace partita {
namespace {

double now_in_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// False for a call of another name.
bool call_once(Communicator& comm, std::vector<float>& buffer, std::string_view call) {
  const auto count = static_cast<int64_t>(buffer.size());
  std::vector<int64_t> counts;
  for (int64_t r = 0; r < comm.size(); ++r) {
    counts.push_back(count * (r + 1) / comm.size() - count * r / comm.size());
  }
  float* const own = buffer.data() + count * comm.rank() / comm.size();
  if (call == "all_reduce") {
    comm.all_reduce(buffer.data(), count, DType::f32, Reduce::sum);
  } else if (call == "reduce_scatter") {
    std::vector<float> part(static_cast<size_t>(counts[static_cast<size_t>(comm.rank())]));
    comm.reduce_scatter(buffer.data(), part.data(), counts, DType::f32, Reduce::sum);
  } else if (call == "all_gather") {
    comm.all_gather(own, buffer.data(), counts, DType::f32);
  } else if (call == "broadcast") {
    comm.broadcast(buffer.data(), count, DType::f32, /*root=*/0);
  } else {
    return false;
  }
  return true;
}

double time_one(Communicator& comm, std::vector<float>& buffer, std::string_view call) {
  std::fill(buffer.begin(), buffer.end(), 1.0f);
  comm.barrier();
  double start = now_in_seconds();
  if (!call_once(comm, buffer, call)) {
    throw InvalidArgument(
        fmt::format("[bench] no such collective, got '{}', expected all_reduce, reduce_scatter, "
                    "all_gather or broadcast",
                    call));
  }
  double end = now_in_seconds();
  comm.all_reduce(&start, 1, DType::f64, Reduce::min);
  comm.all_reduce(&end, 1, DType::f64, Reduce::max);
  return end - start;
}

void measure(Communicator& comm, int64_t largest, int runs, std::string_view call) {
  for (int64_t bytes = 1 << 20; bytes <= largest; bytes *= 4) {
    std::vector<float> buffer(bytes / sizeof(float));
    time_one(comm, buffer, call);
    std::vector<double> times;
    for (int i = 0; i < runs; ++i) times.push_back(time_one(comm, buffer, call));
    std::nth_element(times.begin(), times.begin() + runs / 2, times.end());
    if (comm.rank() == 0) fmt::print("{} {:.6f}\n", bytes, times[runs / 2]);
  }
}

}  // namespace
}  // namespace partita

int main(int argc, char** argv) {
  if (partita::asks_for_help(argc, argv, "[LARGEST_MIB] [RUNS] [CALL]")) return 0;
  const int64_t largest = (argc > 1 ? std::atoll(argv[1]) : 64) << 20;
  const int runs = argc > 2 ? std::atoi(argv[2]) : 20;
  const char* call = argc > 3 ? argv[3] : "all_reduce";
  try {
    partita::run_on_ranks(partita::this_place(), 2, /*threads=*/1,
                          [&](partita::Communicator& comm) { partita::measure(comm, largest, runs, call); });
  } catch (const partita::Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return static_cast<int>(error.code());
  }
  return 0;
}
