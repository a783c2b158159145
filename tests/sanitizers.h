#pragma once

/// OCTET_TEST_SANITIZED is defined where AddressSanitizer or ThreadSanitizer is: they bring their
/// own new and delete, and memory that is theirs. OCTET_TEST_TSAN where ThreadSanitizer is.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define OCTET_TEST_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define OCTET_TEST_SANITIZED 1
#endif
#endif

#if defined(__SANITIZE_THREAD__)
#define OCTET_TEST_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define OCTET_TEST_TSAN 1
#endif
#endif
