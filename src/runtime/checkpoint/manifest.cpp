#include "runtime/checkpoint/manifest.h"

#include <cmath>
#include <set>
#include <tuple>

#include "base/bounded_json.h"
#include "base/text_file.h"
#include "runtime/checkpoint/json_text.h"
#include "runtime/checkpoint/kinds.h"

namespace partita {
namespace {

using Document = nlohmann::json;

constexpr const char* kFormat = "partita checkpoint";
// Increase it whenever a manifest may have what this program does not read. A manifest with a right checksum and this
// version counts among the checkpoints that are kept (folder.h), and is removed in its turn.
// A manifest is written with the lowest version that has all it contains, so that older programs can read it. Version 2
// adds the scale of the loss and the number of losses that are not finite.
constexpr int64_t kVersion = 2;
constexpr std::string_view kChecksumKey = "\"checksum\":\"", kChecksumEnd = "\"}\n";
constexpr TextFile kManifest{
    .where = "checkpoint", .purpose = "a manifest", .max_bytes = int64_t{1} << 30, .may_be_pipe = false};
constexpr int64_t kMaxFiles = int64_t{1} << 20;  // ranks of a mesh
constexpr int64_t kMaxTiles = int64_t{1} << 22;  // per tensor
constexpr int64_t kMaxManifestValues = int64_t{1} << 27;

std::string print_box_pairs(const Box& box) {
  std::string pairs;
  for (const Range& range : box) pairs += fmt::format("{}[{},{}]", pairs.empty() ? "" : ",", range.begin, range.end);
  return pairs;
}

void print_piece(std::string& text, const ManifestPiece& piece) {
  text += fmt::format(R"({{"file":{},"box":[{}],"checksum":"{}"}})", piece.file, print_box_pairs(piece.box),
                      print_checksum(piece.checksum));
}

void print_tensor(std::string& text, const ManifestTensor& tensor) {
  text += fmt::format(R"({{"name":{},"kind":"{}","dtype":"{}","shape":[{}],"tiles":[{}],"pieces":[)",
                      json_of(tensor.name), name_of(tensor.kind), name_of(tensor.type.dtype),
                      fmt::join(tensor.type.shape, ","), fmt::join(tensor.parts, ","));
  for (size_t i = 0; i < tensor.pieces.size(); ++i) {
    if (i > 0) text += ',';
    print_piece(text, tensor.pieces[i]);
  }
  text += "]}";
}

void print_file(std::string& text, const ManifestFile& file) {
  text += fmt::format(R"({{"name":{},"bytes":{},"header":{}}})", json_of(file.name), file.bytes, json_of(file.header));
}

/// Appends `"key":[`, each of `elements` on a line of its own by `print_one(text, element)`, and `],`.
template <class Element, class Print>
void print_lines(std::string& text, const char* key, const std::vector<Element>& elements, const Print& print_one) {
  text += fmt::format("\"{}\":[", key);
  for (size_t i = 0; i < elements.size(); ++i) {
    text += i == 0 ? "\n" : ",\n";
    print_one(text, elements[i]);
  }
  text += "],\n";
}

/// Reads the fields of a document whose values may be of any kind. Every function throws InvalidFile for a missing
/// field or one of another kind.
class Fields {
 public:
  Fields(const Document& document, const std::string& path, std::string where)
      : document_(document), path_(path), where_(std::move(where)) {
    if (!document.is_object()) refuse("is not an object");
  }

