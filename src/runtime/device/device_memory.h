#pragma once

namespace partita {

/// Share of the memory of a GPU that a process takes at most, if none is asked for. Plugins take 0.75 by themselves.
inline constexpr double kDeviceMemory = 0.9;

}  // namespace partita
