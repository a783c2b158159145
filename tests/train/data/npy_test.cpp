#include <fmt/core.h>
#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/tests/train/data/npy_files.h>
#include <octet/train/data/fingerprint.h>
#include <octet/train/data/load_data.h>
#include <octet/train/data/npy.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <string_view>
#include <tuple>
#include <vector>

namespace octet::test::npy_test {
namespace {

namespace fs = std::filesystem;

using Values = decltype(NpyArray::values);

NpyArray read(const Bytes& bytes) {
  const ScratchDirectory scratch;
  return read_npy(scratch.write("a.npy", bytes));
}

std::string error(const Bytes& bytes) {
  const ScratchDirectory scratch;
  const fs::path path = scratch.write("a.npy", bytes);
  const std::string message = message_of<FormatError>([&] { read_npy(path); });
  expect_mentions(message, path.string());
  return message;
}

template <class T>
void expect_round_trip(const std::string& descr, const std::vector<T>& values) {
  const NpyArray array = read(npy_bytes(descr, fmt::format("({},)", values.size()), values));
  EXPECT_EQ(array.shape, (Shape{static_cast<Index>(values.size())}));
  ASSERT_TRUE(std::holds_alternative<std::vector<T>>(array.values)) << descr;
  EXPECT_EQ(std::get<std::vector<T>>(array.values), values);
  const Tensor floats = array.to_tensor();
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(floats.span()[i], static_cast<float>(values[i])) << descr;
  }
}

TEST(ReadNpy, ReadsEveryType) {
  expect_round_trip<float>("<f4", {1.5F, -0.25F, 3e38F});
  expect_round_trip<double>("<f8", {1.0 / 3.0, -1e-3});
  expect_round_trip<std::uint8_t>("|u1", {0, 7, 255});
  expect_round_trip<std::int8_t>("|i1", {-128, 0, 127});
  expect_round_trip<std::int32_t>("<i4", {-2147483647, 16777217});
  expect_round_trip<std::int64_t>("<i8", {std::int64_t{1} << 40, -5});
}

TEST(ReadNpy, OtherTypesBecomeThoseThatHoldThem) {
  struct Case {
    const char* descr;
    Bytes bytes;
    Values expected;
  };
  for (const Case& c : {
           Case{"<f2", {0, 0x3E, 1, 0x80}, std::vector<float>{1.5F, -0x1p-24F}},
           Case{">f2", {0x3E, 0, 0x80, 1}, std::vector<float>{1.5F, -0x1p-24F}},
           Case{"<i2", {0xFE, 0xFF, 1, 2}, std::vector<std::int32_t>{-2, 513}},
           Case{"<u2", {0xFE, 0xFF, 1, 2}, std::vector<std::int32_t>{65534, 513}},
           Case{">u2", {0xFE, 0xFF, 1, 2}, std::vector<std::int32_t>{65279, 258}},
           Case{"<u4",
                {0xFF, 0xFF, 0xFF, 0xFF, 1, 0, 0, 0},
                std::vector<std::int64_t>{4294967295, 1}},
           Case{">f4", {0x3F, 0xC0, 0, 0, 0, 0, 0, 1}, std::vector<float>{1.5F, 0x1p-149F}},
           Case{">i4", {0xFF, 0xFF, 0xFF, 0xFE, 0, 0, 1, 2}, std::vector<std::int32_t>{-2, 258}},
           Case{"|b1", {1, 0}, std::vector<std::int8_t>{1, 0}},
       }) {
    EXPECT_EQ(read(npy_file(npy_header(c.descr, "(2,)"), c.bytes)).values, c.expected) << c.descr;
  }
}

TEST(ReadNpy, FortranOrderBecomesCOrder) {
  const auto fortran = [](const std::string& shape, const Bytes& values) {
    return std::get<Bytes>(
        read(npy_file("{'descr': '|u1', 'fortran_order': True, 'shape': " + shape + "}", values))
            .values);
  };
  EXPECT_EQ(fortran("(2, 3)", {0, 3, 1, 4, 2, 5}), counting(6));
  EXPECT_EQ(fortran("(2, 1, 3, 2)", {0, 6, 2, 8, 4, 10, 1, 7, 3, 9, 5, 11}), counting(12));
  EXPECT_EQ(fortran("(4,)", counting(4)), counting(4));
  EXPECT_EQ(fortran("(0, 3)", {}), Bytes());
}

TEST(ReadNpy, ReadsEveryVersionAndRank) {
  const Bytes values = counting(24);
  for (const std::uint8_t major : Bytes{1, 2, 3}) {
    const NpyArray array = read(npy_file(npy_header("|u1", "(2, 3, 4)"), values, major));
    EXPECT_EQ(array.shape, (Shape{2, 3, 4})) << int{major};
    EXPECT_EQ(std::get<Bytes>(array.values), values);
  }
  EXPECT_EQ(read(npy_bytes<float>("<f4", "()", {2.5F})).shape, Shape{});
  EXPECT_EQ(read(npy_bytes<float>("<f4", "(0, 3)", {})).shape, (Shape{0, 3}));
}

TEST(ReadNpy, TakesAnyOrderAndSpacingOfTheHeader) {
  const NpyArray array =
      read(npy_file("{\"shape\":(2,3),'fortran_order' : False , 'descr':\"|u1\"}", counting(6)));
  EXPECT_EQ(array.shape, (Shape{2, 3}));
}

TEST(ReadNpy, ReadsGzippedFilesAndMoreThanOnePiece) {
  std::vector<double> values((1U << 18) + 5);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i) / 7;
  const Bytes file = npy_bytes("<f8", fmt::format("({},)", values.size()), values);
  EXPECT_EQ(std::get<std::vector<double>>(read(file).values), values);
  EXPECT_EQ(std::get<std::vector<double>>(read(gzipped(file)).values), values);
}

