#pragma once
// A layer: what turns a value into a value, with parameters of its own.

#include <map>
#include <memory>

#include "base/call_location.h"
#include "ir/graph/builder.h"

namespace partita {

class Layer;
using LayerPtr = std::shared_ptr<Layer>;

/// What layers have added to the loss under one name, up to the one that is being built: a sum goes from layer to
/// layer, so that layers that are alike are so in the graph, too, and stages hand on one value.
struct AddedLoss {
  std::string name;
  Value sum;
  Value weighted;  // with their weights; empty unless a training is built
};

/// One build of a network into a graph: where it stands, and how it is to be built.
class Context {
 public:
  struct Options {
    DType dtype = DType::f32;
    bool training = true;
    int64_t statistics_groups = 1;  // groups of rows with statistics of their own
    uint64_t seed = 1;              // of dropout
  };

  Context(Builder& builder, const Options& options) : builder_(builder), options_(options) {}

  Builder& builder() { return builder_; }
  const Options& options() const { return options_; }

  /// Builds a layer of one result as the whole of a network, in scope "net", its parameters without a prefix.
  Value call_network(Layer& network, const std::vector<Value>& inputs);
  Value call_network(Layer& network, Value x) { return call_network(network, std::vector<Value>{x}); }
  /// Builds a child under its name: parameters "parent.name.weight", scope "net/parent/name". A layer
  /// that is called again keeps the parameters of its first call; two layers of one name are an error.
  /// Errors end with the layer and the source line where it was made. The layer outlives the build.
  Value call(const std::string& name, Layer& child, Value x);
  /// The same for a child with several inputs or outputs.
  std::vector<Value> call(const std::string& name, Layer& child, const std::vector<Value>& inputs);
  /// Writes the statistics that layers have updated, once the whole network is built.
  void store_statistics();

  /// A parameter of the layer that is being built.
  Value parameter(const std::string& name, const Shape& shape, const Initializer& init);
  /// A running statistic of it: the value left by an earlier call of the layer in this build, if any.
  Value statistic(const std::string& name, const Shape& shape, const Initializer& init);
  /// What it becomes.
  void update_statistic(const std::string& name, Value next) { statistics_.at(scoped(name)).exit = next; }
  /// A scalar that a training minimises besides the loss, `weight` times: a mean over the samples of the global batch.
  /// Trainings and evaluations show the sum of those of one name next to the loss. Throws InvalidArgument for what is
  /// no scalar float.
  void add_loss(const std::string& name, Value mean, double weight);
  const std::vector<AddedLoss>& added_losses() const { return added_losses_; }
  /// The number of the step, a state that the training counts.
  Value step();
  /// The key of random numbers of the layer that is being built: another one for each call of this.
  uint64_t random_key(const std::string& name);
  /// "layer1.0.conv1.name" while layer1.0.conv1 is being built.
  std::string scoped(const std::string& name) const { return path_.empty() ? name : path_ + "." + name; }

 private:
  struct Statistic {
    Value entry, exit;  // exit: empty until there is an update
  };

  std::vector<Value> build(Layer& layer, const std::string& path, const std::string& scope,
                           const std::vector<Value>& inputs);

  Builder& builder_;
  Options options_;
  std::string path_;       // "layer1.0.conv1"
  bool trainable_ = true;  // false inside a frozen layer
  std::map<const Layer*, std::string> paths_;
  std::map<std::string, const Layer*> owners_;  // of each path
  std::map<std::string, Statistic> statistics_;
  std::map<std::string, int> key_counts_;
  std::vector<AddedLoss> added_losses_;
};

class Layer {
 public:
  explicit Layer(CallLocation where = CallLocation::current());
  virtual ~Layer() = default;
  /// One value into one: what most layers are. A layer overrides this or `construct_all`.
  virtual Value construct(Context& context, Value x);
  /// Several values into several.
  virtual std::vector<Value> construct_all(Context& context, const std::vector<Value>& inputs);

  /// False: the parameters of this layer and of its children are not trained.
  void requires_grad(bool on) { requires_grad_ = on; }
  bool requires_grad() const { return requires_grad_; }
  /// True: the backward makes the results of this layer and of its children again instead of keeping them, all but
  /// what other layers use; of a layer of one node those, too. Not within a layer that is recomputed.
  void recompute(bool on = true) { recompute_ = on; }
  bool is_recomputed() const { return recompute_; }
  /// The pipeline stage of this layer and of its children, but for those that have one of their own; layers without one
  /// are on the stage of what they use. Throws InvalidArgument for a negative number.
  void pipeline_stage(int stage);
  int stage() const { return stage_; }
  const SourceLocation& where() const { return where_; }

 private:
  SourceLocation where_;
  bool requires_grad_ = true, recompute_ = false;
  int stage_ = -1;
};

/// Moves a layer of your own to the heap. Unlike std::make_shared it keeps the line where the layer was
/// written: `share(Block(64))`.
template <class L>
std::shared_ptr<L> share(L layer) {
  return std::make_shared<L>(std::move(layer));
}

/// The last folder and the name of a file, and the line.
SourceLocation source_location(const CallLocation& where);

/// Throws InvalidArgument unless every dimension is at least 1 and the tensor has fewer than 2^40
/// elements, so that later sizes fit 64 bits.
void require_layer_shape(std::string_view where, const Shape& shape);

}  // namespace partita