  [[noreturn]] void refuse(const std::string& what) const {
    throw InvalidFile("[checkpoint] {}: {} {}", path_, where_, what);
  }
  bool has(const char* key) const { return document_.contains(key); }
  const Document& at(const char* key) const {
    const auto found = document_.find(key);
    if (found == document_.end()) refuse(fmt::format("has no '{}'", key));
    return *found;
  }
  std::string text(const char* key) const {
    const Document& value = at(key);
    if (!value.is_string()) refuse(fmt::format("has no text '{}'", key));
    return value.get<std::string>();
  }
  int64_t count(const char* key, int64_t most = std::numeric_limits<int64_t>::max()) const {
    return count_of(at(key), key, most);
  }
  int64_t count_of(const Document& value, const char* key, int64_t most) const {
    if (!value.is_number_integer() ||
        (value.is_number_unsigned() && value.get<uint64_t>() > static_cast<uint64_t>(most)) ||
        value.get<int64_t>() < 0 || value.get<int64_t>() > most) {
      refuse(fmt::format("has a bad '{}', expected a whole number from 0 to {}", key, most));
    }
    return value.get<int64_t>();
  }
  double number(const char* key) const {
    const Document& value = at(key);
    if (!value.is_number()) refuse(fmt::format("has no number '{}'", key));
    return value.get<double>();
  }
  const Document& list(const char* key) const {
    const Document& value = at(key);
    if (!value.is_array()) refuse(fmt::format("has no list '{}'", key));
    return value;
  }
  std::map<std::string, std::string> texts(const char* key) const {
    const Document& value = at(key);
    if (!value.is_object()) refuse(fmt::format("has no texts '{}'", key));
    std::map<std::string, std::string> result;
    for (const auto& [name, text] : value.items()) {
      if (!text.is_string()) refuse(fmt::format("has no text '{}' in '{}'", name, key));
      result.emplace(name, text.get<std::string>());
    }
    return result;
  }

