// make_fuzz_corpus FOLDER: writes the seeds of every target to FOLDER/<target>/seed_*. Equal bytes
// on every run but for the times in checkpoints and histories; tests/fuzz/corpus was made by it.

#include <octet/core/error.h>
#include <octet/core/file.h>
#include <octet/deploy/tflite/writer.h>
#include <octet/layers/add.h>
#include <octet/layers/architecture.h>
#include <octet/layers/concatenate.h>
#include <octet/layers/conv1d.h>
#include <octet/layers/conv2d.h>
#include <octet/layers/dense.h>
#include <octet/layers/depthwise_conv2d.h>
#include <octet/layers/dropout.h>
#include <octet/layers/gru.h>
#include <octet/layers/lower.h>
#include <octet/layers/pool2d.h>
#include <octet/layers/quantize/quantize_model.h>
#include <octet/layers/reshape.h>
#include <octet/layers/step_model.h>
#include <octet/runtime/dense_form.h>
#include <octet/tests/import/safetensors_files.h>
#include <octet/tests/import/zip_files.h>
#include <octet/tests/runtime/detection_models.h>
#include <octet/tests/runtime/elementwise_models.h>
#include <octet/tests/runtime/int16_models.h>
#include <octet/tests/runtime/lookup_models.h>
#include <octet/tests/runtime/lstm_models.h>
#include <octet/tests/runtime/mean_models.h>
#include <octet/tests/runtime/naive_graph.h>
#include <octet/tests/runtime/packed_models.h>
#include <octet/tests/runtime/svdf_models.h>
#include <octet/tests/runtime/window_models.h>
#include <octet/tests/train/data/idx_files.h>
#include <octet/tests/train/data/image_files.h>
#include <octet/tests/train/data/npy_files.h>
#include <octet/tests/train/data/wav_files.h>
#include <octet/train/trainer.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>
#include <string_view>

#include "draw_model.h"

namespace {

using namespace octet;
using test::Bytes;

namespace fs = std::filesystem;

/// Writes the seeds of one target.
class Seeds {
 public:
  Seeds(const fs::path& root, const std::string& target) : folder_(root / target) {
    fs::create_directories(folder_);
  }
  void add(const std::string& name, const Bytes& bytes) const {
    write_file_atomic(folder_ / ("seed_" + name), bytes);
  }
  void add(const std::string& name, std::string_view text) const {
    add(name, Bytes(text.begin(), text.end()));
  }

