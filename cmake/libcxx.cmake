# For libc++, the standard library of macOS, on Linux. Debian's libraries of C++ are built for another one: fmt is taken
# from its headers and GoogleTest from its sources, as when cross-compiling.

set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR "${CMAKE_HOST_SYSTEM_PROCESSOR}")
set(CMAKE_CXX_COMPILER clang++-16)
set(CMAKE_CXX_FLAGS_INIT -stdlib=libc++)
set(CMAKE_DISABLE_FIND_PACKAGE_fmt ON)
