#include "runtime/launch/launcher/orders.h"

#include <csignal>
#include <exception>
#include <new>
#include <type_traits>
#include <utility>

#include "base/bounded_json.h"
#include "base/error.h"
#include "base/names.h"
#include "base/rank_limit.h"

namespace partita {

constexpr auto value_names(AgentOrder::Kind) { return names("listen", "start", "signal", "stop", "alive"); }
constexpr auto value_names(AgentReport::Kind) { return names("listening", "output", "ended", "failed", "alive"); }

namespace {

using nlohmann::json;

constexpr int64_t kMaxOrderValues = int64_t{1} << 18;  // such as words of a command and variables of an environment
constexpr size_t kMaxShownBytes = 1000;                // shown of an invalid line

/// Calls `fn(name, field)` for every field of `start`, so that printing and parsing agree.
template <class Start, class Fn>
void each_field(Start& start, Fn&& fn) {
  fn("command", start.command);
  fn("environment", start.environment);
  fn("folder", start.folder);
  fn("log_dir", start.log_dir);
  fn("host", start.host);
  fn("address", start.address);
  fn("secret", start.secret);
  fn("run", start.run);
  fn("master", start.master);
  fn("first_rank", start.first_rank);
  fn("ranks", start.ranks);
  fn("size", start.size);
  fn("attempt", start.attempt);
  fn("stall_timeout", start.stall_timeout);
}

template <class Told, class Fn>
void each_field_of_report(Told& report, Fn&& fn) {
  fn("text", report.text);
  fn("is_error", report.is_error);
  fn("rank", report.rank);
  fn("code", report.code);
  fn("signal", report.signal);
  fn("was_stopped", report.was_stopped);
  fn("lost", report.lost);
  fn("step", report.step);
  fn("refusal", report.refusal);
  fn("last", report.last);
  fn("lines", report.lines);
}

template <class Parse>
auto parsed(const std::string& line, Parse&& parse) {
  try {
    return parse(parse_bounded_json(line, kMaxOrderValues));
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception&) {
    const bool is_long = line.size() > kMaxShownBytes;
    throw InvalidFile("[launch] not a line of a launcher, got '{}{}', expected one of the same version",
                      std::string_view(line).substr(0, kMaxShownBytes), is_long ? "..." : "");
  }
}

/// Thrown for an invalid value.
struct BadValue : std::exception {};

void require_valid(bool holds) {
  if (!holds) throw BadValue();
}

/// Returns bytes as text in UTF-8, each as the character with its number: outputs, arguments and variables may be in
/// any encoding, and JSON has to give them back as they were.
std::string widened(const std::string& bytes) {
  std::string text;
  for (const char byte : bytes) {
    const auto code = static_cast<unsigned char>(byte);
    if (code < 0x80) {
      text += byte;
    } else {
      text += {static_cast<char>(0xC0 | code >> 6), static_cast<char>(0x80 | (code & 0x3F))};
    }
  }
  return text;
}

/// Returns what `widened` was given. Throws BadValue for a character that stands for no byte.
std::string narrowed(const std::string& text) {
  std::string bytes;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto code = static_cast<unsigned char>(text[i]);
    if (code < 0x80) {
      bytes += text[i];
      continue;
    }
    require_valid((code & 0xFC) == 0xC0 && i + 1 < text.size());
    bytes += static_cast<char>((code & 0x03) << 6 | (static_cast<unsigned char>(text[++i]) & 0x3F));
  }
  return bytes;
}

/// Calls `change` for every text of a field.
template <class Field, class Change>
void change_texts(Field& field, const Change& change) {
  if constexpr (std::is_same_v<Field, std::string>) {
    field = change(field);
  } else if constexpr (std::is_same_v<Field, std::vector<std::string>>) {
    for (std::string& one : field) one = change(one);
  } else if constexpr (std::is_same_v<Field, std::map<std::string, std::string>>) {
    Field changed;
    for (const auto& [name, value] : field) changed.emplace(change(name), change(value));
    field = std::move(changed);
  }
}

template <class Field>
void read_field(const json& value, Field& field) {
  // The library would silently convert a number that does not fit, or a fraction.
  if constexpr (std::is_integral_v<Field> && !std::is_same_v<Field, bool>) {
    require_valid(value.is_number_integer());
    const bool is_large = value.is_number_unsigned() && value.get<uint64_t>() > uint64_t{1} << 62;
    require_valid(!is_large && std::in_range<Field>(value.get<int64_t>()));
  }
  value.get_to(field);
  change_texts(field, narrowed);
}

template <class Field>
json json_of(Field field) {
  change_texts(field, widened);
  return field;
}

void verify(const StartOrder& start) {
  require_valid(!start.command.empty() && start.attempt >= 0 && start.stall_timeout > 0);
  require_valid(start.size >= 1 && start.size <= kMaxJobRanks && start.ranks >= 1 && start.ranks <= start.size &&
                start.first_rank >= 0 && start.first_rank <= start.size - start.ranks);
}

/// JSON on one line. Replaces what is not UTF-8.
std::string one_line(const json& value) { return value.dump(-1, ' ', true, json::error_handler_t::replace); }

}  // namespace

std::string print(const AgentOrder& order) {
  json value{{"order", name_of(order.kind)}, {"signal", order.signal}, {"at", order.address}, {"others", order.others}};
  if (order.kind == AgentOrder::Kind::start) {
    each_field(order.start, [&](const char* name, const auto& field) { value[name] = json_of(field); });
  }
  return one_line(value);
}

std::string print(const AgentReport& report) {
  json value{{"report", name_of(report.kind)}};
  each_field_of_report(report, [&](const char* name, const auto& field) { value[name] = json_of(field); });
  return one_line(value);
}

AgentOrder parse_order(const std::string& line) {
  return parsed(line, [](const json& value) {
    AgentOrder order{.kind = parse_name<AgentOrder::Kind>("launch", value.at("order").get<std::string>()),
                     .address = value.at("at"),
                     .others = value.at("others")};
    read_field(value.at("signal"), order.signal);
    require_valid(order.signal >= 0 && order.signal < NSIG);
    if (order.kind == AgentOrder::Kind::start) {
      each_field(order.start, [&](const char* name, auto& field) { read_field(value.at(name), field); });
      verify(order.start);
    }
    return order;
  });
}

AgentReport parse_report(const std::string& line) {
  constexpr int kMaxExitCode = 255;
  return parsed(line, [](const json& value) {
    AgentReport report{.kind = parse_name<AgentReport::Kind>("launch", value.at("report").get<std::string>())};
    each_field_of_report(report, [&](const char* name, auto& field) { read_field(value.at(name), field); });
    require_valid(report.code >= 0 && report.code <= kMaxExitCode && report.signal >= 0 && report.step >= 0);
    return report;
  });
}

}  // namespace partita
