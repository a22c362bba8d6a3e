#pragma once
// Symbolic values as Python holds them.

#include "bind.h"
#include "frontend/network/functions.h"
#include "frontend/network/layer.h"
#include "frontend/network/network.h"
#include "job/config.h"

namespace partita::python {

/// A graph that Python functions help to build. It is open while these functions run. Symbols of a closed trace are
/// refused, however long Python keeps them.
class Trace {
 public:
  /// A trace for ops that run immediately: it owns a graph over arrays.
  Trace();
  /// A trace of a network that is never run: it tells the types of results, and what is refused. Batch norms have
  /// statistics of `groups` groups of rows.
  Trace(uint64_t seed, int64_t groups);
  /// Returns a trace of a network that is being built.
  static std::shared_ptr<Trace> of(Context& context);
  /// Returns a trace of updates that are added to a training.
  static std::shared_ptr<Trace> of(Builder& builder);

  void open() { open_ = true; }
  void close() { open_ = false; }
  /// Returns the builder of the graph. Throws InvalidArgument if the trace is closed.
  Builder& builder();
  /// Returns the context of the network. Throws InvalidArgument if the trace is closed or builds no network.
  Context& context();
  bool builds_network() const { return context_ != nullptr; }

  Value input(ArrayPtr array);
  /// Runs all nodes and returns the arrays of `results`. Only for ops that run immediately.
  std::vector<ArrayPtr> run(const std::vector<ValueId>& results);

 private:
  explicit Trace(Builder& builder) : builder_(&builder) {}
  explicit Trace(Context& context) : builder_(&context.builder()), context_(&context) {}

  std::unique_ptr<Builder> own_;
  std::unique_ptr<Context> own_context_;
  Builder* builder_;
  Context* context_ = nullptr;
  bool open_ = true;
  std::map<ValueId, ArrayPtr> given_;
};
using TracePtr = std::shared_ptr<Trace>;

/// Keeps a trace open during its lifetime, so that Python functions may add to it.
class OpenTrace {
 public:
  explicit OpenTrace(TracePtr trace) : trace_(std::move(trace)) { trace_->open(); }
  ~OpenTrace() { trace_->close(); }
  OpenTrace(const OpenTrace&) = delete;
  OpenTrace& operator=(const OpenTrace&) = delete;

 private:
  TracePtr trace_;
};

struct Symbol {
  TracePtr trace;
  ValueId id = -1;

  Value value() const { return trace->builder().value(id); }
  Symbol with(Value other) const { return {trace, other.id()}; }
};

/// (key, texts) of options of a job.
using OptionTexts = std::vector<std::pair<std::string, std::vector<std::string>>>;
JobConfig config_of(const OptionTexts& texts);

std::vector<Symbol> symbols_of(const TracePtr& trace, const std::vector<Value>& values);
std::vector<Value> values_of(const std::vector<Symbol>& symbols);

/// The line of the user's script at which the trace stands.
class CallerLine {
 public:
  explicit CallerLine(const Symbol& symbol) : source_(symbol.trace->builder().source) {}
  operator Where() const { return Where::current(source_.file.c_str(), source_.line); }  // NOLINT: stands for it

 private:
  SourceLocation source_;
};

}  // namespace partita::python
