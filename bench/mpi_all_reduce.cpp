// Time of MPI's own all-reduce, under mpirun: `bench_mpi_all_reduce [LARGEST_MIB] [RUNS]`. To compare with
// bench_collectives over the same link: bench/transport.sh does. As there, every rank writes its buffer before each
// call, and a call lasts from the first rank's start to the last rank's end.

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double time_call(std::vector<float>& buffer) {
  std::fill(buffer.begin(), buffer.end(), 1.0f);
  MPI_Barrier(MPI_COMM_WORLD);
  double start = seconds_now(), first = 0, last = 0;
  MPI_Allreduce(MPI_IN_PLACE, buffer.data(), static_cast<int>(buffer.size()), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
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
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (long bytes = 1 << 20; bytes <= largest; bytes *= 4) {
    std::vector<float> buffer(bytes / sizeof(float));
    time_call(buffer);
    std::vector<double> times;
    for (int i = 0; i < runs; ++i) times.push_back(time_call(buffer));
    std::nth_element(times.begin(), times.begin() + runs / 2, times.end());
    if (rank == 0) std::printf("%ld %.6f\n", bytes, times[runs / 2]);
  }
  MPI_Finalize();
  return 0;
}
