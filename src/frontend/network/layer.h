#pragma once
// Layers: functions from values to values, with parameters of their own.

#include <map>
#include <memory>
#include <optional>
#include <set>

#include "base/call_location.h"
#include "ir/graph/builder.h"

namespace partita {

class Layer;
struct AdapterOptions;
using LayerPtr = std::shared_ptr<Layer>;

/// The losses that layers have added under one name so far. A sum passes from layer to layer, so that equal layers are
/// equal in the graph too, and pipeline stages send one value.
struct AddedLoss {
  std::string name;
  Value sum;
  Value weighted;  // with the losses' weights; empty unless a training is built
};

/// Where the tokens of a batch stand, if their order in a row does not say it alone.
struct TokenPlaces {
  Value positions;    // i32[b, s]: within the token's text
  Value first, last;  // i32[b, s]: the keys that it sees, by their place in the row or in the cache
  int64_t cache = 0;  // rows of the caches of keys and values; 0: they are those of the row
};

/// Precisions of the products in scopes, as the option `training.precision_of` has them: {"net/fc1", "bf16"}. A scope
/// may have no nodes.
using ScopePrecisions = std::vector<std::pair<std::string, std::string>>;

/// One build of a network into a graph: the current layer, and the options of the build.
class Context {
 public:
  struct Options {
    DType dtype = DType::f32;
    bool training = true;
    int64_t statistics_groups = 1;  // groups of rows with separate statistics
    bool generates = false;         // texts grow: no token may change what an earlier one gives
    uint64_t seed = 1;              // seed of dropout
  };

  Context(Builder& builder, const Options& options) : builder_(builder), options_(options) {}

  Builder& builder() { return builder_; }
  const Options& options() const { return options_; }

  /// Builds a layer as the whole network, in scope "net" and with parameters that have no prefix, and returns its first
  /// result. Throws InvalidArgument, ending with the layer and its source line, for what the layer refuses and for an
  /// empty result, and what else the layer's functions throw.
  Value call_network(Layer& network, const std::vector<Value>& inputs);
  Value call_network(Layer& network, Value x) { return call_network(network, std::vector<Value>{x}); }
  /// Builds a child and returns its only result: for name "b" in layer "a", with parameters "a.b.weight" and scope
  /// "net/a/b". A layer that is called again keeps the parameters of its first call. The layer must outlive the build.
  /// Throws InvalidArgument for what the child refuses, a name with other characters than letters, digits, '_' and '-',
  /// two layers of one name, a recomputed child inside a recomputed layer, and a child with several results; the
  /// message ends with the layer and the source line where it was made. Throws what else the child's functions throw.
  Value call(const std::string& name, Layer& child, Value x);
  /// Builds a child with several inputs or results under its name, with parameters and scope as for one input, and
  /// returns its results in the child's order. Throws as the `call` with one input does, except that several results
  /// are allowed.
  std::vector<Value> call(const std::string& name, Layer& child, const std::vector<Value>& inputs);
  /// Makes the last updated value of each statistic its value after the step; statistics without an update stay as they
  /// are. Called once, after the whole network is built. Throws InvalidArgument for an updated value of another type
  /// than the statistic.
  void store_statistics();

  /// Returns the parameter `scoped(name)` of the layer that is being built, in the network's float type. The first call
  /// adds it, frozen inside a frozen layer; a later call returns the same one and ignores `init`. Throws
  /// InvalidArgument as `require_layer_shape` does, for another shape than in an earlier call, for more than kMaxDims
  /// dimensions, and if an input has this name.
  Value parameter(const std::string& name, const Shape& shape, const Initializer& init);
  /// Returns a parameter as `parameter` does, which is never trained.
  Value fixed_parameter(const std::string& name, const Shape& shape, const Initializer& init);
  /// Returns the running statistic `scoped(name)` of the layer that is being built, and adds it on the first call: its
  /// updated value if an earlier call of the layer in this build has updated it, else its value at entry. Throws
  /// InvalidArgument as `parameter` does.
  Value statistic(const std::string& name, const Shape& shape, const Initializer& init);
  /// Sets the value that the statistic `name` of the layer that is being built has after the step, in place of an
  /// earlier one. `store_statistics` checks the type of the value. Throws InvalidArgument unless `statistic` has
  /// returned this statistic before.
  void update_statistic(const std::string& name, Value next);
  /// Adds `mean`, a scalar mean over the samples of the global batch, to the losses called `name`. A training minimizes
  /// `weight` times it in addition to the network's loss. Trainings and evaluations show the unweighted sum of the
  /// losses of one name next to that loss. Throws InvalidArgument unless `mean` is a scalar float.
  void add_loss(const std::string& name, Value mean, double weight);
  const std::vector<AddedLoss>& added_losses() const { return added_losses_; }
  /// Sets the precision of the products in `scope` and in scopes within it. Only a Stepper obeys it; what a model
  /// trains has the precisions of its Network.
  void set_precision(const std::string& scope, const std::string& precision) {
    precisions_.emplace_back(scope, precision);
  }
  const ScopePrecisions& precisions() const { return precisions_; }
  /// Makes the program read `given`, one of its inputs, wherever it would compute `value`, which the program of an
  /// earlier part of the step has computed. Only a Stepper obeys it.
  void give(Value value, Value given) { given_.emplace_back(value.id(), given.id()); }
  const std::vector<std::pair<ValueId, ValueId>>& given() const { return given_; }
  /// Makes the program leave all states as they are: it is the beginning of a step that another program ends. Only a
  /// Stepper obeys it.
  void freeze_states() { states_are_frozen_ = true; }
  bool states_are_frozen() const { return states_are_frozen_; }
  /// Returns the values that statistics will have after the step, of those that were updated.
  std::vector<Value> updated_statistics() const;
  /// Sets the places of the tokens. Called before the network is built.
  void place(const TokenPlaces& places) { places_ = places; }
  /// Returns the places of the tokens; none if they are 0, 1, .. of their row.
  const std::optional<TokenPlaces>& places() const { return places_; }
  /// Returns the cache `scoped(name)` of the layer that is being built, [b, places()->cache, d], after `rows`[b, s, d]
  /// were written to the positions of the tokens. It is a state: the next step reads what this one has written. Throws
  /// InvalidArgument for a layer that is called twice, and if an input or another state has this name.
  Value cached(const std::string& name, Value rows);
  /// Returns the number of the step, an i64 scalar: the state "step", which the training counts. Throws InvalidArgument
  /// if an input or a parameter is called "step".
  Value step();
  /// Returns a key for random numbers: a function of the seed, `scoped(name)` and the number of earlier calls with it
  /// in this build, so each call gets a different key.
  uint64_t random_key(const std::string& name);
  /// Sets the additions to products and the frozen parameters of the layers that are built from now on
  /// (frontend/network/adapters.h).
  void adapt(std::shared_ptr<const AdapterOptions> adapters) { adapters_ = std::move(adapters); }
  /// Returns the additions if a pattern names the layer that is being built, else null.
  const AdapterOptions* addition();
  /// Checks that each pattern of `adapt` has named something. Throws InvalidArgument otherwise.
  void require_used_patterns() const;
  /// Returns the full name of a state of the layer that is being built: "layer1.0.conv1.name" inside layer1.0.conv1,
  /// `name` alone in the outermost layer.
  std::string scoped(const std::string& name) const { return path_.empty() ? name : path_ + "." + name; }

