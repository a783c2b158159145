# A package of fmt's headers alone, as a project that cross-compiles may have.
add_library(fmt::fmt INTERFACE IMPORTED)
target_compile_definitions(fmt::fmt INTERFACE FMT_HEADER_ONLY)
target_include_directories(fmt::fmt INTERFACE "${FMT_INCLUDE}")
