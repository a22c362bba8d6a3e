#include "training/report/trace.h"

#include <fcntl.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <thread>

#include "base/files.h"

namespace partita {
namespace {

constexpr Timeout kPatienceOfRescue = std::chrono::seconds(5);

/// Waits until a pipe has a reader, and opens it. Throws RuntimeFailure(cannot_write) if none comes in two seconds.
File pipe_with_reader(const std::string& path) {
  constexpr int kAttempts = 40;
  constexpr std::chrono::milliseconds kPause{50};
  for (int i = 0; i < kAttempts; ++i) {
    File pipe(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    if (pipe.is_open() || errno != ENXIO) return pipe;  // opening it once more reports other errors
    std::this_thread::sleep_for(kPause);
  }
  throw RuntimeFailure(ExitCode::cannot_write,
                       "[trace] cannot write {}, got a pipe that nobody reads, expected a reader, or a regular file",
                       path);
}

/// Sent before the spans of a rank.
struct TraceHeader {
  ClockOffset first, last;
  int64_t spans = 0, lost = 0;
};

}  // namespace

Trace::Trace(const TraceOptions& options, const Program& program, Communicator& comm, bool ranks_are_processes,
             std::function<void(const std::string&)> warn)
    : options_(options),
      program_(program),
      comm_(comm),
      ranks_are_processes_(ranks_are_processes),
      warn_(std::move(warn)),
      clock_{.at = Recorder::now()} {
  if (comm.rank() == 0) {
    predicted_ = predict_step(program, options.cluster, options.threads);
    lock_.emplace(owned_file("trace", options.path), options.goes_on, warn_);
    open(options.path);
  }
  if (ranks_are_processes_) clock_ = clock_offset(comm, Recorder::now);
}

void Trace::end_step(Recorder& recorder) {
  if (++steps_ == options_.steps) finish(recorder);
}

void Trace::finish(Recorder& recorder) {
  if (is_written_) return;
  is_written_ = true;
  RankTrace trace = own(recorder);
  if (ranks_are_processes_) trace.last = clock_offset(comm_, Recorder::now);
  gather(trace, kDefaultTimeout);
}

void Trace::rescue(Recorder& recorder, bool all_fail) noexcept {
  if (is_written_) return;
  is_written_ = true;
  try {
    const RankTrace trace = own(recorder);
    if (all_fail) {
      try {
        return gather(trace, kPatienceOfRescue);
      } catch (const Error&) {  // some rank does not fail, or fails otherwise
        if (comm_.rank() == 0) return;
      }
    }
    if (comm_.rank() != 0) open(fmt::format("{}.rank_{}", options_.path, comm_.rank()));
    write([&](ChromeTrace& file) {
      file.add(trace);
      add_predicted(file, trace);
    });
  } catch (...) {  // the error of the training is reported instead
  }
}

RankTrace Trace::own(Recorder& recorder) const {
  return {.rank = comm_.rank(), .first = clock_, .last = clock_, .spans = recorder.take(), .lost = recorder.lost()};
}

void Trace::gather(const RankTrace& own, Timeout timeout) {
  static_assert(std::is_trivially_copyable_v<TraceHeader> && std::is_trivially_copyable_v<Span>);
  if (comm_.rank() == 0) {
    std::exception_ptr lost;
    write([&](ChromeTrace& file) {
      file.add(own);
      try {
        for (int rank = 1; rank < comm_.size(); ++rank) file.add(receive(rank, timeout));
      } catch (const Error&) {  // write the file with the spans that were received
        lost = std::current_exception();
      }
      add_predicted(file, own);
    });
    if (lost) std::rethrow_exception(lost);
  } else {
    const TraceHeader header{own.first, own.last, static_cast<int64_t>(own.spans.size()), own.lost};
    comm_.send(&header, sizeof header, DType::u8, 0, timeout);
    const int64_t bytes = header.spans * static_cast<int64_t>(sizeof(Span));
    if (bytes > 0) comm_.send(own.spans.data(), bytes, DType::u8, 0, timeout);
  }
  comm_.barrier(timeout);  // a rank that fails early would end the others before they have sent their spans
}

void Trace::add_predicted(ChromeTrace& file, const RankTrace& first) const {
  if (!predicted_) return;
  for (int rank = 0; rank < comm_.size(); ++rank) file.add(predicted_trace(*predicted_, program_, rank, first));
}

RankTrace Trace::receive(int rank, Timeout timeout) {
  TraceHeader header;
  comm_.recv(&header, sizeof header, DType::u8, rank, timeout);
  RankTrace trace{.rank = rank, .first = header.first, .last = header.last, .lost = header.lost};
  trace.spans.resize(static_cast<size_t>(header.spans));
  const int64_t bytes = header.spans * static_cast<int64_t>(sizeof(Span));
  if (bytes > 0) comm_.recv(trace.spans.data(), bytes, DType::u8, rank, timeout);
  return trace;
}

void Trace::open(const std::string& path) {
  path_ = path;
  std::error_code unknown;
  // It stays open until the trace has the pipe, too: without a writer its reader would see the end.
  const File pipe = std::filesystem::is_fifo(path, unknown) ? pipe_with_reader(path) : File();
  errno = 0;
  out_.open(path);
  if (!out_) throw RuntimeFailure(ExitCode::cannot_write, failure());
}

std::string Trace::failure() const {
  return fmt::format("[trace] cannot write {}: {}", path_,
                     errno != 0 ? std::strerror(errno) : "it accepts no more data");
}

void Trace::write(const std::function<void(ChromeTrace&)>& add_ranks) {
  errno = 0;
  ChromeTrace file(program_, out_);
  add_ranks(file);
  file.finish();
  out_.close();
  if (!out_ && warn_) warn_(failure() + "; the training continues without it");
}

}  // namespace partita
