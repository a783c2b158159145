// Every allocation of a call fails once: the caller gets std::bad_alloc or one of Octet's errors,
// nothing leaks, and afterwards the same call succeeds.

#include <octet/core/error.h>
#include <octet/core/file.h>
#include <octet/deploy/tflite/reader.h>
#include <octet/import/onnx/import_onnx.h>
#include <octet/import/weights/weights.h>
#include <octet/layers/layers.h>
#include <octet/runtime/interpreter.h>
#include <octet/tests/robustness/counting_new.h>
#include <octet/tests/runtime/models.h>
#include <octet/tests/train/data/npy_files.h>
#include <octet/tests/train/training.h>
#include <octet/train/data/cifar10.h>
#include <octet/train/data/csv.h>
#include <octet/train/data/idx.h>
#include <octet/train/data/load_data.h>
#include <octet/train/data/npy.h>
#include <octet/train/load_model.h>
#include <octet_test_paths.h>

#include <algorithm>
#include <functional>
#include <new>

namespace octet::test::allocation_failure_test {
namespace {

/// Runs `body` until no allocation is left to fail; `check` follows every failure. Returns how many
/// failed.
long fail_each(
    const std::function<void()>& body, const std::function<void()>& check = [] {}) {
  // Caches are filled by calls that succeed.
  body();
  body();
  check();
  for (long number = 1;; ++number) {
    const long before = live_allocations();
    bool failed = false;
    {
      const FailAllocation failure(number);
      // A call may also do without: std::stable_sort() sorts in place then. The body checks what it
      // gets.
      try {
        body();
      } catch (const std::bad_alloc&) {
      } catch (const Error&) {
      }
      failed = failure.happened();
    }
    if (!failed) return number - 1;
    EXPECT_EQ(live_allocations(), before) << "a leak after allocation " << number;
    check();
    if (testing::Test::HasFailure()) return number;
  }
}

class AllocationFailure : public testing::Test {
 protected:
  AllocationFailure() { set_num_threads(1); }

