# One function for every compiled test: one binary, one CTest per rank count, and all that a test needs from
# the environment, so that nothing must be exported before `ctest`.
#
#   galvatron_add_test(NAME mesh ROOM comm KIND mpi RANKS 1 2 3 6 LABELS slow SOURCES mesh_test.cpp)
#
#   NAME     the binary is test_<room>_<name>, the CTest <kind>.<room>.<name> (+ .n<ranks>)
#   ROOM     the room(s) linked
#   KIND     unit, mpi, parity, property, golden, fail, gpu, …: the first label; default mpi with RANKS, else unit
#   RANKS    rank counts: the test runs under mpirun with tests/support/mpi_main.cpp; without RANKS it is one
#            process with GoogleTest's own main
#   LABELS   more labels; `slow` leaves the test to `tests/run.sh --full`
#   TIMEOUT  seconds, default 240: a bound for what hangs; a test takes seconds, and ten times that on a busy machine
#   LINK     more targets to link
#
# Tests of the whole program play the one built here, or what GALVATRON_TEST_PROGRAM names when they are run.
set(GALVATRON_TESTED_PROGRAM $<TARGET_FILE:galvatron>)

set(GALVATRON_TEST_ENVIRONMENT
    OMP_NUM_THREADS=1
    OMPI_ALLOW_RUN_AS_ROOT=1
    OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    OMPI_MCA_rmaps_base_oversubscribe=1
    OMPI_MCA_mpi_yield_when_idle=1
    OMPI_MCA_btl_base_warn_component_unused=0
    PRTE_ALLOW_RUN_AS_ROOT=1
    PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1
    PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe)