 private:
  const Document& document_;
  const std::string& path_;
  std::string where_;
};

ManifestFile parse_file(const Document& document, const std::string& path) {
  const Fields fields(document, path, "a file");
  ManifestFile file{.name = fields.text("name"), .bytes = fields.count("bytes"), .header = fields.text("header")};
  const bool plain = !file.name.empty() && file.name.find('/') == std::string::npos && file.name[0] != '.' &&
                     file.name.find('\0') == std::string::npos && file.name != kManifestName;
  if (!plain) fields.refuse("has a name that is not that of a file in the folder");
  return file;
}

/// Returns the loss scale of the manifest; none if it has none.
std::optional<LossScaleState> parse_loss_scale(const Fields& fields) {
  if (!fields.has("loss_scale")) return std::nullopt;
  const std::optional<LossScaleState> state =
      loss_scale_state(fields.number("loss_scale"), static_cast<double>(fields.count("good_steps")),
                       static_cast<double>(fields.count("bad_steps")));
  if (!state) fields.refuse("has a bad 'loss_scale', 'good_steps' or 'bad_steps'");
  return state;
}

EpochLosses parse_losses(const Fields& fields) {
  const EpochLosses losses{.sum = fields.number("losses"),
                           .steps = fields.count("losses_steps"),
                           .uncounted = fields.has("losses_not_finite") ? fields.count("losses_not_finite") : 0};
  if (losses.uncounted > losses.steps) fields.refuse("has a bad 'losses_not_finite'");
  return losses;
}

TrainingPosition parse_position(const Fields& fields) {
  TrainingPosition position{.step = fields.count("step"),
                            .batch = fields.count("batch"),
                            .rows = fields.count("rows"),
                            .metadata = fields.texts("training")};
  const Document& seed = fields.at("seed");
  if (!seed.is_number_unsigned()) fields.refuse("has no 'seed'");
  position.seed = seed.get<uint64_t>();
  if (!fields.at("learning_rate").is_null()) {
    position.learning_rate = fields.number("learning_rate");
    if (!std::isfinite(*position.learning_rate) || *position.learning_rate < 0) {
      fields.refuse("has a bad 'learning_rate'");
    }
  }
  position.loss_scale = parse_loss_scale(fields);
  position.epoch = parse_losses(fields);
  for (const auto& [key, text] : fields.texts("callbacks")) position.callbacks[key].text = text;
  if (fields.has("measures")) set_measures(position, fields.texts("measures"));
  return position;
}

Box parse_box(const Fields& fields, const Document& pairs, const Shape& shape) {
  if (!pairs.is_array() || pairs.size() != shape.size()) fields.refuse("has a box with other dimensions");
  Box box;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (!pairs[d].is_array() || pairs[d].size() != 2) fields.refuse("has a box that is not made of pairs");
    const Range range{fields.count_of(pairs[d][0], "box", shape[d]), fields.count_of(pairs[d][1], "box", shape[d]),
                      shape[d]};
    if (range.begin > range.end) fields.refuse("has a box that ends before it begins");
    box.push_back(range);
  }
  return box;
}

/// The dimension along which pieces have the most distinct begins; 0 if there are no pieces.
size_t max_cut_dimension(const std::vector<const ManifestPiece*>& pieces, size_t dims) {
  size_t best = 0, most = 0;
  for (size_t d = 0; d < dims; ++d) {
    std::set<int64_t> begins;
    for (const ManifestPiece* piece : pieces) begins.insert(piece->box[d].begin);
    if (begins.size() > most) std::tie(best, most) = std::pair(d, begins.size());
  }
  return best;
}

/// Requires that every element of a tensor is in exactly one of its pieces. Throws InvalidFile, by `fields.refuse`,
/// otherwise.
void require_whole(const ManifestTensor& tensor, const Fields& fields) {
  // Sorts pieces by their begin along a dimension that cuts them, so that only neighbours can overlap.
  std::vector<const ManifestPiece*> pieces;
  int64_t elements = 0;
  for (const ManifestPiece& piece : tensor.pieces) {
    elements += elements_of(piece.box);
    if (elements > tensor.type.elements()) fields.refuse("has pieces that overlap");
    if (elements_of(piece.box) > 0) pieces.push_back(&piece);
  }
  if (elements != tensor.type.elements()) {
    fields.refuse(
        fmt::format("is not whole, got {} elements in its pieces, expected {}", elements, tensor.type.elements()));
  }
  const size_t dims = tensor.type.shape.size(), cut = max_cut_dimension(pieces, dims);
  std::ranges::sort(pieces, [&](const ManifestPiece* a, const ManifestPiece* b) {
    return dims > 0 && a->box[cut].begin < b->box[cut].begin;
  });
  for (size_t i = 0; i < pieces.size(); ++i) {
    for (size_t k = i + 1; k < pieces.size(); ++k) {
      if (dims > 0 && pieces[k]->box[cut].begin >= pieces[i]->box[cut].end) break;
      if (common_box(pieces[i]->box, pieces[k]->box)) fields.refuse("has pieces that overlap");
    }
  }
}

ManifestTensor parse_tensor(const Document& document, const std::string& path, int64_t files) {
  const Fields unnamed(document, path, "a tensor");
  ManifestTensor tensor{.name = unnamed.text("name")};
  const Fields fields(document, path, fmt::format("tensor '{}'", tensor.name));
  const std::optional<StateKind> kind = parse_state_kind(fields.text("kind"));
  const std::optional<DType> dtype = parse_dtype(fields.text("dtype"));
  if (!kind) fields.refuse(fmt::format("has an unknown kind '{}'", fields.text("kind")));
  if (!dtype) fields.refuse(fmt::format("has an unknown dtype '{}'", fields.text("dtype")));
  tensor.kind = *kind;
  tensor.type.dtype = *dtype;
  for (const Document& size : fields.list("shape")) {
    tensor.type.shape.push_back(fields.count_of(size, "shape", kMaxElements));
    if (tensor.type.rank() > kMaxDims) fields.refuse(fmt::format("has more than {} dimensions", kMaxDims));
  }
  if (!is_countable(tensor.type.shape)) fields.refuse("has a shape that is too large");
  const Document& tiles = fields.list("tiles");
  if (tiles.size() != tensor.type.shape.size()) fields.refuse("has tiles of other dimensions");
  int64_t all_tiles = 1;
  for (const Document& count : tiles) {
    const int64_t size = tensor.type.shape[tensor.parts.size()];
    tensor.parts.push_back(fields.count_of(count, "tiles", std::max<int64_t>(1, size)));
    if (tensor.parts.back() == 0 || tensor.parts.back() > kMaxTiles / all_tiles) fields.refuse("has bad tiles");
    all_tiles *= tensor.parts.back();
  }
  for (const Document& one : fields.list("pieces")) {
    const Fields piece(one, path, fmt::format("a piece of '{}'", tensor.name));
    const std::optional<uint64_t> checksum = parse_checksum(piece.text("checksum"));
    if (!checksum) piece.refuse("has a bad checksum");
    tensor.pieces.push_back({.file = piece.count("file", files - 1),
                             .box = parse_box(piece, piece.at("box"), tensor.type.shape),
                             .checksum = *checksum});
  }
  require_whole(tensor, fields);
  return tensor;
}

/// Returns the text without its checksum. Throws InvalidFile if the text does not end with a checksum, or it does not
/// match.
std::string_view checked_body(std::string_view text, const std::string& path) {
  const size_t tail = kChecksumKey.size() + kTextChecksumDigits + kChecksumEnd.size();
  const auto refuse = [&](const std::string& what) { throw InvalidFile("[checkpoint] {}: {}", path, what); };
  if (text.size() < tail || !text.ends_with(kChecksumEnd) ||
      text.substr(text.size() - tail, kChecksumKey.size()) != kChecksumKey) {
    refuse("not a manifest, or a damaged one: it does not end with its checksum");
  }
  const std::string_view body = text.substr(0, text.size() - tail);
  const std::string_view got = text.substr(text.size() - tail + kChecksumKey.size(), kTextChecksumDigits);
  const std::string expected = checksum_of_text(body);
  if (got != expected) refuse(fmt::format("the manifest is damaged, its checksum is {}", expected));
  return body;
}

/// Parses JSON of `text` followed by `end`, which closes what the text leaves open. Throws InvalidFile if that is not
/// JSON or has too many values.
Document parse_document(std::string_view text, std::string_view end, const std::string& path) {
  try {
    return parse_bounded_json(std::string(text).append(end), kMaxManifestValues);
  } catch (const BadJson& error) {
    throw InvalidFile("[checkpoint] {}: the manifest is not JSON, got {}, expected that of a checkpoint", path,
                      error.what());
  }
}

ManifestOrder order_of(const Fields& fields) {
  // The next checkpoint needs a number too.
  return {.sequence = fields.count("sequence", std::numeric_limits<int64_t>::max() - 1), .step = fields.count("step")};
}

/// Returns the order of a text whose checksum was removed. Throws InvalidFile if the text is not JSON, is of another
/// format or version, or lacks a valid sequence or step.
ManifestOrder order_of_body(std::string_view body, const std::string& path) {
  // JSON strings contain no line ends, so this does not match inside one.
  const Document head = parse_document(body.substr(0, body.find("\n\"files\":")), R"("end":0})", path);
  const Fields fields(head, path, "the manifest");
  const int64_t version = fields.count("version");
  if (fields.text("format") != kFormat || version < 1 || version > kVersion) {
    fields.refuse(fmt::format("is of another version, got '{}' {}, expected '{}' 1 to {}", fields.text("format"),
                              version, kFormat, kVersion));
  }
  return order_of(fields);
}

}  // namespace

