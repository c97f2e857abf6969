// A lost launcher is recognised from what it left in the environment, and a single process started on purpose
// is not.
#include "comm/guard.hpp"

#include <gtest/gtest.h>

#include <map>

namespace galvatron::comm {
namespace {

std::string problem(int mpi_size, std::map<std::string, std::string> variables) {
  return launch_problem(mpi_size, [&](const char* name) { return variables[name]; });
}

TEST(LaunchProblem, NoLauncherOrAWorkingOneIsFine) {
  EXPECT_EQ(problem(1, {}), "");
  EXPECT_EQ(problem(8, {{"SLURM_NTASKS", "8"}}), "");
  EXPECT_EQ(problem(1, {{"SLURM_NTASKS", "1"}}), "");
}

TEST(LaunchProblem, OneRankUnderSeveralSlurmTasksIsExplained) {
  const auto text = problem(1, {{"SLURM_NTASKS", "4"}});
  EXPECT_NE(text.find("MPI sees 1 rank"), std::string::npos) << text;
  EXPECT_NE(text.find("SLURM_NTASKS=4"), std::string::npos) << text;
  EXPECT_NE(text.find("srun --mpi=pmix"), std::string::npos) << text;
}

TEST(LaunchProblem, OneRankByMpirunInsideASlurmJobIsFine) {
  EXPECT_EQ(problem(1, {{"SLURM_NTASKS", "4"}, {"OMPI_COMM_WORLD_SIZE", "1"}}), "");
  EXPECT_EQ(problem(1, {{"SLURM_NTASKS", "4"}, {"PMI_SIZE", "1"}}), "");
}

TEST(LaunchProblem, AForeignMpirunIsExplained) {
  EXPECT_NE(problem(1, {{"OMPI_COMM_WORLD_SIZE", "4"}}).find("OMPI_COMM_WORLD_SIZE=4"), std::string::npos);
}

TEST(StartProblem, SrunWithoutPmiIsExplainedBeforeOpenMpiAborts) {
  const auto start = [](const std::string& library, std::map<std::string, std::string> variables) {
    return start_problem(library, [variables = std::move(variables)](const char* name) {
      const auto found = variables.find(name);
      return found == variables.end() ? std::string() : found->second;
    });
  };
  const std::map<std::string, std::string> srun = {{"SLURM_STEP_ID", "0"}, {"SLURM_STEP_NUM_TASKS", "4"}};
  const auto text = start("Open MPI v4.1.4", srun);
  EXPECT_NE(text.find("SLURM_NTASKS=4"), std::string::npos) << text;
  EXPECT_NE(text.find("srun --mpi=pmix"), std::string::npos) << text;
  auto with_pmix = srun;
  with_pmix["PMIX_RANK"] = "0";
  EXPECT_EQ(start("Open MPI v4.1.4", with_pmix), "");
  EXPECT_EQ(start("MPICH Version: 4.0", srun), "");
  EXPECT_EQ(start("Open MPI v4.1.4", {{"SLURM_NTASKS", "4"}}), "") << "a batch script";
  EXPECT_EQ(start("Open MPI v4.1.4", {}), "");
}

}  // namespace
}  // namespace galvatron::comm
