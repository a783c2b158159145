#include <fmt/core.h>
#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/core/log.h>
#include <octet/tests/train/data/idx_files.h>
#include <octet/train/data/class_files.h>
#include <octet/train/data/name_pattern.h>

#include <string>
#include <utility>
#include <vector>

namespace octet::test::class_files_test {
namespace {

namespace fs = std::filesystem;

struct Folder {
  ScratchDirectory scratch;

  void touch(const std::string& name) const {
    fs::create_directories((scratch.path() / name).parent_path());
    scratch.write(name, {});
  }
  ClassFiles list(const std::string& pattern = "", std::size_t skip_bad = 0) const {
    return list_class_files(scratch.path(), {".wav"},
                            {.class_from = pattern, .skip_bad = skip_bad});
  }
  /// "NAME:CLASS:GROUP" of each file.
  static std::string text_of(const std::vector<ClassFile>& files) {
    std::string text;
    for (const ClassFile& file : files) {
      text += file.path.filename().string() + ":" + file.class_name + ":" + file.group + " ";
    }
    return text;
  }
};

TEST(ClassFiles, FoldersAreClassesAndParts) {
  const Folder flat;
  for (const char* name : {"b/2.wav", "a/1.WAV", "a/notes.txt", "README.md"}) flat.touch(name);
  EXPECT_EQ(Folder::text_of(flat.list().train), "1.WAV:a: 2.wav:b: ");
  EXPECT_TRUE(holds_files(flat.scratch.path(), {".wav"}));
  EXPECT_FALSE(holds_files(flat.scratch.path(), {".png"}));
  const Folder parted;
  for (const char* name : {"train/a/1.wav", "val/a/2.wav"}) parted.touch(name);
  EXPECT_EQ(Folder::text_of(parted.list().test), "2.wav:a: ");
  EXPECT_TRUE(parted.list().validation.empty());
  parted.touch("test/a/3.wav");
  EXPECT_EQ(Folder::text_of(parted.list().test), "3.wav:a: ");
  EXPECT_EQ(Folder::text_of(parted.list().validation), "2.wav:a: ");
}

TEST(ClassFiles, WhatStandsBesidePartsIsCountedAndNamed) {
  const Folder folder;
  for (const char* name : {"Train/a/1.wav", "TEST/a/2.wav", "README.md"}) folder.touch(name);
  std::vector<std::string> warnings;
  const CollectWarnings collect(warnings);
  EXPECT_EQ(Folder::text_of(folder.list().train), "1.wav:a: ");
  EXPECT_EQ(Folder::text_of(folder.list().test), "2.wav:a: ");
  EXPECT_TRUE(warnings.empty()) << warnings[0];
  for (const char* name : {"tset/a/3.wav", "4.wav", "testing/a/5.wav"}) folder.touch(name);
  EXPECT_EQ(Folder::text_of(folder.list().test), "2.wav:a: ");
  ASSERT_EQ(warnings.size(), 1U);
  expect_mentions(warnings[0], "3 files and folders are left out, the first is '");
  expect_mentions(warnings[0], "/4.wav'");
  expect_mentions(warnings[0], "which may stand in train, test and val");
}

TEST(ClassFiles, WhatIsNoExampleIsCountedAndNamed) {
  const Folder folder;
  for (const char* name : {"a/1.wav", "b/2.wav", "a/._1.wav", ".cache/3.wav"}) folder.touch(name);
  std::vector<std::string> warnings;
  const CollectWarnings collect(warnings);
  EXPECT_EQ(Folder::text_of(folder.list().train), "1.wav:a: 2.wav:b: ");
  EXPECT_TRUE(warnings.empty()) << "of hidden files and folders";
  for (const char* name : {"b/sub/4.wav", "b/notes.txt", "README.md"}) folder.touch(name);
  fs::create_symlink("nowhere.wav", folder.scratch.path() / "b/5.wav");
  EXPECT_EQ(Folder::text_of(folder.list().train), "1.wav:a: 2.wav:b: ");
  ASSERT_EQ(warnings.size(), 1U);
  expect_mentions(warnings[0], "4 files and folders are left out, the first is '");
  expect_mentions(warnings[0], "/README.md'");
  for (const auto& [name, found] :
       {std::pair{"c/1.webp", "1 others, such as '1.webp'"}, std::pair{"d/.x.wav", "none"}}) {
    folder.touch(name);
    const std::string refused = message_of<FormatError>([&] { folder.list(); });
    expect_mentions(refused, fmt::format("expected files of class '{}' that end", name[0]));
    expect_mentions(refused, fmt::format(".wav, found {}; move the folder", found));
    warnings.clear();
    EXPECT_EQ(Folder::text_of(folder.list("", 1).train), "1.wav:a: 2.wav:b: ");
    ASSERT_EQ(warnings.size(), 1U);
    expect_mentions(warnings[0], fmt::format("5 files and folders are left out"));
    expect_mentions(warnings[0], fmt::format("classes without an example: {}", name[0]));
    fs::remove_all(folder.scratch.path() / std::string(1, name[0]));
  }
}

TEST(ClassFiles, AFolderOfDocumentsIsNoClass) {
  const Folder folder;
  for (const char* name : {"a/1.wav", "b/2.wav", "docs/README", "docs/notes.md", "docs/list.CSV"}) {
    folder.touch(name);
  }
  std::vector<std::string> warnings;
  const CollectWarnings collect(warnings);
  EXPECT_EQ(Folder::text_of(folder.list().train), "1.wav:a: 2.wav:b: ");
  ASSERT_EQ(warnings.size(), 1U);
  expect_mentions(warnings[0], "3 files and folders are left out");
  expect_mentions(warnings[0], "; folders of documents alone, which are no classes: docs");
  folder.touch("docs/sub/3.wav");
  expect_mentions(message_of<FormatError>([&] { folder.list(); }),
                  "expected files of class 'docs'");
  // Where examples are texts, other texts may be examples in a format that is not read.
  const Folder records;
  for (const char* name : {"a/1.csv", "b/2.txt"}) records.touch(name);
  expect_mentions(message_of<FormatError>(
                      [&] { list_class_files(records.scratch.path(), {".csv"}, DataOptions()); }),
                  "expected files of class 'b' that end in .csv");
}

TEST(ClassFiles, NamesSayClassGroupAndPart) {
  const Folder folder;
  for (const char* name : {"recordings/7_jackson_12.wav", "recordings/0_lucas_4.wav"}) {
    folder.touch(name);
  }
  const ClassFiles files = folder.list("{class}_{group}_{test=0-4}.wav");
  EXPECT_EQ(Folder::text_of(files.train), "7_jackson_12.wav:7:jackson ");
  EXPECT_EQ(Folder::text_of(files.test), "0_lucas_4.wav:0:lucas ");
  const ClassFiles grouped = folder.list("*_{group}_*.wav");
  EXPECT_EQ(Folder::text_of(grouped.train),
            "0_lucas_4.wav:recordings:lucas 7_jackson_12.wav:recordings:jackson ");
  EXPECT_EQ(groups_of(grouped.train), (Groups{0, 1}));
}

TEST(ClassFiles, WhatIsRefusedIsNamed) {
  const Folder folder;
  const auto refused = [&](const std::string& pattern) {
    return message_of<FormatError>([&] { folder.list(pattern); });
  };
  folder.touch("a/none.mp3");
  expect_mentions(refused(""), "/a': expected files of class 'a' that end in .wav, found 1 others");
  expect_mentions(refused("{class}_*.wav"), "expected files for training that end in .wav");
  folder.touch("1_a.wav");
  expect_mentions(refused(""), "1_a.wav: expected a folder named after its class");
  expect_mentions(refused("{class}-*.wav"), "a part of it is missing");
  expect_mentions(refused("{class}_*.mp3"), "a part of it is missing");
  expect_mentions(refused("x{class}_*.wav"), "'x' is missing");
  expect_mentions(refused("{class}_a"), "'.wav' is too much");
  expect_mentions(refused("{class}_{test=1-2}.wav"), "'a' is no number");
  // A part that is there is not silently left out.
  for (const char* part : {"test", "testing", "val", "validation"}) {
    const Folder parted;
    parted.touch("train/a/1.wav");
    parted.touch(std::string(part) + "/notes.txt");
    expect_mentions(message_of<FormatError>([&] { parted.list(); }),
                    "/" + std::string(part) + "': expected files to score on that end in .wav");
  }
  const Folder trained;
  trained.touch("1_7.wav");
  expect_mentions(message_of<FormatError>([&] { trained.list("{class}_{test=0-4}.wav"); }),
                  "expected files of the test part, as {test=...} says, found none among 1");
  for (const auto& [pattern, part] :
       {std::pair{"{class}{group}", "nothing tells where one placeholder ends"},
        std::pair{"{speaker}.wav", "{speaker} is none of"},
        std::pair{"{class}_{class}", "stands twice"}, std::pair{"{class", "is never closed"},
        std::pair{"{test=4-0}", "expected numbers such as"}}) {
    expect_mentions(message_of<InvalidArgument>([&, text = pattern] { NamePattern{text}; }), part);
  }
}

}  // namespace
}  // namespace octet::test::class_files_test
