#pragma once
// A network for tests of programs.

#include <string_view>

namespace partita {

/// Two products with a nonlinearity between them, and a loss.
inline constexpr std::string_view kTwoProducts = R"(partita graph 1
graph products
input %x: f64[8,6] batch=0
state %w: f64[6,5] parameter normal(0,1)
state %v: f64[5,4] parameter normal(0,1)
%a = matmul(%x, %w) : f64[8,5]
%b = tanh(%a) : f64[8,5]
%c = matmul(%b, %v) : f64[8,4]
%d = square(%c) : f64[8,4]
%loss = reduce(%d) {axes=[0,1], scale=0.1} : f64[]
output loss = %loss
)";

}  // namespace partita
