#pragma once
// The functions of MPI, loaded at run time. A program built with MPI also runs where MPI is missing, and a process that
// was not started by mpirun or srun never loads it.

#include <mpi.h>

#include <string>

namespace partita {

/// Functions and handles of the loaded library. Constants that are plain numbers come from the header.
struct MpiApi {
  decltype(&MPI_Abort) abort;
  decltype(&MPI_Allreduce) allreduce;
  decltype(&MPI_Bcast) bcast;
  decltype(&MPI_Cancel) cancel;
  decltype(&MPI_Comm_free) comm_free;
  decltype(&MPI_Comm_rank) comm_rank;
  decltype(&MPI_Comm_set_errhandler) comm_set_errhandler;
  decltype(&MPI_Comm_size) comm_size;
  decltype(&MPI_Comm_split) comm_split;
  decltype(&MPI_Error_class) error_class;
  decltype(&MPI_Error_string) error_string;
  decltype(&MPI_Finalize) finalize;
  decltype(&MPI_Finalized) finalized;
  decltype(&MPI_Get_count) get_count;
  decltype(&MPI_Init_thread) init_thread;
  decltype(&MPI_Irecv) irecv;
  decltype(&MPI_Isend) isend;
  decltype(&MPI_Request_free) request_free;
  decltype(&MPI_Test) test;
  decltype(&MPI_Test_cancelled) test_cancelled;

  MPI_Comm comm_world, comm_null;
  MPI_Datatype byte, integer;
  MPI_Op min;
  MPI_Request request_null;
  MPI_Errhandler errors_return;
};

/// Loads the library at the first call: the one that PARTITA_MPI_LIBRARY names, or that of the MPI with which the
/// program was built. Throws InvalidArgument if it cannot be loaded or lacks a function.
const MpiApi& mpi();

}  // namespace partita