  KeepThreads keep_;
  ScratchDirectory scratch_;
};

TEST_F(AllocationFailure, OfEveryKindIsSeenAndOnlyOnce) {
  const auto two = [] {
    ::operator delete(::operator new(100));
    ::operator delete (::operator new (100, std::align_val_t{64}), std::align_val_t{64});
  };
  EXPECT_THROW(
      {
        const FailAllocation failure(2);
        two();
      },
      std::bad_alloc);
  const FailAllocation later(3);
  two();
  EXPECT_FALSE(later.happened());
}

TEST_F(AllocationFailure, OfATensorNamesItsShape) {
  // Too large for what is kept: the pool asks the system for it.
  const Shape shape{5, 1 << 22};
  std::string found;
  for (long number = 1; number < 10 && found.empty(); ++number) {
    const FailAllocation failure(number);
    try {
      const Tensor tensor(shape);
    } catch (const OutOfMemory& error) {
      found = error.what();
    } catch (const std::bad_alloc&) {
      // The handle.
    }
  }
  EXPECT_EQ(found,
            "Tensor of shape [5, 4194304]: out of memory: expected 83886080 bytes, found that the "
            "system has less");
}

TEST_F(AllocationFailure, LoadingAModel) {
  const auto file = to_tflite(make_mlp(1, {3, 4, 2}, true, true));
  EXPECT_GT(fail_each([&] { from_tflite(file); }), 50);
  const auto path = scratch_.write("m.tflite", file);
  EXPECT_GT(fail_each([&] { Interpreter(read_tflite(path)); }), 80);
}

TEST_F(AllocationFailure, Inference) {
  Interpreter interpreter(make_mlp(1, {3, 4, 2}, true, true), {.batch = 2});
  const std::vector<float> images{0.1F, 0.5F, 0.9F, 0.0F, 1.0F, 0.3F, 0.7F, 0.7F, 0.2F};
  const Labels expected = interpreter.predict(images);
  const auto check = [&] { EXPECT_EQ(interpreter.predict(images), expected); };
  EXPECT_GT(fail_each([&] { EXPECT_EQ(interpreter.predict(images), expected); }, check), 0);
  EXPECT_EQ(fail_each([&] { interpreter.invoke(); }), 0);
  EXPECT_GT(fail_each([&] { interpreter.get_tensor_details(); }), 0);
}

TEST_F(AllocationFailure, AnotherBatchSizeOrTheOldOne) {
  Interpreter interpreter(make_mlp(1, {3, 4, 2}, false, true), {.batch = 2});
  const std::vector<float> images(300, 0.25F);
  const Labels expected = interpreter.predict(images);
  Index wanted = 2;
  const auto resize = [&] {
    wanted = wanted == 2 ? 50 : 2;
    interpreter.resize_batch(wanted);
  };
  EXPECT_GT(fail_each(resize, [&] { EXPECT_EQ(interpreter.predict(images), expected); }), 2);
}

TEST_F(AllocationFailure, ReadingData) {
  const Bytes images = idx_bytes({3, 2, 2}, counting(12));
  const auto plain = scratch_.write("plain", images);
  const auto zipped = scratch_.write("zipped", gzipped(images));
  EXPECT_GT(fail_each([&] { EXPECT_EQ(read_idx(plain).values, counting(12)); }), 3);
  EXPECT_GT(fail_each([&] { EXPECT_EQ(read_idx(zipped).values, counting(12)); }), 3);
  scratch_.write("t10k-images-idx3-ubyte", images);
  scratch_.write("t10k-labels-idx1-ubyte.gz", gzipped(idx_bytes({3}, {0, 2, 1})));
  EXPECT_GT(fail_each([&] { EXPECT_EQ(load_idx_test(scratch_.path()).size(), 3U); }), 20);
}

TEST_F(AllocationFailure, ReadingDataOfOtherFormats) {
  const std::string table = "x,y,label\n1.5,-2,0\n3,4,1\n";
  const auto csv = scratch_.write("t.csv", Bytes(table.begin(), table.end()));
  EXPECT_GT(fail_each([&] { EXPECT_EQ(load_csv(csv).size(), 2U); }), 10);
  const std::string series =
      "@classLabel true a b\n@data\n1,2:3,4:a\n5,6:7,8:b\n7,8:9,9:b\n1,1:0,0:a\n";
  const auto ts = scratch_.write("t.ts", Bytes(series.begin(), series.end()));
  EXPECT_GT(fail_each([&] { EXPECT_EQ(load_data(ts, {.split = 0.5}).train.size(), 2U); }), 50);
  const auto x = scratch_.write("x.npy", npy_bytes<float>("<f4", "(3, 1)", {0.5F, 1, -2}));
  const auto y = scratch_.write("y.npy", npy_bytes<std::int64_t>("<i8", "(3,)", {0, 2, 1}));
  EXPECT_GT(fail_each([&] { EXPECT_EQ(load_npy(x, y).classes(), 3); }), 10);
  const auto records = scratch_.write("c.bin", Bytes(2 * 3073, 7));
  EXPECT_GT(fail_each([&] { EXPECT_EQ(read_cifar10(records).size(), 2U); }), 5);
}

TEST_F(AllocationFailure, ReadingACheckpoint) {
  const auto path = scratch_.path() / "c";
  Sequential model = quantize_model(small_mlp(0, 2, 2, 2));
  Trainer trainer(model, Adam());
  trainer.fit(clouds(20, 1, 2, 2), 1);
  trainer.save_checkpoint(path);
  const Bytes whole = bytes_of(model);
  EXPECT_GT(fail_each([&] { EXPECT_TRUE(load_model(path).built()); }), 500);
  EXPECT_EQ(bytes_of(load_model(path)), whole);

  const auto spoil = [&] {
    for (auto& [name, tensor] : model.saved_tensors()) {
      std::ranges::fill(Tensor(tensor).mutable_span(), 7.0F);
    }
  };
  spoil();
  const Bytes spoilt = bytes_of(model);
  const auto load = [&] {
    spoil();
    trainer.load_checkpoint(path);
  };
  const auto all_or_nothing = [&] {
    const Bytes now = bytes_of(model);
    EXPECT_TRUE(now == whole || now == spoilt) << "a model was restored half";
  };
  EXPECT_GT(fail_each(load, all_or_nothing), 200);
}

TEST_F(AllocationFailure, ImportingANetwork) {
  const std::filesystem::path folder = OCTET_TEST_DATA_DIR "/onnx";
  // Convolutions and batch normalization, what tf2onnx writes around them, weights in a file
  // beside.
  for (const char* name : {"sequence_13.onnx", "tf2onnx_13.onnx", "mlp_external.onnx"}) {
    SCOPED_TRACE(name);
    const Bytes whole = bytes_of(import_onnx(folder / name));
    Model model;
    const auto import = [&] { model = import_onnx(folder / name); };
    EXPECT_GT(fail_each(import, [&] { EXPECT_EQ(bytes_of(model), whole); }), 500);
  }
}

/// What all tensors of the corpora's weight files fit into.
Sequential convolution_and_dense() {
  Sequential model("net", Input({3, 2, 1}),
                   Conv2D(2, {2, 1}, Activation::none, {.use_bias = false, .name = "conv"}),
                   BatchNorm({.name = "norm"}), AveragePool2D({.size = {1, 2}}), Flatten(),
                   Dense(1, Activation::none, {.use_bias = false, .name = "fc"}));
  model.build(1);
  return model;
}

TEST_F(AllocationFailure, LoadingWeights) {
  for (const char* name : {"safetensors/seed_whole", "npz/seed_stored", "npz/seed_deflated"}) {
    SCOPED_TRACE(name);
    Sequential model = convolution_and_dense();
    const Bytes before = bytes_of(model);
    const auto load = [&] {
      load_weights(model, std::filesystem::path(OCTET_FUZZ_CORPUS) / name,
                   {.names = WeightNames::pytorch, .allow_unused = true, .allow_missing = true});
    };
    load();
    const Bytes loaded = bytes_of(model);
    EXPECT_NE(loaded, before);
    const auto load_anew = [&] {
      model = convolution_and_dense();
      load();
    };
    EXPECT_GT(fail_each(load_anew,
                        [&] {
                          const Bytes now = bytes_of(model);
                          EXPECT_TRUE(now == before || now == loaded) << "weights loaded half";
                        }),
              100);
  }
}

TEST_F(AllocationFailure, WritingAnArchive) {
  Archive archive;
  archive.add("dense/kernel", Tensor::full({2, 3}, 0.5F));
  archive.add("dense/bias", Tensor::zeros({3}));
  archive.add_text("history", R"([{"epoch": 1}])");
  const Bytes whole = archive.to_bytes();
  EXPECT_GT(fail_each([&] { EXPECT_EQ(archive.to_bytes(), whole); }), 20);
}

TEST_F(AllocationFailure, SavingWeights) {
  const auto path = scratch_.path() / "w.safetensors";
  const Sequential model = convolution_and_dense();
  const auto save = [&] { save_weights(model, path, {.names = WeightNames::pytorch}); };
  save();
  const Bytes whole = read_file(path);
  const auto check = [&] {
    EXPECT_EQ(read_file(path), whole);
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(scratch_.path()), {}), 1);
  };
  EXPECT_GT(fail_each(save, check), 50);
}

}  // namespace
}  // namespace octet::test::allocation_failure_test
