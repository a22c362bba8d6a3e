#include "runtime/device/xla/accelerator.h"

#include <atomic>
#include <cstdlib>
#include <map>
#include <mutex>
#include <new>
#include <tuple>
#include <vector>

#include "base/error.h"
#include "runtime/device/xla/plugin_search.h"
#include "runtime/device/xla/xla_flags.h"

namespace partita {
namespace {

/// Returns the cache of a plugin's programs; null if there is none.
std::shared_ptr<ProgramCache> cache_of(const pjrt::Client& client, const std::string& plugin, const Warn& warn) {
  const std::string folder = program_folder();
  if (folder.empty()) return nullptr;
  try {
    const std::string compiler = compiler_identity(client, plugin);
    if (!compiler.empty()) return std::make_shared<ProgramCache>(ProgramCache::Options{folder, compiler});
  } catch (const Error& error) {
    if (warn) warn(fmt::format("{}; compiled programs are not kept", error.what()));
  }
  return nullptr;
}

const char* const kSharedTuning = "xla_gpu_shard_autotuning";

pjrt::NamedOptions options_of_client(const Vendor& vendor, bool has_several) {
  pjrt::NamedOptions options;
  if (vendor.platform != "cpu" && vendor.platform != "tpu") options["preallocate"] = false;
  if (has_several) options["cpu_device_count"] = kCpuDevices;
  return options;
}

/// Adds the flag that makes a GPU repeat its bits. Throws RuntimeFailure(usage) if the plugin has none.
void add_deterministic(std::map<std::string, pjrt::Flag>& flags, const Vendor& vendor, const std::string& plugin) {
  if (vendor.name != "cuda" && vendor.name != "rocm") return;
  const std::string flag = "xla_gpu_deterministic_ops";
  if (!knows_flag(plugin, flag)) {
    throw RuntimeFailure(ExitCode::usage,
                         fmt::format("[--deterministic] the plugin has no such flag, got {} without {}, "
                                     "expected one that has it, or no --deterministic",
                                     plugin, flag));
  }
  flags[flag] = true;
}

/// Returns the flags of each compilation. Throws RuntimeFailure(usage) if the plugin lacks one that is asked for.
std::map<std::string, pjrt::Flag> flags_of_programs(const Vendor& vendor, const std::string& plugin,
                                                    const OpenOptions& options) {
  std::map<std::string, pjrt::Flag> flags = compile_flags(vendor.name, plugin);
  if (options.deterministic) add_deterministic(flags, vendor, plugin);
  // One process compiles what all of them run, so it must not wait for the others to try kernels.
  if (options.process && knows_flag(plugin, kSharedTuning)) flags[kSharedTuning] = false;
  return flags;
}

/// Adds which process this is. The plugin for TPUs has its own ways to know.
void add_place(pjrt::NamedOptions& options, const Vendor& vendor, const ProcessPlace& place, int named) {
  if (vendor.platform == "tpu") return;
  options["node_id"] = int64_t{place.rank};
  options["num_nodes"] = int64_t{place.count};
  if (vendor.platform == "cpu") {
    options["cpu_device_count"] = int64_t{1};
  } else {
    options["visible_devices"] = std::vector<int64_t>{named >= 0 ? named : place.on_host};
  }
}

}  // namespace

struct Accelerator::Shared {
  struct Program {
    std::mutex mutex;
    std::weak_ptr<const pjrt::Executable> made;
  };
  explicit Shared(pjrt::Client made) : client(std::move(made)) {}

  /// Returns a program that this process does not have. Throws as `Client::compile` does.
  pjrt::Executable make(const std::string& text, const pjrt::CompileOptions& options, const Warn& warn) {
    std::call_once(looks_for_cache, [&] {
      if (!plugin.empty()) cache = cache_of(client, plugin, warn);
    });
    return cache == nullptr ? client.compile(text, options) : cache->program_of(client, text, options, warn);
  }

  /// Keeps a program that nobody uses any more until the next compilation. So the last reference to it is not held by
  /// a thread of the plugin that has just run it, which would delete the program while the process exits. Deletes it
  /// if memory is exhausted.
  void retire(std::unique_ptr<const pjrt::Executable> program) noexcept {
    const std::lock_guard lock(retiring);
    try {
      retired.push_back(std::move(program));
    } catch (const std::bad_alloc&) {  // `program` ends here
    }
  }
  void release_retired() {
    const std::lock_guard lock(retiring);
    retired.clear();
  }