const ManifestTensor& Manifest::tensor(const std::string& name, const std::string& path) const {
  const auto found = std::ranges::find_if(tensors, [&](const auto& one) { return one.name == name; });
  if (found != tensors.end()) return *found;
  throw InvalidFile("[checkpoint] {}: no tensor '{}', got {} others", path, name, tensors.size());
}

int64_t Manifest::tensor_bytes() const {
  int64_t bytes = 0;
  for (const ManifestTensor& tensor : tensors) bytes += tensor.type.bytes();
  return bytes;
}

std::string shard_name(int rank) { return fmt::format("rank_{}.safetensors", rank); }

std::vector<ManifestTensor> tensors_of(const std::vector<HeldState>& states) {
  std::vector<ManifestTensor> tensors;
  for (const HeldState& state : states) {
    tensors.push_back(
        {.name = state.name, .type = state.type, .kind = state.kind, .parts = choose_parts(state.type), .pieces = {}});
  }
  return tensors;
}

void add_shard(Manifest& manifest, int rank, const std::vector<ShardPiece>& pieces, const ShardDigest& digest) {
  if (pieces.empty()) return;
  std::map<std::string_view, ManifestTensor*> tensors;
  for (ManifestTensor& tensor : manifest.tensors) tensors.emplace(tensor.name, &tensor);
  const auto file = static_cast<int64_t>(manifest.files.size());
  manifest.files.push_back({.name = shard_name(rank), .bytes = digest.bytes, .header = digest.header});
  for (size_t i = 0; i < pieces.size(); ++i) {
    tensors.at(pieces[i].name)->pieces.push_back({file, pieces[i].box, digest.pieces[i]});
  }
}

