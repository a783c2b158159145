# Compiler options of every target of ours: warnings, and the flags that keep the bits.

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

find_program(OCTET_CCACHE ccache)
mark_as_advanced(OCTET_CCACHE)
if(OCTET_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${OCTET_CCACHE}")
endif()

set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

function(octet_compile_options target)
  # No fused multiply-add unless the code says so, and no fast-math: the same bits everywhere.
  # -fno-math-errno and -fno-trapping-math change no value; they let loops vectorise.
  target_compile_options(${target} PRIVATE
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion
    -ffp-contract=off -fno-math-errno -fno-trapping-math)
  if(OCTET_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
  if(OCTET_SANITIZE)
    # Debugging information is the build type's: line numbers are enough for a report.
    target_compile_options(${target} PUBLIC
      -fsanitize=${OCTET_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_link_options(${target} PUBLIC -fsanitize=${OCTET_SANITIZE})
  endif()
  if(OCTET_FUZZ)
    # Coverage for libFuzzer to see; the programs that it drives link it themselves.
    target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
  endif()
endfunction()

# Release builds of what reads files of others: an overwritten return address ends the program, the
# C library checks lengths that the compiler knows, and what programs call is bound before they
# start and read-only from then on.
function(octet_harden target)
  if(NOT CMAKE_BUILD_TYPE STREQUAL "Release" OR OCTET_SANITIZE)
    return()
  endif()
  target_compile_options(${target} PRIVATE
    -fstack-protector-strong -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "EXECUTABLE")
    target_link_options(${target} PRIVATE -Wl,-z,relro -Wl,-z,now)
  endif()
endfunction()

# Kernels read no file, and are called with sizes that are checked: they are compiled as they were.
set(OCTET_KERNEL_OPTIONS -fno-stack-protector -U_FORTIFY_SOURCE)
if(OCTET_COVERAGE)
  # No goal is set for what tests reach of them, and they are the slowest to compile with counters.
  list(APPEND OCTET_KERNEL_OPTIONS -fno-profile-instr-generate -fno-coverage-mapping)
endif()

# Counts which lines of a library run. Programs that link it write the profile.
function(octet_coverage_options target)
  if(OCTET_COVERAGE)
    target_compile_options(${target} PRIVATE -fprofile-instr-generate -fcoverage-mapping)
    target_link_options(${target} PUBLIC -fprofile-instr-generate)
  endif()
endfunction()

# For test code, which takes longer to compile than to run: without optimization. The library that it tests is
# built as it always is.
function(octet_test_compile_options target)
  octet_compile_options(${target})
  if(OCTET_SANITIZE OR CMAKE_BUILD_TYPE STREQUAL "Release")
    target_compile_options(${target} PRIVATE -O0)
  endif()
  if(OCTET_SANITIZE MATCHES "address")
    # What is tested is the library: UBSan's checks of the tests' own arithmetic cost a fifth.
    target_compile_options(${target} PRIVATE -fno-sanitize=undefined)
  endif()
endfunction()

# octet_unity(<target> <size> [JSON]): sources of one top-level folder are compiled together, up to `size` at
# once, so that the headers that they share are read once. Called when the target has all of its sources.
# Those with options, definitions or include folders of their own, as kernels, are compiled alone. With JSON,
# sources that include JSON are a group wherever they are: its templates are the slowest to compile. Names in
# unnamed namespaces have to differ in the sources of a group; those of tests, which have a namespace for each
# file, need not.
function(octet_unity target size)
  get_target_property(sources ${target} SOURCES)
  get_target_property(directory ${target} SOURCE_DIR)
  set(groups "")
  foreach(source IN LISTS sources)
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY "${directory}" OUTPUT_VARIABLE path)
    set(own "")
    foreach(property COMPILE_OPTIONS COMPILE_DEFINITIONS INCLUDE_DIRECTORIES)
      get_source_file_property(value "${source}" TARGET_DIRECTORY ${target} ${property})
      if(value)
        list(APPEND own "${value}")
      endif()
    endforeach()
    if(path MATCHES "\\.cpp$" AND NOT own)
      cmake_path(RELATIVE_PATH path BASE_DIRECTORY "${PROJECT_SOURCE_DIR}" OUTPUT_VARIABLE group)
      string(REGEX REPLACE "/.*" "" group "${group}")
      if("JSON" IN_LIST ARGN)
        file(STRINGS "${path}" json REGEX "^#include .*json")
        if(json)
          set(group json)
        endif()
      endif()
      if(NOT group IN_LIST groups)
        list(APPEND groups ${group})
        set(unity_${group} "")
      endif()
      list(APPEND unity_${group} "${path}")
      list(REMOVE_ITEM sources "${source}")
    endif()
  endforeach()
  # Where a build folder is a link, ".." leads to where it lies.
  file(REAL_PATH "${CMAKE_CURRENT_BINARY_DIR}" real_folder)
  foreach(group IN LISTS groups)
    list(LENGTH unity_${group} count)
    math(EXPR parts "(${count} + ${size} - 1) / ${size}")
    math(EXPR each "(${count} + ${parts} - 1) / ${parts}")
    foreach(part RANGE 1 ${parts})
      math(EXPR begin "(${part} - 1) * ${each}")
      list(SUBLIST unity_${group} ${begin} ${each} together)
      set(unit "${CMAKE_CURRENT_BINARY_DIR}/unity/${target}_${group}_${part}.cpp")
      set(text "")
      # Relative, so that a compiler cache serves clones in other folders.
      foreach(path IN LISTS together)
        file(REAL_PATH "${path}" path)
        cmake_path(RELATIVE_PATH path BASE_DIRECTORY "${real_folder}/unity")
        string(APPEND text "#include \"${path}\"\n")
      endforeach()
      file(CONFIGURE OUTPUT "${unit}" CONTENT "${text}" @ONLY)
      if(OCTET_OPTIMIZE_${group})
        set_source_files_properties("${unit}" TARGET_DIRECTORY ${target}
          PROPERTIES COMPILE_OPTIONS "${OCTET_OPTIMIZE_${group}}")
      endif()
      list(APPEND sources "${unit}")
    endforeach()
  endforeach()
  set_property(TARGET ${target} PROPERTY SOURCES "${sources}")
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # In a file that is included, a class with a member of an unnamed namespace would be used by others.
    target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
  endif()
endfunction()

# How much groups of sources are optimized, where that is less than the build optimizes by itself: what runs
# once for a model or a file takes longer to optimize than that saves; layers and the trainer call what takes
# the time, and have some loops of their own. Under sanitizers all that runs once is not optimized at all.
if(OCTET_SANITIZE)
  foreach(group application bench command_line deploy examples import json report tools)
    set(OCTET_OPTIMIZE_${group} -O0)
  endforeach()
elseif(CMAKE_BUILD_TYPE STREQUAL "Release")
  foreach(group application command_line deploy examples import json report tools)
    set(OCTET_OPTIMIZE_${group} -O1)
  endforeach()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    foreach(group layers train)
      set(OCTET_OPTIMIZE_${group}
        -O1 -ftree-vectorize -fvect-cost-model=dynamic -finline-small-functions -findirect-inlining)
    endforeach()
  endif()
endif()

# A library or program of ours, for users: see OCTET_UNITY.
function(octet_unity_build target)
  if(OCTET_UNITY)
    octet_unity(${target} 100 ${ARGN})
  endif()
endfunction()

# A program of tests: see OCTET_UNITY_TESTS.
function(octet_unity_tests target)
  if(OCTET_UNITY_TESTS)
    octet_unity(${target} 24)
  endif()
endfunction()