  const pjrt::Client client;
  std::mutex retiring{};  // guards `retired`
  std::vector<std::unique_ptr<const pjrt::Executable>> retired{};
  std::map<std::string, pjrt::Flag> flags{};  // flags of each compilation
  std::string plugin{};                       // path of the plugin whose programs are kept
  std::once_flag looks_for_cache{};           // it reads the plugin's file, so only once it compiles
  std::shared_ptr<ProgramCache> cache{};      // null: all programs are compiled
  std::atomic<pjrt::RunId> runs{0};
  std::mutex mutex{};  // guards `programs`
  /// By text, and by the ids of the replicas' devices.
  std::map<std::pair<std::string, std::vector<int64_t>>, std::shared_ptr<Program>> programs{};
};

Accelerator Accelerator::open(std::string_view name, int index, const OpenOptions& options) {
  // Plugins cannot be unloaded, and threads of theirs outlive all else: what is shared is never released.
  static std::mutex mutex;
  static auto& opened = *new std::map<std::tuple<std::string, bool, bool, int, int>, std::shared_ptr<Shared>>;
  const auto [vendor, named] = parse_accelerator(name);
  const std::lock_guard lock(mutex);
  const bool is_whole = vendor->platform == "cpu" && options.collectives == CollectiveMode::whole;
  const ProcessPlace place = options.process.value_or(ProcessPlace{});
  std::shared_ptr<Shared>& shared =
      opened[{std::string(vendor->name), is_whole, options.deterministic, place.rank, place.count}];
  if (shared == nullptr) {
    const std::string path = find_plugin(name);
    std::map<std::string, pjrt::Flag> flags = flags_of_programs(*vendor, path, options);
    pass_on_flags(vendor->name, path, options.warn);
    if (vendor->name == "cuda") load_libraries(path);
    const pjrt::Plugin plugin = pjrt::Plugin::load(path);
    pjrt::NamedOptions client_options = options_of_client(*vendor, is_whole);
    std::shared_ptr<pjrt::KeyValueStore> values;
    if (options.process) {
      add_place(client_options, *vendor, place, named);
      values = place.share();
    }
    pjrt::Client client = plugin.make_client(client_options, std::move(values));
    if (client.platform() != vendor->platform) {
      throw RuntimeFailure(ExitCode::usage, fmt::format("[device] a plugin for other devices, got {} for {}, expected "
                                                        "one for {}",
                                                        path, client.platform(), vendor->name));
    }
    shared = std::make_shared<Shared>(std::move(client));
    shared->flags = std::move(flags);
    shared->plugin = path;
  }
  const auto count = static_cast<int>(shared->client.devices());
  const int wanted = options.process ? -1 : named;  // each of several processes has the named device alone
  if (count == 0 || wanted >= count) {
    throw RuntimeFailure(ExitCode::usage,
                         fmt::format("[device] no such device, got {}, expected one of {} devices", name, count));
  }
  if (options.process) index = 0;
  return {shared, static_cast<size_t>(wanted >= 0 ? wanted : index % count), options.warn};
}

Accelerator Accelerator::of(pjrt::Client client, size_t device, std::shared_ptr<ProgramCache> cache, Warn warn) {
  auto shared = std::make_shared<Shared>(std::move(client));
  shared->cache = std::move(cache);
  return {std::move(shared), device, std::move(warn)};
}

const pjrt::Client& Accelerator::client() const { return shared_->client; }
std::string Accelerator::version() const {
  const pjrt::Version& version = shared_->client.version();
  return fmt::format("{}.{}", version.major, version.minor);
}

pjrt::RunId Accelerator::next_run() const { return ++shared_->runs; }

void Accelerator::pass_run(pjrt::RunId run) const {
  pjrt::RunId had = shared_->runs;
  while (had < run && !shared_->runs.compare_exchange_weak(had, run)) {
  }
}

/// Shares a program. `Shared` keeps it when nobody uses it any more.
std::shared_ptr<const pjrt::Executable> Accelerator::hold(pjrt::Executable program) const {
  const auto retire = [weak = std::weak_ptr(shared_)](const pjrt::Executable* unused) {
    std::unique_ptr<const pjrt::Executable> owned(unused);
    if (const auto shared = weak.lock()) shared->retire(std::move(owned));
  };
  return {new pjrt::Executable(std::move(program)), retire};
}

std::shared_ptr<const pjrt::Executable> Accelerator::load(std::string_view serialized) const {
  shared_->release_retired();
  return hold(shared_->client.load(serialized));
}

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
    shared_->release_retired();
    program = hold(shared_->make(text, options, warn_));
    entry->made = program;
  }
  return program;
}

}  // namespace partita