 private:
  fs::path folder_;
};

IntegerModel with_reshape() {
  test::RawModelBuilder b;
  const QuantParams q = test::quant(0.1F, 3);
  b.model.inputs = {b.activation("x", {1, 2, 3}, DType::int8, q)};
  const auto shape = b.constant<std::int32_t>("shape", {2}, DType::int32, {-1, 6});
  b.op(OpCode::reshape, {0, shape}, b.activation("y", {1, 6}, DType::int8, q));
  b.op(OpCode::relu6, {2}, b.activation("z", {1, 6}, DType::int8, test::quant(0.05F, -128)));
  b.model.outputs = {3};
  return b.model;
}

void write_models(const fs::path& root) {
  const Seeds seeds(root, "tflite");
  seeds.add("int8", to_tflite(test::make_mlp(1, {3, 2}, false, false)));
  seeds.add("per_channel", to_tflite(test::make_mlp(2, {5, 4, 2}, true, true)));
  seeds.add("conv_2d", to_tflite(per_channel_as_conv_2d(test::make_mlp(2, {5, 4, 2}, true, true))));
  seeds.add("reshape", to_tflite(with_reshape()));
  Sequential floats("f", Input({4, 3, 1}), Conv2D(2, {2, 1}, Activation::relu),
                    DepthwiseConv2D(2, Activation::none, {.padding = Padding::same}), MaxPool2D(),
                    Flatten(), Dense(2, Activation::softmax));
  floats.build(1);
  seeds.add("float", to_tflite(lower_float(floats)));
  seeds.add("graph", to_tflite(test::draw_graph(7, true)));
  seeds.add("mean", to_tflite(test::model_of(test::Mean{})));
  seeds.add("sub", to_tflite(test::model_of(test::Pair{.code = OpCode::sub})));
  seeds.add("squeeze", to_tflite(test::squeeze_model({1, 1, 4}, {1})));
  seeds.add("padv2", to_tflite(test::pad_model({1, 3}, {{0, 0}, {1, 2}}, test::quant(0.1F, 3),
                                               DType::int8, 5.0F)));
  const auto table = [&](const char* name, OpCode code, float scale, int zero_point) {
    const ModelTensor x{"x", DType::int8, {1, 4}, {}, test::quant(0.05F, 1), {}};
    const ModelTensor y{"y", DType::int8, {1, 4}, {}, test::quant(scale, zero_point), {}};
    seeds.add(name, to_tflite(test::make_unary(code, x, y)));
  };
  table("logistic", OpCode::logistic, 1.0F / 256, -128);
  table("tanh", OpCode::tanh, 1.0F / 128, 0);
  table("quantize", OpCode::quantize, 0.3F, -7);
  // The last byte of the first two is not full.
  const auto packed = [&](const char* name, const test::FewBits& of) {
    seeds.add(name, to_tflite(test::stored_in(test::few_bits_model(of, 1), of.bits)));
  };
  packed("int4", {OpCode::fully_connected, 4, 3, false});
  packed("int2", {OpCode::fully_connected, 2, 3, true});
  packed("int4_depthwise", {OpCode::depthwise_conv_2d, 4, 1, true});
  packed("int4_conv_2d", {OpCode::conv_2d, 4, 1, true});
  IntegerModel decoded = test::few_bits_model({OpCode::fully_connected, 3, 3, true}, 1);
  decoded.tensors[1].decoded_bits = 3;
  seeds.add("tflm_decode", to_tflite(decoded));
  const auto of_int16 = [&](const char* name, OpCode code) {
    seeds.add(name, to_tflite(test::as_int16(test::few_bits_model({code, 8, 2, true}, 1))));
  };
  of_int16("int16", OpCode::fully_connected);
  of_int16("int16_conv_2d", OpCode::conv_2d);
  of_int16("int16_depthwise", OpCode::depthwise_conv_2d);
  seeds.add("lstm", to_tflite(test::lstm_model({})));
  seeds.add("lstm_one_call", to_tflite(test::lstm_of_one_call()));
  seeds.add("lstm_int16", to_tflite(test::lstm_model({.dtype = DType::int16})));
  for (const DType state : {DType::float32, DType::int8, DType::int16}) {
    seeds.add("svdf_" + std::string(to_string(state)), to_tflite(test::svdf_model(state)));
  }
  seeds.add("detection", to_tflite(test::detection_model({})));
  seeds.add("gather", to_tflite(test::gather_model()));
  seeds.add("arg_max", to_tflite(test::arg_max_model({})));
  seeds.add("cast", to_tflite(test::cast_model(DType::float32, DType::int32)));
  Sequential causal("s", Input({4, 2}), Conv1D(2, 2, {}, {.padding = Padding::causal}),
                    GRU(2, {.return_sequences = true}));
  causal.build(1);
  Sequential quantized = quantize_model(causal);
  calibrate(quantized, Tensor::ones({2, 4, 2}));
  seeds.add("variables", to_tflite(lower(step_model(quantized)), TfliteStates::variables));
}

/// The first of random bytes that draw a model with an odd number of weights in `bits` bits.
Bytes bytes_of_packed_model(int bits) {
  for (std::uint64_t seed = 0;; ++seed) {
    test::Draw draw(seed);
    Bytes bytes(96);
    for (auto& byte : bytes) byte = static_cast<std::uint8_t>(draw.between(0, 255));
    fuzz::DrawBytes drawn(bytes);
    const IntegerModel model = fuzz::draw_model(drawn);
    try {
      model.validate();
    } catch (const FormatError&) {
      continue;
    }
    const auto is_odd = [&](const ModelTensor& tensor) {
      return tensor.stored_bits == bits && tensor.data.size() % 2 == 1;
    };
    if (std::ranges::any_of(model.tensors, is_odd)) return bytes;
  }
}

void write_drawn(const fs::path& root) {
  // Bytes that draw every operator, and sums and codes at the ends of their ranges.
  const Seeds models(root, "interpreter");
  const Seeds numbers(root, "requantize");
  for (std::uint64_t seed = 0; seed < 16; ++seed) {
    test::Draw draw(seed);
    Bytes bytes(96);
    for (auto& byte : bytes) byte = static_cast<std::uint8_t>(draw.between(0, 255));
    models.add(std::to_string(seed), bytes);
    numbers.add(std::to_string(seed), bytes);
  }
  models.add("int4", bytes_of_packed_model(4));
  models.add("int2", bytes_of_packed_model(2));
}

void write_data(const fs::path& root) {
  const Bytes images = test::idx_bytes({3, 2, 2}, test::counting(12));
  const Bytes labels = test::idx_bytes({3}, {0, 2, 1});
  const Seeds idx(root, "idx");
  idx.add("images", images);
  idx.add("labels_gz", test::gzipped(labels));
  idx.add("images_gz", test::gzipped(images));
  Bytes members = test::gzipped(Bytes(images.begin(), images.begin() + 7));
  const Bytes rest = test::gzipped(Bytes(images.begin() + 7, images.end()));
  members.insert(members.end(), rest.begin(), rest.end());
  idx.add("two_members_gz", members);
  const Seeds sets(root, "dataset");
  const auto add_set = [&](const char* name, const Bytes& first, const Bytes& second) {
    Bytes both{static_cast<std::uint8_t>(first.size())};
    both.insert(both.end(), first.begin(), first.end());
    both.insert(both.end(), second.begin(), second.end());
    sets.add(name, both);
  };
  add_set("plain", labels, images);
  add_set("gz", test::gzipped(labels), test::gzipped(images));
}

void write_loaders(const fs::path& root) {
  const Seeds arrays(root, "npy");
  const Bytes floats = test::npy_bytes<float>("<f4", "(2, 2)", {0.5F, -1.0F, 2.0F, 3e38F});
  arrays.add("floats", floats);
  arrays.add("floats_gz", test::gzipped(floats));
  arrays.add("bytes_2_0", test::npy_file(test::npy_header("|u1", "(3,)"), test::counting(3), 2));
  arrays.add("labels", test::npy_bytes<std::int64_t>("<i8", "(3,)", {0, 2, 1}));
  const Seeds images(root, "cifar10");
  Bytes record = {7};
  for (const std::uint8_t pixel : test::counting(3072)) record.push_back(pixel);
  images.add("plain", record);
  images.add("gz", test::gzipped(record));
  // Header, separator, targets, target column and class names, a byte each.
  const Seeds tables(root, "csv");
  const auto add_table = [&](const char* name, Bytes options, std::string_view text) {
    options.insert(options.end(), text.begin(), text.end());
    tables.add(name, options);
  };
  add_table("labels", {1, 1, 0, 1, 0}, "x,y,label\r\n1.5,-2,0\r\n3e-1,+4,2\r\n");
  add_table("quoted", {1, 1, 0, 0, 1}, "\"a \"\"1\"\"\",label,z\n\"1\",\"b c\", 2\n\n3,a,4");
  add_table("numbers", {0, 0, 1, 1, 0}, "1;2;0.25\n4;5;1e-45\n");
  add_table("features", {0, 1, 2, 0, 0}, "1,2\n3,4\n");
  // Window, behind one above 0 the hop, whether targets are numbers, there is a column g of groups
  // and one w of weights, and how many records may be left out, a byte each.
  const Seeds records(root, "csv_data");
  const auto add_records = [&](const char* name, Bytes options, std::string_view text) {
    options.insert(options.end(), text.begin(), text.end());
    records.add(name, options);
  };
  add_records("windows", {2, 1, 0, 0, 0, 0}, "x,kind\n1,a\n2,a\n3e0,a\n4,b\n5,b\n");
  add_records("groups", {2, 2, 0, 1, 0, 0}, "x;g;kind\n1;p;a\n2;p;a\n3;q;a\n4;q;b\n5;q;b\n");
  add_records("weights", {0, 1, 0, 1, 0}, "x\tw\ty\n1\t0.5\t2\n-1\t1.5\t3e-1\n");
  add_records("quoted", {0, 0, 0, 0, 0}, "\"x, 1\",\"k\"\"d\"\r\n\"1\",\"a\nb\"\r\n2,c\r\n");
  add_records("missing", {0, 0, 0, 0, 2}, "x,y,kind\n1,,a\n2,2,b\n3,4,b\n5,6\n7,8,a\n");
  const Seeds pictures(root, "image");
  pictures.add("png", test::png_bytes(2, 3, 3, test::counting(18)));
  pictures.add("bmp", test::bmp_bytes({.height = 2, .width = 3, .bits = 8}, {0, 1, 1, 1, 0, 1},
                                      {7, 7, 7, 1, 2, 3}));
  const Seeds sounds(root, "wav");
  sounds.add("two", test::wav_bytes(8000, 2, {1, -2, 300, -32768}));
  sounds.add("resampled", test::wav_bytes(44100, 1, std::vector<std::int16_t>(100, 1000)));
  sounds.add("six_channels", test::wav_bytes(16000, 6, {0, 1, 2, 3, 4, 5}));
  sounds.add("no_ratio", test::wav_bytes(15991, 1, {1, 2, 3}));
  Bytes cut = test::wav_bytes(8000, 1, {1, 2, 3});
  cut.pop_back();
  sounds.add("cut", cut);
  // Length, padding and how many series may be left out, a byte each.
  const Seeds sets(root, "ts");
  const auto add_series = [&](const char* name, Bytes options, std::string_view text) {
    options.insert(options.end(), text.begin(), text.end());
    sets.add(name, options);
  };
  add_series("two", {2, 1, 0}, "#\n@classLabel true a b\n@data\n1,2:3,4:a\n5:-6e1:b\n");
  add_series("masked", {3, 2, 0}, "@classLabel true a b\n@data\n1,2,3,4:a\n5:b\n");
  add_series("missing", {2, 0, 1}, "@classLabel true a b\n@data\n1,?:3,4:a\n5,6:7,8:b\n");
  add_series("unequal", {2, 0, 2}, "@classLabel true a\n@data\n1,2:3:a\n1:2:3:a\n1,2:3,4:a\n");
  add_series("time_stamps", {0, 0, 0}, "@timeStamps true\n@classLabel true a\n@data\n(1,2):a\n");
}

void write_weights(const fs::path& root) {
  const Seeds files(root, "safetensors");
  const auto floats = [](std::size_t count) {
    return test::bytes_of(std::vector<float>(count, 0.5F));
  };
  // All that the model of weights_targets.cpp takes.
  files.add("whole",
            test::safetensors_bytes(
                R"({"__metadata__":{"format":"pt"},)"
                R"("conv.weight":{"dtype":"F32","shape":[2,1,2,1],"data_offsets":[0,16]},)"
                R"("norm.running_mean":{"dtype":"F16","shape":[2],"data_offsets":[16,20]},)"
                R"("norm.running_var":{"dtype":"BF16","shape":[2],"data_offsets":[20,24]},)"
                R"("norm.weight":{"dtype":"F32","shape":[2],"data_offsets":[24,32]},)"
                R"("norm.bias":{"dtype":"F64","shape":[2],"data_offsets":[32,48]},)"
                R"("norm.num_batches_tracked":{"dtype":"I64","shape":[],)"
                R"("data_offsets":[48,56]},)"
                R"("fc.weight":{"dtype":"F32","shape":[1,4],"data_offsets":[56,72]}})",
                floats(18)));
  files.add("strange",
            test::safetensors_bytes(R"({"a/b":{"dtype":"F32","shape":[],"data_offsets":[0,4]},)"
                                    R"("c":{"dtype":"U8","shape":[0,3],"data_offsets":[4,4]}} )",
                                    floats(1)));
}

void write_arrays(const fs::path& root) {
  const Seeds files(root, "npz");
  const Bytes kernel = test::npy_bytes<float>("<f4", "(1, 4)", {0.5F, 1, -2, 0});
  const Bytes mean = test::npy_bytes<double>("<f8", "(2,)", {0.25, -1});
  const Bytes count = test::npy_bytes<std::int64_t>("<i8", "()", {3});
  const std::vector<std::pair<std::string, Bytes>> arrays = {
      {"fc.weight.npy", kernel}, {"norm.running_mean.npy", mean}, {"norm.count.npy", count}};
  files.add("stored", test::zip_bytes(arrays, false));
  files.add("deflated", test::zip_bytes(arrays, true));

  const Seeds examples(root, "named_arrays");
  const auto floats = [](const std::string& shape, std::size_t size) {
    return test::npy_bytes<float>("<f4", shape, std::vector<float>(size, 0.5F));
  };
  const auto labels = [](const std::string& shape, const std::vector<std::int32_t>& values) {
    return test::npy_bytes<std::int32_t>("<i4", shape, values);
  };
  // Arrays that the model of named_arrays_target.cpp names.
  examples.add("labels", test::zip_bytes({{"x.npy", floats("(2, 2)", 4)},
                                          {"image.npy", floats("(2, 2)", 4)},
                                          {"kind.npy", labels("(2,)", {0, 2})},
                                          {"places.npy", labels("(2, 2)", {0, 1, 1, 0})},
                                          {"sample_weight.npy", floats("(2,)", 2)}},
                                         false));
  examples.add("tensors", test::zip_bytes({{"x.npy", floats("(1, 2)", 2)},
                                           {"image.npy", floats("(1, 2, 1, 1)", 2)},
                                           {"kind.npy", floats("(1, 3)", 3)},
                                           {"places.npy", floats("(1, 2, 1, 2)", 4)}},
                                          true));
  examples.add("transposed", test::zip_bytes({{"x.npy", floats("(2, 2)", 4)},
                                              {"image.npy", floats("(2, 1, 2)", 4)},
                                              {"kind.npy", labels("(2,)", {0, 3})},
                                              {"more.npy", floats("(2,)", 2)}},
                                             false));
  examples.add("rows", test::zip_bytes({{"x.npy", floats("(2, 2)", 4)},
                                        {"y.npy", labels("(2,)", {0, 1})},
                                        {"w.npy", floats("(2,)", 2)}},
                                       false));
  examples.add("parts", test::zip_bytes({{"x_train.npy", floats("(2, 2)", 4)},
                                         {"y_train.npy", floats("(2,)", 2)},
                                         {"x_test.npy", floats("(1, 2)", 2)},
                                         {"y_test.npy", floats("(1,)", 1)}},
                                        true));
}

/// The model of checkpoint_targets.cpp.
Sequential tiny() {
  Sequential plain("tiny", Input({2}), Dense(2, Activation::relu), Dense(2, Activation::softmax));
  plain.build(1);
  return plain;
}

/// A graph with every way to join branches.
Model forked() {
  Model model("forked");
  const Value x = model.input({3});
  const Value left = model.add(Dense(2, Activation::relu), x);
  const Value right = model.add(Dense(2), x);
  const Value sum = model.add(Add(Activation::relu6), {left, right});
  model.output(model.add(Concatenate(), {left, sum}));
  model.output(model.add(ReLU(), sum));
  model.build(1);
  return model;
}

void write_checkpoints(const fs::path& root) {
  const Seeds seeds(root, "checkpoint");
  const Dataset data = Dataset::from_floats("two", {2}, {0.5F, -1.0F, 1.0F, 0.25F}, {0, 1}, 2);
  Sequential quantized = quantize_model(tiny());
  const Metric metric{"size", [](const Tensor& output, auto) { return double(output.dim(0)); }};
  Trainer trainer(quantized, Adam(), {.metrics = {metric}, .batch_size = 1});
  trainer.fit(data, data, 1);
  const fs::path file = root / "checkpoint" / "seed_quantized";
  const auto save = [](const Trainer& of, const fs::path& to) {
    fs::remove(to);  // or it would be kept as the checkpoint before this one
    of.save_checkpoint(to);
  };
  save(trainer, file);
  const Archive archive = Archive::read(file);
  quantized.save(root / "checkpoint" / "seed_weights");
  Trainer fresh(quantized, Adam());
  save(fresh, root / "checkpoint" / "seed_fresh");

  Seeds(root, "history").add("one_epoch", archive.text("history"));
  const Seeds layers(root, "architecture");
  layers.add("quantized", archive.text("architecture"));
  Sequential plain("all", Input({2, 3}), Flatten(), Dense(4, Activation::tanh), Dropout(0.5F),
                   Reshape({2, 2}), Flatten(), ReLU(), ReLU6(), Softmax());
  layers.add("plain", architecture_json(plain));
  layers.add("graph", architecture_json(quantize_model(forked())));
  layers.add("fake_quant",
             architecture_json(quantize_model(
                 tiny(), {.simulation = Simulation::fake_quant, .per_channel = true})));
}

void write_command_lines(const fs::path& root) {
  using namespace std::string_view_literals;
  const Seeds seeds(root, "options");
  seeds.add("usual",
            "--data\0mnist\0--epochs\0"
            "1\0--lr\0"
            "0.1\0--hidden=3,4\0--json"sv);
  seeds.add("quantized", "--rounding\0double\0--simulation=fake_quant\0--per-channel\0--seed=7"sv);
  seeds.add("help", "--help"sv);
  seeds.add("wrong", "--batch\0-1\0--qat-lr\0nan\0--threads=1e9\0stray"sv);
}

void write_json(const fs::path& root) {
  using namespace std::string_view_literals;
  const Seeds augmentations(root, "augmentation");
  augmentations.add("usual", R"({"flip": 0.5, "rotate": 10, "mixup": 0.2})"sv);
  augmentations.add("steps", R"({"time_shift": 3, "frequency_mask": 2, "fill": -1.5e1})"sv);
  augmentations.add("unknown", R"({"turn": 1})"sv);
  augmentations.add("outside", R"({"flip": 2, "noise": -1})"sv);
  augmentations.add("nested", R"({"flip": [[[[]]]]})"sv);
  const Seeds entries(root, "example_metadata");
  // The first byte chooses the entry, as in json_targets.cpp.
  const auto add = [&](const char* name, std::string_view text, char entry) {
    entries.add(name, std::string(1, entry) + std::string(text));
  };
  add("task", R"("reconstruction")", 0);
  add("normal_classes", R"(["fine", "\u00e9"])", 1);
  add("anomaly_threshold", "0.0125", 2);
  add("classes", R"(["a", "b\"", "c"])", 3);
  add("normalization", R"({"mean":[0.5],"deviation":[1,2,3]})", 4);
  add("data", R"({"format":"images","shape":[4,4,1],"image-height":4,"image-width":4,"grey":true})",
      5);
  add("data_csv", R"({"format":"CSV","shape":[8,2],"columns":["x","y"],"window":8,"hop":4})", 5);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view folder = argc == 2 ? argv[1] : "";
  if (folder.empty() || folder.starts_with('-')) {
    std::fputs("usage: make_fuzz_corpus FOLDER\n", stderr);
    return 2;
  }
  try {
    const fs::path root = folder;
    write_models(root);
    write_drawn(root);
    write_data(root);
    write_loaders(root);
    write_weights(root);
    write_arrays(root);
    write_checkpoints(root);
    write_command_lines(root);
    write_json(root);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "make_fuzz_corpus: %s\n", error.what());
    return 1;
  }
}
