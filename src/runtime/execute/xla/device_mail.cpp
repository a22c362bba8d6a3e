#include "runtime/execute/xla/device_mail.h"

#include <deque>
#include <map>
#include <mutex>

#include "runtime/execute/xla/thread_meeting.h"

namespace partita {

struct DeviceMail::Table {
  std::mutex mutex;
  std::map<std::pair<int, int>, std::deque<pjrt::Buffer>> arrays;  // by sender and receiver; guarded by `mutex`
};

std::unique_ptr<DeviceMail> DeviceMail::open(Communicator& ranks, const Accelerator& accelerator) {
  if (!are_threads(ranks).value_or(false) || !accelerator.client().copies()) return nullptr;
  std::shared_ptr<Table> table;
  if (ranks.rank() == 0) table = std::make_shared<Table>();
  table = std::static_pointer_cast<Table>(shared_by_threads(ranks, table));
  std::vector<int64_t> devices = gathered(ranks, static_cast<int64_t>(accelerator.device()));
  return std::unique_ptr<DeviceMail>(new DeviceMail(std::move(table), accelerator, std::move(devices), ranks.rank()));
}

bool DeviceMail::reaches(int from, int to) const {
  return devices_.at(static_cast<size_t>(from)) != devices_.at(static_cast<size_t>(to));
}

void DeviceMail::post(const pjrt::Buffer& value, int to) const {
  const auto device = static_cast<size_t>(devices_.at(static_cast<size_t>(to)));
  pjrt::Buffer copy = accelerator_.client().copied(value, device);
  const std::lock_guard lock(table_->mutex);
  table_->arrays[{rank_, to}].push_back(std::move(copy));
}

pjrt::Buffer DeviceMail::take(int from) const {
  const std::lock_guard lock(table_->mutex);
  std::deque<pjrt::Buffer>& waiting = table_->arrays[{from, rank_}];
  PARTITA_CHECK(!waiting.empty(), "no array of rank {} for rank {}", from, rank_);
  pjrt::Buffer first = std::move(waiting.front());
  waiting.pop_front();
  return first;
}

}  // namespace partita
