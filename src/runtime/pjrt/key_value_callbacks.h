#pragma once
// Hands a key-value store to a plugin.

#include "runtime/pjrt/c_api.h"
#include "runtime/pjrt/key_value_store.h"

namespace partita::pjrt {

/// Sets the functions by which a client reaches `store`, which outlives the client.
void set_callbacks(ClientCreateArgs& args, KeyValueStore& store);

}  // namespace partita::pjrt
