#include <octet/deploy/tflite/writer.h>
#include <octet/layers/architecture.h>
#include <octet/layers/layer_registry.h>
#include <octet/layers/layers.h>
#include <octet/layers/lower.h>
#include <octet/layers/quantize/quantizer_registry.h>
#include <octet/tests/layers/quantize/random_nets.h>

#include <nlohmann/json.hpp>

namespace octet::test::architecture_test {
namespace {

using nlohmann::json;

Archive archive_of(const Sequential& model, const std::string& prefix = "") {
  Archive archive;
  for (const auto& [name, tensor] : model.saved_tensors()) archive.add(prefix + name, tensor);
  add_architecture(archive, model);
  return archive;
}

std::vector<std::string> layers_of(const Sequential& model) {
  std::vector<std::string> lines;
  for (const auto& layer : model.layers()) {
    lines.push_back(layer->name() + " " + std::string(layer->type()) + " " +
                    layer->output_shape().to_string());
  }
  return lines;
}

/// A model of every kind of layer, float.
Sequential every_kind() {
  return build_model(Input({2, 6}, "in"), Flatten(), Dense(7, Activation::relu6, "a"), ReLU(),
                     Dropout(0.3F), Dense(5, Activation::none, DenseOptions{.use_bias = false}),
                     ActivationLayer(Activation::tanh), ReLU6(), Reshape({5, 1}), Reshape({-1}),
                     Dense(4, Activation::sigmoid), Dense(3), Softmax("end"));
}

TEST(Architecture, OfEveryFloatLayer) {
  Sequential model = every_kind();
  Sequential loaded = model_from_archive(archive_of(model));
  EXPECT_EQ(loaded.name(), model.name());
  EXPECT_EQ(layers_of(loaded), layers_of(model));
  EXPECT_EQ(architecture_json(loaded), architecture_json(model));
  const Tensor x = random_tensor({3, 2, 6}, 1);
  EXPECT_EQ(values_of(loaded.forward(x)), values_of(model.forward(x)));
  const auto rate = [](const Sequential& m) {
    return dynamic_cast<const Dropout&>(m.layer("dropout")).rate();
  };
  EXPECT_EQ(rate(loaded), 0.3F);
  EXPECT_EQ(values_of(loaded.forward(x, training(4))), values_of(model.forward(x, training(4))));
}

TEST(Architecture, OfRandomQuantizedNetsToTheLastByte) {
  for (std::uint32_t seed = 3000; seed < 3060; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomNet net(seed);
    QuantizeOptions options = net.options(static_cast<Rounding>(seed % 3));
    if (seed % 5 == 0) options.simulation = Simulation::fake_quant;
    options.ema_decay = 0.9;
    Sequential model = quantize_model(net.model(), options);
    calibrate(model, net.batch(9));
    Sequential loaded = model_from_archive(archive_of(model, "model/"), "model/");
    EXPECT_EQ(layers_of(loaded), layers_of(model));
    EXPECT_EQ(architecture_json(loaded), architecture_json(model));
    EXPECT_EQ(to_tflite(lower(loaded)), to_tflite(lower(model)));
    // What is trained on goes on alike: the quantizers average as those of the original.
    const Tensor x = net.batch(5);
    EXPECT_EQ(values_of(loaded.forward(x, training())), values_of(model.forward(x, training())));
    EXPECT_EQ(to_tflite(lower(loaded)), to_tflite(lower(model)));
  }
}

TEST(Architecture, OfQuantizersThatAConfigChose) {
  auto config = std::make_shared<CustomConfig>();
  config->kernel = fixed(-2.0F, 2.0F, {.num_bits = 5, .narrow_range = true, .symmetric = true});
  config->activation = fixed(-3.5F, 4.0F);
  Sequential net("m", Input({4}), Dense(6, Activation::relu));
  net.add(quantize_annotate_layer(Dense(3, Activation::none, "own"), config));
  net.build(3);
  // The layer in front gets its result quantized and its kernel left alone.
  Sequential model = quantize_apply(net);
  calibrate(model, random_tensor({8, 4}, 1));
  const Sequential loaded = model_from_archive(archive_of(model));
  EXPECT_EQ(architecture_json(loaded), architecture_json(model));
  EXPECT_EQ(dense_wrapper(loaded, "quant_dense").kernel_quantizer(), nullptr);
  const Tensor x = random_tensor({5, 4}, 2);
  EXPECT_EQ(values_of(loaded.forward(x)), values_of(model.forward(x)));
}

TEST(Architecture, OfAMarkedModel) {
  Sequential net("m", Input({4}));
  net.add(quantize_annotate_layer(Dense(3)));
  net.build(3);
  Sequential loaded = model_from_archive(archive_of(net));
  EXPECT_EQ(layers_of(quantize_apply(loaded)), layers_of(quantize_apply(net)));
}

class OwnDense : public Dense {
 public:
  using Dense::Dense;
};

class OwnObserver : public LastValueObserver {
 public:
  std::unique_ptr<Observer> clone() const override { return std::make_unique<OwnObserver>(*this); }
};

TEST(Architecture, WhatIsTheProgramsOwnIsNamed) {
  auto config = std::make_shared<CustomConfig>();
  config->activation = [] {
    return std::make_unique<Quantizer>(QuantSpec{}, std::make_unique<OwnObserver>());
  };
  Sequential marked("m", Input({4}));
  marked.add(quantize_annotate_layer(Dense(3, Activation::none, "q"), config));
  marked.build();
  const std::pair<Sequential, std::string> models[] = {
      {build_model(Input({4}), Doubling("twice")), "layer \"twice\""},
      {build_model(Input({4}), OwnDense(3, Activation::none, "mine")), "layer \"mine\""},
      {marked, "layer \"q\""},
      {quantize_apply(marked), "layer \"quant_q\""}};
  for (const auto& [model, part] : models) {
    expect_throws<InvalidArgument>([&m = model] { static_cast<void>(architecture_json(m)); },
                                   {part, "cannot be described"});
    // A checkpoint holds its tensors all the same.
    Archive archive;
    for (const auto& [name, tensor] : model.saved_tensors()) archive.add(name, tensor);
    add_architecture_or_reason(archive, model);
    Sequential(model).restore(archive);
    expect_throws<FormatError>([&] { model_from_archive(archive); }, {part, "cannot be described"});
  }
}

/// Keeps the description that it was made from.
class Keeper : public ActivationLayer {
 public:
  explicit Keeper(Description from)
      : ActivationLayer(Activation::none), from_(std::move(from)), inner_(from_.part("inner")) {}
  static Description text(const std::string& value) {
    return Description().set("inner", Description().set("text", value));
  }
  std::string_view type() const override { return "Keeper"; }
  void describe(Description& description) const override {
    description.set("inner", Description().set("text", inner_.text("text")));
  }
  std::unique_ptr<Layer> clone() const override { return std::make_unique<Keeper>(*this); }
  const Description& from() const { return from_; }

