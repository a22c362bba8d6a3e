#pragma once
// Texts that callbacks keep in checkpoints.

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "runtime/checkpoint/position.h"
#include "training/report/callbacks.h"

namespace partita {

/// Returns the name of what the text of a callback measures if the callback does not name it: either of these losses.
/// The name of the loss of the validation may be "".
std::string either_loss(const std::string& training, const std::string& validation);
/// Returns what messages call a name of TrainingPosition::measures: the name itself, or "what it does not name" for "".
std::string or_unnamed(const std::string& measure);

/// Returns the texts of Callback::saved that a checkpoint stores, with what they measure, by Callback::kept_as. Of
/// several callbacks with one key the second has the key "KEY 2". Leaves out callbacks whose key is "".
std::map<std::string, KeptText> saved_texts(const std::vector<Callback*>& callbacks, const TrainInfo& info);

/// Gives each callback the text of its key that measures the same. If several do, callbacks get them in their order.
/// Tells `warn`, if given, which callbacks begin anew because all texts of their key measure something else, and which
/// keys of the checkpoint `path` no callback has. Throws what Callback::restore throws.
void restore_texts(const std::vector<Callback*>& callbacks, const std::map<std::string, KeptText>& saved,
                   const TrainInfo& info, const std::string& path, const std::function<void(const std::string&)>& warn);

}  // namespace partita
