# Installs the build into an empty folder, then builds and runs projects that know nothing but
# find_package(octet): one that trains, with parts of its own too, one that only runs models, and
# one that uses Eigen. Then builds the first and the second again, with nothing but pkg-config.

include("${CMAKE_CURRENT_LIST_DIR}/install_prefix.cmake")
require_installed(LICENSE)
set(flags "")
if(SANITIZE)
  set(flags "-fsanitize=${SANITIZE}")
endif()
function(build project)
  run("${CMAKE_COMMAND}" -G "${GENERATOR}" -S "${CONSUMERS}/${project}" -B "${WORK}/${project}"
    "-DCMAKE_PREFIX_PATH=${WORK}/prefix" "-DCMAKE_CXX_COMPILER=${CXX}"
    -DCMAKE_BUILD_TYPE= "-DCMAKE_CXX_FLAGS=${flags}" ${ARGN})
  run("${CMAKE_COMMAND}" --build "${WORK}/${project}")
endfunction()

build(consumer "-DEXAMPLES=${EXAMPLES}" -DCMAKE_DISABLE_FIND_PACKAGE_Eigen3=ON)
build(eigen_consumer)
# As on a machine without what training needs.
set(without "")
foreach(package Eigen3 spdlog ZLIB nlohmann_json OpenSSL Protobuf)
  list(APPEND without "-DCMAKE_DISABLE_FIND_PACKAGE_${package}=ON")
endforeach()
build(runtime_consumer ${without})
run("${WORK}/eigen_consumer/eigen_views")
run("${WORK}/consumer/train_tiny" "${WORK}/tiny.tflite")
run("${WORK}/consumer/custom_self_test")
run("${WORK}/consumer/regression")
run("${WORK}/consumer/training_loop")
run("${WORK}/runtime_consumer/run_tiny" "${WORK}/tiny.tflite" 10)
run("${WORK}/prefix/bin/octet" inspect "${WORK}/tiny.tflite")

find_program(pkg_config pkg-config)
if(NOT pkg_config)
  message(FATAL_ERROR "this test needs pkg-config. On Debian or Ubuntu: apt-get install pkg-config")
endif()
file(GLOB_RECURSE pc "${WORK}/prefix/*/octet.pc")
get_filename_component(pc_dir "${pc}" DIRECTORY)
set(ENV{PKG_CONFIG_PATH} "${pc_dir}")
function(build_with_pkg_config package source program)
  execute_process(COMMAND "${pkg_config}" --cflags --libs "${package}"
    OUTPUT_VARIABLE options OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE code)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "pkg-config failed (${code}) for ${package}")
  endif()
  separate_arguments(options UNIX_COMMAND "${options}")
  run("${CXX}" -std=c++20 ${flags} "${CONSUMERS}/${source}" ${options} -o "${WORK}/${program}")
endfunction()
build_with_pkg_config(octet consumer/train_tiny.cpp pc_train_tiny)
build_with_pkg_config(octet-runtime runtime_consumer/run_tiny.cpp pc_run_tiny)
run("${WORK}/pc_train_tiny" "${WORK}/pc_tiny.tflite")
run("${WORK}/pc_run_tiny" "${WORK}/pc_tiny.tflite" 10)