function(galvatron_add_test)
  cmake_parse_arguments(TEST "" "NAME;KIND;TIMEOUT" "ROOM;RANKS;LABELS;SOURCES;LINK" ${ARGN})
  if(TEST_UNPARSED_ARGUMENTS OR NOT TEST_NAME OR NOT TEST_ROOM OR NOT TEST_SOURCES)
    message(FATAL_ERROR "galvatron_add_test: NAME, ROOM and SOURCES are needed; unknown: '${TEST_UNPARSED_ARGUMENTS}'")
  endif()
  if(NOT TEST_KIND)
    set(TEST_KIND unit)
    if(TEST_RANKS)
      set(TEST_KIND mpi)
    endif()
  endif()
  if(NOT TEST_TIMEOUT)
    set(TEST_TIMEOUT 240)
  endif()
  list(GET TEST_ROOM 0 room)
  set(binary test_${room}_${TEST_NAME})
  add_executable(${binary} ${TEST_SOURCES})
  foreach(other IN LISTS TEST_ROOM)
    target_link_libraries(${binary} PRIVATE galvatron_${other})
  endforeach()
  target_include_directories(${binary} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_compile_definitions(${binary} PRIVATE GALVATRON_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
                                               GALVATRON_PROGRAM="${GALVATRON_TESTED_PROGRAM}")
  target_link_libraries(${binary} PRIVATE ${TEST_LINK} GTest::gtest)
  if(TEST_RANKS)
    target_link_libraries(${binary} PRIVATE galvatron_test_mpi_main)
  else()
    target_link_libraries(${binary} PRIVATE GTest::gtest_main)
  endif()

  set(name ${TEST_KIND}.${room}.${TEST_NAME})
  if(NOT TEST_RANKS)
    add_test(NAME ${name} COMMAND ${binary})
    galvatron_test_properties(${name} 1)
  endif()
  foreach(ranks IN LISTS TEST_RANKS)
    add_test(NAME ${name}.n${ranks} COMMAND ${MPIEXEC_EXECUTABLE} --bind-to none ${MPIEXEC_NUMPROC_FLAG} ${ranks}
                                            $<TARGET_FILE:${binary}>)
    galvatron_test_properties(${name}.n${ranks} ${ranks})
  endforeach()
endfunction()

# Reads TEST_KIND, TEST_LABELS and TEST_TIMEOUT of its caller.
function(galvatron_test_properties name ranks)
  set_tests_properties(
    ${name}
    PROPERTIES PROCESSORS ${ranks}
               TIMEOUT ${TEST_TIMEOUT}
               LABELS "${TEST_KIND};${TEST_LABELS}"
               ENVIRONMENT "${GALVATRON_TEST_ENVIRONMENT};GALVATRON_TEST_TIMEOUT=${TEST_TIMEOUT}"
               WORKING_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
endfunction()

# Sources of a GPU test as objects, so that they can be compiled where nothing of CUDA is linked.
function(galvatron_gpu_objects room)
  add_library(galvatron_gpu_${room}_tests OBJECT ${ARGN})
  target_link_libraries(galvatron_gpu_${room}_tests PRIVATE galvatron_${room} GTest::gtest)
  target_include_directories(galvatron_gpu_${room}_tests PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  add_dependencies(galvatron_cuda_objects galvatron_gpu_${room}_tests)
endfunction()

# Tests that need a CUDA device: they share it, and count as skipped where there is none (tests/gpu/support.hpp).
function(galvatron_gpu_test)
  set_tests_properties(${ARGN} PROPERTIES RESOURCE_LOCK cuda_device SKIP_REGULAR_EXPRESSION "no CUDA device: ")
endfunction()

# A test that is a script or the program itself: galvatron_add_script_test(NAME n KIND lint COMMAND … [LABELS] [TIMEOUT] [PROCESSORS]).
function(galvatron_add_script_test)
  cmake_parse_arguments(TEST "" "NAME;KIND;TIMEOUT;PROCESSORS" "LABELS;COMMAND" ${ARGN})
  if(TEST_UNPARSED_ARGUMENTS OR NOT TEST_NAME OR NOT TEST_KIND OR NOT TEST_COMMAND)
    message(FATAL_ERROR "galvatron_add_script_test: NAME, KIND and COMMAND are needed")
  endif()
  if(NOT TEST_TIMEOUT)
    set(TEST_TIMEOUT 240)
  endif()
  if(NOT TEST_PROCESSORS)
    set(TEST_PROCESSORS 1)
  endif()
  add_test(NAME ${TEST_KIND}.${TEST_NAME} COMMAND ${TEST_COMMAND})
  galvatron_test_properties(${TEST_KIND}.${TEST_NAME} ${TEST_PROCESSORS})
endfunction()

# A benchmark: galvatron_add_bench(NAME kernels ROOM kernels SOURCES …) makes bench_<room>_<name> with Google Benchmark's own main,
# or with OWN_MAIN without that library (for those that run on several ranks).
# It is built with the tests, so that it does not rot, and run by hand: its figures belong to one machine.
function(galvatron_add_bench)
  cmake_parse_arguments(BENCH "OWN_MAIN" "NAME" "ROOM;SOURCES;LINK" ${ARGN})
  if(BENCH_UNPARSED_ARGUMENTS OR NOT BENCH_NAME OR NOT BENCH_ROOM OR NOT BENCH_SOURCES)
    message(FATAL_ERROR "galvatron_add_bench: NAME, ROOM and SOURCES are needed; unknown: '${BENCH_UNPARSED_ARGUMENTS}'")
  endif()
  list(GET BENCH_ROOM 0 room)
  set(binary bench_${room}_${BENCH_NAME})
  add_executable(${binary} ${BENCH_SOURCES})
  foreach(other IN LISTS BENCH_ROOM)
    target_link_libraries(${binary} PRIVATE galvatron_${other})
  endforeach()
  target_include_directories(${binary} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(${binary} PRIVATE ${BENCH_LINK})
  if(NOT BENCH_OWN_MAIN)
    target_link_libraries(${binary} PRIVATE benchmark::benchmark benchmark::benchmark_main)
  endif()
endfunction()
