# cmake --install: libraries, headers, tools, licence and the packages that find_package(octet) and
# pkg-config read.

include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/octet")
if(NOT OCTET_RUNTIME_ONLY)
  octet_public_headers(extend.h octet.h)
endif()
octet_install_headers()
# Two sets: who needs the runtime alone is not asked for what the rest depends on.
install(TARGETS octet_runtime EXPORT octet_runtime ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(EXPORT octet_runtime NAMESPACE octet:: DESTINATION "${package_dir}"
  FILE octetRuntimeTargets.cmake)
if(NOT OCTET_RUNTIME_ONLY)
  install(TARGETS octet octet_training EXPORT octet ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
  install(EXPORT octet NAMESPACE octet:: DESTINATION "${package_dir}" FILE octetTargets.cmake)
  if(TARGET octet_eigen)
    install(TARGETS octet_eigen EXPORT octet_eigen)
    install(EXPORT octet_eigen NAMESPACE octet:: DESTINATION "${package_dir}"
      FILE octetEigenTargets.cmake)
  endif()
  if(OCTET_BUILD_TOOLS)
    install(TARGETS octet_tool DESTINATION "${CMAKE_INSTALL_BINDIR}")
    if(NOT CMAKE_CROSSCOMPILING)
      # Manual pages and completion, which the tool itself writes from its tables of options.
      install(CODE "set(octet_tool \"$<TARGET_FILE:octet_tool>\")
set(octet_pages \"${PROJECT_BINARY_DIR}/pages\")
set(octet_mandir \"${CMAKE_INSTALL_MANDIR}\")
set(octet_datadir \"${CMAKE_INSTALL_DATADIR}\")")
      install(SCRIPT "${PROJECT_SOURCE_DIR}/cmake/install_pages.cmake")
    endif()
  endif()
endif()

configure_package_config_file(cmake/octetConfig.cmake.in
  "${PROJECT_BINARY_DIR}/octetConfig.cmake" INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/octetConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES
  "${PROJECT_BINARY_DIR}/octetConfig.cmake"
  "${PROJECT_BINARY_DIR}/octetConfigVersion.cmake"
  DESTINATION "${package_dir}")
install(FILES LICENSE README.md CHANGELOG.md llms.txt DESTINATION "${CMAKE_INSTALL_DOCDIR}")
if(NOT OCTET_RUNTIME_ONLY)
  install(DIRECTORY docs examples DESTINATION "${CMAKE_INSTALL_DOCDIR}")
endif()

# For builds without CMake: `pkg-config --cflags --libs octet`, or octet-runtime.
function(octet_install_pc name description requires libs)
  set(octet_pc_name ${name})
  set(octet_pc_description "${description}")
  set(octet_pc_requires "${requires}")
  set(octet_pc_libs "${libs}")
  # From the file, so that an installation can move.
  file(RELATIVE_PATH octet_pc_prefix
    "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig" "${CMAKE_INSTALL_PREFIX}")
  string(REGEX REPLACE "/$" "" octet_pc_prefix "${octet_pc_prefix}")
  file(RELATIVE_PATH octet_pc_libdir "${CMAKE_INSTALL_PREFIX}" "${CMAKE_INSTALL_FULL_LIBDIR}")
  file(RELATIVE_PATH octet_pc_includedir "${CMAKE_INSTALL_PREFIX}" "${CMAKE_INSTALL_FULL_INCLUDEDIR}")
  configure_file(cmake/octet.pc.in "${PROJECT_BINARY_DIR}/${name}.pc" @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/${name}.pc"
    DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
endfunction()
octet_install_pc(octet-runtime "Runs int8 models made by quantization-aware training"
  "fmt" "-loctet_runtime ${OpenMP_CXX_FLAGS}")
if(NOT OCTET_RUNTIME_ONLY)
  set(octet_libs "-loctet -loctet_training")
  if(OCTET_MPI)
    list(JOIN MPI_CXX_LIBRARIES " " mpi)
    string(APPEND octet_libs " ${mpi}")
  endif()
  set(octet_requires "octet-runtime, spdlog, zlib, libzip, libcrypto, protobuf-lite")
  if(OCTET_IMAGES)
    string(APPEND octet_requires ", libturbojpeg, libpng")
  endif()
  if(OCTET_SOUNDS)
    string(APPEND octet_requires ", sndfile")
  endif()
  octet_install_pc(octet "${PROJECT_DESCRIPTION}" "${octet_requires}" "${octet_libs}")
endif()
