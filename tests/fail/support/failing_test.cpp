// Tests that fail on some ranks only; mpi_main_test.cpp looks at what is made of them.
#include <gtest/gtest.h>
#include <mpi.h>

namespace {

int rank() {
  int r = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &r);
  return r;
}

TEST(OnSomeRanks, Fails) {
  EXPECT_NE(rank(), 1) << "no good on rank one";
  EXPECT_NE(rank(), 2) << "no good on rank two";
}

TEST(OnEveryRank, Passes) {
  EXPECT_GE(rank(), 0);
}

TEST(OnOneRank, DoesNotCome) {
  if (rank() == 2) {
    EXPECT_TRUE(false) << "lost before the barrier";
    return;
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

}  // namespace
