#include <omp.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "base/held_signals.h"
#include "base/resources.h"
#include "runtime/device/cpu/onednn/engine.h"
#include "runtime/device/cpu/reference.h"
#include "runtime/device/cpu/row_reader.h"
#include "runtime/device/cpu/team.h"
#include "runtime/device/device.h"

namespace partita {

std::vector<KernelDef> listed_onednn_kernels();  // generated from the folders' listings
std::vector<KernelDef> listed_loop_kernels();

namespace {

constexpr size_t kPage = 4096;
constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kChoiceBytes = size_t{4} << 20;  // upper bound on what oneDNN allocates to describe a primitive

class CpuCatalog final : public KernelCatalog {
 public:
  CpuCatalog(const OpSet& ops, KernelSet kernels) : ops_(ops) {
    if (kernels == KernelSet::reference) return;
    for (auto* list : {&listed_onednn_kernels, &listed_loop_kernels}) {
      for (KernelDef& def : list()) defs_.push_back(std::move(def));
    }
    for (const KernelDef& def : defs_) {
      for (const std::string& op : def.ops) by_op_[op].push_back(&def);
    }
  }

  KernelChoice choose(const KernelQuery& query) const override {
    const Reservation room("the choice of a kernel", kChoiceBytes);
    if (query.like) return choose_like(query, *query.like);
    std::string reasons;
    if (const auto found = by_op_.find(query.op); found != by_op_.end()) {
      for (const KernelDef* def : found->second) {
        KernelChoice choice = propose(*def, query);
        if (choice.accepted()) {
          choice.reason = reasons;
          return choice;
        }
        reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", def->name, choice.reason);
      }
    } else {
      reasons = "no other kernel";
    }
    KernelChoice choice = propose_reference(ops_.at(query.op), query);
    choice.reason = choice.accepted() ? reasons : fmt::format("{}; reference: {}", reasons, choice.reason);
    return choice;
  }

  int64_t bytes(const Type& type, const MemoryFormat& format) const override {
    if (format.plain() || format.any()) return type.bytes();
    return format_bytes({is_half(type.dtype) ? type.dtype : DType::f32, type.shape}, format);
  }

  std::unique_ptr<Kernel> make(const KernelQuery& query, const KernelChoice& choice) const {
    if (choice.kernel == "reference") return make_reference(ops_.at(query.op), query);
    for (const KernelDef& def : defs_) {
      if (def.name == choice.kernel) return def.make(query, choice);
    }
    throw InternalError("[cpu] there is no kernel {}", choice.kernel);
  }

 private:
  static KernelChoice propose(const KernelDef& def, const KernelQuery& query) {
    if (mixes_halves(query) && !def.mixes_halves) return refuse("it computes in one type");
    return def.propose(query);
  }

  KernelChoice choose_like(const KernelQuery& query, const KernelChoice& wanted) const {
    KernelChoice choice = refuse(fmt::format("there is no kernel {}", wanted.kernel));
    if (wanted.kernel == "reference") choice = propose_reference(ops_.at(query.op), query);
    for (const KernelDef& def : defs_) {
      if (def.name == wanted.kernel) choice = propose(def, query);
    }
    if (!choice.accepted() || same_formats(choice, wanted)) return choice;
    return refuse(fmt::format("{} needs other memory formats", wanted.kernel));
  }

  const OpSet& ops_;
  std::vector<KernelDef> defs_;  // most specialized first
  std::map<std::string, std::vector<const KernelDef*>> by_op_;
};

class Copy final : public Kernel {
 public:
  explicit Copy(int64_t bytes) : bytes_(bytes) {}
  void run(std::span<const void* const> inputs, std::span<void* const> outputs, void*) override {
    std::memcpy(outputs[0], inputs[0], bytes_);
  }

 private:
  int64_t bytes_;
};

size_t round_up_cpu_device(size_t value, size_t unit) { return (value + unit - 1) / unit * unit; }

/// Returns zeroed pages, or MAP_FAILED. Large memory begins at a huge page, so that all but its end can use huge pages.
void* map(size_t size) {
  const auto pages = [](size_t count) {
    return mmap(nullptr, count, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  };
  if (size < kHugePage) return pages(size);
  void* memory = pages(size + kHugePage);
  if (memory == MAP_FAILED) return memory;
  auto* begin = static_cast<std::byte*>(memory);
  const auto address = reinterpret_cast<uintptr_t>(memory);
  const size_t before = round_up_cpu_device(address, kHugePage) - address;
  if (before > 0) munmap(begin, before);
  if (before < kHugePage) munmap(begin + before + size, kHugePage - before);
  return begin + before;
}

class CpuDevice final : public Device {
 public:
  CpuDevice(const OpSet& ops, int threads, KernelSet kernels) : catalog_(ops, kernels), threads_(threads) {}

  const KernelCatalog& catalog() const override { return catalog_; }

  std::shared_ptr<void> allocate(int64_t bytes) override {
    const Reservation reservation("an arena", 0);
    const size_t size = std::max<size_t>(round_up_cpu_device(static_cast<size_t>(bytes), kPage), kPage);
    void* memory = map(size);
    if (memory == MAP_FAILED) {
      throw RuntimeFailure(
          ExitCode::out_of_memory,
          "[cpu] out of memory, got a request for {} bytes, expected less: a smaller batch or more ranks", bytes);
    }
    if (size >= kHugePage) madvise(memory, size, MADV_HUGEPAGE);  // only advice: failure changes nothing
    return {memory, [size](void* at) { munmap(at, size); }};
  }

  void discard(void* begin, int64_t bytes) override {
    const auto address = reinterpret_cast<uintptr_t>(begin);
    const uintptr_t first = round_up_cpu_device(address, kPage),
                    last = (address + static_cast<size_t>(bytes)) / kPage * kPage;
    if (first < last) madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);  // only advice
  }

  std::unique_ptr<Kernel> make_kernel(const KernelQuery& query, const KernelChoice& choice) override {
    const Reservation room("a kernel");
    return report_onednn([&] { return catalog_.make(query, choice); });
  }

  std::unique_ptr<Kernel> make_reorder(const Type& type, const MemoryFormat& from, const MemoryFormat& to) override {
    if (from.tag == to.tag) return std::make_unique<Copy>(catalog_.bytes(type, from));
    const Reservation room("a kernel");
    return report_onednn([&] { return make_onednn_reorder(type, from, to); });
  }

  std::unique_ptr<RowReader> make_row_reader(const Type& type, const MemoryFormat& from) override {
    return partita::make_row_reader(type, from);
  }

  void enter_thread() override { enter_team(threads_); }

  // Threads that the team gets later inherit both settings of the thread that starts them.
  void set_subnormals(SubnormalSetting setting) override {
    require_team(threads_);
#pragma omp parallel num_threads(threads_) if (threads_ > 1)
    {
      setting.apply();
      if (omp_get_thread_num() > 0) hold_signals();
    }
  }

 private:
  CpuCatalog catalog_;
  int threads_;
};

}  // namespace

std::unique_ptr<Device> make_cpu_device(const OpSet& ops, int threads, KernelSet kernels) {
  PARTITA_CHECK(threads >= 1, "{} threads", threads);
  return std::make_unique<CpuDevice>(ops, threads, kernels);
}

}  // namespace partita
