// The main of every test that runs on several ranks. It starts MPI, keeps each rank's failures to itself
// until the end, lets rank 0 print all of them in rank order, and makes all ranks return the same exit code.
// A rank that waits for another one for ever would keep its failures to itself, so a timer prints what it
// knows and aborts shortly before CTest would kill the job.
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace {

/// Collects this rank's failures as text; rank 0 also keeps GoogleTest's own printer.
class FailureCollector : public testing::EmptyTestEventListener {
 public:
  void OnTestStart(const testing::TestInfo& info) override {
    const std::lock_guard lock(mutex_);
    current_ = std::string(info.test_suite_name()) + "." + info.name();
  }
  void OnTestPartResult(const testing::TestPartResult& result) override {
    if (!result.failed()) return;
    const std::lock_guard lock(mutex_);
    const char* file = result.file_name() ? result.file_name() : "unknown file";
    text_ += "  " + current_ + " at " + file + ":" + std::to_string(result.line_number()) + "\n" +
             result.message() + "\n";
  }
  std::string text() {
    const std::lock_guard lock(mutex_);
    return text_;
  }
  std::string current() {
    const std::lock_guard lock(mutex_);
    return current_;
  }

 private:
  std::mutex mutex_;
  std::string current_ = "(no test yet)";
  std::string text_;
};

/// Ends a job that hangs: prints where this rank is and aborts all of them.
class Timer {
 public:
  Timer(double seconds, int rank, FailureCollector& failures)
      : thread_([this, seconds, rank, &failures](const std::stop_token& stop) {
          std::unique_lock lock(mutex_);
          if (wake_.wait_for(lock, stop, std::chrono::duration<double>(seconds), [] { return false; }))
            return;
          if (stop.stop_requested()) return;
          std::fprintf(stderr, "[rank %d] no end after %.0f s, in test %s\n%s", rank, seconds,
                       failures.current().c_str(), failures.text().c_str());
          std::this_thread::sleep_for(std::chrono::milliseconds(300));  // the other ranks' lines
          MPI_Abort(MPI_COMM_WORLD, 9);
        }) {}

 private:
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::jthread thread_;
};

/// Rank 0 prints the failures of all ranks, in rank order.
void print_failures(const std::string& mine, int rank, int size) {
  const int length = static_cast<int>(mine.size());
  std::vector<int> lengths(size);
  MPI_Gather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, 0, MPI_COMM_WORLD);
  std::vector<int> offsets(size, 0);
  for (int r = 1; r < size; ++r) offsets[r] = offsets[r - 1] + lengths[r - 1];
  std::string all(static_cast<size_t>(offsets.back() + lengths.back()), ' ');
  MPI_Gatherv(mine.data(), length, MPI_CHAR, all.data(), lengths.data(), offsets.data(), MPI_CHAR, 0,
              MPI_COMM_WORLD);
  if (rank != 0) return;
  for (int r = 0; r < size; ++r) {
    if (lengths[r] == 0) continue;
    std::printf("[rank %d of %d]\n%s", r, size, all.substr(offsets[r], lengths[r]).c_str());
  }
  std::fflush(stdout);
}

double seconds_allowed() {
  const char* text = std::getenv("GALVATRON_TEST_TIMEOUT");
  const double timeout = text ? std::strtod(text, nullptr) : 600.0;
  return std::max(0.8 * timeout, timeout - 10.0);
}

}  // namespace

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  int rank = 0;
  int size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  testing::InitGoogleTest(&argc, argv);

  auto& listeners = testing::UnitTest::GetInstance()->listeners();
  auto* failures = new FailureCollector;  // owned by GoogleTest from here on
  listeners.Append(failures);
  if (rank != 0) delete listeners.Release(listeners.default_result_printer());

  int code = 0;
  {
    const Timer timer(seconds_allowed(), rank, *failures);
    code = RUN_ALL_TESTS();
    MPI_Allreduce(MPI_IN_PLACE, &code, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    print_failures(failures->text(), rank, size);
  }
  MPI_Finalize();
  return code;
}
