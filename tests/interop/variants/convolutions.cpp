#include <octet/tests/interop/variants/variants.h>

#include <bit>
#include <cstdint>

namespace octet::test::variants {
namespace {

struct Case {
  std::string name;
  std::vector<Message> attributes;
  Integers kernel = {4, 3, 3, 3};
  Integers x = kImages;
  int opset = 17;
  std::string refused{};
};

Message pads(const Integers& values) { return list("pads", values); }
Message strides(const Integers& values) { return list("strides", values); }
Message dilations(const Integers& values) { return list("dilations", values); }
Message automatic(const char* how) { return attribute("auto_pad", how); }

Variant conv(const Case& c, const char* code) {
  const Integers bias = {std::string(code) == "Conv" ? c.kernel[0] : c.kernel[1]};
  return {c.name,
          file_of({c.x,
                   {node(code, {"x", "w", "b"}, "y", c.attributes)},
                   {weights("w", c.kernel), weights("b", bias)},
                   c.opset}),
          c.refused};
}

void add_plain(Variants& all) {
  const std::vector<Case> cases = {
      {"conv_opset_7", {pads({1, 1, 1, 1})}, {4, 3, 3, 3}, kImages, 7},
      {"conv_opset_9", {pads({1, 1, 1, 1})}, {4, 3, 3, 3}, kImages, 9},
      {"conv_opset_11", {pads({1, 1, 1, 1})}, {4, 3, 3, 3}, kImages, 11},
      {"conv_opset_13", {pads({1, 1, 1, 1})}, {4, 3, 3, 3}, kImages, 13},
      {"conv_opset_18", {pads({1, 1, 1, 1})}, {4, 3, 3, 3}, kImages, 18},
      {"conv_opset_20", {pads({1, 1, 1, 1})}, {4, 3, 3, 3}, kImages, 20},
      {"conv_opset_22", {pads({1, 1, 1, 1})}, {4, 3, 3, 3}, kImages, 22},
      {"conv_opset_24", {pads({1, 1, 1, 1})}, {4, 3, 3, 3}, kImages, 24},
      {"conv_defaults", {}},
      {"conv_kernel_shape", {list("kernel_shape", {3, 3})}},
      {"conv_kernel_2x4", {pads({1, 2, 0, 1})}, {4, 3, 2, 4}},
      {"conv_pads_asymmetric", {pads({0, 1, 2, 1})}},
      {"conv_pads_in_front", {pads({2, 2, 0, 0})}},
      {"conv_pads_of_tf", {pads({0, 0, 1, 1}), strides({2, 2})}},
      {"conv_pads_strided", {pads({1, 1, 1, 1}), strides({2, 2})}},
      {"conv_pads_large", {pads({4, 3, 4, 3})}},
      {"conv_same_upper", {automatic("SAME_UPPER"), strides({2, 2})}},
      {"conv_same_lower", {automatic("SAME_LOWER"), strides({2, 2})}},
      {"conv_same_lower_even", {automatic("SAME_LOWER")}, {4, 3, 2, 4}},
      {"conv_valid", {automatic("VALID"), strides({1, 2})}},
      {"conv_notset", {automatic("NOTSET"), pads({1, 0, 1, 0})}},
      {"conv_strides_2_1", {strides({2, 1})}},
      {"conv_strides_3_2", {strides({3, 2}), pads({1, 1, 0, 0})}},
      {"conv_stride_of_1x1", {strides({2, 2})}, {4, 3, 1, 1}},
      {"conv_dilations_2_1", {dilations({2, 1})}},
      {"conv_dilations_padded", {dilations({2, 2}), pads({2, 2, 2, 2})}},
      {"conv_groups_2", {number("group", 2)}, {6, 2, 3, 3}, {-1, 4, 9, 7}},
      {"conv_groups_3_strided", {number("group", 3), strides({2, 2})}, {6, 2, 3, 3}, {-1, 6, 9, 7}},
      {"conv_depthwise", {number("group", 3), pads({1, 1, 1, 1})}, {3, 1, 3, 3}},
      {"conv_depthwise_multiplier", {number("group", 3)}, {6, 1, 3, 3}},
      {"conv_depthwise_strided",
       {number("group", 3), strides({2, 2}), pads({0, 0, 1, 1})},
       {3, 1, 3, 3}},
      {"conv_depthwise_dilated", {number("group", 3), dilations({2, 2})}, {3, 1, 3, 3}},
      {"conv_fixed_batch", {}, {4, 3, 3, 3}, {1, 3, 9, 7}},
      {"conv1d_defaults", {}, {5, 4, 3}, kSequences},
      {"conv1d_pads_asymmetric", {pads({0, 2})}, {5, 4, 3}, kSequences},
      {"conv1d_causal_dilated", {pads({4, 0}), dilations({2})}, {5, 4, 3}, kSequences},
      {"conv1d_same_lower", {automatic("SAME_LOWER"), strides({2})}, {5, 4, 4}, kSequences},
      {"conv1d_strided", {strides({3}), pads({1, 1})}, {5, 4, 3}, kSequences},
      {"conv1d_groups", {number("group", 2)}, {6, 2, 3}, kSequences},
      {"conv1d_depthwise", {number("group", 4), pads({1, 1})}, {4, 1, 3}, kSequences},
      {"conv3d", {}, {4, 3, 3, 3, 3}, {-1, 3, 9, 7, 5}, 17, "expected"}};
  for (const Case& c : cases) all.push_back(conv(c, "Conv"));
}

void add_transposed(Variants& all) {
  const std::vector<Case> cases = {
      {"transposed_defaults", {}, {3, 2, 3, 3}},
      {"transposed_strides", {strides({2, 2})}, {3, 2, 3, 3}},
      {"transposed_strides_3_2", {strides({3, 2})}, {3, 2, 2, 2}},
      {"transposed_pads", {strides({2, 2}), pads({1, 1, 1, 1})}, {3, 2, 3, 3}},
      {"transposed_pads_asymmetric", {strides({2, 2}), pads({0, 1, 1, 0})}, {3, 2, 3, 3}},
      {"transposed_output_padding",
       {strides({2, 2}), pads({1, 1, 1, 1}), list("output_padding", {1, 1})},
       {3, 2, 3, 3}},
      {"transposed_output_padding_alone",
       {strides({2, 2}), list("output_padding", {1, 0})},
       {3, 2, 3, 3},
       kImages,
       17,
       "within the 19 rows"},
      {"transposed_output_shape", {strides({2, 2}), list("output_shape", {18, 14})}, {3, 2, 3, 3}},
      {"transposed_same_upper", {strides({2, 2}), automatic("SAME_UPPER")}, {3, 2, 3, 3}},
      {"transposed_same_lower", {strides({2, 2}), automatic("SAME_LOWER")}, {3, 2, 3, 3}},
      {"transposed_opset_24", {strides({2, 2})}, {3, 2, 2, 2}, kImages, 24},
      {"transposed_dilations", {dilations({2, 2})}, {3, 2, 3, 3}},
      {"transposed_dilations_strides",
       {dilations({3, 1}), strides({2, 2}), pads({1, 0, 0, 1})},
       {3, 2, 3, 2}},
      {"transposed1d", {strides({2}), pads({1, 0})}, {4, 3, 3}, kSequences},
      {"transposed1d_same", {strides({2}), automatic("SAME_UPPER")}, {4, 3, 4}, kSequences},
      {"transposed1d_output_shape",
       {strides({2}), list("output_shape", {9})},
       {4, 3, 3},
       kSequences}};
  for (const Case& c : cases) all.push_back(conv(c, "ConvTranspose"));
  // Biases are of all groups' filters, and these files have none.
  const std::vector<Case> grouped = {
      {"transposed_groups", {number("group", 3), strides({2, 2})}, {3, 2, 3, 3}},
      {"transposed_depthwise", {number("group", 3), pads({1, 1, 1, 1})}, {3, 1, 4, 4}},
      {"transposed1d_groups", {number("group", 2), dilations({2})}, {4, 3, 3}, kSequences}};
  for (const Case& c : grouped) {
    all.push_back({c.name, file_of({c.x,
                                    {node("ConvTranspose", {"x", "w"}, "y", c.attributes)},
                                    {weights("w", c.kernel)}})});
  }
}

/// The bits of a float16 that is exactly 0, or exactly a normal number.
std::uint16_t half_of(float value) {
  if (value == 0.0F) return 0;
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t exponent = (bits >> 23U & 0xFFU) - 127U + 15U;
  return static_cast<std::uint16_t>((bits >> 31U) << 15U | exponent << 10U |
                                    (bits >> 13U & 0x3FFU));
}

/// Kernels that follow from other constants, and what stands behind a convolution.
void add_neighbours(Variants& all) {
  const Message plain = node("Conv", {"x", "k"}, "y");
  const auto of = [&](const std::string& name, const std::vector<Message>& nodes,
                      const std::vector<Message>& tensors, int opset = 17) {
    all.push_back({name, file_of({kImages, nodes, tensors, opset})});
  };
  std::string halves;
  for (int i = 0; i < 4 * 27; ++i) {
    // -0.5 to 0.5 in steps of 1/16, as float16.
    const std::uint16_t value = half_of(0.0625F * static_cast<float>(i * 7 % 17 - 8));
    halves.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  of("weights_float16", {node("Cast", {"w"}, "k", {number("to", 1)}), plain},
     {tensor("w", 10, {4, 3, 3, 3}).text(9, halves)});
  of("weights_transposed", {node("Transpose", {"w"}, "k", {list("perm", {3, 2, 0, 1})}), plain},
     {weights("w", {3, 3, 3, 4})});
  of("weights_identity", {node("Identity", {"w"}, "k"), plain}, {weights("w", {4, 3, 3, 3})});
  of("weights_product", {node("Mul", {"w", "c"}, "k"), plain},
     {weights("w", {4, 3, 3, 3}), positive("c", {4, 1, 1, 1})});
  of("weights_unsqueezed", {node("Unsqueeze", {"w", "a"}, "k"), plain},
     {weights("w", {4, 3, 3}), integers("a", {3})});
  of("weights_filled",
     {node("ConstantOfShape", {"s"}, "k", {of_tensor("value", floats_in("v", {1}, {0.25F}))}),
      plain},
     {integers("s", {4, 3, 3, 3})});
  of("weights_of_node",
     {node("Constant", {}, "k", {of_tensor("value", weights("w", {4, 3, 3, 3}))}), plain}, {});
  of("bias_by_add", {node("Conv", {"x", "k"}, "c"), node("Add", {"c", "b"}, "y")},
     {weights("k", {4, 3, 3, 3}), weights("b", {1, 4, 1, 1})});
  of("bias_subtracted", {node("Conv", {"x", "k"}, "c"), node("Sub", {"c", "b"}, "y")},
     {weights("k", {4, 3, 3, 3}), weights("b", {4, 1, 1})});
  of("shared_by_two",
     {node("Conv", {"x", "k"}, "c", {pads({1, 1, 1, 1})}), node("Relu", {"c"}, "r"),
      node("Conv", {"r", "k"}, "y", {pads({1, 1, 1, 1})})},
     {weights("k", {3, 3, 3, 3})});
  const auto normalized = [&](const std::string& name, const std::vector<Message>& attributes,
                              int opset) {
    of(name,
       {node("Conv", {"x", "k"}, "c"),
        node("BatchNormalization", {"c", "g", "b", "m", "v"}, "y", attributes)},
       {weights("k", {4, 3, 3, 3}), positive("g", {4}), weights("b", {4}), weights("m", {4}),
        positive("v", {4})},
       opset);
  };
  normalized("batch_norm_defaults", {}, 15);
  normalized("batch_norm_epsilon", {attribute("epsilon", 0.01F), attribute("momentum", 0.5F)}, 9);
  normalized("batch_norm_opset_7", {}, 7);
  normalized("batch_norm_opset_14", {number("training_mode", 0)}, 14);
}

}  // namespace

Variants convolutions() {
  Variants all;
  add_plain(all);
  add_transposed(all);
  add_neighbours(all);
  return all;
}

}  // namespace octet::test::variants
