#include "runtime/comm/mpi/api.h"

#include <dlfcn.h>

#include <cstdlib>

#include "base/error.h"
#include "runtime/comm/mpi/mpi.h"

namespace partita {
namespace {

#ifdef OMPI_MAJOR_VERSION
constexpr const char* kLibrary = "libmpi.so.40";  // Open MPI 2 and later
#else
constexpr const char* kLibrary = "libmpi.so.12";  // MPICH and libraries compatible with its binary interface
#endif

std::string library_name() {
  const char* named = std::getenv("PARTITA_MPI_LIBRARY");
  return named != nullptr && *named != '\0' ? named : kLibrary;
}

/// Loads the library that PARTITA_MPI_LIBRARY names, else `kLibrary`, and returns its handle; null if that fails.
/// RTLD_GLOBAL: Open MPI loads plugins that need its symbols.
void* open_library() { return ::dlopen(library_name().c_str(), RTLD_NOW | RTLD_GLOBAL); }

class Symbols {
 public:
  Symbols() : library_(open_library()) {
    if (library_ != nullptr) return;
    const char* why = ::dlerror();
    throw InvalidArgument(
        fmt::format("[mpi] cannot load the MPI library, got '{}', expected {} (openmpi-bin), or partita launch",
                    why == nullptr ? "" : why, library_name()));
  }

  void* find(const char* name) const {
    void* found = ::dlsym(library_, name);
    if (found != nullptr) return found;
    throw InvalidArgument(fmt::format("[mpi] the MPI library is not supported, got no {} in {}, expected {}", name,
                                      library_name(), kLibrary));
  }

  template <class Function>
  void load(Function& function, const char* name) const {
    function = reinterpret_cast<Function>(find(name));
  }

 private:
  void* library_;  // stays loaded until the process ends
};

void load_functions(const Symbols& symbols, MpiApi& api) {
  symbols.load(api.abort, "MPI_Abort");
  symbols.load(api.allreduce, "MPI_Allreduce");
  symbols.load(api.bcast, "MPI_Bcast");
  symbols.load(api.cancel, "MPI_Cancel");
  symbols.load(api.comm_free, "MPI_Comm_free");
  symbols.load(api.comm_rank, "MPI_Comm_rank");
  symbols.load(api.comm_set_errhandler, "MPI_Comm_set_errhandler");
  symbols.load(api.comm_size, "MPI_Comm_size");
  symbols.load(api.comm_split, "MPI_Comm_split");
  symbols.load(api.error_class, "MPI_Error_class");
  symbols.load(api.error_string, "MPI_Error_string");
  symbols.load(api.finalize, "MPI_Finalize");
  symbols.load(api.finalized, "MPI_Finalized");
  symbols.load(api.get_count, "MPI_Get_count");
  symbols.load(api.init_thread, "MPI_Init_thread");
  symbols.load(api.irecv, "MPI_Irecv");
  symbols.load(api.isend, "MPI_Isend");
  symbols.load(api.request_free, "MPI_Request_free");
  symbols.load(api.test, "MPI_Test");
  symbols.load(api.test_cancelled, "MPI_Test_cancelled");
}

/// Sets the handles. In Open MPI a handle is the address of an object in the library, elsewhere a number from the
/// header. Throws InvalidArgument if the library lacks one.
void load_handles([[maybe_unused]] const Symbols& symbols, MpiApi& api) {
#ifdef OMPI_MAJOR_VERSION
  symbols.load(api.comm_world, "ompi_mpi_comm_world");
  symbols.load(api.comm_null, "ompi_mpi_comm_null");
  symbols.load(api.byte, "ompi_mpi_byte");
  symbols.load(api.integer, "ompi_mpi_int");
  symbols.load(api.min, "ompi_mpi_op_min");
  symbols.load(api.request_null, "ompi_request_null");
  symbols.load(api.errors_return, "ompi_mpi_errors_return");
#else
  api.comm_world = MPI_COMM_WORLD;
  api.comm_null = MPI_COMM_NULL;
  api.byte = MPI_BYTE;
  api.integer = MPI_INT;
  api.min = MPI_MIN;
  api.request_null = MPI_REQUEST_NULL;
  api.errors_return = MPI_ERRORS_RETURN;
#endif
}

}  // namespace

const MpiApi& mpi() {
  static const MpiApi api = [] {
    const Symbols symbols;
    MpiApi loaded{};
    load_functions(symbols, loaded);
    load_handles(symbols, loaded);
    return loaded;
  }();
  return api;
}

bool has_mpi() { return true; }

bool finds_mpi() {
  void* library = ::dlopen(library_name().c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (library != nullptr) ::dlclose(library);
  return library != nullptr;
}

}  // namespace partita
