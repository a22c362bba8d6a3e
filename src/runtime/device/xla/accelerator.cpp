#include "runtime/device/xla/accelerator.h"

#include <atomic>
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

/// Opens the client of a plugin.
std::shared_ptr<Accelerator::Shared> Accelerator::make_shared(const Vendor& vendor, int named,
                                                              const OpenOptions& options) {
  const std::string path = find_plugin(vendor.name);
  std::map<std::string, pjrt::Flag> flags = program_flags(vendor, path, options);
  pass_on_flags(vendor.name, path, options.warn);
  if (vendor.name == "cuda") load_libraries(path);
  const pjrt::Plugin plugin = pjrt::Plugin::load(path);
  std::shared_ptr<pjrt::KeyValueStore> values;
  if (options.process) values = options.process->share();
  pjrt::Client client = [&] {
    try {
      return plugin.make_client(client_options(vendor, named, options), std::move(values));
    } catch (const RuntimeFailure&) {
      if (options.process) options.process->check();  // the error of the process for which this one waited
      throw;
    }
  }();
  if (client.platform() != vendor.platform) {
    throw RuntimeFailure(ExitCode::usage, "[device] a plugin for other devices, got {} for {}, expected one for {}",
                         path, client.platform(), vendor.name);
  }
  auto shared = std::make_shared<Shared>(std::move(client));
  shared->flags = std::move(flags);
  shared->plugin = path;
  return shared;
}

Accelerator Accelerator::open(std::string_view name, int index, const OpenOptions& options) {
  // Plugins cannot be unloaded, and threads of theirs outlive all else: what is shared is never released.
  static std::mutex mutex;
  static auto& opened =
      *new std::map<std::tuple<std::string, bool, bool, double, int, int, int>, std::shared_ptr<Shared>>;
  const auto [vendor, named] = parse_accelerator(name);
  const std::lock_guard lock(mutex);
  const bool is_whole = vendor->platform == "cpu" && options.collectives == CollectiveMode::whole;
  const JoinedProcess place = options.process.value_or(JoinedProcess{});
  std::shared_ptr<Shared>& shared = opened[{
      std::string(vendor->name), is_whole, options.deterministic && has_deterministic_flag(*vendor),
      takes_share_of_memory(*vendor) ? options.memory : 0, place.rank, place.count, options.process ? named : -1}];
  if (shared == nullptr) shared = make_shared(*vendor, named, options);
  const auto count = static_cast<int>(shared->client.devices());
  // Each of several processes has one device, whichever the name says.
  const int wanted = options.process ? 0 : named;
  if (count == 0 || wanted >= count) {
    throw RuntimeFailure(ExitCode::usage, "[device] no such device, got {}, expected one of {} devices", name, count);
  }
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
