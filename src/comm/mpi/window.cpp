#include "comm/mpi/window.h"

namespace partita {

SharedWindow::SharedWindow(MPI_Comm comm, size_t bytes) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  // All of it lies with the first rank, so that it is one piece.
  void* own = nullptr;
  int status =
      MPI_Win_allocate_shared(rank == 0 ? static_cast<MPI_Aint>(bytes) : 0, 1, MPI_INFO_NULL, comm, &own, &window_);
  if (status == MPI_SUCCESS) {
    MPI_Aint size = 0;
    int unit = 0;
    status = MPI_Win_shared_query(window_, 0, &size, &unit, &data_);
  }
  int worst = status;
  MPI_Allreduce(&status, &worst, 1, MPI_INT, MPI_MAX, comm);
  if (worst != MPI_SUCCESS) data_ = nullptr;
}

SharedWindow::~SharedWindow() {
  if (window_ != MPI_WIN_NULL) MPI_Win_free(&window_);
}

}  // namespace partita
