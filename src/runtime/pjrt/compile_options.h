#pragma once
// Options of a compilation, in the form in which plugins take them.

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

namespace partita::pjrt {

/// A value of a flag of XLA.
using Flag = std::variant<bool, int64_t, std::string>;

struct CompileOptions {
  int64_t replicas = 1;
  std::vector<int64_t> devices = {};       // ids of the replicas' devices, in their order; empty: the plugin chooses
  bool portable = false;                   // whether the program of one replica may run on any device of the client
  std::map<std::string, Flag> flags = {};  // such as {"xla_backend_optimization_level", 0}
};

/// Returns the message xla.CompileOptionsProto as bytes. Throws InternalError unless `devices` is empty or has one id
/// per replica.
std::string serialized(const CompileOptions& options);

}  // namespace partita::pjrt
