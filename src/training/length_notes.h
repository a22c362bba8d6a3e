#pragma once
// Notes on the length of a training, for the user who starts it.

#include <string>

#include "training/fit_options.h"

namespace partita {

/// Returns a line that says which of two given lengths, epochs and steps, ends a training on `rows` rows, if they
/// differ; "" otherwise, and if the call gives a length. Throws InvalidArgument if the user asked for a warm-up longer
/// than the training; a recipe may have one.
std::string note_on_length(const JobConfig& config, const FitOptions& fit, int64_t rows);
/// Returns a line that says by how much a training on `rows` rows falls short of its learning rate, if it ends within
/// its warm-up; "" otherwise.
std::string note_on_warm_up(const JobConfig& config, const FitOptions& fit, int64_t rows);
/// Returns a line that says how many of `rows` rows an epoch leaves out, those of a last batch that is not full, if the
/// training has a whole epoch; "" otherwise.
std::string note_on_left_out(const JobConfig& config, const FitOptions& fit, int64_t rows);

}  // namespace partita
