#include "runtime/checkpoint/background_writer.h"

#include <omp.h>
#include <sys/resource.h>

#include <algorithm>

#include "base/resources.h"

namespace partita {

void BackgroundWriter::write(std::function<void()> job, bool background) {
  finish();
  if (!background) return job();
  auto done = std::make_shared<std::promise<void>>();
  std::future<void> result = done->get_future();
  // The thread owns the job, and releases what it holds when it ends.
  thread_ = start_thread("a thread that writes files", [done, job = std::move(job)] {
    // The steps have priority, and use all other threads.
    constexpr int kNice = 5, kMaxNice = 19;
    ::setpriority(PRIO_PROCESS, 0, std::min(kMaxNice, ::getpriority(PRIO_PROCESS, 0) + kNice));
    omp_set_num_threads(1);
    try {
      job();
      done->set_value();
    } catch (...) {
      done->set_exception(std::current_exception());
    }
  });
  job_ = std::move(result);
}

bool BackgroundWriter::is_busy() const {
  return job_.valid() && job_.wait_for(std::chrono::seconds(0)) != std::future_status::ready;
}

void BackgroundWriter::finish() {
  if (!job_.valid()) return;
  if (thread_.joinable()) thread_.join();
  job_.get();
}

}  // namespace partita
