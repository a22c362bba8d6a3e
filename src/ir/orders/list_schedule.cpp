#include "ir/orders/list_schedule.h"

#include <algorithm>
#include <queue>
#include <set>
#include <utility>

#include "base/error.h"

namespace partita {
namespace {

/// The sections in the order in which an idle group tries them.
constexpr std::array kSectionRank{StageSection::backward, StageSection::weight, StageSection::forward};

class ListScheduler {
 public:
  ListScheduler(const SectionGraph& graph, const ListRules& rules)
      : graph_(graph),
        rules_(rules),
        waiting_(graph.slots()),
        has_begun_(graph.slots()),
        groups_(graph.groups()),
        stages_(graph.stages()),
        queues_(graph.groups()) {
    for (int64_t number = 0; number < graph.slots(); ++number) {
      const Slot slot = graph.slot(number);
      waiting_[number] = static_cast<int>(graph.needs(graph.section(slot.stage, slot.section)).size());
      if (slot.micro_batch > 0) ++waiting_[number];
      const bool is_limited = slot.section == StageSection::forward && !rules.in_flight.empty() &&
                              slot.micro_batch >= rules.in_flight[slot.stage];
      if (is_limited || is_delayed(slot)) ++waiting_[number];
      if (waiting_[number] == 0) add_ready(slot);
      if (rules.keeps_priority) ranking_of(slot).slots.push_back({rules.priority(slot), slot});
    }
    for (Group& group : groups_) {
      for (Ranking& ranking : group.rankings) {
        std::ranges::sort(ranking.slots, [](const Ready& a, const Ready& b) { return b > a; });
      }
    }
  }

  GroupQueues run() {
    for (int64_t started = 0;;) {
      started += start_ready();
      if (started == graph_.slots()) return std::move(queues_);
      if (running_.empty()) {
        start_held_back();
        ++started;
      }
      now_ = running_.top().first;
      while (!running_.empty() && running_.top().first == now_) {
        const int group = running_.top().second;
        running_.pop();
        groups_[group].is_busy = false;
        woken_.insert(group);
        finish(queues_[group].back());
      }
    }
  }

 private:
  struct Ready {
    std::array<int64_t, 3> priority;
    Slot slot;
    bool operator>(const Ready& other) const { return priority > other.priority; }
  };
  using ReadyHeap = std::priority_queue<Ready, std::vector<Ready>, std::greater<>>;
  /// Number of forward slots of a stage or a group.
  struct Count {
    int64_t begun = 0, in_flight = 0;
  };
  /// The slots of a section by priority. Those before `next` have begun.
  struct Ranking {
    std::vector<Ready> slots;
    size_t next = 0;
  };
  struct Group {
    bool is_busy = false;
    Count count;
    std::array<ReadyHeap, kStageSections> ready;
    std::array<Ranking, kStageSections> rankings;  // used if the rules keep the priority
  };

  int64_t last() const { return graph_.micro_batches() - 1; }

  int64_t weight_delay(int stage) const { return rules_.weight_delay.empty() ? 0 : rules_.weight_delay[stage]; }
  bool is_delayed(const Slot& slot) const {
    return slot.section == StageSection::weight && slot.micro_batch < last() && weight_delay(slot.stage) > 0;
  }

  Ranking& ranking_of(const Slot& slot) {
    return groups_[graph_.group_of(slot.stage)].rankings[static_cast<size_t>(slot.section)];
  }

  void add_ready(const Slot& slot) {
    const int group = graph_.group_of(slot.stage);
    groups_[group].ready[static_cast<size_t>(slot.section)].push({rules_.priority(slot), slot});
    woken_.insert(group);
  }

  void release(const Slot& slot) {
    if (slot.micro_batch <= last() && --waiting_[graph_.number(slot)] == 0) add_ready(slot);
  }

  void finish(const Slot& slot) {
    for (const int user : graph_.users(graph_.section(slot.stage, slot.section))) {
      release(graph_.slot(user * graph_.micro_batches() + slot.micro_batch));
    }
    release({slot.stage, slot.section, slot.micro_batch + 1});
    if (slot.section != StageSection::backward) return;
    --groups_[graph_.group_of(slot.stage)].count.in_flight;
    --stages_[slot.stage].in_flight;
    if (!rules_.in_flight.empty()) {
      release({slot.stage, StageSection::forward, slot.micro_batch + rules_.in_flight[slot.stage]});
    }
    if (graph_.has_weight() && weight_delay(slot.stage) > 0) release_weights(slot);
  }

