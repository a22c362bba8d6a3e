#include "runtime/device/xla/plugin_search.h"

#include <dlfcn.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <optional>

#include "base/error.h"
#include "base/plain_text.h"
#include "runtime/device/xla/xla_flags.h"

namespace partita {
namespace {

/// MiB of products of one operand that XLA may make one product. A kernel that copies a slice of more takes longer than
/// a start.
constexpr int64_t kMergedProducts = 8;

namespace fs = std::filesystem;

/// Folders that a program gave, which are searched first.
struct GivenFolders {
  std::mutex mutex;
  std::vector<fs::path> folders;
};

GivenFolders& given_folders() {
  static GivenFolders given;
  return given;
}

std::vector<fs::path> listed_folders(const char* list) {
  std::vector<fs::path> folders;
  std::string_view rest = list != nullptr ? list : "";
  while (!rest.empty()) {
    folders.emplace_back(rest.substr(0, rest.find(':')));
    rest = rest.find(':') == std::string_view::npos ? "" : rest.substr(rest.find(':') + 1);
  }
  return folders;
}

/// Folders of Python packages: those of the interpreter that runs, of PYTHONPATH, of the environment that is active, of
/// the user and of the system.
std::vector<fs::path> package_folders() {
  std::vector<fs::path> folders;
  {
    const std::lock_guard lock(given_folders().mutex);
    folders = given_folders().folders;
  }
  for (fs::path& folder : listed_folders(std::getenv("PYTHONPATH"))) folders.push_back(std::move(folder));
  std::vector<fs::path> roots;
  if (const char* active = std::getenv("VIRTUAL_ENV")) roots.emplace_back(fs::path(active) / "lib");
  if (const char* home = std::getenv("HOME")) roots.emplace_back(fs::path(home) / ".local/lib");
  roots.insert(roots.end(), {"/usr/local/lib", "/usr/lib"});
  std::error_code none;
  for (const fs::path& root : roots) {
    for (const fs::directory_entry& entry : fs::directory_iterator(root, none)) {
      if (!entry.path().filename().string().starts_with("python3")) continue;
      for (const char* name : {"site-packages", "dist-packages"}) folders.push_back(entry.path() / name);
    }
  }
  return folders;
}

/// Returns the folder "nvidia" of the Python packages that have a plugin, PACKAGES/jax_plugins/NAME/LIBRARY.
fs::path nvidia_folder(const fs::path& plugin) { return plugin.parent_path().parent_path().parent_path() / "nvidia"; }

/// Returns the folders within a folder by their names, so that their order is the same on each machine; the newest
/// version, such as cu13 after cu12, comes first.
std::vector<fs::path> inner_folders(const fs::path& folder) {
  std::error_code none;
  std::vector<fs::path> inner;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, none)) {
    if (entry.is_directory(none)) inner.push_back(entry.path());
  }
  std::sort(inner.rbegin(), inner.rend());
  return inner;
}

}  // namespace

const std::vector<Vendor>& vendors() {
  static const std::vector<Vendor> all{
      {"xla:cpu", "cpu", {"fastatomstruct_xla_cpu/libpjrt_cpu.so"}, "fastatomstruct-xla-cpu"},
      {"cuda",
       "cuda",
       {"jax_plugins/xla_cuda13/xla_cuda_plugin.so", "jax_plugins/xla_cuda12/xla_cuda_plugin.so"},
       "'jax[cuda13]'"},
      {"rocm", "rocm", {"jax_plugins/xla_rocm7/xla_rocm_plugin.so"}, "jax-rocm7-pjrt"},
      {"oneapi", "sycl", {"jax_plugins/xla_oneapi/xla_oneapi_plugin.so"}, "jax-oneapi-pjrt"},
      {"tpu", "tpu", {"libtpu/libtpu.so"}, "libtpu"}};
  return all;
}

std::pair<const Vendor*, int> parse_accelerator(std::string_view name) {
  for (const Vendor& vendor : vendors()) {
    if (name == vendor.name) return {&vendor, -1};
    if (!name.starts_with(vendor.name) || name[vendor.name.size()] != ':') continue;
    const std::string_view digits = name.substr(vendor.name.size() + 1);
    const bool is_number = digits.size() < 5 && std::ranges::all_of(digits, is_digit);
    const std::optional<int> index = is_number ? parse_number<int>(digits) : std::nullopt;
    if (index) return {&vendor, *index};
  }
  throw InvalidArgument(
      "[device] a device that does not exist, got {}, expected cpu, {}, or one of these with an index, as cuda:0", name,
      fmt::join(accelerator_names(), ", "));
}

std::vector<std::string> accelerator_names() {
  std::vector<std::string> names;
  for (const Vendor& vendor : vendors()) names.emplace_back(vendor.name);
  return names;
}

void require_accelerator(std::string_view name) { parse_accelerator(name); }

std::string_view device_kind(std::string_view name) {
  return name == "cpu" ? name : parse_accelerator(name).first->name;
}

void search_packages_in(std::vector<std::string> folders) {
  const std::lock_guard lock(given_folders().mutex);
  given_folders().folders.assign(folders.begin(), folders.end());
}

