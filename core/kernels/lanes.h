#pragma once

#include <octet/core/arithmetic/small_round.h>
#include <octet/core/shape.h>

#include <cstdint>

// Vectors of the compiler's, for loops of Passes that it does not vectorise itself. Everything here
// is always inlined: see passes_loops.h.

namespace octet::passes {

template <class T, int width>
struct Lanes;
template <int width>
struct Lanes<float, width> {
  using Vector [[gnu::vector_size(width * 4)]] = float;
};
template <int width>
struct Lanes<std::int8_t, width> {
  using Vector [[gnu::vector_size(width)]] = std::int8_t;
};
template <int width>
struct Lanes<std::int32_t, width> {
  using Vector [[gnu::vector_size(width * 4)]] = std::int32_t;
};
template <int width>
struct Lanes<double, width> {
  using Vector [[gnu::vector_size(width * 8)]] = double;
};
template <class T, int width>
using LanesOf = typename Lanes<T, width>::Vector;

template <class Vector, class T>
[[gnu::always_inline]] static inline void load(const T* from, Vector& to) {
  __builtin_memcpy(&to, from, sizeof(Vector));
}
template <class Vector, class T>
[[gnu::always_inline]] static inline void store(const Vector& from, T* to) {
  __builtin_memcpy(to, &from, sizeof(Vector));
}

/// sum += the products of the low halves of x and w, and of their high halves, all of 16 bits: in
/// assembly, because the compiler's vectors have no such product.
template <int width>
[[gnu::always_inline]] static inline void add_pair_products(LanesOf<std::int32_t, width>& sum,
                                                            const LanesOf<std::int32_t, width>& x,
                                                            const LanesOf<std::int32_t, width>& w) {
  if constexpr (width >= 4) {
#if defined(__AVX512VNNI__)
    asm("vpdpwssd %2, %1, %0" : "+v"(sum) : "v"(x), "v"(w));
    return;
#elif defined(__AVXVNNI__)
    asm("%{vex%} vpdpwssd %2, %1, %0" : "+x"(sum) : "x"(x), "x"(w));
    return;
#elif defined(__AVX2__)
    LanesOf<std::int32_t, width> products;
    asm("vpmaddwd %2, %1, %0" : "=v"(products) : "v"(x), "v"(w));
    sum += products;
    return;
#elif defined(__SSE2__)
    LanesOf<std::int32_t, width> products = x;
    asm("pmaddwd %1, %0" : "+x"(products) : "x"(w));
    sum += products;
    return;
#endif
  }
  sum += ((x << 16) >> 16) * ((w << 16) >> 16) + (x >> 16) * (w >> 16);
}

/// Stores numbers that fit 8 bits as bytes.
template <int width>
[[gnu::always_inline]] static inline void store_bytes(const LanesOf<std::int32_t, width>& from,
                                                      std::int8_t* to) {
  if constexpr (width == 8 || width == 4) {
    // A shuffle, because GCC 12 converts these one by one.
    LanesOf<std::int8_t, 4 * width> bytes;
    __builtin_memcpy(&bytes, &from, sizeof(bytes));
    if constexpr (width == 8) {
      store(__builtin_shufflevector(bytes, bytes, 0, 4, 8, 12, 16, 20, 24, 28), to);
    } else {
      store(__builtin_shufflevector(bytes, bytes, 0, 4, 8, 12), to);
    }
  } else {
    store(__builtin_convertvector(from, LanesOf<std::int8_t, width>), to);
  }
}

/// Converts floats to doubles, exactly.
template <int width>
[[gnu::always_inline]] static inline LanesOf<double, width> as_doubles(
    const LanesOf<float, width>& x) {
#if defined(__AVX512F__)
  if constexpr (width == 8) {
    // Assembly, because GCC 12 converts halves and puts them together.
    LanesOf<double, 8> result;
    asm("vcvtps2pd %1, %0" : "=v"(result) : "v"(x));
    return result;
  }
#endif
  return __builtin_convertvector(x, LanesOf<double, width>);
}

/// v - round(v), ties to even, for |v| <= 2^22.
template <int width>
[[gnu::always_inline]] static inline LanesOf<float, width> beyond_integer(
    const LanesOf<float, width>& v) {
#if defined(__AVX512DQ__)
  if constexpr (width == 16) {
    LanesOf<float, 16> result;
    asm("vreduceps $8, %1, %0" : "=v"(result) : "v"(v));
    return result;
  }
#endif
  return v - ((v + small::kNoFraction) - small::kNoFraction);
}

/// The first half of a vector, and the second. Not by memory, which would keep the vector there.
template <int width>
[[gnu::always_inline]] static inline LanesOf<float, width / 2> low_half(
    const LanesOf<float, width>& x) {
  if constexpr (width == 16) return __builtin_shufflevector(x, x, 0, 1, 2, 3, 4, 5, 6, 7);
  if constexpr (width == 8) return __builtin_shufflevector(x, x, 0, 1, 2, 3);
  if constexpr (width == 4) return __builtin_shufflevector(x, x, 0, 1);
}
template <int width>
[[gnu::always_inline]] static inline LanesOf<float, width / 2> high_half(
    const LanesOf<float, width>& x) {
  if constexpr (width == 16) return __builtin_shufflevector(x, x, 8, 9, 10, 11, 12, 13, 14, 15);
  if constexpr (width == 8) return __builtin_shufflevector(x, x, 4, 5, 6, 7);
  if constexpr (width == 4) return __builtin_shufflevector(x, x, 2, 3);
}

/// Calls body.run<width>(c) so that channels [0, channels) are covered once, by as wide vectors as
/// fit, at most `most` wide.
template <int most, class Body>
[[gnu::always_inline]] static inline void for_each_lanes(Index channels, const Body& body) {
  Index c = 0;
  for (; c + most <= channels; c += most) body.template run<most>(c);
  if constexpr (most > 8) {
    if (c + 8 <= channels) {
      body.template run<8>(c);
      c += 8;
    }
  }
  if constexpr (most > 4) {
    if (c + 4 <= channels) {
      body.template run<4>(c);
      c += 4;
    }
  }
  for (; c < channels; ++c) body.template run<1>(c);
}

/// Calls body.run<width, vectors>(j) so that columns [0, columns) are covered once: several vectors
/// at a time, because each sum waits for the one before it.
template <int lanes, class Body>
[[gnu::always_inline]] static inline void for_each_column(Index columns, const Body& body) {
  constexpr int kVectors = 4;
  Index j = 0;
  for (; j + kVectors * lanes <= columns; j += kVectors * lanes) {
    body.template run<lanes, kVectors>(j);
  }
  for (; j + lanes <= columns; j += lanes) body.template run<lanes, 1>(j);
  if constexpr (lanes > 4) {
    for (; j + 4 <= columns; j += 4) body.template run<4, 1>(j);
  }
  for (; j < columns; ++j) body.template run<1, 1>(j);
}

}  // namespace octet::passes
