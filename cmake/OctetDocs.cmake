# cmake --build build/release --target docs: the pages of docs/ and the reference of all public headers as
# a site, in build/release/docs/html/index.html. Needs Doxygen, and nothing else in the build does: without
# it the target is there, and says so. Debian's doxygen-awesome-css makes it fit phones and dark rooms.

find_package(Doxygen QUIET)
find_file(OCTET_DOXYGEN_THEME doxygen-awesome.css PATHS /usr/share/doxygen-awesome-css)
if(DOXYGEN_FOUND)
  set(DOXYGEN_PROJECT_NAME "Octet")
  set(DOXYGEN_PROJECT_BRIEF "What you trained is what you ship")
  set(DOXYGEN_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/docs")
  set(DOXYGEN_JAVADOC_AUTOBRIEF YES)
  set(DOXYGEN_EXTRACT_ALL YES)
  set(DOXYGEN_STRIP_FROM_PATH "${PROJECT_SOURCE_DIR}")
  set(DOXYGEN_FILE_PATTERNS "*.h" "*.md")
  set(DOXYGEN_EXCLUDE_SYMBOLS "octet::detail")
  set(DOXYGEN_USE_MDFILE_AS_MAINPAGE "${PROJECT_SOURCE_DIR}/docs/index.md")
  set(DOXYGEN_IMAGE_PATH "${PROJECT_SOURCE_DIR}/docs")
  set(DOXYGEN_FILTER_PATTERNS "*.md=${PROJECT_SOURCE_DIR}/cmake/site_pages.awk")
  set(DOXYGEN_SOURCE_BROWSER YES)
  set(DOXYGEN_GENERATE_TREEVIEW YES)
  set(DOXYGEN_HAVE_DOT NO)
  # As the compiler finds them: the enumerators of OpCode stand in a file that operator.h includes.
  set(DOXYGEN_INCLUDE_PATH "${PROJECT_BINARY_DIR}/include")
  set(DOXYGEN_TOC_INCLUDE_HEADINGS 2)
  set(DOXYGEN_QUIET YES)
  set(DOXYGEN_WARN_IF_UNDOCUMENTED NO)
  if(OCTET_DOXYGEN_THEME)
    set(DOXYGEN_HTML_EXTRA_STYLESHEET "${OCTET_DOXYGEN_THEME}")
  endif()
  # What the pages link to is a page as well, so that no link leads nowhere.
  file(GLOB programs RELATIVE "${PROJECT_SOURCE_DIR}" CONFIGURE_DEPENDS
    examples/*.cpp examples/*.c examples/microcontroller/*.c)
  # Their order is that of the navigation: what a reader begins with, first.
  doxygen_add_docs(docs
    docs/index.md README.md docs/tutorial.md docs/howto docs
    CONTRIBUTING.md SECURITY.md tests/interop/README.md CHANGELOG.md
    core frontend runtime layers deploy train compress import report examples ${programs}
    WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
else()
  add_custom_target(docs
    COMMAND "${CMAKE_COMMAND}" -E echo
      "octet's reference needs doxygen, which was not found. On Debian or Ubuntu: apt-get install doxygen doxygen-awesome-css"
    COMMAND "${CMAKE_COMMAND}" -E false
    VERBATIM)
endif()
