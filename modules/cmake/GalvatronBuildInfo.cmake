# What --version tells, and which instruction sets a build for one processor needs.

# The commit; a new one configures again.
set(GALVATRON_GIT_HASH unknown)
find_package(Git QUIET)
if(GIT_FOUND AND EXISTS ${PROJECT_SOURCE_DIR}/.git)
  execute_process(
    COMMAND ${GIT_EXECUTABLE} rev-parse --short=12 HEAD
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
    OUTPUT_VARIABLE hash
    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET
    RESULT_VARIABLE failed)
  if(NOT failed)
    set(GALVATRON_GIT_HASH ${hash})
  endif()
  execute_process(
    COMMAND ${GIT_EXECUTABLE} rev-parse --path-format=absolute --git-path logs/HEAD
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
    OUTPUT_VARIABLE log
    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(EXISTS "${log}")
    set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${log})
  endif()
endif()

# The first line of what the MPI library calls itself, without what only its makers need.
if(MPI_CXX_LIBRARY_VERSION_STRING)
  string(REGEX REPLACE "[,\n].*" "" GALVATRON_MPI_LIBRARY "${MPI_CXX_LIBRARY_VERSION_STRING}")
else()
  set(GALVATRON_MPI_LIBRARY "MPI ${MPI_CXX_VERSION}")
endif()

set(features cpu)
foreach(name IN ITEMS CUDA NCCL PAPI HWLOC)
  set(GALVATRON_${name}_VERSION off)
endforeach()
if(GALVATRON_WITH_CUDA)
  set(GALVATRON_CUDA_VERSION ${CUDAToolkit_VERSION})
  list(APPEND features cuda)
endif()
if(GALVATRON_WITH_NCCL)
  set(GALVATRON_NCCL_VERSION ${NCCL_VERSION})
  list(APPEND features nccl)
endif()
if(PAPI_FOUND)
  set(GALVATRON_PAPI_VERSION ${PAPI_VERSION})
  list(APPEND features papi)
endif()
if(HWLOC_FOUND)
  set(GALVATRON_HWLOC_VERSION ${HWLOC_VERSION})
  list(APPEND features hwloc)
endif()
list(TRANSFORM features REPLACE "(.+)" "\"\\1\"")
list(JOIN features ", " GALVATRON_FEATURES)

# With GALVATRON_MARCH the compiler says which instruction sets it will use, and the program asks the processor
# for each of them before anything else.
set(GALVATRON_INSTRUCTION_SET_CHECKS "")
if(GALVATRON_MARCH AND CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  execute_process(
    COMMAND ${CMAKE_CXX_COMPILER} -march=${GALVATRON_MARCH} -dM -E -x c++ /dev/null
    OUTPUT_VARIABLE macros
    RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "the compiler does not know -march=${GALVATRON_MARCH}")
  endif()
  foreach(name IN ITEMS sse4.2 popcnt avx avx2 fma bmi bmi2 avx512f avx512vl avx512bw avx512dq avx512cd avx512vnni
                        avx512bf16 avx512vbmi avx512ifma)
    string(TOUPPER ${name} macro)
    string(REPLACE "." "_" macro ${macro})
    if(macros MATCHES "#define __${macro}__ ")
      string(APPEND GALVATRON_INSTRUCTION_SET_CHECKS
             "  if (!__builtin_cpu_supports(\"${name}\")) missing.emplace_back(\"${name}\");\n")
    endif()
  endforeach()
endif()
