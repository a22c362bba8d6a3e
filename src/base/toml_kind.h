#pragma once
// Names of the kinds of values in TOML, for messages.

#ifndef TOML_HEADER_ONLY  // pkg-config says 1 where there are headers alone
#define TOML_HEADER_ONLY 0
#endif
#include <toml++/toml.h>

#include <string_view>

namespace partita {

/// Returns the name of a kind, such as "date-time".
inline std::string_view kind_of(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::table: return "table";
    case toml::node_type::array: return "array";
    case toml::node_type::string: return "string";
    case toml::node_type::integer: return "integer";
    case toml::node_type::floating_point: return "floating-point";
    case toml::node_type::boolean: return "boolean";
    case toml::node_type::date: return "date";
    case toml::node_type::time: return "time";
    case toml::node_type::date_time: return "date-time";
    default: return "none";
  }
}

}  // namespace partita
