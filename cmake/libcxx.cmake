# For libc++, the standard library of macOS, on Linux: that of Clang 16, Debian's first one that has all that Octet uses,
# with the Clang that OpenMP is installed for. Debian's libraries of C++ are built for another one: fmt and spdlog are taken
# from their headers, and GoogleTest and protobuf (OCTET_PROTOBUF_SOURCE) from their sources, as when cross-compiling.

set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR "${CMAKE_HOST_SYSTEM_PROCESSOR}")
set(CMAKE_CXX_COMPILER clang++)
set(CMAKE_CXX_FLAGS_INIT
  "-stdlib=libc++ -nostdinc++ -isystem /usr/lib/llvm-16/include/c++/v1 -Wno-unused-command-line-argument")
set(CMAKE_CXX_STANDARD_LIBRARIES -L/usr/lib/llvm-16/lib)
set(CMAKE_DISABLE_FIND_PACKAGE_fmt ON)
set(CMAKE_DISABLE_FIND_PACKAGE_Protobuf ON)