TEST(ReadNpy, NamesWhatItDoesNotRead) {
  const auto of_type = [](const std::string& descr) {
    return error(npy_file(npy_header(descr, "(1,)"), counting(8)));
  };
  expect_mentions(of_type("|O"), "pickled objects are never read");
  for (const char* descr : {"<c8", "<u8", "<u1", "|f4", "f4", "<f", "<ff4", ""}) {
    expect_mentions(of_type(descr), fmt::format("i8, b1, found '{}'; save array", descr));
  }
  expect_mentions(error(npy_file("{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (1,)}",
                                 counting(4))),
                  "structured array");
  expect_mentions(error({'P', 'K', 3, 4, 0, 0, 0, 0}), "50 4b 03 04");
  expect_mentions(error(npy_file(npy_header("|u1", "(1,)"), {0}, 4)), "found 4.0");
  Bytes minor = npy_file(npy_header("|u1", "(1,)"), {0});
  minor[7] = 1;
  expect_mentions(error(minor), "found 1.1");
}

TEST(ReadNpy, NamesWhatIsWrongInAHeader) {
  const auto of = [](const std::string& text) { return error(npy_file(text, counting(4))); };
  expect_mentions(of(""), "expected '{'");
  expect_mentions(of("{'descr': '|u1', 'shape': (4,), }"),
                  "the keys descr, fortran_order and shape");
  expect_mentions(of("{'descr': '|u1', 'descr': '|u1', }"), "the key 'descr' once");
  expect_mentions(of("{'descr': '|u1', 'order': 1}"), "found 'order'");
  expect_mentions(of("{'descr': '|u1"), "a text in quotes");
  expect_mentions(of("{'descr': '|u1' 'shape': (4,)}"), "expected '}'");
  expect_mentions(of("{'fortran_order': 0}"), "True or False");
  expect_mentions(of("{'shape': (4)}"), "a tuple such as (3,)");
  expect_mentions(of("{'shape': (2 2)}"), "',' or ')'");
  expect_mentions(of("{'shape': (-2,)}"), "an extent");
  expect_mentions(of("{'shape': (9223372036854775808,)}"), "an extent");
  expect_mentions(of("{'shape': (1,1,1,1,1,1,1,1,1)}"), "at most 8 axes");
  expect_mentions(of("{'descr': '|u1', 'fortran_order': False, 'shape': (4,)} x"),
                  "nothing but spaces");
}

