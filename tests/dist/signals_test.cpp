// Handlers of signals run on no thread that computes (docs/decisions/042-signals.md).

#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <thread>

#include "base/philox.h"
#include "ir/ops/registry.h"
#include "runtime/comm/run_ranks.h"
#include "runtime/execute/executor.h"
#include "support/job.h"

namespace partita {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kSignal = SIGUSR2;
constexpr int kTeamThreads = 3;

std::atomic<uintptr_t> stack_begin, stack_end;
std::atomic<int64_t> on_stack, elsewhere;

/// Counts the handlers whose frames lie in the stack of the thread that computes, and the others.
void count(int) {
  const auto frame = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  (frame >= stack_begin && frame < stack_end ? on_stack : elsewhere) += 1;
}

void find_stack() {
  pthread_attr_t attributes;
  void* begin = nullptr;
  size_t size = 0;
  ASSERT_EQ(pthread_getattr_np(pthread_self(), &attributes), 0);
  pthread_attr_getstack(&attributes, &begin, &size);
  pthread_attr_destroy(&attributes);
  stack_begin = reinterpret_cast<uintptr_t>(begin);
  stack_end = stack_begin + size;
}

/// Sends a signal to the calling thread every 20 microseconds, from another one.
class Signals {
 public:
  Signals() {
    struct sigaction action {};
    action.sa_handler = count;
    action.sa_flags = SA_RESTART;
    ::sigaction(kSignal, &action, &before_);
    sender_ = std::jthread([target = pthread_self()](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        pthread_kill(target, kSignal);
        std::this_thread::sleep_for(std::chrono::microseconds(20));
      }
    });
  }
  ~Signals() {
    sender_ = {};
    ::sigaction(kSignal, &before_, nullptr);
  }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

 private:
  struct sigaction before_ {};
  std::jthread sender_;
};

// Products of all kinds, with long sums: for these oneDNN packs operands into memory of its own.
constexpr const char* kProducts = R"(partita graph 1
graph products
input %a: f32[48,784] batch=0
input %b: f32[784,300]
%c = matmul(%a, %b) : f32[48,300]
%d = matmul(%c, %b) {transpose_a=false, transpose_b=true} : f32[48,784]
%e = matmul(%a, %c) {transpose_a=true, transpose_b=false} : f32[784,300]
output d = %d
output e = %e
)";

/// Calls `fn` with an executor of the products, on one rank that has `threads` compute threads.
void with_products(int threads, const std::function<void(Executor&)>& fn) {
  const Graph graph = parse_graph(kProducts, all_ops());
  run_ranks(1, [&](Communicator& world) {
    const auto device = make_cpu_device(all_ops(), threads);
    device->enter_thread();
    const Program program = compile(graph, all_ops(), device->catalog(), {.ranks = 1});
    Executor executor(program.local(), program.schedule(), all_ops(), *device, world);
    for (const char* name : {"a", "b"}) {
      Array array(executor.input_type(name));
      for (int64_t i = 0; i < array.type().elements(); ++i) {
        array.set(i, random_normal(1, static_cast<uint64_t>(i), 0));
      }
      executor.set_input(name, std::as_const(array).tensor());
    }
    fn(executor);
  });
}

TEST(SignalHandlers, RunOnTheStackOfTheirThread) {
  std::thread([] {
    find_stack();
    on_stack = elsewhere = 0;
    with_products(1, [](Executor& executor) {
      executor.run();
      const Array before = executor.output("e");
      const Signals signals;
      const auto end = Clock::now() + std::chrono::milliseconds(500);
      while (Clock::now() < end) executor.run();
      const Array after = executor.output("e");
      for (int64_t i = 0; i < before.type().elements(); ++i) ASSERT_EQ(before.at(i), after.at(i)) << i;
    });
  }).join();
  EXPECT_GT(on_stack, 0);
  EXPECT_EQ(elsewhere, 0);
}

/// For each thread of the team of the calling thread: whether it holds signals.
std::vector<bool> team_holds() {
  std::vector<char> found(kTeamThreads, 0);
#pragma omp parallel for num_threads(kTeamThreads) schedule(static, 1)
  for (int i = 0; i < kTeamThreads; ++i) {
    sigset_t mask;
    pthread_sigmask(SIG_BLOCK, nullptr, &mask);
    found[i] = sigismember(&mask, kSignal) == 1 ? 1 : 0;
  }
  return {found.begin(), found.end()};
}

TEST(SignalHandlers, RunOnNoOtherThreadOfATeam) {
  std::thread([] {
    EXPECT_EQ(team_holds(), std::vector<bool>(kTeamThreads, false));  // a team from before
    with_products(kTeamThreads, [](Executor& executor) {
      executor.run();
      EXPECT_EQ(team_holds(), std::vector<bool>({false, true, true}));
      std::atomic<int> smaller = 0;
#pragma omp parallel num_threads(2)
      smaller += 1;
      EXPECT_EQ(smaller, 2);
      executor.run();
      EXPECT_EQ(team_holds(), std::vector<bool>({false, true, true}));
    });
  }).join();
}

}  // namespace
}  // namespace partita
