#pragma once

#include "frontend/data/dataset.h"

namespace partita {

/// Every epoch has the rows of the first one, in their order: what is cut out of it has the same rows always, whatever
/// shuffles or changes them before.
DatasetPtr first_epoch(DatasetPtr dataset);

}  // namespace partita
