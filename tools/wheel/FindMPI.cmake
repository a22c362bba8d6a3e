# MPI by its header alone: the library is loaded at run time.
find_path(MPI_C_HEADER_DIR mpi.h PATH_SUFFIXES lib/x86_64-linux-gnu/openmpi/include)
set(MPI_C_INCLUDE_DIRS ${MPI_C_HEADER_DIR})
if(MPI_C_HEADER_DIR)
  set(MPI_C_FOUND TRUE)
endif()