 private:
  Description from_;
  Description inner_;
};

TEST(Architecture, ALayerMayKeepTheDescriptionThatItWasMadeFrom) {
  register_layer<Keeper>("Keeper",
                         [](const Description& d) { return std::make_unique<Keeper>(d); });
  const std::string text(100, 'k');
  const Sequential model = build_model(Input({4}), Keeper(Keeper::text(text)));
  const std::string described = architecture_json(model);
  const Model loaded = model_from_json(described);
  // What the file's text was parsed into is gone unless the layer's copy keeps it.
  const std::vector<std::string> others(50, std::string(100, 'x'));
  const Model again = model_from_json(architecture_json(loaded));
  EXPECT_EQ(architecture_json(again), described);
  const auto& keeper = dynamic_cast<const Keeper&>(*again.layers()[1]);
  Description changed = keeper.from();
  changed.set("name", "another");
  EXPECT_EQ(keeper.from().text("name"), "keeper");
  EXPECT_EQ(changed.part("inner").text("text"), text);
}

TEST(Architecture, WhatNoFileMayHoldIsNotWritten) {
  Model outputs("m");
  const Value x = outputs.input({2}, "x");
  for (int i = 0; i < 101; ++i) outputs.output(outputs.add(ReLU(), x));
  expect_error([&] { static_cast<void>(architecture_json(outputs)); },
               "\"m\": expected at most 100 outputs, found 101");
  Model inputs("m");
  const Value y = inputs.input({2}, "y");
  inputs.output(inputs.add(Concatenate(-1, "c"), std::vector<Value>(101, y)));
  expect_error(
      [&] { static_cast<void>(architecture_json(inputs)); },
      "layer \"c\" of model \"m\" cannot be described: expected at most 100 inputs, found 101");
  Sequential deep("m", Input({2}));
  for (int i = 0; i < 10000; ++i) deep.add(ReLU(std::to_string(i)));
  expect_error([&] { static_cast<void>(architecture_json(deep)); },
               "\"m\": expected at most 10000 layers, found 10001");
}

TEST(Architecture, NumbersBeyondFloat32AreRefused) {
  const Sequential model = build_model(Input({4}), Dropout(0.25F, "drop"), LeakyReLU(0.5F, "leak"));
  const json whole = json::parse(architecture_json(model));
  for (const auto& [layer, key] : {std::pair{1, "rate"}, {2, "alpha"}}) {
    for (const double value : {1e300, -1e300, 1e39}) {
      json changed = whole;
      changed["layers"][static_cast<std::size_t>(layer)][key] = value;
      expect_throws<FormatError>([&] { static_cast<void>(model_from_json(changed.dump())); },
                                 {"float32", key});
    }
  }
}

/// Says what files keep for themselves.
class Reserving : public ActivationLayer {
 public:
  explicit Reserving(std::string key) : ActivationLayer(Activation::none), key_(std::move(key)) {}
  std::string_view type() const override { return "Reserving"; }
  void describe(Description& description) const override { description.set(key_, 1); }
  std::unique_ptr<Layer> clone() const override { return std::make_unique<Reserving>(*this); }