TEST(ReadNpy, ComparesThePromiseWithTheFile) {
  const auto of = [](const std::string& descr, const std::string& shape, std::size_t bytes) {
    return error(npy_file(npy_header(descr, shape), counting(bytes)));
  };
  expect_mentions(of("<f4", "(2, 3)", 23), "2 x 3 x 4 bytes, but only 23 follow");
  expect_mentions(of("<f4", "(2, 3)", 25), "after the 24 that");
  expect_mentions(of("<f8", "(9223372036854775807,)", 8), "9223372036854775807 x 8 bytes");
  expect_mentions(of("|u1", "(4294967296, 4294967296, 4294967296)", 8), "but only 8 follow");
  // An array of 2^64 bytes, which 64 bits hold as 0.
  expect_mentions(of("|u1", "(8, 2305843009213693952)", 8), "but only 8 follow");
  expect_mentions(of("|u1", "(9223372036854775807, 3, 0)", 0), "9223372036854775807");
  expect_mentions(error(gzipped(npy_file(npy_header("<f4", "(1000000,)"), counting(8)))),
                  "gzipped bytes come to");
  Bytes long_header = npy_file(std::string(20000, ' '), {});
  expect_mentions(error(long_header), "at most 10000 bytes, found 20000");
  // A header that promises more than there is.
  Bytes cut = npy_file(npy_header("|u1", "(1,)"), {});
  cut.resize(60);
  expect_mentions(error(cut), "cut short");
}

TEST(ReadNpy, EveryCutIsRefused) {
  for (const std::uint8_t major : Bytes{1, 2}) {
    const Bytes whole = npy_file(npy_header("<f4", "(2, 2)"), counting(16), major);
    for (const Bytes& file : {whole, gzipped(whole)}) {
      const ScratchDirectory scratch;
      for (std::size_t kept = 0; kept < file.size(); ++kept) {
        const auto end = file.begin() + static_cast<std::ptrdiff_t>(kept);
        const auto path = scratch.write("cut", Bytes(file.begin(), end));
        EXPECT_THROW(read_npy(path), FormatError) << kept << " of " << file.size();
      }
      EXPECT_NO_THROW(read_npy(scratch.write("whole", file)));
    }
  }
}

TEST(ReadNpy, EveryFlippedBitIsRefusedOrGivesASoundArray) {
  const Bytes whole = npy_bytes<float>("<f4", "(2, 2)", {1, 2, 3, 4});
  const ScratchDirectory scratch;
  std::size_t refused = 0;
  for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    Bytes flipped = whole;
    flipped[bit / 8] = static_cast<std::uint8_t>(flipped[bit / 8] ^ (1U << (bit % 8)));
    try {
      const NpyArray array = read_npy(scratch.write("flipped", flipped));
      const auto count = std::visit([](const auto& v) { return v.size(); }, array.values);
      EXPECT_EQ(array.shape.size(), static_cast<Index>(count)) << bit;
    } catch (const FormatError&) {
      ++refused;
    }
  }
  // All of the magic, the version and the length, and most of the dictionary.
  EXPECT_GT(refused, 8U * 60);
}

/// Two files that load() reads; a test may change one.
struct Pair {
  ScratchDirectory scratch;
  Bytes features = npy_bytes<float>("<f4", "(3, 2)", {1, 2, 3, 4, 5, 6});
  Bytes targets = npy_bytes<std::int64_t>("<i8", "(3,)", {2, 0, 1});
  int classes = 0;

  Dataset load() const {
    return load_npy(scratch.write("x.npy", features), scratch.write("y.npy", targets), classes);
  }
  std::string error() const {
    return message_of<FormatError>([&] { load(); });
  }
};

