#pragma once
// A device runs kernels. It provides memory, kernels and the catalog that describes them.

#include "base/subnormals.h"
#include "compiler/emit/collective_mode.h"
#include "ir/graph/op_def.h"
#include "ir/kernels/kernel_set.h"
#include "runtime/device/kernel.h"
#include "runtime/device/row_reader.h"

namespace partita {

class Accelerator;
struct JoinedProcess;

class Device {
 public:
  virtual ~Device() = default;
  /// Describes the kernels of the device. Lives as long as the device.
  virtual const KernelCatalog& catalog() const = 0;

  /// Allocates zeroed memory aligned to 4096 bytes. The result owns it. Throws RuntimeFailure(out_of_memory), naming
  /// the size, if there is too little.
  virtual std::shared_ptr<void> allocate(int64_t bytes) = 0;
  /// Releases the whole pages in a part of allocated memory to the system until they are written again. Their contents
  /// are lost.
  virtual void discard(void* begin, int64_t bytes) = 0;
  /// Makes the kernel of an accepted choice. Throws RuntimeFailure(out_of_memory) for lack of memory, InternalError if
  /// the device has no such kernel, it needs more scratch than the choice says, or a library fails otherwise.
  virtual std::unique_ptr<Kernel> make_kernel(const KernelQuery& query, const KernelChoice& choice) = 0;
  /// Makes a kernel that converts one value between memory formats, or copies it if their tags are equal. It needs no
  /// scratch memory. Throws RuntimeFailure(out_of_memory) for lack of memory, InternalError if there is no such
  /// conversion.
  virtual std::unique_ptr<Kernel> make_reorder(const Type& type, const MemoryFormat& from, const MemoryFormat& to) = 0;
  /// Makes a reader of rows of one value in a memory format that is not plain. Throws InternalError if it cannot be
  /// read, as if its elements do not have 4 bytes.
  virtual std::unique_ptr<RowReader> make_row_reader(const Type& type, const MemoryFormat& from) = 0;
  /// Starts the compute threads. Call it on the thread that will run the kernels, before it makes them. Throws
  /// RuntimeFailure(out_of_memory) if they cannot be started, InvalidArgument if the environment (OMP_THREAD_LIMIT)
  /// allows fewer.
  virtual void enter_thread() = 0;
  /// Sets the subnormal mode of the calling thread and of its compute threads, until the next call. From the first call
  /// on, the compute threads take no signals; the caller holds its own (HeldSignals). Throws InvalidArgument on a
  /// thread that forked this process, whose compute threads did not come along.
  virtual void set_subnormals(SubnormalSetting setting) = 0;
  /// Returns the accelerator that runs nodes as programs (compiler/emit/segments.h), which lives as long as the device;
  /// null: kernels run all nodes in the device's memory. Throws as `Accelerator::open` does.
  virtual const Accelerator* accelerator() { return nullptr; }
  /// Makes the accelerator one of those of several processes, whose programs communicate. Does nothing once
  /// `accelerator` was called. `place` may be used until it is.
  virtual void join(const JoinedProcess& /*place*/) {}
  /// Returns the name and the size of the plugin's file, "" if there is none. Throws as `find_plugin` does.
  virtual std::string plugin_text() const { return ""; }
  /// Where programs of the accelerator communicate.
  virtual CollectiveMode collectives() const { return CollectiveMode::cut; }
};

/// Makes a device with `threads` compute threads for the rank that owns it. `ops` provides the reference kernels, the
/// only ones with KernelSet::reference, and outlives the device. Throws InternalError if `threads` < 1.
std::unique_ptr<Device> make_cpu_device(const OpSet& ops, int threads, KernelSet kernels = KernelSet::fast);

}  // namespace partita