std::string print_manifest(const Manifest& manifest) {
  const TrainingPosition& position = manifest.position;
  std::map<std::string, std::string> callbacks;
  for (const auto& [key, kept] : position.callbacks) callbacks.emplace(key, kept.text);
  nlohmann::ordered_json head = {{"format", kFormat},
                                 {"version", position.loss_scale || position.epoch.uncounted > 0 ? kVersion : 1},
                                 {"sequence", manifest.sequence},
                                 {"seconds", manifest.seconds},
                                 {"step", position.step},
                                 {"batch", position.batch},
                                 {"rows", position.rows},
                                 {"seed", position.seed},
                                 {"learning_rate", nullptr},
                                 {"losses", position.epoch.sum},
                                 {"losses_steps", position.epoch.steps},
                                 {"callbacks", callbacks},
                                 {"ranks", manifest.ranks},
                                 {"mesh", manifest.mesh},
                                 {"plan", manifest.plan},
                                 {"training", position.metadata}};
  if (position.learning_rate) head["learning_rate"] = *position.learning_rate;
  if (const auto& scale = position.loss_scale) {
    head["loss_scale"] = scale->scale;
    head["good_steps"] = scale->good_steps;
    head["bad_steps"] = scale->bad_steps;
  }
  if (position.epoch.uncounted > 0) head["losses_not_finite"] = position.epoch.uncounted;
  if (const auto measures = all_measures(position); !measures.empty()) head["measures"] = measures;
  std::string text = "{";
  for (const auto& [key, value] : head.items()) text += fmt::format("\"{}\":{},\n", key, print_json(value));
  print_lines(text, "files", manifest.files, print_file);
  print_lines(text, "tensors", manifest.tensors, print_tensor);
  const std::string checksum = checksum_of_text(text);
  return text.append(kChecksumKey).append(checksum).append(kChecksumEnd);
}

Manifest parse_manifest(std::string_view text, const std::string& path) {
  const std::string_view body = checked_body(text, path);
  const ManifestOrder order = order_of_body(body, path);
  const Document document = parse_document(body, R"("end":0})", path);
  const Fields fields(document, path, "the manifest");
  if (order_of(fields) != order) fields.refuse("has 'sequence' or 'step' twice, expected them before 'files'");
  Manifest manifest{.sequence = order.sequence,
                    .position = parse_position(fields),
                    .ranks = fields.count("ranks", kMaxFiles),
                    .mesh = fields.text("mesh"),
                    .plan = fields.text("plan"),
                    .seconds = fields.count("seconds")};
  std::set<std::string> names;
  for (const Document& file : fields.list("files")) {
    manifest.files.push_back(parse_file(file, path));
    if (!names.insert(manifest.files.back().name).second) fields.refuse("names a file twice");
  }
  names.clear();
  for (const Document& tensor : fields.list("tensors")) {
    manifest.tensors.push_back(parse_tensor(tensor, path, static_cast<int64_t>(manifest.files.size())));
    const ManifestTensor& added = manifest.tensors.back();
    if (!names.insert(added.name).second) fields.refuse(fmt::format("has tensor '{}' twice", added.name));
    std::set<int64_t> files;
    for (const ManifestPiece& piece : added.pieces) {
      if (!files.insert(piece.file).second) fields.refuse(fmt::format("has '{}' twice in a file", added.name));
    }
  }
  return manifest;
}

ManifestOrder parse_manifest_order(std::string_view text, const std::string& path) {
  return order_of_body(checked_body(text, path), path);
}

Manifest read_manifest(const std::string& folder, int64_t* bytes_read) {
  const std::string path = folder + "/" + kManifestName;
  const std::string text = read_text_file(path, kManifest);
  if (bytes_read != nullptr) *bytes_read += static_cast<int64_t>(text.size());
  return parse_manifest(text, path);
}

ManifestOrder read_manifest_order(const std::string& folder) {
  const std::string path = folder + "/" + kManifestName;
  return parse_manifest_order(read_text_file(path, kManifest), path);
}

}  // namespace partita