 private:
  struct Statistic {
    Value entry, exit;  // exit: empty until the first update
  };

  /// Whether a parameter of this full name is trained.
  bool is_trained(const std::string& name);

  std::vector<Value> build(Layer& layer, const std::string& path, const std::string& scope,
                           const std::vector<Value>& inputs);

  Builder& builder_;
  Options options_;
  std::string path_;       // "layer1.0.conv1"
  bool trainable_ = true;  // false inside a frozen layer
  std::map<const Layer*, std::string> paths_;
  std::map<std::string, const Layer*> owners_;  // by path
  std::map<std::string, Statistic> statistics_;
  std::map<std::string, int> key_counts_;
  std::vector<AddedLoss> added_losses_;
  ScopePrecisions precisions_;
  std::vector<std::pair<ValueId, ValueId>> given_;  // (value, input in its place)
  std::optional<TokenPlaces> places_;
  bool states_are_frozen_ = false;
  std::shared_ptr<const AdapterOptions> adapters_;
  std::set<std::string> used_patterns_;  // each after the word of its list
};

/// Base of all layers. It remembers where in the user's source it was made.
class Layer {
 public:
  explicit Layer(CallLocation where = CallLocation::current());
  virtual ~Layer() = default;
  /// Adds the nodes of the layer for one input and returns its one result, as most layers have. A layer overrides this
  /// or `construct_all`. Throws InvalidArgument for operands and options that the layer does not take, and always if
  /// not overridden.
  virtual Value construct(Context& context, Value x);
  /// Adds the nodes of the layer for several inputs and returns its results. If not overridden, returns what
  /// `construct` returns for the only input, and throws InvalidArgument for another number of inputs. Throws
  /// InvalidArgument for operands and options that the layer does not take.
  virtual std::vector<Value> construct_all(Context& context, const std::vector<Value>& inputs);

  /// Sets whether the parameters of this layer and of its children are trained; they are by default. A layer inside a
  /// frozen one is frozen, too.
  void requires_grad(bool on) { requires_grad_ = on; }
  bool requires_grad() const { return requires_grad_; }
  /// Sets whether the backward pass recomputes the results of this layer and of its children instead of keeping them,
  /// except those that other layers use; a layer of a single node is recomputed even then. A recomputed layer within
  /// another one is an InvalidArgument when the network is built.
  void recompute(bool on = true) { recompute_ = on; }
  bool is_recomputed() const { return recompute_; }
  /// Sets the pipeline stage of this layer and of those of its children that have none of their own. Layers without a
  /// stage are on the stage of what they use. Throws InvalidArgument unless `stage` is 0 to kMaxStages - 1.
  void pipeline_stage(int stage);
  int stage() const { return stage_; }
  const SourceLocation& where() const { return where_; }

 private:
  SourceLocation where_;
  bool requires_grad_ = true, recompute_ = false;
  int stage_ = -1;
};

/// Returns a user-defined layer moved to the heap: `share(Block(64))`. Unlike std::make_shared it keeps the line where
/// the layer was written.
template <class L>
std::shared_ptr<L> share(L layer) {
  return std::make_shared<L>(std::move(layer));
}

/// Returns the file of `where`, shortened to its last folder and its name ("folder/net.cpp"), and the line.
SourceLocation source_location(const CallLocation& where);

/// Checks that every dimension is at least 1 and the tensor has fewer than 2^40 elements, so that later sizes fit 64
/// bits. Throws InvalidArgument otherwise.
void require_layer_shape(std::string_view where, const Shape& shape);

}  // namespace partita
