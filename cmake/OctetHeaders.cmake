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

# Installs what the rooms have listed.
function(octet_install_headers)
  get_property(headers GLOBAL PROPERTY OCTET_PUBLIC_HEADERS)
  foreach(header IN LISTS headers)
    get_filename_component(folder "${header}" DIRECTORY)
    install(FILES "${PROJECT_SOURCE_DIR}/${header}" COMPONENT headers
      DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/octet/${folder}")
  endforeach()
endfunction()