TEST(LoadNpy, IntegersOfOneAxisAreLabels) {
  Pair pair;
  const Dataset set = pair.load();
  EXPECT_EQ(set.name(), "x.npy");
  EXPECT_EQ(set.example_shape(), (Shape{2}));
  EXPECT_EQ(set.classes(), 3);
  EXPECT_TRUE(std::ranges::equal(set.labels(), Labels{2, 0, 1}));
  EXPECT_TRUE(std::ranges::equal(set.features(1, 3).span(), std::vector<float>{3, 4, 5, 6}));
  pair.classes = 5;
  EXPECT_EQ(pair.load().classes(), 5);
  pair.targets = npy_bytes<std::uint8_t>("|u1", "(3,)", {4, 0, 1});
  EXPECT_EQ(pair.load().labels()[0], 4);
}

TEST(LoadNpy, BytesStayBytesAndOtherTypesBecomeFloats) {
  Pair pair;
  pair.features = npy_bytes<std::uint8_t>("|u1", "(3, 1, 2)", {0, 51, 102, 153, 204, 255});
  const Dataset bytes = pair.load();
  EXPECT_EQ(bytes.bytes().size(), 6U);
  EXPECT_EQ(bytes.features(0, 1).span()[1], 51.0F / 255.0F);
  pair.features = npy_bytes<std::int8_t>("|i1", "(3, 1)", {-3, 0, 7});
  EXPECT_TRUE(std::ranges::equal(pair.load().features(0, 3).span(), std::vector<float>{-3, 0, 7}));
}

TEST(LoadNpy, OtherTargetsAreTensors) {
  Pair pair;
  pair.targets = npy_bytes<double>("<f8", "(3,)", {0.5, 1.5, 2.5});
  EXPECT_EQ(pair.load().target_shape(), (Shape{1}));
  EXPECT_EQ(pair.load().targets(2, 3).values().span()[0], 2.5F);
  pair.targets = npy_bytes<std::int32_t>("<i4", "(3, 2)", {0, 1, 1, 0, 1, 1});
  const Dataset several = pair.load();
  EXPECT_FALSE(several.has_labels());
  EXPECT_EQ(several.target_shape(), (Shape{2}));
}

// Three rows of four values each.
TEST(LoadNpy, RowsOfALargerFileAreReadFromWhereTheyLie) {
  const std::vector<float> floats = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  const Bytes labels = npy_bytes<std::int64_t>("<i8", "(3,)", {2, 0, 1});
  const auto with_order = [](Bytes file) {
    const std::string_view text = "False";
    const auto at = std::search(file.begin(), file.end(), text.begin(), text.end());
    std::ranges::copy(std::string_view("True "), at);
    return file;
  };
  const Bytes plain = npy_bytes<float>("<f4", "(3, 4)", floats);
  for (const auto& [what, features, targets, most, is_read] :
       {std::tuple{"floats", plain, labels, 47U, true},
        {"no more than may be", plain, labels, 48U, false},
        {"bytes", npy_bytes<std::uint8_t>("|u1", "(3, 2, 2)", counting(12)), labels, 11U, true},
        {"gzipped", gzipped(plain), labels, 1U, false},
        {"by columns", with_order(plain), labels, 1U, false},
        {"double", npy_bytes<double>("<f8", "(3, 4)", {floats.begin(), floats.end()}), labels, 1U,
         false},
        {"numbers as targets", plain, npy_bytes<float>("<f4", "(3,)", {2, 0, 1}), 1U, false}}) {
    SCOPED_TRACE(what);
    const ScratchDirectory scratch;
    const std::filesystem::path x = scratch.write("x.npy", features);
    const std::filesystem::path y = scratch.write("y.npy", targets);
    const Dataset whole = load_npy(x, y);
    const Dataset set = load_npy(x, y, 0, most);
    EXPECT_EQ(set.is_read(), is_read);
    EXPECT_EQ(set.example_shape(), whole.example_shape());
    EXPECT_EQ(fingerprint(set), fingerprint(whole));
    const std::vector<std::uint32_t> rows = {2, 0, 2};
    EXPECT_TRUE(std::ranges::equal(set.features(rows).span(), whole.features(rows).span()));
    if (!is_read) continue;
    EXPECT_TRUE(std::ranges::equal(set.labels(), whole.labels()));
    EXPECT_TRUE(std::ranges::equal(set.subset(rows).slice(1, 3).features(0, 2).span(),
                                   whole.subset(rows).slice(1, 3).features(0, 2).span()));
    Bytes cut = features;
    cut.pop_back();
    scratch.write("x.npy", cut);
    EXPECT_EQ(message_of<FormatError>([&, limit = most] { load_npy(x, y, 0, limit); }),
              message_of<FormatError>([&] { load_npy(x, y); }));
  }
}

