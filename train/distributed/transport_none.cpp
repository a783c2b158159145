// Octet without MPI.

#include <octet/core/error.h>
#include <octet/train/distributed/distributed.h>

namespace octet::detail {

std::unique_ptr<Transport> make_mpi_transport(int /*argc*/, char** /*argv*/) {
  throw InvalidArgument(
      "Distributed: expected one process, for this program was built without MPI; found one of "
      "several that mpirun or srun has started; build Octet with -DOCTET_MPI=ON");
}

}  // namespace octet::detail
