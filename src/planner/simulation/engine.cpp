#include "planner/simulation/engine.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <queue>

#include "base/error.h"

namespace partita {
namespace {

/// Each queue runs at most one task at a time. The rate of a task is the seconds of its work that are done per second;
/// it changes when other tasks start or finish.
class EventLoop {
 public:
  EventLoop(const TaskGraph& graph, const Contention& contention)
      : graph_(graph), contention_(contention), times_(graph.tasks().size()), waiting_(graph.tasks().size(), 0) {
    queues_.resize(static_cast<size_t>(graph.groups()) * kTaskQueues);
    for (size_t t = 0; t < graph.tasks().size(); ++t)
      queue_of(static_cast<int>(t)).tasks.push_back(static_cast<int>(t));
    begins_.assign(graph.tasks().size() + 1, 0);
    for (const TaskGraph::Need& need : graph.needs()) ++begins_[static_cast<size_t>(need.earlier) + 1];
    for (size_t t = 0; t < graph.tasks().size(); ++t) begins_[t + 1] += begins_[t];
    users_.resize(graph.needs().size());
    std::vector<size_t> at(begins_.begin(), begins_.end() - 1);
    for (const TaskGraph::Need& need : graph.needs()) {
      users_[at[static_cast<size_t>(need.earlier)]++] = need.task;
      ++waiting_[static_cast<size_t>(need.task)];
    }
  }

  std::vector<TimedTask> run() {
    for (size_t q = 0; q < queues_.size(); ++q) start_next(q);
    update_rates();
    while (!events_.empty()) {
      const Event event = events_.top();
      events_.pop();
      Queue& queue = queues_[event.queue];
      if (queue.running < 0 || queue.version != event.version) continue;
      now_ = event.time;
      finish(event.queue);
      update_rates();
    }
    PARTITA_CHECK(ended_ == times_.size(), "{} of {} tasks wait for one another", times_.size() - ended_,
                  times_.size());
    return std::move(times_);
  }

 private:
  struct Queue {
    std::vector<int> tasks;
    size_t next = 0;   // index of the first task that has not begun
    int running = -1;  // running task, or -1
    double left = 0;   // seconds of its work that are left at `since`
    double rate = 1;
    double since = 0;  // when the rate was set
    double free = 0;   // when the last task ended
    int version = 0;   // version of the event that ends it; older events are ignored
  };
  struct Event {
    double time = 0;
    size_t queue = 0;
    int version = 0;
    bool operator>(const Event& other) const { return time != other.time ? time > other.time : queue > other.queue; }
  };

  const Task& task(int number) const { return graph_.tasks()[static_cast<size_t>(number)]; }
  static size_t place(int group, TaskQueue queue) {
    return static_cast<size_t>(group) * kTaskQueues + static_cast<size_t>(queue);
  }
  Queue& queue_of(int number) { return queues_[place(task(number).group, task(number).queue)]; }

  void start_next(size_t q) {
    Queue& queue = queues_[q];
    if (queue.running >= 0 || queue.next == queue.tasks.size()) return;
    const int number = queue.tasks[queue.next];
    if (waiting_[static_cast<size_t>(number)] > 0) return;
    ++queue.next;
    queue.running = number;
    queue.left = task(number).seconds;
    queue.rate = 0;
    queue.since = now_;
    times_[static_cast<size_t>(number)].free = queue.free;
    times_[static_cast<size_t>(number)].begin = now_;
    busy_cores_ += task(number).cores;
    changed_.push_back(q);
  }

  void finish(size_t q) {
    Queue& queue = queues_[q];
    const int number = queue.running;
    queue.running = -1;
    queue.free = now_;
    times_[static_cast<size_t>(number)].end = now_;
    busy_cores_ -= task(number).cores;
    ++ended_;
    changed_.push_back(q);
    for (size_t u = begins_[static_cast<size_t>(number)]; u < begins_[static_cast<size_t>(number) + 1]; ++u) {
      const int user = users_[u];
      if (--waiting_[static_cast<size_t>(user)] > 0) continue;
      start_next(place(task(user).group, task(user).queue));
    }
    start_next(q);
  }

  /// Updates the rates of all tasks that a change affects.
  void update_rates() {
    if (contention_.cores > 0) {
      for (size_t q = 0; q < queues_.size(); ++q) set_rate(q);
    } else {
      for (const size_t q : changed_) {
        const size_t group = q / kTaskQueues;
        for (int kind = 0; kind < kTaskQueues; ++kind) set_rate(group * kTaskQueues + static_cast<size_t>(kind));
      }
    }
    changed_.clear();
  }

  void set_rate(size_t q) {
    Queue& queue = queues_[q];
    if (queue.running < 0) return;
    const double rate = rate_of(q);
    if (rate == queue.rate) return;
    queue.left = std::max(0.0, queue.left - (now_ - queue.since) * queue.rate);
    queue.since = now_;
    queue.rate = rate;
    events_.push({now_ + queue.left / rate, q, ++queue.version});
  }

  double rate_of(size_t q) const {
    const Task& running = task(queues_[q].running);
    double rate = 1;
    if (running.queue == TaskQueue::compute && is_slowed(q)) rate /= contention_.overlap_slowdown;
    if (contention_.cores > 0 && running.cores > 0) rate *= shared_rate();
    return rate;
  }

  double shared_rate() const {
    if (contention_.cores <= 1) return 1 / std::max(1.0, busy_cores_ / contention_.cores);
    const double others = std::clamp((busy_cores_ - 1) / (contention_.cores - 1), 0.0, 1.0);
    return std::min(1.0, contention_.cores / busy_cores_) * (1 - (1 - contention_.busy_share) * others);
  }

  /// Whether a running message of the same group, one that takes time and slows computation down, slows the compute
  /// queue `q`.
  bool is_slowed(size_t q) const {
    for (size_t other = q + 1; other < q + kTaskQueues; ++other) {
      const int number = queues_[other].running;
      if (number >= 0 && task(number).slows && task(number).seconds > 0) return true;
    }
    return false;
  }

  const TaskGraph& graph_;
  const Contention& contention_;
  std::vector<TimedTask> times_;
  std::vector<int> waiting_;    // per task: number of unfinished tasks that it waits for
  std::vector<size_t> begins_;  // per task: begin in `users_` of those that wait for it
  std::vector<int> users_;
  std::vector<Queue> queues_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::vector<size_t> changed_;
  double now_ = 0, busy_cores_ = 0;
  size_t ended_ = 0;
};

}  // namespace

int TaskGraph::add(const Task& task) {
  PARTITA_CHECK(
      task.group >= 0 && task.seconds >= 0 && task.seconds <= std::numeric_limits<double>::max() && task.cores >= 0,
      "a task of group {} takes {} seconds", task.group, task.seconds);
  groups_ = std::max(groups_, task.group + 1);
  tasks_.push_back(task);
  return static_cast<int>(tasks_.size()) - 1;
}

void TaskGraph::need(int task, int earlier) { needs_.push_back({task, earlier}); }

std::vector<TimedTask> run(const TaskGraph& graph, const Contention& contention) {
  return EventLoop(graph, contention).run();
}

}  // namespace partita
