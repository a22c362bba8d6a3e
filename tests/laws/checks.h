#pragma once
// The laws of an op, numbered; each check returns "" or what is broken. Law 3 stands in harness.h, law 8 (the
// points of all ranks are those of the whole) in harness.cpp, laws 9 to 11 in tests of their own.

#include "harness.h"

namespace partita::laws {

/// Law 1: the results are of the inferred type and have no NaN; empty operands do not crash.
std::string check_types(const Case& node);
/// Law 2: attributes read back what they print.
std::string check_attributes(const Attrs& attrs);
/// Law 5: the expansion is the kernel, and each of its nodes keeps law 3.
std::string check_expansion(const Case& node, const OpSet& ops);
/// Law 6: gradients are central differences, and every node of the gradient graph keeps law 3. Gradients
/// arrive at the float outputs in `arriving` only; operands in `constants` have none by definition.
std::string check_gradient(const Case& node, const OpSet& ops, const std::vector<size_t>& arriving,
                           const std::vector<size_t>& constants = {});
/// The outputs that can have a gradient.
std::vector<size_t> float_outputs(const Case& node);

/// Law 4: whether the kernel fails when a `whole` or `expand` factor is cut as if it were free, or nothing
/// when no cut of it alone is possible.
std::optional<bool> fails_when_cut(const Case& node, int factor);

/// Law 7: whether op(kind(a, b, c)) = kind(op(a), op(b), op(c)) where a, b, c are given to `operands`, multiplied by
/// `factor`; the other operands stay. Equal numbers, or NaN on both sides.
bool commutes(const OpDef& op, const Sample& sample, const std::vector<int>& operands, Reduce kind, double factor = 1);
/// Each declared group commutes with its reductions; with maximum and minimum at numbers of either sign and of any
/// size, whatever the sample is filled with: a partial value has no reason to be positive.
std::string check_linear(const OpDef& op, const Sample& sample);
/// Sets of one or two float operands that commute with sums in every sample and are not declared in all.
std::string check_nothing_undeclared(const OpDef& op);

}  // namespace partita::laws
