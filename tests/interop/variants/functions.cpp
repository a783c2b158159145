#include <octet/tests/interop/variants/variants.h>

namespace octet::test::variants {
namespace {

struct Case {
  std::string name;
  std::string code;
  std::vector<Message> attributes{};
  Integers x = kVectors;
  int opset = 17;
  std::string refused{};
  /// The inputs beside "x".
  Strings others{};
  std::vector<Message> tensors{};
};

void add_of_one_value(Variants& all) {
  const auto real_of = [](const char* name, float v) { return attribute(name, v); };
  const std::vector<Case> cases = {
      {"relu", "Relu"},
      {"relu_opset_7", "Relu", {}, kVectors, 7},
      {"relu_opset_24", "Relu", {}, kVectors, 24},
      {"relu_of_sequences", "Relu", {}, {-1, 4, 5}},
      {"leaky_relu_default", "LeakyRelu"},
      {"leaky_relu_alpha", "LeakyRelu", {real_of("alpha", 0.3F)}, kImages},
      {"elu_default", "Elu"},
      {"elu_alpha", "Elu", {real_of("alpha", 0.5F)}},
      {"selu_default", "Selu"},
      {"selu_alpha_gamma", "Selu", {real_of("alpha", 1.5F), real_of("gamma", 1.2F)}},
      {"sigmoid", "Sigmoid"},
      {"tanh", "Tanh", {}, kImages},
      {"hard_sigmoid_default", "HardSigmoid"},
      {"hard_sigmoid_alpha_beta",
       "HardSigmoid",
       {real_of("alpha", 0.35F), real_of("beta", 0.4F)},
       kImages},
      {"hard_swish", "HardSwish", {}, kImages, 14},
      {"gelu_exact", "Gelu", {}, kVectors, 20},
      {"gelu_tanh", "Gelu", {attribute("approximate", "tanh")}, kVectors, 20},
      {"clip_attributes", "Clip", {real_of("min", -0.25F), real_of("max", 0.75F)}, kVectors, 10},
      {"clip_relu6", "Clip", {real_of("min", 0.0F), real_of("max", 6.0F)}, kImages, 10},
      {"clip_min_attribute", "Clip", {real_of("min", -0.25F)}, kVectors, 7},
      {"clip_none", "Clip", {}, kVectors, 13},
      {"clip_inputs",
       "Clip",
       {},
       kImages,
       13,
       "",
       {"lo", "hi"},
       {real("lo", -0.25F), real("hi", 0.5F)}},
      {"clip_lower_input", "Clip", {}, kVectors, 12, "", {"lo"}, {real("lo", 0.1F)}},
      {"clip_upper_input", "Clip", {}, kVectors, 11, "", {"", "hi"}, {real("hi", 0.2F)}},
      {"clip_minus_one_to_one",
       "Clip",
       {},
       kVectors,
       13,
       "",
       {"lo", "hi"},
       {real("lo", -1.0F), real("hi", 1.0F)}},
      {"prelu_one_slope", "PRelu", {}, kImages, 16, "", {"s"}, {floats_in("s", {1}, {0.2F})}},
      {"prelu_channels", "PRelu", {}, kImages, 16, "", {"s"}, {weights("s", {3, 1, 1})}},
      {"prelu_with_batch", "PRelu", {}, kImages, 9, "", {"s"}, {weights("s", {1, 3, 1, 1})}},
      {"prelu_of_vectors", "PRelu", {}, kVectors, 16, "", {"s"}, {weights("s", {6})}},
      {"softmax_last", "Softmax", {number("axis", -1)}, kVectors, 13},
      {"softmax_default_old", "Softmax", {}, kVectors, 11},
      {"softmax_default_new", "Softmax", {}, {-1, 4, 5}, 13},
      {"softmax_positive_axis", "Softmax", {number("axis", 1)}, kVectors, 13},
      {"softmax_inner_axis", "Softmax", {number("axis", 1)}, {-1, 4, 5}, 13},
      {"softmax_opset_7", "Softmax", {number("axis", 1)}, kVectors, 7},
      {"softmax_flattens", "Softmax", {number("axis", 1)}, {-1, 4, 5}, 11},
      {"softsign", "Softsign", {}, kVectors, 17, "no such operator"},
      {"hardmax", "Hardmax", {}, kVectors, 13, "no such operator"},
      {"erf", "Erf", {}, kVectors, 13, "no such operator"},
      {"identity", "Identity", {}, kVectors, 16},
      {"dropout_opset_7", "Dropout", {real_of("ratio", 0.3F)}, kVectors, 7},
      {"dropout_inputs", "Dropout", {}, kVectors, 13, "", {"r"}, {real("r", 0.3F)}},
      {"cast_to_float", "Cast", {number("to", 1)}, kVectors, 13}};
  for (const Case& c : cases) {
    Strings inputs = {c.code == "Identity" || c.code == "Dropout" || c.code == "Cast" ? "r" : "x"};
    std::vector<Message> nodes;
    // A network of no layer at all is none.
    if (inputs[0] == "r") nodes.push_back(node("Relu", {"x"}, "r"));
    Strings others = c.others;
    for (std::string& other : others) {
      if (inputs[0] == "r" && other == "r") other = "ratio";
    }
    inputs.insert(inputs.end(), others.begin(), others.end());
    std::vector<Message> tensors = c.tensors;
    if (c.name == "dropout_inputs") tensors = {real("ratio", 0.3F)};
    nodes.push_back(node(c.code, inputs, "y", c.attributes));
    all.push_back({c.name, file_of({c.x, nodes, tensors, c.opset}), c.refused});
  }
}

/// Functions that exporters write in several nodes, and functions of images along one axis.
void add_compound(Variants& all) {
  const auto of = [&](const std::string& name, const Integers& x, const std::vector<Message>& nodes,
                      const std::vector<Message>& tensors, int opset = 17,
                      const std::string& refused = "") {
    all.push_back({name, file_of({x, nodes, tensors, opset}), refused});
  };
  of("silu", kVectors, {node("Sigmoid", {"x"}, "s"), node("Mul", {"x", "s"}, "y")}, {});
  of("hard_swish_of_clip", kImages,
     {node("Add", {"x", "three"}, "a"), node("Clip", {"a", "zero", "six"}, "c"),
      node("Mul", {"x", "c"}, "m"), node("Div", {"m", "six"}, "y")},
     {real("three", 3), real("zero", 0), real("six", 6)});
  of("hard_swish_of_hard_sigmoid", kImages,
     {node("HardSigmoid", {"x"}, "s", {attribute("alpha", 1.0F / 6)}),
      node("Mul", {"s", "x"}, "y")},
     {});
  of("gelu_of_erf", kVectors,
     {node("Div", {"x", "root"}, "d"), node("Erf", {"d"}, "e"), node("Add", {"e", "one"}, "a"),
      node("Mul", {"x", "a"}, "m"), node("Mul", {"m", "half"}, "y")},
     {real("root", 1.41421356F), real("one", 1), real("half", 0.5F)});
  of("mish_in_parts", kVectors,
     {node("Softplus", {"x"}, "s"), node("Tanh", {"s"}, "t"), node("Mul", {"x", "t"}, "y")}, {});
  of("mish", kVectors, {node("Mish", {"x"}, "y")}, {}, 18);
  of("softplus", kVectors, {node("Softplus", {"x"}, "y")}, {});
  of("log_softmax", kVectors, {node("Gemm", {"x", "w"}, "g"), node("LogSoftmax", {"g"}, "y")},
     {weights("w", {6, 4})}, 13);
  of("sqrt_of_squares", kVectors, {node("Mul", {"x", "x"}, "q"), node("Sqrt", {"q"}, "y")}, {});
  of("log_of_sigmoid", kVectors, {node("Sigmoid", {"x"}, "q"), node("Log", {"q"}, "y")}, {});
  // An image operator says in which order channels lie.
  const Message ordered = node("MaxPool", {"x"}, "i", {list("kernel_shape", {1, 1})});
  for (const auto& [name, axis] :
       {std::pair("softmax_of_channels", 1), std::pair("softmax_of_rows", 2),
        std::pair("softmax_of_columns", -1)}) {
    of(name, kImages, {ordered, node("Softmax", {"i"}, "y", {number("axis", axis)})}, {}, 13);
  }
  const auto normalized = [&](const std::string& name, const Integers& x, const Strings& inputs,
                              const std::vector<Message>& attributes, const Integers& extents,
                              const std::string& refused = "") {
    of(name, x, {node("LayerNormalization", inputs, "y", attributes)},
       {positive("g", extents), weights("b", extents)}, 17, refused);
  };
  normalized("layer_norm_last", {-1, 4, 5}, {"x", "g", "b"}, {}, {5});
  normalized("layer_norm_axis_2", {-1, 4, 5}, {"x", "g", "b"}, {number("axis", 2)}, {5});
  normalized("layer_norm_no_bias", {-1, 4, 5}, {"x", "g"}, {}, {5});
  normalized("layer_norm_epsilon", {-1, 4, 5}, {"x", "g", "b"}, {attribute("epsilon", 0.01F)}, {5});
  normalized("layer_norm_of_vectors", kVectors, {"x", "g", "b"}, {number("axis", 1)}, {6});
  normalized("layer_norm_two_axes", {-1, 4, 5}, {"x", "g", "b"}, {number("axis", 1)}, {4, 5},
             "last axis");
  of("layer_norm_in_parts", {-1, 4, 5},
     {node("ReduceMean", {"x"}, "m", {list("axes", {-1})}), node("Sub", {"x", "m"}, "d"),
      node("Pow", {"d", "two"}, "q"), node("ReduceMean", {"q"}, "v", {list("axes", {-1})}),
      node("Add", {"v", "e"}, "w"), node("Sqrt", {"w"}, "s"), node("Div", {"d", "s"}, "n"),
      node("Mul", {"n", "g"}, "t"), node("Add", {"t", "b"}, "y")},
     {real("two", 2), real("e", 1e-5F), positive("g", {5}), weights("b", {5})});
  of("instance_norm", kImages, {node("InstanceNormalization", {"x", "g", "b"}, "y")},
     {positive("g", {3}), weights("b", {3})}, 17, "no such operator");
}

}  // namespace

Variants functions() {
  Variants all;
  add_of_one_value(all);
  add_compound(all);
  return all;
}

}  // namespace octet::test::variants
