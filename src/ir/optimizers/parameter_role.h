#pragma once
// Finds the parameters that are matrices of hidden layers, which some optimizers update differently from the others.

#include "ir/graph/builder.h"

namespace partita {

/// Whether a parameter is a matrix, a batch of matrices or a filter of a hidden layer: an operand of a product, but not
/// of one that makes the outputs of the network (its head, whose result reaches the loss through no other product), and
/// not a table that rows are looked up in. A parameter of two dimensions or more that no node of the forward pass
/// uses, as in a program of an optimizer alone, counts as one, too.
bool is_hidden_matrix(const Builder& builder, Value parameter);

}  // namespace partita
