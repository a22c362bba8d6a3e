#pragma once
// Memory that the ranks of a group on one host share.

#include <mpi.h>

#include <cstddef>

namespace partita {

class SharedWindow {
 public:
  /// Collective over `comm`, whose ranks are on one host; gives no memory, on all of them, where there is too little.
  SharedWindow(MPI_Comm comm, size_t bytes);
  ~SharedWindow();
  SharedWindow(const SharedWindow&) = delete;
  SharedWindow& operator=(const SharedWindow&) = delete;

  void* data() const { return data_; }  // nullptr: none

 private:
  MPI_Win window_ = MPI_WIN_NULL;
  void* data_ = nullptr;
};

}  // namespace partita
