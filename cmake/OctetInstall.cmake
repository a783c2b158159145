# cmake --install: libraries, headers, tools and the package that find_package(octet) reads.

include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/octet")
if(NOT OCTET_RUNTIME_ONLY)
  octet_public_headers(octet.h)
endif()
octet_install_headers()
# Two sets: who needs the runtime alone is not asked for what the rest depends on.
install(TARGETS octet_runtime EXPORT octet_runtime ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(EXPORT octet_runtime NAMESPACE octet:: DESTINATION "${package_dir}"
  FILE octetRuntimeTargets.cmake)
if(NOT OCTET_RUNTIME_ONLY)
  install(TARGETS octet EXPORT octet ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
  install(EXPORT octet NAMESPACE octet:: DESTINATION "${package_dir}" FILE octetTargets.cmake)
  if(TARGET octet_eigen)
    install(TARGETS octet_eigen EXPORT octet_eigen)
    install(EXPORT octet_eigen NAMESPACE octet:: DESTINATION "${package_dir}"
      FILE octetEigenTargets.cmake)
  endif()
  if(OCTET_BUILD_TOOLS)
    install(TARGETS octet_tool DESTINATION "${CMAKE_INSTALL_BINDIR}")
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
