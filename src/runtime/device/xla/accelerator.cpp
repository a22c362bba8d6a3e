#include "runtime/device/xla/accelerator.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <mutex>

#include "base/error.h"

namespace partita {
namespace {

namespace fs = std::filesystem;

/// An accelerator: its name here, that of its platform, where its plugin lies in a folder of Python packages, and the
/// package that has it.
struct Vendor {
  std::string_view name, platform;
  std::vector<std::string> libraries;
  std::string_view package;
};

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

/// Returns the vendor of "NAME" or "NAME:INDEX", and the index, -1 if there is none. Throws InvalidArgument for others.
std::pair<const Vendor*, int> parse_accelerator(std::string_view name) {
  for (const Vendor& vendor : vendors()) {
    if (name == vendor.name) return {&vendor, -1};
    if (!name.starts_with(vendor.name) || name[vendor.name.size()] != ':') continue;
    const std::string_view digits = name.substr(vendor.name.size() + 1);
    const bool is_number = !digits.empty() && digits.size() < 5 &&
                           std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (is_number) return {&vendor, std::stoi(std::string(digits))};
  }
  throw InvalidArgument(
      fmt::format("[device] a device that does not exist, got {}, expected cpu, {}, or one of these with "
                  "an index, as cuda:0",
                  name, fmt::join(accelerator_names(), ", ")));
}

/// Folders of Python packages: those of the environment that is active, the user's and the system's.
std::vector<fs::path> package_folders() {
  std::vector<fs::path> roots;
  if (const char* active = std::getenv("VIRTUAL_ENV")) roots.emplace_back(fs::path(active) / "lib");
  if (const char* home = std::getenv("HOME")) roots.emplace_back(fs::path(home) / ".local/lib");
  roots.insert(roots.end(), {"/usr/local/lib", "/usr/lib"});
  std::vector<fs::path> folders;
  if (const char* given = std::getenv("PYTHONPATH")) {
    std::string_view rest = given;
    while (!rest.empty()) {
      folders.emplace_back(rest.substr(0, rest.find(':')));
      rest = rest.find(':') == std::string_view::npos ? "" : rest.substr(rest.find(':') + 1);
    }
  }
  std::error_code none;
  for (const fs::path& root : roots) {
    for (const fs::directory_entry& entry : fs::directory_iterator(root, none)) {
      if (!entry.path().filename().string().starts_with("python3")) continue;
      for (const char* name : {"site-packages", "dist-packages"}) folders.push_back(entry.path() / name);
    }
  }
  return folders;
}

}  // namespace

struct Accelerator::Shared {
  struct Program {
    std::mutex mutex;
    std::weak_ptr<const pjrt::Executable> made;
  };
  explicit Shared(pjrt::Client made) : client(std::move(made)) {}

  const pjrt::Client client;
  std::mutex mutex{};                                          // guards `programs`
  std::map<std::string, std::shared_ptr<Program>> programs{};  // by text
};

std::vector<std::string> accelerator_names() {
  std::vector<std::string> names;
  for (const Vendor& vendor : vendors()) names.emplace_back(vendor.name);
  return names;
}

void require_accelerator(std::string_view name) { parse_accelerator(name); }

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
  throw RuntimeFailure(
      ExitCode::usage,
      fmt::format(
          "[device] no PJRT plugin for {}, got none of {} in {} folders of Python packages, expected its path in "
          "PARTITA_PJRT_PLUGIN, or: pip install {}",
          vendor.name, fmt::join(vendor.libraries, ", "), folders.size(), vendor.package));
}

Accelerator Accelerator::open(std::string_view name, int index) {
  // Plugins cannot be unloaded, and threads of theirs outlive all else: what is shared is never released.
  static std::mutex mutex;
  static auto& opened = *new std::map<std::string, std::shared_ptr<Shared>>;
  const auto [vendor, named] = parse_accelerator(name);
  const std::lock_guard lock(mutex);
  std::shared_ptr<Shared>& shared = opened[std::string(vendor->name)];
  if (shared == nullptr) {
    const std::string path = find_plugin(name);
    const pjrt::Plugin plugin = pjrt::Plugin::load(path);
    pjrt::NamedOptions options;
    if (vendor->platform != "cpu" && vendor->platform != "tpu") options["preallocate"] = false;
    pjrt::Client client = plugin.make_client(options);
    if (client.platform() != vendor->platform) {
      throw RuntimeFailure(ExitCode::usage, fmt::format("[device] a plugin for other devices, got {} for {}, expected "
                                                        "one for {}",
                                                        path, client.platform(), vendor->name));
    }
    shared = std::make_shared<Shared>(std::move(client));
  }
  const auto count = static_cast<int>(shared->client.devices());
  if (count == 0 || named >= count) {
    throw RuntimeFailure(ExitCode::usage,
                         fmt::format("[device] no such device, got {}, expected one of {} devices", name, count));
  }
  return {shared, static_cast<size_t>(named >= 0 ? named : index % count)};
}

Accelerator Accelerator::of(pjrt::Client client, size_t device) {
  return {std::make_shared<Shared>(std::move(client)), device};
}

const pjrt::Client& Accelerator::client() const { return shared_->client; }

std::shared_ptr<const pjrt::Executable> Accelerator::compile(const std::string& text) const {
  std::shared_ptr<Shared::Program> entry;
  {
    const std::lock_guard lock(shared_->mutex);
    std::shared_ptr<Shared::Program>& found = shared_->programs[text];
    if (found == nullptr) found = std::make_shared<Shared::Program>();
    entry = found;
  }
  const std::lock_guard lock(entry->mutex);  // others that need the same program wait for it
  auto program = entry->made.lock();
  if (program == nullptr) {
    program = std::make_shared<const pjrt::Executable>(shared_->client.compile(text, {.portable = true}));
    entry->made = program;
  }
  return program;
}

}  // namespace partita
