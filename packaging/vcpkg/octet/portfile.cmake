# Builds the checkout that this file lies in: vcpkg install octet --overlay-ports=packaging/vcpkg
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

vcpkg_check_features(OUT_FEATURE_OPTIONS features
  FEATURES
    images OCTET_IMAGES
    sounds OCTET_SOUNDS
    tools OCTET_BUILD_TOOLS)
vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS
    -DOCTET_BUILD_TESTS=OFF
    -DOCTET_BUILD_EXAMPLES=OFF
    -DOCTET_WERROR=OFF
    ${features})
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/octet)
vcpkg_fixup_pkgconfig()
if(OCTET_BUILD_TOOLS)
  vcpkg_copy_tools(TOOL_NAMES octet AUTO_CLEAN)
endif()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
