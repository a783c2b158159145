#include <gtest/gtest.h>
#include <octet/core/registry.h>
#include <octet/tests/core/thrown.h>

#include <string>
#include <thread>
#include <vector>

namespace octet::test::registry_test {

class Shelf {
 public:
  virtual ~Shelf() = default;
  virtual std::string_view type() const = 0;
};

class Plank : public Shelf {
 public:
  explicit Plank(Index width) : width_(width) {
    if (width < 1) throw InvalidArgument("Plank: expected a width of at least 1");
  }
  std::string_view type() const override { return "Plank"; }
  Index width() const { return width_; }

 private:
  Index width_;
};

/// A subclass that does not say so.
class PaintedPlank : public Plank {
 public:
  using Plank::Plank;
};

class Box : public Shelf {
 public:
  explicit Box(std::unique_ptr<Shelf> inner) : inner_(std::move(inner)) {}
  std::string_view type() const override { return "Box"; }
  const Shelf& inner() const { return *inner_; }

 private:
  std::unique_ptr<Shelf> inner_;
};

namespace {

struct Shelves : Registry<Shelf> {
  Shelves() : Registry("shelf", "register_shelf") {
    add<Plank>("Plank",
               [](const Description& d) { return std::make_unique<Plank>(d.integer("width")); });
    add<Box>("Box", [this](const Description& d) {
      const Description inner = d.part("inner");
      return std::make_unique<Box>(make(inner.text("type"), inner));
    });
  }
};

Description plank(Index width) { return Description().set("type", "Plank").set("width", width); }

TEST(Registry, MakesTheClassThatADescriptionNames) {
  const Shelves shelves;
  const auto made = shelves.make("Plank", plank(3));
  ASSERT_NE(dynamic_cast<const Plank*>(made.get()), nullptr);
  EXPECT_EQ(static_cast<const Plank&>(*made).width(), 3);
  EXPECT_TRUE(shelves.has("Box"));
  EXPECT_FALSE(shelves.has("Crate"));
}

TEST(Registry, AFactoryMayUseTheRegistry) {
  const Shelves shelves;
  const auto made = shelves.make("Box", Description().set("inner", plank(5)));
  const auto& inner = static_cast<const Box&>(*made).inner();
  EXPECT_EQ(dynamic_cast<const Plank&>(inner).width(), 5);
}

TEST(Registry, NamesAnUnknownType) {
  const Shelves shelves;
  expect_throws<FormatError>([&] { shelves.make("Crate", Description()); },
                             {"\"Crate\"", "register_shelf", "shelf"});
  expect_throws<FormatError>([&] { shelves.make("", Description()); }, {"\"\""});
}

TEST(Registry, WhatAClassRefusesInAFileIsTheFilesFault) {
  const Shelves shelves;
  expect_throws<FormatError>([&] { shelves.make("Plank", plank(0)); }, {"\"Plank\"", "at least 1"});
  EXPECT_THROW(shelves.make("Plank", Description()), FormatError);
}

TEST(Registry, ChecksThatAnObjectIsOfTheVeryClassOfItsType) {
  Shelves shelves;
  EXPECT_NO_THROW(shelves.check(Plank(1)));
  expect_throws<InvalidArgument>([&] { shelves.check(PaintedPlank(1)); },
                                 {"octet::test::registry_test::PaintedPlank", "\"Plank\"",
                                  "register_shelf<octet::test::registry_test::PaintedPlank>"});
  const Registry<Shelf> empty("shelf", "register_shelf");
  EXPECT_THROW(empty.check(Plank(1)), InvalidArgument);
}

TEST(Registry, RefusesANameThatIsTakenOrEmpty) {
  Shelves shelves;
  const auto make = [](const Description&) { return std::make_unique<PaintedPlank>(1); };
  expect_throws<InvalidArgument>(
      [&] { shelves.add<PaintedPlank>("Plank", make); },
      {"octet::test::registry_test::PaintedPlank", "octet::test::registry_test::Plank"});
  EXPECT_THROW(shelves.add<PaintedPlank>("", make), InvalidArgument);
  // A class that is registered again has its factory replaced.
  shelves.add<Plank>("Plank", [](const Description&) { return std::make_unique<Plank>(7); });
  EXPECT_EQ(static_cast<const Plank&>(*shelves.make("Plank", plank(3))).width(), 7);
}

TEST(Registry, RefusesAFactoryThatMakesNothingOrAnotherClass) {
  Shelves shelves;
  shelves.add<Plank>("Plank", [](const Description&) { return nullptr; });
  expect_throws<InvalidArgument>([&] { shelves.make("Plank", plank(1)); }, {"null"});
  shelves.add<Plank>("Plank", [](const Description&) { return std::make_unique<PaintedPlank>(1); });
  expect_throws<InvalidArgument>(
      [&] { shelves.make("Plank", plank(1)); },
      {"octet::test::registry_test::Plank, found octet::test::registry_test::PaintedPlank"});
}

TEST(Registry, TakesClassesAndMakesObjectsOnSeveralThreads) {
  Shelves shelves;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&shelves, t] {
      for (int i = 0; i < 200; ++i) {
        shelves.add<PaintedPlank>("Painted" + std::to_string((t + i) % 50), [](const Description&) {
          return std::make_unique<PaintedPlank>(1);
        });
        EXPECT_EQ(static_cast<const Plank&>(*shelves.make("Plank", plank(3))).width(), 3);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(shelves.has("Painted49"));
}

}  // namespace
}  // namespace octet::test::registry_test
