#pragma once
// A layer: what turns a value into a value, with parameters of its own.

#include <memory>
#include <source_location>

#include "graph/builder.h"

namespace partita {

class Layer;
using LayerPtr = std::shared_ptr<Layer>;

/// One build of a network into a graph: where it stands, and how it is to be built.
class Context {
 public:
  struct Options {
    DType dtype = DType::f32;
    bool training = true;
    int64_t norm_groups = 1;  // batch norm: groups of rows with statistics of their own
    uint64_t seed = 1;        // of dropout
  };

  Context(Builder& builder, const Options& options) : builder_(builder), options_(options) {}

  Builder& builder() { return builder_; }
  const Options& options() const { return options_; }

  /// Builds a child under its name: parameters "parent.name.weight", scope "net/parent/name". A layer
  /// that is called again keeps the parameters of its first call. Errors end with the layer and the
  /// source line where it was made.
  Value call(const std::string& name, Layer& child, Value x);

  /// A parameter of the layer that is being built.
  Value parameter(const std::string& name, const Shape& shape, const Initializer& init);
  /// A running statistic of it.
  Value statistic(const std::string& name, const Shape& shape, const Initializer& init);
  /// The number of the step, a state that the training counts.
  Value step();
  /// The name of the layer that is being built with a suffix: the key of its random numbers.
  std::string scoped(const std::string& name) const { return path_.empty() ? name : path_ + "." + name; }

 private:
  Builder& builder_;
  Options options_;
  std::string path_;       // "layer1.0.conv1"
  bool trainable_ = true;  // false inside a frozen layer
  std::unordered_map<const Layer*, std::string> paths_;
};

class Layer {
 public:
  explicit Layer(std::source_location where = std::source_location::current());
  virtual ~Layer() = default;
  virtual Value construct(Context& context, Value x) = 0;

  /// False: the parameters of this layer and of its children are not trained.
  void requires_grad(bool on) { requires_grad_ = on; }
  bool requires_grad() const { return requires_grad_; }
  const SourceLine& where() const { return where_; }

 private:
  SourceLine where_;
  bool requires_grad_ = true;
};

/// The last folder and the name of a file, and the line.
SourceLine source_line(const std::source_location& where);

}  // namespace partita