 private:
  std::string key_;
};

class ReservingObserver : public LastValueObserver {
 public:
  std::string_view type() const override { return "ReservingObserver"; }
  void describe(Description& description) const override { description.set("type", "mine"); }
};

TEST(Architecture, EntriesThatFilesKeepForThemselvesAreRefused) {
  register_layer<Reserving>("Reserving",
                            [](const Description&) { return std::make_unique<Reserving>("k"); });
  for (const std::string key :
       {"type", "name", "annotated", "inputs", "weight_bits", "per_channel", "in_float"}) {
    const Sequential model = build_model(Input({4}), Reserving(key));
    expect_throws<InvalidArgument>([&] { static_cast<void>(architecture_json(model)); },
                                   {"Reserving", "\"" + key + "\""});
  }
  EXPECT_NO_THROW(
      static_cast<void>(architecture_json(build_model(Input({4}), Reserving("inputs_")))));
  register_observer<ReservingObserver>("ReservingObserver", [](const Description&) {
    return std::make_unique<ReservingObserver>();
  });
  const Quantizer quantizer{QuantSpec{}, std::make_unique<ReservingObserver>()};
  expect_throws<InvalidArgument>([&] { static_cast<void>(describe(&quantizer)); },
                                 {"ReservingObserver", "\"type\""});
}

TEST(Architecture, FilesWithoutOneSaySo) {
  Archive archive;
  const Sequential model = every_kind();
  for (const auto& [name, tensor] : model.saved_tensors()) archive.add(name, tensor);
  expect_throws<FormatError>([&] { model_from_archive(archive); },
                             {"tensors without their model", "before"});
}

TEST(Architecture, BrokenOnesAreRefused) {
  const json whole = json::parse(architecture_json(
      quantize_model(build_model(Input({4}), Dense(3, Activation::relu), ReLU6(), Flatten()))));
  ASSERT_NO_THROW(model_from_json(whole.dump()));
  const std::string text = whole.dump();
  for (std::size_t size = 0; size < text.size(); ++size) {
    EXPECT_THROW(model_from_json(text.substr(0, size)), FormatError) << size;
  }
  // Every value of it in turn replaced by others: refused, or another model, never anything else.
  const json flat = whole.flatten();
  std::size_t refused = 0;
  for (const auto& [path, value] : flat.items()) {
    for (const json& other :
         {json(nullptr), json(-3), json(1e30), json("x"), json::array(), json(true)}) {
      json changed = whole;
      changed[json::json_pointer(path)] = other;
      try {
        model_from_json(changed.dump());
      } catch (const FormatError& error) {
        ++refused;
        EXPECT_EQ(std::string_view(error.what()).find("json.exception"), std::string_view::npos)
            << error.what();
      }
    }
    json without = whole;
    const json::json_pointer pointer(path);
    if (!without.at(pointer.parent_pointer()).is_object()) continue;
    without.at(pointer.parent_pointer()).erase(pointer.back());
    EXPECT_THROW(model_from_json(without.dump()), FormatError) << path;
  }
  EXPECT_GT(refused, 4 * flat.size());
  const std::string begin = R"({"format":2,"name":"m","layers":)";
  for (const auto& [other, words] : std::vector<std::pair<std::string, const char*>>{
           {"[]", "expected an object with an entry \"format\", found []"},
           {"7", "expected an object with an entry \"format\", found 7"},
           {"{}", "expected an entry \"format\", found none in {}; a network is {\"format\": 2, "},
           {"{\n\"format\":2,", "architecture: line 2, column 12: expected"},
           {begin + "3}", "expected a list as \"layers\", found 3"},
           {begin + "[]}", "expected an entry \"outputs\", found none in"},
           {begin + "[3]}", "layer 0: description: expected an object, found 3"},
           {begin + R"([{"type":3,"name":"d"}]})",
            "layer 0, \"d\": description: expected a text as \"type\", found 3"},
           {R"({"format":2,"name":3,"layers":[]})", "expected a name of the network, found 3"},
           {begin + R"([],"outputs":[3]})",
            "expected a name that the list of outputs reads, found 3"}}) {
    expect_throws<FormatError>([&text = other] { model_from_json(text); }, {words});
  }
}

TEST(Architecture, ALayerThatIsLargerThanItsFileIsRefusedBeforeItHasMemory) {
  for (const Sequential& model :
       {build_model(Input({4, 2}), Dense(3)), build_model(Input({4, 2}), PReLU()),
        build_model(Input({4, 2}), PositionEmbedding()),
        quantize_model(build_model(Input({4, 2}), BatchNorm(), Dense(3)))}) {
    Archive archive = archive_of(model);
    json changed = json::parse(architecture_json(model));
    changed["layers"][0]["shape"] = {Index{1} << 12, Index{1} << 20};
    archive.add_text("architecture", changed.dump());
    expect_throws<FormatError>([&] { model_from_archive(archive); },
                               {"larger than its file", "expected at most"});
  }
}

// However many steps its sequences have: each has operators, but no weights of its own.
TEST(Architecture, OfRecurrentLayersOverManySteps) {
  const auto model = [](const RecurrentOptions& options) {
    return build_model(Input({200, 6}), Bidirectional(GRU(32, options)),
                       LSTM(32, {.return_sequences = true}), SimpleRNN(16), Dense(2));
  };
  for (const bool reset_after : {true, false}) {
    const Sequential recurrent = model({.return_sequences = true, .reset_after = reset_after});
    const Sequential loaded = model_from_archive(archive_of(recurrent));
    EXPECT_EQ(layers_of(loaded), layers_of(recurrent));
  }
}

TEST(Architecture, MakesNothingThatTheArchiveDoesNotHold) {
  const Sequential model = build_model(Input({4}), Dense(3));
  for (const Index units : {Index{4}, Index{1} << 40, Index{1} << 62}) {
    Archive archive = archive_of(model);
    json changed = json::parse(architecture_json(model));
    changed["layers"][1]["units"] = units;
    archive.add_text("architecture", changed.dump());
    EXPECT_THROW(model_from_archive(archive), FormatError);
    changed["layers"][1]["units"] = 3;
    changed["layers"][0]["shape"] = {units};
    archive.add_text("architecture", changed.dump());
    if (units == 4) continue;
    EXPECT_THROW(model_from_archive(archive), FormatError);
  }
  Archive more = archive_of(model);
  more.add("dense_1/kernel", Tensor::zeros({3, 3}));
  EXPECT_THROW(model_from_archive(more), FormatError);
  Sequential empty("empty");
  Archive nothing;
  add_architecture(nothing, empty);
  EXPECT_THROW(model_from_archive(nothing), FormatError);
}

}  // namespace
}  // namespace octet::test::architecture_test
