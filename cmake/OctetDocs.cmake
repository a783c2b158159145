# cmake --build build/release --target docs: the reference of all public headers, in
# build/release/docs/html. Needs Doxygen, and nothing else in the build does: without it the target is
# there, and says so.

find_package(Doxygen QUIET)
if(DOXYGEN_FOUND)
  set(DOXYGEN_PROJECT_NAME "Octet")
  set(DOXYGEN_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/docs")
  set(DOXYGEN_JAVADOC_AUTOBRIEF YES)
  set(DOXYGEN_EXTRACT_ALL YES)
  set(DOXYGEN_STRIP_FROM_PATH "${PROJECT_SOURCE_DIR}")
  set(DOXYGEN_FILE_PATTERNS "*.h" "*.md")
  set(DOXYGEN_EXCLUDE_SYMBOLS "octet::detail")
  set(DOXYGEN_USE_MDFILE_AS_MAINPAGE "${PROJECT_SOURCE_DIR}/README.md")
  set(DOXYGEN_QUIET YES)
  set(DOXYGEN_WARN_IF_UNDOCUMENTED NO)
  # What the pages link to is a page as well, so that no link leads nowhere.
  doxygen_add_docs(docs
    README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md tests/interop/README.md
    core runtime layers deploy train docs
    WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
else()
  add_custom_target(docs
    COMMAND "${CMAKE_COMMAND}" -E echo
      "octet's reference needs doxygen, which was not found. On Debian or Ubuntu: apt-get install doxygen"
    COMMAND "${CMAKE_COMMAND}" -E false
    VERBATIM)
endif()
