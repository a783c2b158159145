# What is installed is what users use. Each room lists its public headers; all others, those of
# kernels above all, are internal: no public header includes one (tests/rooms has the tests).

# octet_public_headers(<header>...): paths relative to the room that calls it.
function(octet_public_headers)
  foreach(header IN LISTS ARGN)
    if(NOT EXISTS "${CMAKE_CURRENT_SOURCE_DIR}/${header}")
      message(FATAL_ERROR "octet_public_headers: there is no ${CMAKE_CURRENT_SOURCE_DIR}/${header}")
    endif()
    file(RELATIVE_PATH path "${PROJECT_SOURCE_DIR}" "${CMAKE_CURRENT_SOURCE_DIR}/${header}")
    set_property(GLOBAL APPEND PROPERTY OCTET_PUBLIC_HEADERS "${path}")
  endforeach()
endfunction()

# Installs what the rooms have listed. A header that includes one that is not installed is an error here:
# only programs outside of this source tree would see it.
function(octet_install_headers)
  get_property(headers GLOBAL PROPERTY OCTET_PUBLIC_HEADERS)
  foreach(header IN LISTS headers)
    file(STRINGS "${PROJECT_SOURCE_DIR}/${header}" includes REGEX "^#include <octet/")
    foreach(include IN LISTS includes)
      string(REGEX REPLACE "^#include <octet/([^>]*)>.*" "\\1" include "${include}")
      if(NOT include IN_LIST headers)
        message(FATAL_ERROR "${header} is installed and includes octet/${include}, which is not: "
          "list it in octet_public_headers() too, or do not include it")
      endif()
    endforeach()
    get_filename_component(folder "${header}" DIRECTORY)
    install(FILES "${PROJECT_SOURCE_DIR}/${header}" COMPONENT headers
      DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/octet/${folder}")
  endforeach()
endfunction()
