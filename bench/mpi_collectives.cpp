// Time of MPI's own collectives, under mpirun: `bench_mpi_collectives [LARGEST_MIB] [RUNS] [CALL]`, as
// bench_process_collectives has them, to compare with over the same link: bench/transport.sh does. As there, every rank
// writes its buffer before each call, and a call lasts from the first rank's start to the last rank's end.

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

namespace {

struct Buffers {
  std::vector<float> whole, part;
  std::vector<int> counts, begins;  // parts of the ranks

  Buffers(long elements, int rank, int ranks) : whole(static_cast<size_t>(elements)) {
    for (long r = 0; r < ranks; ++r) {
      begins.push_back(static_cast<int>(elements * r / ranks));
      counts.push_back(static_cast<int>(elements * (r + 1) / ranks) - begins.back());
    }
    part.resize(static_cast<size_t>(counts[static_cast<size_t>(rank)]));
  }
};

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// False for a call of another name.
bool call_once(Buffers& buffers, std::string_view call) {
  float* const whole = buffers.whole.data();
  const int count = static_cast<int>(buffers.whole.size());
  if (call == "all_reduce") {
    MPI_Allreduce(MPI_IN_PLACE, whole, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  } else if (call == "reduce_scatter") {
    MPI_Reduce_scatter(whole, buffers.part.data(), buffers.counts.data(), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  } else if (call == "all_gather") {
    MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_FLOAT, whole, buffers.counts.data(), buffers.begins.data(), MPI_FLOAT,
                   MPI_COMM_WORLD);
  } else if (call == "broadcast") {
    MPI_Bcast(whole, count, MPI_FLOAT, /*root=*/0, MPI_COMM_WORLD);
  } else {
    return false;
  }
  return true;
}

/// Below 0 for a call of another name.
double time_call(Buffers& buffers, std::string_view call) {
  std::fill(buffers.whole.begin(), buffers.whole.end(), 1.0f);
  MPI_Barrier(MPI_COMM_WORLD);
  double start = seconds_now(), first = 0, last = 0;
  if (!call_once(buffers, call)) return -1;
  double end = seconds_now();
  MPI_Allreduce(&start, &first, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
  MPI_Allreduce(&end, &last, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return last - first;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const long largest = (argc > 1 ? std::atol(argv[1]) : 64) << 20;
  const int runs = argc > 2 ? std::atoi(argv[2]) : 20;
  const char* call = argc > 3 ? argv[3] : "all_reduce";
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (long bytes = 1 << 20; bytes <= largest; bytes *= 4) {
    Buffers buffers(bytes / static_cast<long>(sizeof(float)), rank, ranks);
    if (time_call(buffers, call) < 0) {
      std::fprintf(stderr, "no such collective: %s\n", call);
      MPI_Abort(MPI_COMM_WORLD, 64);
    }
    std::vector<double> times;
    for (int i = 0; i < runs; ++i) times.push_back(time_call(buffers, call));
    std::nth_element(times.begin(), times.begin() + runs / 2, times.end());
    if (rank == 0) std::printf("%ld %.6f\n", bytes, times[runs / 2]);
  }
  MPI_Finalize();
  return 0;
}
