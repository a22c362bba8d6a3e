#pragma once
// A place where kernels run: memory, kernels and the catalog that describes them.

#include "base/subnormals.h"
#include "ir/graph/op_def.h"
#include "ir/kernels/kernel_set.h"
#include "runtime/device/kernel.h"
#include "runtime/device/row_reader.h"

namespace partita {

class Device {
 public:
  virtual ~Device() = default;
  virtual const KernelCatalog& catalog() const = 0;

  /// Zeroed memory aligned to 4096 bytes; throws RuntimeFailure(out_of_memory) with the size.
  virtual std::shared_ptr<void> allocate(int64_t bytes) = 0;
  /// Gives a part of such memory back to the system until it is written again; what it holds is lost.
  virtual void discard(void* begin, int64_t bytes) = 0;
  /// The kernel of an accepted choice.
  virtual std::unique_ptr<Kernel> make_kernel(const KernelQuery& query, const KernelChoice& choice) = 0;
  /// Converts one value between memory formats.
  virtual std::unique_ptr<Kernel> make_reorder(const Type& type, const MemoryFormat& from, const MemoryFormat& to) = 0;
  /// What reads rows of one value in a memory format.
  virtual std::unique_ptr<RowReader> make_row_reader(const Type& type, const MemoryFormat& from) = 0;
  /// To be called on the thread that will run the kernels, before it makes them: starts its compute threads. Throws
  /// RuntimeFailure(out_of_memory) when they cannot be started, InvalidArgument when the environment forbids so many.
  virtual void enter_thread() = 0;
  /// Of the calling thread and of the compute threads that work for it, until it is called again.
  virtual void set_subnormals(SubnormalSetting setting) = 0;
};

/// `threads` compute threads for the rank that owns the device; `ops` gives the reference kernels.
std::unique_ptr<Device> make_cpu_device(const OpSet& ops, int threads, KernelSet kernels = KernelSet::fast);

}  // namespace partita
