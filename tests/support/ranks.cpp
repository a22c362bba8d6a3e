#include "support/ranks.h"

#include <array>
#include <cstdlib>
#include <numeric>

#include "runtime/comm/mpi/mpi.h"
#include "runtime/comm/run_ranks.h"
#include "runtime/launch/launched.h"
#include "runtime/launch/run_process.h"

namespace partita {
namespace {

/// The processes of a launcher, for as long as the program runs; nullptr without one.
Communicator* processes() {
  static const std::unique_ptr<Communicator> world = [] {
    const auto launched = launched_rank([](const char* name) { return std::getenv(name); });
    return launched && launched->size > 1 ? make_mpi_world(launched->local_size) : nullptr;
  }();
  return world.get();
}

/// Type and shape, to allocate an equal array.
struct Header {
  int64_t has_data = 0, dtype = 0, rank = 0;
  std::array<int64_t, 8> shape{};
};
static_assert(sizeof(Header) == 11 * sizeof(int64_t));

}  // namespace

bool ranks_are_processes() { return processes() != nullptr; }

bool can_run(int ranks) { return ranks == 1 || processes() == nullptr || ranks <= processes()->size(); }

void on_ranks(int ranks, const std::function<void(Communicator&)>& fn) {
  if (ranks == 1 || processes() == nullptr) {
    run_ranks(ranks, fn);
    return;
  }
  Communicator& world = *processes();
  std::vector<int> members{world.rank()};
  if (world.rank() < ranks) {
    members.resize(ranks);
    std::iota(members.begin(), members.end(), 0);
  }
  const auto group = world.split(members);
  run_process(world, [&](Communicator&) {
    if (world.rank() < ranks) fn(*group);
  });
  world.barrier();
}

void share(std::vector<double>& values) {
  if (processes() == nullptr) return;
  auto count = static_cast<int64_t>(values.size());
  processes()->broadcast(&count, 1, DType::i64, 0);
  values.resize(count);
  processes()->broadcast(values.data(), count, DType::f64, 0);
}

void share(Array& array) {
  if (processes() == nullptr) return;
  Header header;
  header.has_data = array.data() != nullptr;
  header.dtype = static_cast<int64_t>(array.type().dtype);
  header.rank = array.type().rank();
  std::copy(array.shape().begin(), array.shape().end(), header.shape.begin());
  processes()->broadcast(&header, 11, DType::i64, 0);
  if (header.has_data == 0) return;
  if (processes()->rank() != 0) {
    array = Array({static_cast<DType>(header.dtype), Shape(header.shape.begin(), header.shape.begin() + header.rank)});
  }
  processes()->broadcast(array.data(), array.type().elements(), array.type().dtype, 0);
}

}  // namespace partita
