# Installs the build into an empty folder, then builds and runs projects that know nothing but
# find_package(octet): one that trains, with parts of its own too, one that only runs models, and
# one that uses Eigen.

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "failed (${code}): ${ARGN}")
  endif()
endfunction()

file(REMOVE_RECURSE "${WORK}")
run("${CMAKE_COMMAND}" --install "${BUILD_DIR}" --prefix "${WORK}/prefix")
set(flags "")
if(SANITIZE)
  set(flags "-fsanitize=${SANITIZE}")
endif()
function(build project)
  run("${CMAKE_COMMAND}" -G "${GENERATOR}" -S "${CONSUMERS}/${project}" -B "${WORK}/${project}"
    "-DCMAKE_PREFIX_PATH=${WORK}/prefix" "-DCMAKE_CXX_COMPILER=${CXX}"
    -DCMAKE_BUILD_TYPE=Release "-DCMAKE_CXX_FLAGS=${flags}" ${ARGN})
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
run("${WORK}/runtime_consumer/run_tiny" "${WORK}/tiny.tflite")
run("${WORK}/prefix/bin/octet" inspect "${WORK}/tiny.tflite")