  /// Releases the weight slots that waited for this backward slot.
  void release_weights(const Slot& slot) {
    const int64_t delay = weight_delay(slot.stage);
    const int64_t end = slot.micro_batch == last() ? last() : slot.micro_batch - delay + 1;
    for (int64_t i = std::max<int64_t>(0, slot.micro_batch - delay); i < end; ++i) {
      release({slot.stage, StageSection::weight, i});
    }
  }

  void start(int index, ReadyHeap& heap) {
    Group& group = groups_[index];
    const Slot slot = heap.top().slot;
    heap.pop();
    group.is_busy = true;
    if (slot.section == StageSection::forward) {
      for (Count* count : {&group.count, &stages_[slot.stage]}) ++count->begun, ++count->in_flight;
    }
    if (rules_.keeps_priority) {
      has_begun_[graph_.number(slot)] = true;
      Ranking& ranking = ranking_of(slot);
      while (ranking.next < ranking.slots.size() && has_begun_[graph_.number(ranking.slots[ranking.next].slot)])
        ++ranking.next;
    }
    queues_[index].push_back(slot);
    running_.emplace(now_ + graph_.seconds(graph_.section(slot.stage, slot.section)), index);
  }

  /// Whether the rules let the group begin a slot that is ready.
  bool may_begin(int index, const Slot& slot) {
    if (rules_.keeps_priority) {
      const Ranking& ranking = ranking_of(slot);
      if (!(ranking.slots[ranking.next].slot == slot)) return false;
    }
    const auto keeps = [&](const Count& count, int64_t most, int64_t stages) {
      const bool is_full = count.in_flight >= most;
      const bool is_last = count.begun == stages * graph_.micro_batches();
      return slot.section == StageSection::forward ? !is_full : is_full || is_last;
    };
    if (slot.section == StageSection::weight) return true;
    if (rules_.keeps_in_flight && !keeps(stages_[slot.stage], rules_.in_flight[slot.stage], 1)) return false;
    const auto stages = static_cast<int64_t>(graph_.stages_of(index).size());
    return rules_.group_in_flight.empty() || keeps(groups_[index].count, rules_.group_in_flight[index], stages);
  }

  /// Starts a slot on every idle group of `woken_` that may begin one, empties `woken_`, and returns how many started.
  int64_t start_ready() {
    int64_t started = 0;
    for (const int index : std::exchange(woken_, {})) {
      if (groups_[index].is_busy) continue;
      held_back_.erase(index);
      for (const StageSection section : kSectionRank) {
        ReadyHeap& heap = groups_[index].ready[static_cast<size_t>(section)];
        if (heap.empty()) continue;
        if (may_begin(index, heap.top().slot)) {
          start(index, heap);
          ++started;
          break;
        }
        held_back_.insert(index);
      }
      if (groups_[index].is_busy) held_back_.erase(index);
    }
    return started;
  }

  /// Starts a ready slot that the rules hold back, to make progress: on the first group with one, backward before
  /// weight before forward. Called when every group is idle. Throws InternalError if no slot is ready.
  void start_held_back() {
    PARTITA_CHECK(!held_back_.empty(), "no slot is ready");
    const int index = *held_back_.begin();
    held_back_.erase(held_back_.begin());
    for (const StageSection section : kSectionRank) {
      ReadyHeap& heap = groups_[index].ready[static_cast<size_t>(section)];
      if (!heap.empty()) return start(index, heap);
    }
  }

  const SectionGraph& graph_;
  const ListRules& rules_;
  std::vector<int> waiting_;     // per slot: for how many others
  std::vector<bool> has_begun_;  // per slot
  std::vector<Group> groups_;
  std::vector<Count> stages_;
  std::set<int> woken_;      // groups to be looked at
  std::set<int> held_back_;  // idle groups with ready slots that only the rules hold back
  double now_ = 0;
  std::priority_queue<std::pair<double, int>, std::vector<std::pair<double, int>>, std::greater<>> running_;
  GroupQueues queues_;
};

}  // namespace

GroupQueues list_schedule(const SectionGraph& graph, const ListRules& rules) {
  return ListScheduler(graph, rules).run();
}

}  // namespace partita
