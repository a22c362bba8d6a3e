#pragma once
// How a fake plugin is to behave, and what it counts.

#include <chrono>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/pjrt/c_api.h"

namespace partita::pjrt {

struct FakeState {
  std::map<Function, ErrorCode> failing = {};                      // functions that return an error
  std::map<Function, ErrorCode> failing_later = {};                // functions whose event stands for an error
  std::map<Function, int> failing_call = {};                       // the call that fails, from 1; none: every call
  std::map<Function, int> calls = {};                              // number of calls that were made
  std::map<std::pair<const void*, const void*>, int> copies = {};  // arrays copied from one device to another
  std::multiset<std::string> alive = {};                           // "buffer", "client", ..: made and not destroyed
  int launch = -1;                                                 // RunId of the last run
  int in_flight = 0, max_in_flight = 0;                            // runs whose event nobody has waited for
  int forgotten = 0;                               // runs whose event was destroyed before anybody waited for it
  std::set<Function> throwing = {};                // functions that throw std::bad_alloc in the call that fails
  double fill = 1;                                 // elements of results that take the place of no argument
  int64_t fill_i64 = 1;                            // elements of such results of type i64
  int64_t device_bytes = 0, max_device_bytes = 0;  // in buffers
  std::string platform = "fake";                   // platform of clients
  std::chrono::milliseconds compilation{0};        // duration of a compilation
  std::vector<int64_t> bytes_after_runs = {};      // in buffers, after each run
  int64_t memory_limit = 0;                        // bytes that device_memory_stats gives; 0: none
  bool is_stuck = false;                           // events are not told of
  std::vector<std::pair<void (*)(Error*, void*), void*>> stuck = {};  // whom to tell of them
  size_t program_devices = 2;   // devices of this process on which a program is loaded
  std::set<int> launches = {};  // RunIds of all runs
};

}  // namespace partita::pjrt
