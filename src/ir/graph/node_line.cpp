#include "ir/graph/node_line.h"

#include <algorithm>

namespace partita {
namespace {

int read_layerwise(Scanner& text, const Type& type) {
  const int dim = text.integer(), rank = type.rank();
  if (dim < 0 || dim >= rank) text.fail("dimension outside the tensor", fmt::format("{}", dim), print(type));
  return dim;
}

void read_attributes(Scanner& text, NodeLine& entry, const OpDef& op) {
  size_t end = 0;
  bool quoted = false;
  while (end < text.rest().size() && (quoted || text.rest()[end] != '}')) {
    if (text.rest()[end] == '"') quoted = !quoted;
    ++end;
  }
  if (end == text.rest().size()) text.fail("no '}'", text.rest().substr(0, 20), "attributes in braces");
  try {
    entry.node.attrs = op.attrs.parse(text.rest().substr(0, end + 1));
  } catch (const Error& error) {
    throw InvalidArgument(error.kind(), "[graph line {}] {}: {}, in {}", text.line(), op.name, error.what(),
                          text.rest().substr(0, end + 1));
  }
  text.take(end + 1);
}

std::string read_quoted_path(Scanner& text) {
  std::string path;
  for (size_t i = 1; i < text.rest().size(); ++i) {
    if (text.rest()[i] == '"') {
      text.take(i + 1);
      return path;
    }
    if (text.rest()[i] == '\\' && ++i < text.rest().size()) {
      if (text.rest()[i] != '"' && text.rest()[i] != '\\' && text.rest()[i] != 'n') {
        text.fail("unknown escape", text.rest().substr(i - 1, 2), "\\\", \\\\ or \\n");
      }
      path += text.rest()[i] == 'n' ? '\n' : text.rest()[i];
    } else if (i < text.rest().size()) {
      path += text.rest()[i];
    }
  }
  text.fail("quoted path has no end", text.rest().substr(0, 20), "at=\"FILE\":LINE");
}

/// Reads FILE:LINE, or "FILE":LINE with the escapes \", \\ and \n in the path. Throws InvalidArgument for other texts.
SourceLocation read_source(Scanner& text) {
  SourceLocation source;
  if (text.rest().starts_with('"')) {
    source.file = read_quoted_path(text);
  } else {
    const std::string_view place = text.rest().substr(0, text.rest().find(' '));
    source.file = text.take(std::min(place.rfind(':'), place.size()));
  }
  if (!text.rest().starts_with(':')) text.fail("no line", text.rest().substr(0, 20), "at=FILE:LINE");
  text.take(size_t{1});
  source.line = text.integer();
  return source;
}

ShardingAnnotation read_sharding_annotation(Scanner& text) {
  const std::string_view annotation = text.token();
  try {
    return parse_annotation(annotation);
  } catch (const Error& error) {
    throw InvalidArgument(error.kind(), "[graph line {}] {}", text.line(), error.what());
  }
}

}  // namespace

int read_stage(Scanner& text) { return static_cast<int>(text.number(0, kMaxStages - 1)); }

namespace {

/// Older graph texts call the kind `optimizer` "slot".
constexpr std::string_view kOptimizerBefore = "slot";

/// Reads the properties after ';'. Skips a collective's axes, group and bytes, which follow from its attributes. Throws
/// InvalidArgument for other properties and bad values.
void read_properties(Scanner& text, NodeLine& entry) {
  constexpr std::string_view kExpected = "a phase, scope=, at=, of=, recompute=, stage=, shard= or cut";
  Node& node = entry.node;
  while (!text.rest().empty()) {
    const std::string property = text.word();
    bool phase = false;
    for (Phase candidate : {Phase::forward, Phase::backward, Phase::update}) {
      if (name_of(candidate) != property) continue;
      node.phase = candidate;
      phase = true;
    }
    if (phase) continue;
    if (property == "cut") {
      entry.cut = text.take_rest();
      return;
    }
    if (!text.take("=")) text.fail("unknown property of a node", property, kExpected);
    if (property == "scope")
      node.scope = text.word();
    else if (property == "of")
      node.origin = text.word();
    else if (property == "at") {
      node.source = read_source(text);
    } else if (property == "recompute") {
      node.recompute = text.word();
    } else if (property == "stage") {
      node.stage = read_stage(text);
    } else if (property == "shard") {
      node.annotation = read_sharding_annotation(text);
    } else if (property == "over" || property == "group" || property == "bytes") {
      text.token();
    } else {
      text.fail("unknown property of a node", property, kExpected);
    }
  }
}

}  // namespace

std::string read_value_name(Scanner& text) {
  text.expect("%");
  return text.word();
}

TypeText read_type(Scanner& text) {
  const size_t end = text.rest().find(']');
  if (end == std::string_view::npos) text.fail("no type", text.rest().substr(0, 20), "a type like f32[2,3]");
  TypeText result{.text = std::string(text.rest().substr(0, end + 1))};
  text.take(end + 1);
  std::string plain;
  int depth = 0;
  for (char c : result.text) {
    depth += c == '{';
    if (depth == 0) plain += c;
    depth -= c == '}';
  }
  if (!text.rest().empty() && text.rest().front() == '+') {
    const size_t close = text.rest().find('}');
    if (close == std::string_view::npos) text.fail("no '}'", text.rest().substr(0, 20), "+sum{axes}");
    result.text += " " + std::string(text.rest().substr(0, close + 1));
    text.take(close + 1);
  }
  result.type = text.with_line([&] { return parse_type(plain); });
  return result;
}

State read_state(Scanner& text, const Type& type) {
  State state;
  const std::string kind = text.word();
  bool known = kind == kOptimizerBefore;
  if (known) state.kind = StateKind::optimizer;
  for (StateKind candidate :
       {StateKind::parameter, StateKind::statistic, StateKind::optimizer, StateKind::counter, StateKind::cache}) {
    if (name_of(candidate) != kind) continue;
    state.kind = candidate;
    known = true;
  }
  if (!known) text.fail("unknown kind of state", kind, "parameter, statistic, optimizer or counter");
  if (!text.rest().empty())
    state.init.kind = text.with_line([&] { return parse_name<InitKind>("initializer", text.word()); });
  if (text.take("(")) {
    const size_t end = text.rest().find(')');
    if (end == std::string_view::npos) text.fail("no ')'", text.rest(), "arguments in parentheses");
    text.with_line([&] { from_text("[" + std::string(text.rest().substr(0, end)) + "]", state.init.args); });
    text.take(end + 1);
  }
  text.with_line([&] { check_arguments(state.init); });
  while (!text.rest().empty()) {
    const std::string property = text.word();
    if (property == "frozen")
      state.requires_grad = false;
    else if (property == "of" && text.take("="))
      state.owner = text.word();
    else if (property == "layerwise" && text.take("="))
      state.layerwise = read_layerwise(text, type);
    else
      text.fail("unknown property of a state", property, "frozen, of=PARAMETER or layerwise=DIMENSION");
  }
  return state;
}

NodeLine read_node(Scanner& text, const OpSet& ops) {
  NodeLine entry{.line = text.line()};
  do entry.outputs.push_back(read_value_name(text));
  while (text.take(","));
  text.expect("=");
  entry.node.op = text.word();
  const OpDef* op = text.with_line([&] { return &ops.at(entry.node.op); });
  text.expect("(");
  if (!text.take(")")) {
    do entry.inputs.push_back(read_value_name(text));
    while (text.take(","));
    text.expect(")");
  }
  entry.node.attrs = op->attrs;
  if (!text.rest().empty() && text.rest().front() == '{') read_attributes(text, entry, *op);
  if (text.take(":")) {
    do entry.types.push_back(read_type(text));
    while (text.take(","));
    if (entry.types.size() != entry.outputs.size()) {
      text.fail("types and values differ in number", fmt::format("{} types", entry.types.size()),
                fmt::format("{}", entry.outputs.size()));
    }
  }
  if (text.take(";")) read_properties(text, entry);
  if (!text.rest().empty()) text.fail("unexpected text", text.rest().substr(0, 20), "the end of the line");
  const std::string& first = entry.outputs.front();
  entry.node.name = entry.outputs.size() == 1 ? first : first.substr(0, first.rfind('.'));
  return entry;
}

}  // namespace partita
