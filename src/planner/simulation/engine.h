#pragma once
// Tasks on queues, followed from event to event. Nothing here knows graphs, schedules or clusters.

#include <cstddef>
#include <vector>

namespace partita {

/// What a group of ranks does at once: a task of each queue, in the order in which they were added.
enum class TaskQueue { compute, communicate, transfer };
inline constexpr int kTaskQueues = 3;

struct Task {
  int group = 0;  // of ranks, from 0
  TaskQueue queue = TaskQueue::compute;
  double seconds = 0;  // with nothing beside it
  double cores = 0;    // of a machine whose ranks share cores: how many it keeps busy
  bool slows = true;   // one that communicates or transfers: what its group computes meanwhile takes longer
};

/// A list of tasks and what they wait for, beside the task in front of them in their queue.
class TaskGraph {
 public:
  /// Returns the number of the task.
  int add(const Task& task);
  /// `task` begins no sooner than `earlier` ends; of a pair that is given twice the second one adds nothing.
  void need(int task, int earlier);

  const std::vector<Task>& tasks() const { return tasks_; }
  struct Need {
    int task = 0, earlier = 0;
  };
  const std::vector<Need>& needs() const { return needs_; }
  int groups() const { return groups_; }

 private:
  std::vector<Task> tasks_;
  std::vector<Need> needs_;
  int groups_ = 0;
};

/// What tasks that run at the same time take from one another.
struct Contention {
  double overlap_slowdown = 1;  // a computation takes this times as long beside a message of its group
  double cores = 0;             // that all groups share, each task as much of them as the others; 0: nothing is shared
  double busy_share = 1;        // of its speed that a core has while all others are busy, and in between with some
};

struct TimedTask {
  double free = 0;   // when the queue had nothing else to do
  double begin = 0;  // seconds from the start
  double end = 0;
};

/// When each task runs. n log(groups) for n tasks without shared cores, n x groups with them. Throws InternalError when
/// tasks wait for one another without end.
std::vector<TimedTask> run(const TaskGraph& graph, const Contention& contention);

}  // namespace partita
