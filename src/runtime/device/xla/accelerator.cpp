#include "runtime/device/xla/accelerator.h"

#include <atomic>
#include <cstdlib>
#include <map>
#include <mutex>

#include "base/error.h"
#include "runtime/device/xla/plugin_search.h"

namespace partita {
namespace {

constexpr std::string_view kDataFlag = "xla_gpu_cuda_data_dir";

/// Returns the flags that every program of a vendor needs: the folder of ptxas and libdevice, unless the user names
/// one.
std::map<std::string, pjrt::Flag> flags_of(const Vendor& vendor, const std::string& plugin) {
  const char* given = std::getenv("XLA_FLAGS");
  if (vendor.name != "cuda" ||
      (given != nullptr && std::string_view(given).find(kDataFlag) != std::string_view::npos)) {
    return {};
  }
  const std::string folder = cuda_data_folder(plugin);
  if (folder.empty()) return {};
  return {{std::string(kDataFlag), folder}};
}

}  // namespace

struct Accelerator::Shared {
  struct Program {
    std::mutex mutex;
    std::weak_ptr<const pjrt::Executable> made;
  };
  explicit Shared(pjrt::Client made, std::map<std::string, pjrt::Flag> given = {})
      : client(std::move(made)), flags(std::move(given)) {}

  const pjrt::Client client;
  const std::map<std::string, pjrt::Flag> flags;  // flags of each compilation
  std::atomic<pjrt::RunId> runs{0};
  std::mutex mutex{};  // guards `programs`
  /// By text, and by the ids of the replicas' devices.
  std::map<std::pair<std::string, std::vector<int64_t>>, std::shared_ptr<Program>> programs{};
};

Accelerator Accelerator::open(std::string_view name, int index, CollectiveMode collectives) {
  // Plugins cannot be unloaded, and threads of theirs outlive all else: what is shared is never released.
  static std::mutex mutex;
  static auto& opened = *new std::map<std::pair<std::string, bool>, std::shared_ptr<Shared>>;
  const auto [vendor, named] = parse_accelerator(name);
  const std::lock_guard lock(mutex);
  const bool has_several = vendor->platform == "cpu" && collectives == CollectiveMode::whole;
  std::shared_ptr<Shared>& shared = opened[{std::string(vendor->name), has_several}];
  if (shared == nullptr) {
    const std::string path = find_plugin(name);
    if (vendor->name == "cuda") load_libraries(path);
    const pjrt::Plugin plugin = pjrt::Plugin::load(path);
    pjrt::NamedOptions options;
    if (vendor->platform != "cpu" && vendor->platform != "tpu") options["preallocate"] = false;
    if (has_several) options["cpu_device_count"] = kCpuDevices;
    pjrt::Client client = plugin.make_client(options);
    if (client.platform() != vendor->platform) {
      throw RuntimeFailure(ExitCode::usage, fmt::format("[device] a plugin for other devices, got {} for {}, expected "
                                                        "one for {}",
                                                        path, client.platform(), vendor->name));
    }
    shared = std::make_shared<Shared>(std::move(client), flags_of(*vendor, path));
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
std::string Accelerator::version() const {
  const pjrt::Version& version = shared_->client.version();
  return fmt::format("{}.{}", version.major, version.minor);
}

pjrt::RunId Accelerator::next_run() const { return ++shared_->runs; }

std::shared_ptr<const pjrt::Executable> Accelerator::compile(const std::string& text,
                                                             const std::vector<int64_t>& replicas) const {
  std::shared_ptr<Shared::Program> entry;
  {
    const std::lock_guard lock(shared_->mutex);
    std::shared_ptr<Shared::Program>& found = shared_->programs[{text, replicas}];
    if (found == nullptr) found = std::make_shared<Shared::Program>();
    entry = found;
  }
  const std::lock_guard lock(entry->mutex);  // others that need the same program wait for it
  auto program = entry->made.lock();
  if (program == nullptr) {
    pjrt::CompileOptions options{.portable = replicas.empty(), .flags = shared_->flags};
    if (!replicas.empty()) {
      options.replicas = static_cast<int64_t>(replicas.size());
      options.devices = replicas;
    }
    program = std::make_shared<const pjrt::Executable>(shared_->client.compile(text, options));
    entry->made = program;
  }
  return program;
}

}  // namespace partita
