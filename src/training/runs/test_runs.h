#pragma once
// Runs for tests, written as files.

#include <filesystem>
#include <fstream>
#include <string>

namespace partita {

inline void write_run_file(const std::filesystem::path& path, const std::string& text) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

/// A log of the first version, without the memory: `steps` steps of which those for which `is_bad` holds have no loss.
template <class IsBad>
std::string log_text(int64_t steps, const IsBad& is_bad) {
  std::string text;
  for (int64_t step = 1; step <= steps; ++step) {
    const double loss = 0.1 + 2.0 / static_cast<double>(step) + 0.01 * static_cast<double>(step * 7919 % 13);
    text += "{\"step\":" + std::to_string(step) +
            ",\"epoch\":1,\"loss\":" + (is_bad(step) ? "null" : std::to_string(loss)) +
            ",\"learning_rate\":0.1,\"step_seconds\":0.002,\"samples_per_second\":16000.000" +
            (is_bad(step) ? ",\"skipped\":true}\n" : "}\n");
  }
  return text;
}
inline std::string log_text(int64_t steps) {
  return log_text(steps, [](int64_t) { return false; });
}

inline constexpr const char* kBeginEvent =
    R"({"event":"begin","time":"2026-03-01T12:00:00Z","version":"0.1.0","host":"<node>","model":"net<script>&\"'",)"
    R"("ranks":2,"threads":1,"device":"cpu","batch":32,"steps":40,"steps_per_epoch":10,"first_step":0,"parameters":99,)"
    R"("rank_memory_bytes":1000000,"available_memory_bytes":1000000000,"predicted":{"cluster":"cpu",)"
    R"("step_seconds":0.001,"compute_seconds":0.0008,"exposed_seconds":0.0001,"bubble_seconds":0.0001}})"
    "\n";

}  // namespace partita
