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

# Counts which lines of a library run. Programs that link it write the profile.
function(octet_coverage_options target)
  if(OCTET_COVERAGE)
    target_compile_options(${target} PRIVATE -fprofile-instr-generate -fcoverage-mapping)
    target_link_options(${target} PUBLIC -fprofile-instr-generate)
  endif()
endfunction()

# For test code, which under sanitizers takes longer to compile than to run: without optimization in
# less than half the time. The library that it tests is built as it always is.
function(octet_test_compile_options target)
  octet_compile_options(${target})
  if(OCTET_SANITIZE)
    target_compile_options(${target} PRIVATE -O0)
  endif()
endfunction()

# octet_precompile(<target> <header>...): where OCTET_PRECOMPILE is ON, the sources of a target find
# these read and parsed, in less time the more sources there are. They are headers of others alone,
# which no change of ours changes. Builds for users leave it OFF: there a source that does not
# include what it uses fails.
function(octet_precompile target)
  if(NOT OCTET_PRECOMPILE)
    return()
  endif()
  target_precompile_headers(${target} PRIVATE ${ARGN})
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    # The same headers give the same file, which a compiler cache knows again.
    target_compile_options(${target} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
  endif()
endfunction()