TEST(LoadNpy, AFolderOfMoreThanItMayTakeIsReadFromItsFiles) {
  const ScratchDirectory scratch;
  const float bad = std::numeric_limits<float>::quiet_NaN();
  scratch.write("x.npy", npy_bytes<float>("<f4", "(6, 1)", {1, bad, 3, 4, 5, 6}));
  scratch.write("y.npy", npy_bytes<std::int64_t>("<i8", "(6,)", {0, 1, 0, 1, 0, 1}));
  expect_mentions(message_of<FormatError>([&] { load_data(scratch.path(), {.max_bytes = 8}); }),
                  "x.npy: expected finite numbers, found nan in row 1");
  const DataSplit data = load_data(scratch.path(), {.split = 0.5, .skip_bad = 1, .max_bytes = 8});
  EXPECT_TRUE(data.train.is_read() && data.test.is_read());
  EXPECT_EQ(data.train.size() + data.test.size(), 5U);
  EXPECT_EQ(data.skipped.size(), 1U);
  // Weights are of examples in memory.
  scratch.write("w.npy", npy_bytes<float>("<f4", "(6,)", {1, 1, 1, 2, 1, 1}));
  const Dataset weighted = load_data(scratch.path(), {.skip_bad = 1, .max_bytes = 8}).train;
  EXPECT_FALSE(weighted.is_read());
  EXPECT_EQ(weighted.sample_weights().size(), 5U);
}

TEST(LoadNpy, RefusesFilesThatDoNotBelongTogether) {
  Pair pair;
  pair.targets = npy_bytes<std::int64_t>("<i8", "(2,)", {0, 1});
  expect_mentions(pair.error(), "holds 3 examples, but");
  pair.targets = npy_bytes<std::int64_t>("<i8", "(3,)", {0, -1, 1});
  expect_mentions(pair.error(), "found -1 in row 1");
  pair.targets = npy_bytes<std::int64_t>("<i8", "(3,)", {0, 1, std::int64_t{1} << 32});
  expect_mentions(pair.error(), "found 4294967296 in row 2");
  // Classes without an example would make as many outputs.
  pair.targets = npy_bytes<std::int64_t>("<i8", "(3,)", {0, 0, 999});
  EXPECT_EQ(pair.load().classes(), 1000);
  pair.targets = npy_bytes<std::int64_t>("<i8", "(3,)", {0, 0, 1000});
  expect_mentions(pair.error(),
                  "expected labels that count the classes from 0, found 1000 in 3 examples, whose "
                  "labels are 2 different ones");
  pair.classes = 1001;
  EXPECT_EQ(pair.load().classes(), 1001);
  pair.classes = 2;
  pair.targets = npy_bytes<std::int64_t>("<i8", "(3,)", {0, 1, 2});
  expect_mentions(pair.error(), "labels in [0, 2), found 2 in row 2");
  pair.classes = -1;
  expect_mentions(message_of<InvalidArgument>([&] { pair.load(); }), "found -1");
  pair.classes = 0;
  pair.features = npy_bytes<float>("<f4", "(3,)", {1, 2, 3});
  expect_mentions(pair.error(), "[n, 1]");
  pair.features = npy_bytes<float>("<f4", "(0, 2)", {});
  expect_mentions(pair.error(), "at least one value");
  pair.features = npy_bytes<float>("<f4", "(3, 1)", {1, 2, 3});
  pair.targets = npy_bytes<std::int64_t>("<i8", "()", {1});
  expect_mentions(pair.error(), "expected targets");
}

}  // namespace
}  // namespace octet::test::npy_test
