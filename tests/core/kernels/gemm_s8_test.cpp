#include <octet/core/error.h>
#include <octet/core/kernels/gemm_s8.h>
#include <octet/core/random.h>
#include <octet/tests/core/kernels/kernel_testing.h>

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <limits>
#include <new>
#include <utility>
#include <vector>

namespace octet::test::gemm_s8_test {
namespace {

std::vector<std::int8_t> random_codes(Index count, std::uint64_t seed) {
  const Random random(seed);
  std::vector<std::int8_t> codes(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < codes.size(); ++i) {
    codes[i] = static_cast<std::int8_t>(random.bits(i) & 0xFFU);
  }
  return codes;
}

/// x [m, k] with row stride `x_stride`, w [n, k], and their product.
struct Product {
  Product(Index rows, Index columns, Index depth, Index gap = 0)
      : m(rows),
        n(columns),
        k(depth),
        x_stride(depth + gap),
        x(random_codes(rows * x_stride, 1)),
        w(random_codes(columns * depth, 2)) {}

  std::vector<std::int32_t> naive() const {
    std::vector<std::int32_t> acc;
    for (Index i = 0; i < m; ++i) {
      for (Index j = 0; j < n; ++j) {
        std::int64_t sum = 0;
        for (Index d = 0; d < k; ++d) {
          sum += std::int64_t{x[static_cast<std::size_t>(i * x_stride + d)]} *
                 w[static_cast<std::size_t>(j * k + d)];
        }
        acc.push_back(static_cast<std::int32_t>(sum));
      }
    }
    return acc;
  }

  std::vector<std::int32_t> computed() const {
    // A mark that shows where no kernel has written.
    std::vector<std::int32_t> acc(static_cast<std::size_t>(m * n), -123456789);
    gemm_s8(m, x.data(), x_stride, PackedS8(w.data(), n, k), acc.data());
    return acc;
  }

  Index m, n, k, x_stride;
  std::vector<std::int8_t> x;
  std::vector<std::int8_t> w;
};

constexpr KernelTable table_of(int f32_cols, int s8_rows, int s8_cols, int s8_w_bytes) {
  return {.isa = Isa::portable,
          .f32_rows = 4,
          .f32_cols = f32_cols,
          .f32_packed_rows = 4,
          .f32_tile = nullptr,
          .f32_pieces = nullptr,
          .s8_rows = s8_rows,
          .s8_cols = s8_cols,
          .s8_group = 4,
          .s8_depth_step = 4,
          .s8_x_bytes = 1,
          .s8_w_bytes = s8_w_bytes,
          .s8 = {},
          .passes = {}};
}
// A code path whose tiles do not fit the drivers' buffers does not compile.
static_assert(fits_tile_buffers(table_of(32, 32, 32, 2)));
static_assert(!fits_tile_buffers(table_of(48, 32, 32, 2)));
static_assert(!fits_tile_buffers(table_of(32, 33, 32, 2)));
static_assert(!fits_tile_buffers(table_of(32, 32, 48, 2)));
static_assert(!fits_tile_buffers(table_of(32, 32, 32, 4)));

class GemmS8 : public KernelTest {};

TEST_P(GemmS8, EqualsTheNaiveSum) {
  const Forced forced(GetParam());
  for (const Index m : {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 31, 33}) {
    for (const Index n : {1, 2, 15, 16, 17, 32, 33, 65}) {
      for (const Index k : {1, 2, 3, 4, 5, 63, 64, 129}) {
        const Product product(m, n, k);
        ASSERT_EQ(product.computed(), product.naive()) << m << "x" << n << "x" << k;
      }
    }
  }
}

TEST_P(GemmS8, HonoursTheStrideOfItsRows) {
  const Forced forced(GetParam());
  for (const Index gap : {1, 7}) {
    const Product product(37, 21, 19, gap);
    EXPECT_EQ(product.computed(), product.naive());
  }
}

#if defined(__linux__)
/// Bytes that end where the readable memory of this process ends.
class UpToTheEdge {
 public:
  explicit UpToTheEdge(const std::vector<std::int8_t>& bytes) : size_(bytes.size()) {
    void* memory =
        ::mmap(nullptr, kPages + kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || size_ > kPages) throw std::bad_alloc();
    memory_ = static_cast<std::int8_t*>(memory);
    if (::mprotect(memory_ + kPages, kPage, PROT_NONE) != 0) throw std::bad_alloc();
    std::ranges::copy(bytes, memory_ + kPages - size_);
  }
  ~UpToTheEdge() { ::munmap(memory_, kPages + kPage); }
  UpToTheEdge(const UpToTheEdge&) = delete;
  UpToTheEdge& operator=(const UpToTheEdge&) = delete;

