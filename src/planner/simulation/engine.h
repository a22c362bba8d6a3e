#pragma once
// A discrete-event simulation of tasks on queues. Nothing here depends on graphs, schedules or clusters.

#include <vector>

namespace partita {

/// The queues of a group of ranks. They run concurrently; each runs one task at a time, in the order of `add`.
enum class TaskQueue { compute, communicate, transfer };
inline constexpr int kTaskQueues = 3;

struct Task {
  int group = 0;  // group of ranks, from 0
  TaskQueue queue = TaskQueue::compute;
  double seconds = 0;  // duration while nothing else runs
  double cores = 0;    // cores that it keeps busy, on a machine whose ranks share cores
  bool slows = true;   // for communicate and transfer: whether it slows down the computation of its group
};

/// Tasks and their dependencies. In addition, each task waits for the previous one of its queue.
class TaskGraph {
 public:
  /// Appends a task to its queue and returns its number, from 0. Throws InternalError for a negative group, negative
  /// cores, or seconds that are negative or not finite.
  int add(const Task& task);
  /// Adds a dependency: `task` begins after `earlier` ends. Adding it twice has no effect.
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

/// How tasks that run at the same time slow each other down.
struct Contention {
  double overlap_slowdown = 1;  // factor on the time of a computation while a message of its group runs
  double cores = 0;             // cores that all groups share fairly; 0: nothing is shared
  double busy_share = 1;        // share of a core's speed while all others are busy; interpolated with some of them
};

/// Times of a task, in seconds from the start.
struct TimedTask {
  double free = 0;  // end of the previous task of its queue
  double begin = 0;
  double end = 0;
};

/// Simulates the tasks and returns the times of each. Takes O(n log(groups)) for n tasks without shared cores, and
/// O(n x groups) with them. Throws InternalError if dependencies form a cycle.
std::vector<TimedTask> run(const TaskGraph& graph, const Contention& contention);

}  // namespace partita
