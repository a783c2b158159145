/* What of <string.h> the self-test of an export uses, for where there is no C library. */
#ifndef OCTET_MICROCONTROLLER_STRING_H
#define OCTET_MICROCONTROLLER_STRING_H
#include <stddef.h>
int memcmp(const void *left, const void *right, size_t count);
#endif