  const std::int8_t* data() const { return memory_ + kPages - size_; }

 private:
  static constexpr std::size_t kPage = 4096;
  static constexpr std::size_t kPages = 16 * kPage;
  std::size_t size_;
  std::int8_t* memory_ = nullptr;
};

TEST_P(GemmS8, ReadsPreparedRowsThatOverlap) {
  const Forced forced(GetParam());
  for (const Index m : {1, 4, 5, 16, 33}) {
    for (const Index n : {1, 6, 16, 33}) {
      for (const Index stride : {1, 3, 70}) {
        const Index k = 90;
        Product product(m, n, k);
        const PackedS8 w(product.w.data(), n, k);
        const Index first = 2;
        const auto values = random_codes(first + (m - 1) * stride + w.padded_depth(), 3);
        for (Index i = 0; i < m; ++i) {
          std::copy_n(values.begin() + first + i * stride, k, product.x.begin() + i * k);
        }
        std::vector<std::int32_t> found(static_cast<std::size_t>(m * n));
        gemm_s8(PreparedS8(values.data(), values.size(), m), first, stride, w, {},
                [&](Index begin, Index end, const std::int32_t* sums) {
                  std::copy_n(sums, (end - begin) * n, found.begin() + begin * n);
                });
        ASSERT_EQ(found, product.naive()) << m << "x" << n << ", stride " << stride;
      }
    }
  }
}

TEST_P(GemmS8, ReadsNothingBeyondItsLastRow) {
  const Forced forced(GetParam());
  // Tiles may read beyond a row into the next one, but not beyond the last.
  for (const Index k : {1, 17, 65, 130}) {
    for (const Index m : {1, 5, 32, 64, 70}) {
      const Product product(m, 33, k);
      const UpToTheEdge x(product.x);
      std::vector<std::int32_t> acc(product.naive().size());
      gemm_s8(m, x.data(), k, PackedS8(product.w.data(), 33, k), acc.data());
      ASSERT_EQ(acc, product.naive()) << m << "x33x" << k;
    }
  }
}
#endif

TEST_P(GemmS8, PrefetchingChangesNothing) {
  const Product product(77, 41, 150);
  const std::vector<std::int32_t> expected = product.naive();
  for (const std::size_t size : {std::size_t{1}, std::size_t{100}, std::size_t{100'000}}) {
    const std::vector<std::byte> prefetch(size);
    for (const int threads : {1, 2}) {
      const Forced forced(GetParam(), threads);
      std::vector<std::int32_t> taken(expected.size());
      gemm_s8(
          product.m, product.x.data(), product.x_stride,
          PackedS8(product.w.data(), product.n, product.k), {},
          [&](Index begin, Index end, const std::int32_t* sums) {
            std::copy_n(sums, (end - begin) * product.n, taken.begin() + begin * product.n);
          },
          prefetch);
      EXPECT_EQ(taken, expected) << size;
    }
  }
}

TEST_P(GemmS8, GivesTheSameOnAnyNumberOfThreads) {
  const Product product(130, 45, 33);
  for (const int threads : {1, 2, 4}) {
    const Forced forced(GetParam(), threads);
    EXPECT_EQ(product.computed(), product.naive()) << threads << " threads";
  }
}

TEST_P(GemmS8, IsExactAtTheEndsOfTheCodes) {
  const Forced forced(GetParam());
  for (const int x : {-128, 127}) {
    for (const int w : {-128, -127, 127}) {
      Product product(5, 18, 77);
      std::ranges::fill(product.x, static_cast<std::int8_t>(x));
      std::ranges::fill(product.w, static_cast<std::int8_t>(w));
      EXPECT_EQ(product.computed(), std::vector<std::int32_t>(90, x * w * 77));
    }
  }
}

TEST_P(GemmS8, IsExactAtTheLargestDepth) {
  const Forced forced(GetParam());
  constexpr Index kDepth = 131071;
  for (const auto& [x, w] : {std::pair{-128, -128}, {127, 127}, {-128, 127}, {127, -128}}) {
    Product product(1, 1, kDepth);
    std::ranges::fill(product.x, static_cast<std::int8_t>(x));
    std::ranges::fill(product.w, static_cast<std::int8_t>(w));
    EXPECT_EQ(product.computed(), product.naive()) << x << " * " << w;
  }
}

TEST_P(GemmS8, RefusesADepthThatCouldOverflow) {
  const Forced forced(GetParam());
  const std::vector<std::int8_t> row(131072);
  EXPECT_THROW(PackedS8(row.data(), 1, 131072), InvalidArgument);
}

TEST_P(GemmS8, StoresTheSumsOfRows) {
  const Forced forced(GetParam());
  const std::vector<std::int8_t> w = {1, -2, 3, -128, -128, 127};
  const PackedS8 packed(w.data(), 2, 3);
  EXPECT_EQ(packed.rows(), 2);
  EXPECT_EQ(packed.depth(), 3);
  EXPECT_EQ((std::vector<std::int32_t>{packed.row_sums().begin(), packed.row_sums().end()}),
            (std::vector<std::int32_t>{2, -129}));
}

TEST_P(GemmS8, KeepsItsOwnCodePathWhenAnotherIsChosenLater) {
  const Product product(9, 17, 35);
  std::vector<std::int32_t> acc(product.naive().size());
  PackedS8 packed;
  {
    const Forced forced(GetParam());
    packed = PackedS8(product.w.data(), product.n, product.k);
  }
  const Forced other(available_kernels().front());
  gemm_s8(product.m, product.x.data(), product.x_stride, packed, acc.data());
  EXPECT_EQ(&packed.kernel_table(), GetParam());
  EXPECT_EQ(acc, product.naive());
}

TEST_P(GemmS8, AddsStartModulo32Bits) {
  const Forced forced(GetParam());
  for (const Index n : {1, 33, 64}) {
    const Product product(9, n, 35);
    std::vector<std::int32_t> start(static_cast<std::size_t>(n));
    for (std::size_t j = 0; j < start.size(); ++j) {
      start[j] = j % 2 == 0 ? std::numeric_limits<std::int32_t>::max() : -7 * static_cast<int>(j);
    }
    std::vector<std::int32_t> expected = product.naive();
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const auto sum = static_cast<std::uint32_t>(expected[i]);
      expected[i] =
          static_cast<std::int32_t>(sum + static_cast<std::uint32_t>(start[i % start.size()]));
    }
    std::vector<std::int32_t> acc(expected.size());
    gemm_s8(9, product.x.data(), product.x_stride, PackedS8(product.w.data(), n, 35), acc.data(),
            start);
    EXPECT_EQ(acc, expected) << n;
  }
}

/// Large enough for several chunks of rows, and threads.
Product chunked() { return {101, 66, 170}; }

TEST_P(GemmS8, ReportsEachCompletedRowOnce) {
  const Product product = chunked();
  const std::vector<std::int32_t> expected = product.naive();
  const auto n = static_cast<std::size_t>(product.n);
  for (const int threads : {1, 2, 4}) {
    const Forced forced(GetParam(), threads);
    std::vector<std::int32_t> acc(expected.size());
    std::vector<int> told(static_cast<std::size_t>(product.m));
    std::vector<int> complete(told.size());
    gemm_s8(product.m, product.x.data(), product.x_stride,
            PackedS8(product.w.data(), product.n, product.k), acc.data(), {},
            [&](Index begin, Index end) {
              for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end);
                   ++i) {
                ++told[i];
                complete[i] = std::equal(&acc[i * n], &acc[i * n] + n, &expected[i * n]) ? 1 : 0;
              }
            });
    EXPECT_EQ(told, std::vector<int>(told.size(), 1));
    EXPECT_EQ(complete, std::vector<int>(told.size(), 1));
  }
}

TEST_P(GemmS8, PassesSumsToAnEpilogue) {
  // Weights that exceed the cache too, which have larger chunks of rows.
  for (const Product& product : {chunked(), Product(53, 33, 2), Product(130, 1030, 1024)}) {
    const std::vector<std::int32_t> expected = product.naive();
    const auto n = static_cast<std::size_t>(product.n);
    for (const int threads : {1, 2}) {
      const Forced forced(GetParam(), threads);
      std::vector<std::int32_t> taken(expected.size());
      gemm_s8(product.m, product.x.data(), product.x_stride,
              PackedS8(product.w.data(), product.n, product.k), {},
              [&](Index begin, Index end, std::int32_t* sums) {
                const std::size_t at = static_cast<std::size_t>(begin) * n;
                // Negated in place: the callee may change them.
                for (std::size_t i = 0; i < static_cast<std::size_t>(end - begin) * n; ++i) {
                  sums[i] = -sums[i];
                  taken[at + i] -= sums[i];
                }
              });
      EXPECT_EQ(taken, expected);
    }
  }
}

TEST_P(GemmS8, AllowsProductsInsideRowsDone) {
  const Product product = chunked();
  const Product inner(3, 200, 50);
  const std::vector<std::int32_t> start(static_cast<std::size_t>(product.n), 11);
  std::vector<std::int32_t> expected = product.naive();
  for (std::int32_t& sum : expected) sum += 11;
  for (const int threads : {1, 2}) {
    const Forced forced(GetParam(), threads);
    std::vector<std::int32_t> acc(expected.size());
    std::atomic<Index> right = 0;
    gemm_s8(product.m, product.x.data(), product.x_stride,
            PackedS8(product.w.data(), product.n, product.k), acc.data(), start,
            [&](Index begin, Index end) {
              right += inner.computed() == inner.naive() ? end - begin : 0;
            });
    EXPECT_EQ(acc, expected);
    EXPECT_EQ(right, product.m);
  }
}

TEST_P(GemmS8, AnErrorInRowsDoneReachesTheCaller) {
  const Product product = chunked();
  const Forced forced(GetParam(), 2);
  std::vector<std::int32_t> acc(product.naive().size());
  const auto run = [&] {
    gemm_s8(product.m, product.x.data(), product.x_stride,
            PackedS8(product.w.data(), product.n, product.k), acc.data(), {},
            [](Index begin, Index) {
              if (begin > 0) throw NumericError("row");
            });
  };
  EXPECT_THROW(run(), NumericError);
  EXPECT_EQ(product.computed(), product.naive());
}

TEST_P(GemmS8, WithoutRowsColumnsOrDepth) {
  const Forced forced(GetParam());
  const std::vector<std::int8_t> codes(8, 1);
  std::vector<std::int32_t> acc(4, 7);
  gemm_s8(0, codes.data(), 2, PackedS8(codes.data(), 2, 2), acc.data());
  gemm_s8(2, codes.data(), 2, PackedS8(codes.data(), 0, 2), acc.data());
  EXPECT_EQ(acc, std::vector<std::int32_t>(4, 7));
  gemm_s8(2, codes.data(), 0, PackedS8(codes.data(), 2, 0), acc.data());
  EXPECT_EQ(acc, std::vector<std::int32_t>(4, 0));
}

INSTANTIATE_TEST_SUITE_P(Isa, GemmS8, ::testing::ValuesIn(available_kernels()), isa_name);

TEST(Kernels, FirstIsThePortablePathAndTheChoiceIsAvailable) {
  const auto available = available_kernels();
  ASSERT_FALSE(available.empty());
  EXPECT_EQ(available.front()->isa, Isa::portable);
  EXPECT_NE(std::ranges::find(available, &kernels()), available.end());
  force_kernels(available.front());
  EXPECT_EQ(&kernels(), available.front());
  force_kernels(nullptr);
}

}  // namespace
}  // namespace octet::test::gemm_s8_test
