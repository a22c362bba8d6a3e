#include "runtime/comm/inproc/inproc.h"

#include <algorithm>
#include <exception>
#include <numeric>

#include "base/usable_cores.h"
#include "runtime/comm/checked_communicator.h"
#include "runtime/comm/inproc/group.h"

namespace partita {
namespace {

class InprocCommunicator final : public CheckedCommunicator {
 public:
  InprocCommunicator(std::shared_ptr<Group> group, int rank, std::shared_ptr<FlightRecord> record, uint64_t id = 1)
      : CheckedCommunicator(rank, {group->world_ranks().begin(), group->world_ranks().end()}, group->shared_world(), id,
                            std::move(record)),
        group_(std::move(group)) {}
  ~InprocCommunicator() override {
    if (std::uncaught_exceptions() == 0) group_->leave(rank());  // after an error peers throw that error instead
  }

  HostPlace host_place() const override { return {world_ranks()[rank()], group_->world().size()}; }
  void abort(const std::string& message, ExitCode code) noexcept override { group_->world().abort(message, code); }

 private:
  void run(const Call& call, Timeout timeout) override { group_->run(rank(), call, timeout); }
  void send_to(int to, const Call& call, Timeout timeout) override { group_->send(rank(), call, to, timeout); }
  void post_to(int to, const Call& call) override { group_->post(rank(), call, to); }
  void recv_from(int from, const Call& call, Timeout timeout) override { group_->recv(rank(), call, from, timeout); }
  std::unique_ptr<Communicator> split_off(const Call& call, int place, uint64_t id, Timeout timeout) override {
    return std::make_unique<InprocCommunicator>(group_->split(rank(), call, timeout), place, record(), id);
  }

  const std::shared_ptr<Group> group_;
};

}  // namespace

std::vector<std::unique_ptr<Communicator>> make_inproc_world(int size, const FlightRecords& records) {
  if (size < 1 || size > kMaxThreadRanks) {
    throw InvalidArgument(
        fmt::format("[make_inproc_world] bad number of ranks, got {}, expected 1 "
                    "to {}",
                    size, kMaxThreadRanks));
  }
  std::vector<int> world_ranks(size);
  std::iota(world_ranks.begin(), world_ranks.end(), 0);
  const auto group = Group::make(std::make_shared<WorldState>(size), std::move(world_ranks), usable_cores().own());
  std::vector<std::unique_ptr<Communicator>> ranks;
  for (int r = 0; r < size; ++r) {
    ranks.push_back(std::make_unique<InprocCommunicator>(group, r, records.empty() ? nullptr : records.at(r)));
  }
  return ranks;
}

}  // namespace partita
