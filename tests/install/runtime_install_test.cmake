# Installs a build of the runtime alone, and builds and runs the program that only runs models.

include("${CMAKE_CURRENT_LIST_DIR}/install_prefix.cmake")
require_installed(octet-runtime.pc LICENSE)
set(cross "")
if(TOOLCHAIN)
  # Where only the headers of fmt serve the other machine, the program brings a package of them.
  list(APPEND cross "-DCMAKE_TOOLCHAIN_FILE=${TOOLCHAIN}"
    "-Dfmt_DIR=${CONSUMERS}/fmt_headers" "-DFMT_INCLUDE=${FMT_INCLUDE}")
endif()
run("${CMAKE_COMMAND}" -G "${GENERATOR}" -S "${CONSUMERS}/runtime_consumer" -B "${WORK}/build"
  "-Doctet_DIR=${WORK}/prefix/${LIBDIR}/cmake/octet" "-DCMAKE_CXX_COMPILER=${CXX}"
  -DCMAKE_BUILD_TYPE= ${cross})
run("${CMAKE_COMMAND}" --build "${WORK}/build")
run(${EMULATOR} "${WORK}/build/run_tiny" "${MODEL}" 2)
