#include <octet/core/archive.h>
#include <octet/core/file.h>
#include <octet/tests/core/ops/op_testing.h>
#include <octet/tests/core/thrown.h>
#include <zlib.h>

#include <cstring>
#include <filesystem>

namespace octet::test::archive_test {
namespace {

Archive sample() {
  Archive archive;
  archive.add("dense/kernel", Tensor::from({2, 3}, {1, -2, 3.5F, kNan, -kInf, -0.0F}));
  archive.add("dense/bias", Tensor::scalar(0.25F));
  archive.add("empty", Tensor::zeros({0, 4}));
  archive.add_text("kind", "weights");
  archive.add_text("a \"quoted\" name", "caf\xC3\xA9\n");
  return archive;
}

Archive read_back(const std::vector<std::uint8_t>& bytes) {
  return Archive::from_bytes(bytes, "test");
}

/// The bytes of an archive with this header, no data and the right checksum.
std::vector<std::uint8_t> with_header(const std::string& header, std::size_t data = 0) {
  std::vector<std::uint8_t> bytes = Archive().to_bytes();
  const auto size = static_cast<std::uint64_t>(header.size());
  bytes.resize(24);
  std::memcpy(bytes.data() + 16, &size, sizeof(size));
  bytes.insert(bytes.end(), header.begin(), header.end());
  bytes.resize(bytes.size() + data);
  const auto sum = static_cast<std::uint32_t>(crc32_z(0, bytes.data() + 16, bytes.size() - 16));
  std::memcpy(bytes.data() + 12, &sum, sizeof(sum));
  return bytes;
}

TEST(Archive, ReadsBackWhatItWrote) {
  const Archive archive = read_back(sample().to_bytes());
  EXPECT_EQ(archive.tensors().size(), 3U);
  expect_tensor(archive.tensor("dense/kernel"), {2, 3}, {1, -2, 3.5F, kNan, -kInf, -0.0F});
  expect_tensor(archive.tensor("dense/bias"), {}, {0.25F});
  expect_tensor(archive.tensor("empty"), {0, 4}, {});
  EXPECT_EQ(archive.text("kind"), "weights");
  EXPECT_EQ(archive.text("a \"quoted\" name"), "caf\xC3\xA9\n");
  EXPECT_TRUE(archive.has("empty"));
  EXPECT_FALSE(archive.has("kind"));
}

TEST(Archive, EqualContentsGiveEqualBytes) {
  EXPECT_EQ(sample().to_bytes(), sample().to_bytes());
  EXPECT_EQ(read_back(sample().to_bytes()).to_bytes(), sample().to_bytes());
}

TEST(Archive, ItsHeaderIsOneTextWhateverOrderItIsMadeIn) {
  const std::vector<std::uint8_t> bytes = sample().to_bytes();
  std::uint64_t size = 0;
  std::memcpy(&size, bytes.data() + 16, sizeof(size));
  const std::string header(bytes.begin() + 24, bytes.begin() + 24 + static_cast<int>(size));
  EXPECT_EQ(header,
            R"({"tensors":{"dense/bias":{"offset":0,"shape":[]},)"
            R"("dense/kernel":{"offset":4,"shape":[2,3]},"empty":{"offset":28,"shape":[0,4]}},)"
            "\"texts\":{\"a \\\"quoted\\\" name\":\"caf\xC3\xA9\\n\",\"kind\":\"weights\"}}");
}

TEST(Archive, NamesWhatIsMissingOrOfAnotherShape) {
  const Archive archive = sample();
  expect_throws<FormatError>([&] { archive.tensor("dense/gamma"); }, {"dense/gamma"});
  expect_throws<FormatError>([&] { archive.text("phase"); }, {"phase"});
  expect_throws<FormatError>(
      [&] {
        archive.check_shape("dense/kernel", {3, 2});
      },
      {"dense/kernel", "[3, 2]", "[2, 3]"});
  archive.check_shape("dense/kernel", {2, 3});
}

TEST(Archive, HoldsOneTensorOfAName) {
  Archive archive;
  archive.add("a/b/kernel", Tensor::scalar(1.0F));
  expect_throws<InvalidArgument>([&] { archive.add("a/b/kernel", Tensor::scalar(2.0F)); },
                                 {"\"a/b/kernel\" twice"});
  EXPECT_EQ(archive.tensor("a/b/kernel").item(), 1.0F);
}

TEST(Archive, CopiesOverATensorOfTheSameShapeOnly) {
  const Archive archive = sample();
  Tensor target = Tensor::zeros({});
  archive.copy_to("dense/bias", target);
  EXPECT_EQ(target.item(), 0.25F);
  EXPECT_THROW(archive.copy_to("dense/bias", Tensor::zeros({1})), FormatError);
}

TEST(Archive, RefusesEveryTruncation) {
  const std::vector<std::uint8_t> bytes = sample().to_bytes();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_THROW(read_back({bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)}),
                 FormatError)
        << size;
  }
  std::vector<std::uint8_t> longer = bytes;
  longer.push_back(0);
  EXPECT_THROW(read_back(longer), FormatError);
}

