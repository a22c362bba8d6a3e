#include "frontend/network/layer.h"

#include <algorithm>
#include <string_view>

#include "base/philox.h"
#include "base/plain_text.h"
#include "base/wildcard.h"
#include "frontend/network/adapters.h"
#include "frontend/network/restored.h"

namespace partita {
namespace {

/// An error that already says in which layer it happened.
class LayerError : public InvalidArgument {
 public:
  using InvalidArgument::InvalidArgument;
};

std::string print_line_of(const SourceLocation& line) { return fmt::format("{}:{}", line.file, line.line); }

/// Checks the name of a layer, which ends up in "a.b.weight", in "net/a/b" and in the text of a graph. Throws
/// InvalidArgument for an empty name and other characters than letters, digits, '_' and '-'.
void require_name(const std::string& name) {
  const auto plain = [](char c) { return is_letter_or_digit(c) || c == '_' || c == '-'; };
  if (!name.empty() && std::ranges::all_of(name, plain)) return;
  throw InvalidArgument("[layer] bad name of a layer, got '{}', expected letters, digits, '_' and '-'", name);
}

}  // namespace

SourceLocation source_location(const CallLocation& where) {
  std::string_view file = where.file_name();
  if (const size_t last = file.rfind('/'); last != std::string_view::npos && last > 0) {
    const size_t folder = file.rfind('/', last - 1);
    file = file.substr(folder == std::string_view::npos ? 0 : folder + 1);
  }
  return {std::string(file), where.line()};
}

void require_layer_shape(std::string_view where, const Shape& shape) {
  constexpr int64_t kMaxSize = int64_t{1} << 40;
  int64_t count = 1;
  bool legal = true;
  for (int64_t size : shape) {
    legal = legal && size >= 1 && size <= (kMaxSize - 1) / count;
    if (legal) count *= size;
  }
  if (legal) return;
  throw InvalidArgument("[{}] bad shape, got {}, expected sizes from 1 and fewer than 2^40 elements", where,
                        print(shape));
}

Layer::Layer(CallLocation where) : where_(source_location(where)) {}

void Layer::pipeline_stage(int stage) {
  if (stage < 0 || stage >= kMaxStages) {
    throw InvalidArgument("[layer] bad pipeline stage, got {} at {}, expected 0 to {}", stage, print_line_of(where_),
                          kMaxStages - 1);
  }
  stage_ = stage;
}

Value Layer::construct(Context&, Value) {
  throw InvalidArgument("[layer] the layer takes a list of values, got one value, expected call(name, layer, {a, b})");
}

std::vector<Value> Layer::construct_all(Context& context, const std::vector<Value>& inputs) {
  if (inputs.size() != 1) {
    throw InvalidArgument("[layer] the layer takes one value, got {}, expected 1", inputs.size());
  }
  return {construct(context, inputs[0])};
}

Value Context::call_network(Layer& network, const std::vector<Value>& inputs) {
  return build(network, /*path=*/"", /*scope=*/"net", inputs).at(0);
}

void Context::store_statistics() {
  for (const auto& [name, statistic] : statistics_) {
    if (statistic.exit) builder_.store(statistic.entry, statistic.exit);
  }
}

std::vector<Value> Context::updated_statistics() const {
  std::vector<Value> values;
  for (const auto& [name, statistic] : statistics_) {
    if (statistic.exit) values.push_back(statistic.exit);
  }
  return values;
}

Value Context::call(const std::string& name, Layer& child, Value x) {
  const std::vector<Value> results = call(name, child, std::vector<Value>{x});
  if (results.size() == 1) return results[0];
  throw InvalidArgument("[layer] '{}' returns several values, got {}, expected 1: call it with a list", scoped(name),
                        results.size());
}

std::vector<Value> Context::call(const std::string& name, Layer& child, const std::vector<Value>& inputs) {
  require_name(name);
  const std::string path = paths_.try_emplace(&child, scoped(name)).first->second;
  const Layer* owner = owners_.try_emplace(path, &child).first->second;
  if (owner != &child) {
    throw InvalidArgument(
        "[layer] two layers are called '{}', got the one of {} after the one of {}, expected another name", path,
        print_line_of(child.where()), print_line_of(owner->where()));
  }
  return build(child, path, builder_.scope.empty() ? name : builder_.scope + "/" + name, inputs);
}

std::vector<Value> Context::build(Layer& layer, const std::string& path, const std::string& scope,
                                  const std::vector<Value>& inputs) {
  const Restored in_path(path_, path);
  const Restored in_trainable(trainable_, trainable_ && layer.requires_grad());
  const Restored in_scope(builder_.scope, scope);
  const Restored in_source(builder_.source, layer.where());
  const Restored in_stage(builder_.stage, layer.stage() >= 0 ? layer.stage() : builder_.stage);
  const std::string outer = builder_.recompute;
  const Restored in_recomputed(builder_.recompute, layer.is_recomputed() ? scope : outer);
  try {
    if (layer.is_recomputed() && !outer.empty()) {
      throw InvalidArgument("[recompute] a recomputed layer contains another one, got {}, expected only {}", scope,
                            outer);
    }
    std::vector<Value> results = layer.construct_all(*this, inputs);
    const bool whole = !results.empty() && std::ranges::all_of(results, [](Value v) { return bool(v); });
    if (whole) return results;
    throw InvalidArgument("[layer] construct returned nothing, got an empty value, expected one of the network");
  } catch (const LayerError&) {
    throw;
  } catch (const InvalidArgument& error) {
    throw LayerError(fmt::format("{} (layer {} at {})", error.what(), scope, print_line_of(layer.where())),
                     error.kind());
  }
}

Value Context::parameter(const std::string& name, const Shape& shape, const Initializer& init) {
  require_layer_shape(scoped(name), shape);
  return builder_.state(scoped(name), Type{options_.dtype, shape},
                        {.kind = StateKind::parameter, .init = init, .requires_grad = is_trained(scoped(name))});
}

Value Context::fixed_parameter(const std::string& name, const Shape& shape, const Initializer& init) {
  require_layer_shape(scoped(name), shape);
  is_trained(scoped(name));  // a pattern may name it
  return builder_.state(scoped(name), Type{options_.dtype, shape},
                        {.kind = StateKind::parameter, .init = init, .requires_grad = false});
}

bool Context::is_trained(const std::string& name) {
  if (adapters_ == nullptr) return trainable_;
  bool is_frozen = adapters_->rank > 0 && !is_adapter(name);
  for (const std::string& pattern : adapters_->frozen) {
    if (!matches_wildcard(pattern, name)) continue;
    used_patterns_.insert("frozen " + pattern);
    is_frozen = true;
  }
  return trainable_ && !is_frozen;
}

const AdapterOptions* Context::addition() {
  if (adapters_ == nullptr || adapters_->rank == 0) return nullptr;
  const std::string last = path_.substr(path_.rfind('.') + 1);
  const AdapterOptions* found = nullptr;
  for (const std::string& pattern : adapters_->layers) {
    if (!matches_wildcard(pattern, last) && !matches_wildcard(pattern, path_)) continue;
    used_patterns_.insert("layers " + pattern);
    found = adapters_.get();
  }
  return found;
}

void Context::require_used_patterns() const {
  const auto refuse = [](const std::string& pattern, const char* expected) {
    throw InvalidArgument("[lora] a pattern names nothing, got '{}', expected names of {}", pattern, expected);
  };
  for (const std::string& pattern : adapters_->layers) {
    if (!used_patterns_.contains("layers " + pattern)) refuse(pattern, "dense layers, such as fc or h.0.attn.q");
  }
  for (const std::string& pattern : adapters_->frozen) {
    if (!used_patterns_.contains("frozen " + pattern)) refuse(pattern, "parameters, such as wte.*");
  }
}

Value Context::statistic(const std::string& name, const Shape& shape, const Initializer& init) {
  require_layer_shape(scoped(name), shape);
  const Value entry = builder_.state(scoped(name), Type{options_.dtype, shape},
                                     {.kind = StateKind::statistic, .init = init, .requires_grad = false});
  const Statistic& known = statistics_.try_emplace(scoped(name), Statistic{entry, Value()}).first->second;
  return known.exit ? known.exit : known.entry;
}

void Context::update_statistic(const std::string& name, Value next) {
  const auto found = statistics_.find(scoped(name));
  if (found != statistics_.end()) {
    found->second.exit = next;
    return;
  }
  std::vector<std::string> names;
  for (const auto& [known, statistic] : statistics_) names.push_back(known);
  throw unknown_name("[layer] unknown statistic", scoped(name), "one that statistic() has returned", names);
}

Value Context::cached(const std::string& name, Value rows) {
  const Type& type = rows.type();
  const Value entry = builder_.state(scoped(name), Type{type.dtype, {type.shape[0], places_->cache, type.shape[2]}},
                                     {.kind = StateKind::cache, .requires_grad = false});
  const Value written = builder_.apply("write_rows", {entry, rows, places_->positions});
  builder_.store(entry, written);
  return written;
}

void Context::add_loss(const std::string& name, Value mean, double weight) {
  if (!mean || mean.type().rank() != 0 || !is_float(mean.dtype())) {
    throw InvalidArgument("[loss] '{}' is not a mean over the batch, got {}, expected a scalar float", name,
                          mean ? print(mean.type()) : "an empty value");
  }
  const auto found = std::ranges::find_if(added_losses_, [&](const AddedLoss& added) { return added.name == name; });
  const Value weighted = options_.training ? scale(mean, weight) : Value();
  if (found == added_losses_.end()) {
    added_losses_.push_back({name, mean, weighted});
    return;
  }
  found->sum = add(found->sum, mean);
  if (options_.training) found->weighted = add(found->weighted, weighted);
}

Value Context::step() {
  return builder_.state("step", Type{DType::i64, {}}, {.kind = StateKind::counter, .requires_grad = false});
}

uint64_t Context::random_key(const std::string& name) {
  std::string stream = scoped(name);
  const int count = ++key_counts_[stream];
  if (count > 1) stream += fmt::format("#{}", count);
  return partita::random_key(options_.seed, stream);
}

}  // namespace partita
