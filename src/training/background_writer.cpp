#include "training/background_writer.h"

#include "base/resources.h"

namespace partita {

void BackgroundWriter::write(std::function<void()> job, bool background) {
  finish();
  if (!background) return job();
  auto done = std::make_shared<std::promise<void>>();
  job_ = done->get_future();
  // What the job holds ends with its thread.
  thread_ = start_thread("a thread that writes a checkpoint", [done, job = std::move(job)] {
    try {
      job();
      done->set_value();
    } catch (...) {
      done->set_exception(std::current_exception());
    }
  });
}

void BackgroundWriter::finish() {
  if (!job_.valid()) return;
  if (thread_.joinable()) thread_.join();
  job_.get();
}

}  // namespace partita