TEST(Archive, RefusesEveryFlippedBit) {
  const std::vector<std::uint8_t> bytes = sample().to_bytes();
  for (std::size_t i = 0; i < bytes.size() * 8; ++i) {
    std::vector<std::uint8_t> flipped = bytes;
    flipped[i / 8] = static_cast<std::uint8_t>(flipped[i / 8] ^ (1U << (i % 8)));
    EXPECT_THROW(read_back(flipped), FormatError) << "bit " << i;
  }
}

TEST(Archive, RefusesUnsoundHeadersWithARightChecksum) {
  const auto tensor = [](const std::string& entry) {
    return R"({"texts":{},"tensors":{"t":)" + entry + "}}";
  };
  EXPECT_EQ(read_back(with_header(tensor(R"({"shape":[2],"offset":0})"), 8)).tensor("t").size(), 2);
  for (const std::string& header :
       {std::string("{"), std::string("[]"), std::string("null"), std::string(R"({"texts":{}})"),
        std::string(R"({"texts":[1],"tensors":{}})"), tensor("1"), tensor(R"({"shape":[2]})"),
        tensor(R"({"shape":[3],"offset":0})"), tensor(R"({"shape":[2],"offset":1})"),
        tensor(R"({"shape":[2],"offset":18446744073709551612})"),
        tensor(R"({"shape":[-2],"offset":0})"),
        tensor(R"({"shape":[4611686018427387904,4],"offset":0})"),
        tensor(R"({"shape":[4611686018427387904],"offset":0})"),
        tensor(R"({"shape":"x","offset":0})")}) {
    EXPECT_THROW(read_back(with_header(header, 8)), FormatError) << header;
  }
}

TEST(Archive, RefusesAHeaderLongerThanTheFile) {
  std::vector<std::uint8_t> bytes = with_header("{}");
  const std::uint64_t size = ~std::uint64_t{0};
  std::memcpy(bytes.data() + 16, &size, sizeof(size));
  const auto sum = static_cast<std::uint32_t>(crc32_z(0, bytes.data() + 16, bytes.size() - 16));
  std::memcpy(bytes.data() + 12, &sum, sizeof(sum));
  expect_throws<FormatError>([&] { read_back(bytes); }, {"the header is cut short"});
}

TEST(Archive, RefusesTextThatIsNoUtf8) {
  Archive archive;
  archive.add_text("note", "\xFF\xFE");
  EXPECT_THROW(archive.to_bytes(), InvalidArgument);
}

TEST(Archive, ErrorsNameTheFile) {
  const auto path = std::filesystem::temp_directory_path() / "octet_archive_test.bin";
  sample().write(path);
  expect_tensor(Archive::read(path).tensor("dense/bias"), {}, {0.25F});
  write_file_atomic(path, std::vector<std::uint8_t>(100, 7));
  expect_throws<FormatError>([&] { Archive::read(path); }, {path.string()});
  std::filesystem::remove(path);
  EXPECT_THROW(Archive::read(path), IoError);
  EXPECT_THROW(sample().write("/no/such/folder/weights"), IoError);
}

}  // namespace
}  // namespace octet::test::archive_test