std::string find_plugin(std::string_view name) {
  const Vendor& vendor = *parse_accelerator(name).first;
  if (const char* path = std::getenv("PARTITA_PJRT_PLUGIN"); path != nullptr && *path != '\0') return path;
  const std::vector<fs::path> folders = package_folders();
  std::error_code none;
  for (const fs::path& folder : folders) {
    for (const std::string& library : vendor.libraries) {
      if (fs::exists(folder / library, none)) return folder / library;
    }
  }
  throw RuntimeFailure(ExitCode::usage,
                       "[device] no PJRT plugin for {}, got none of {} in {} folders of Python packages, expected its "
                       "path in PARTITA_PJRT_PLUGIN, or: pip install {}",
                       vendor.name, fmt::join(vendor.libraries, ", "), folders.size(), vendor.package);
}

void silence_plugin(std::string_view device) {
  if (device_kind(device) == "xla:cpu") ::setenv("TF_CPP_MIN_LOG_LEVEL", "3", /*overwrite=*/0);
}

std::vector<std::string> nvidia_libraries(const std::string& plugin) {
  // Each needs only those before it.
  static constexpr const char* kInOrder[] = {"libcudart.so.",   "libnvJitLink.so.", "libnvrtc.so.",
                                             "libcublasLt.so.", "libcublas.so.",    "libcupti.so.",
                                             "libcufft.so.",    "libcusparse.so.",  "libcusolver.so.",
                                             "libcudnn.so.",    "libnccl.so.",      "libnvshmem_host.so."};
  const std::vector<fs::path> packages = inner_folders(nvidia_folder(plugin));
  std::vector<std::string> found;
  std::error_code none;
  for (const char* const stem : kInOrder) {
    std::string library;  // the newest, and of it the name without minor versions
    for (const fs::path& package : packages) {
      for (const fs::directory_entry& entry : fs::directory_iterator(package / "lib", none)) {
        const std::string path = entry.path().string();
        if (!entry.path().filename().string().starts_with(stem)) continue;
        if (library.empty() || path.size() < library.size()) library = path;
      }
      if (!library.empty()) break;
    }
    if (!library.empty()) found.push_back(library);
  }
  return found;
}

void load_libraries(const std::string& plugin) {
  for (const std::string& library : nvidia_libraries(plugin)) ::dlopen(library.c_str(), RTLD_NOW | RTLD_GLOBAL);
}

std::string cuda_data_folder(const std::string& plugin) {
  std::error_code none;
  for (const fs::path& package : inner_folders(nvidia_folder(plugin))) {
    if (fs::exists(package / "bin/ptxas", none)) return package;
  }
  for (const fs::path& folder : listed_folders(std::getenv("PATH"))) {
    if (!folder.empty() && fs::exists(folder / "ptxas", none)) return folder.parent_path();
  }
  return "";
}

const std::vector<NumberFlag>& number_flags() {
  static constexpr std::string_view kMinMax = "a maximum or minimum of a NaN and a number is NaN";
  static const std::vector<NumberFlag> all{
      {"", "xla_allow_excess_precision", false, "values that a program rounds to 16 bits are rounded"},
      {"xla:cpu", "xla_cpu_enable_fast_min_max", false, kMinMax},
      {"cuda", "xla_gpu_enable_fast_min_max", false, kMinMax},
      {"rocm", "xla_gpu_enable_fast_min_max", false, kMinMax},
      {"oneapi", "xla_gpu_enable_fast_min_max", false, kMinMax}};
  return all;
}

std::map<std::string, pjrt::Flag> compile_flags(std::string_view name, const std::string& plugin) {
  std::map<std::string, pjrt::Flag> flags;
  for (const NumberFlag& flag : number_flags()) {
    if (!flag.device.empty() && (flag.device != device_kind(name) || !knows_flag(plugin, std::string(flag.name))))
      continue;
    flags.emplace(flag.name, flag.value);
  }
  if (device_kind(name) == "cuda") {
    const std::string merger = "xla_gpu_dot_merger_threshold_mb";
    if (knows_flag(plugin, merger)) flags.emplace(merger, kMergedProducts);
    if (const std::string folder = cuda_data_folder(plugin); !folder.empty()) {
      flags.emplace("xla_gpu_cuda_data_dir", folder);
    }
  }
  std::erase_if(flags, [given = given_flags()](const auto& flag) { return given.contains(flag.first); });
  return flags;
}

std::string device_remedy(std::string_view name, const std::string& root) {
  const Vendor& vendor = *parse_accelerator(name).first;
  if (const char* path = std::getenv("PARTITA_PJRT_PLUGIN"); path != nullptr && *path != '\0') {
    return "unset PARTITA_PJRT_PLUGIN";
  }
  try {
    find_plugin(name);
  } catch (const RuntimeFailure&) {
    return fmt::format("pip install {}", vendor.package);
  }
  std::error_code none;
  if (vendor.name == "cuda" && !fs::exists(root + "/proc/driver/nvidia/version", none)) {
    return "apt-get install nvidia-driver, or in a container: docker run --gpus all";
  }
  return fmt::format("pip install --upgrade {}", vendor.package);
}

}  // namespace partita
