#include "calibrate/collective_times.h"

#include <functional>

#include "calibrate/times.h"
#include "runtime/comm/run_ranks.h"

namespace partita {
namespace {

constexpr int64_t kBytes[] = {1 << 10, 8 << 10, 64 << 10, 256 << 10, 1 << 20, 8 << 20};
constexpr Collective kKinds[] = {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter,
                                 Collective::all_to_all};
constexpr int kFewestCalls = 5, kMaxCalls = 200;

/// Buffers of one rank: the whole of what is reduced or gathered, and its part.
struct RankBuffers {
  std::vector<float> whole, other, part;
  std::vector<int64_t> counts;

  RankBuffers(int rank, int ranks, int64_t bytes) {
    const int64_t count = bytes / static_cast<int64_t>(sizeof(float));
    for (int r = 0; r < ranks; ++r) counts.push_back(count * (r + 1) / ranks - count * r / ranks);
    whole.resize(static_cast<size_t>(count));
    other.resize(whole.size());
    part.resize(static_cast<size_t>(counts[static_cast<size_t>(rank)]));
  }
};

void call(Collective kind, Communicator& comm, RankBuffers& buffers) {
  float *whole = buffers.whole.data(), *part = buffers.part.data();
  switch (kind) {
    case Collective::all_gather: return comm.all_gather(part, whole, buffers.counts, DType::f32);
    case Collective::reduce_scatter: return comm.reduce_scatter(whole, part, buffers.counts, DType::f32, Reduce::sum);
    case Collective::all_to_all: {
      const auto own = static_cast<int64_t>(buffers.part.size());
      std::vector<int64_t> counts(buffers.counts.size(), own / static_cast<int64_t>(buffers.counts.size()));
      return comm.all_to_all(whole, counts, buffers.other.data(), counts, DType::f32);
    }
    default: return comm.all_reduce(whole, static_cast<int64_t>(buffers.whole.size()), DType::f32, Reduce::sum);
  }
}

/// Returns the seconds of one call, from the first rank's start to the last rank's end: the same on every rank. All
/// ranks call it. Throws LostRanks.
double time_call(Collective kind, Communicator& comm, RankBuffers& buffers) {
  auto& written = kind == Collective::all_gather ? buffers.part : buffers.whole;
  std::fill(written.begin(), written.end(), 1.0F);
  comm.barrier();
  const auto now = [] { return std::chrono::duration<double>(CalibrationClock::now().time_since_epoch()).count(); };
  double begin = now();
  call(kind, comm, buffers);
  double end = now();
  comm.all_reduce(&begin, 1, DType::f64, Reduce::min);
  comm.all_reduce(&end, 1, DType::f64, Reduce::max);
  return end - begin;
}

double time_calls(Collective kind, Communicator& comm, RankBuffers& buffers, double seconds) {
  time_call(kind, comm, buffers);
  std::vector<double> times;
  double spent = 0;  // the same on every rank, so that all make as many calls
  for (int i = 0; i < kMaxCalls && (i < kFewestCalls || spent < seconds); ++i) {
    times.push_back(time_call(kind, comm, buffers));
    spent += times.back();
  }
  return median(times);
}

}  // namespace

std::vector<CollectiveTime> time_collectives(int ranks, double seconds) {
  std::vector<CollectiveTime> times;
  run_ranks(ranks, [&](Communicator& comm) {
    for (const int64_t bytes : kBytes) {
      RankBuffers buffers(comm.rank(), ranks, bytes);
      for (const Collective kind : kKinds) {
        const double taken = time_calls(kind, comm, buffers, seconds);
        // Each rank exchanges as much as its part.
        const double sent = static_cast<double>(bytes) / (kind == Collective::all_to_all ? ranks : 1);
        if (comm.rank() == 0) times.push_back({kind, ranks, sent, taken});
      }
    }
  });
  return times;
}

}  // namespace partita
