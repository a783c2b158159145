#pragma once

// First of all headers, so that an older language ends in one line that says so.
#if __cplusplus < 201709L
#error "Octet needs C++20: compile with -std=c++20, or link octet::octet, which asks CMake for it"
#endif
