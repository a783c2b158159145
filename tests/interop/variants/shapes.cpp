#include <octet/tests/interop/variants/variants.h>

namespace octet::test::variants {
namespace {

struct Case {
  std::string name;
  Integers x;
  std::vector<Message> nodes;
  std::vector<Message> tensors{};
  int opset = 13;
  std::string refused{};
  Strings outputs = {"y"};
};

/// An image operator, which says in which order channels lie.
Message ordered() { return node("MaxPool", {"x"}, "i", {list("kernel_shape", {1, 1})}); }

std::vector<Case> reshapes() {
  const Message relu = node("Relu", {"x"}, "r");
  const Message dense = node("MatMul", {"f", "w"}, "y");
  const auto flattened = [&](const char* name, int axis, int opset) {
    return Case{name,
                {-1, 3, 4, 5},
                {ordered(), node("Flatten", {"i"}, "f", {number("axis", axis)}), dense},
                {weights("w", {60, 4})},
                opset};
  };
  const auto reshaped = [&](const char* name, const Integers& shape,
                            const std::vector<Message>& attributes = {},
                            const std::string& refused = "") {
    return Case{name,
                {-1, 4, 6},
                {relu, node("Reshape", {"r", "s"}, "y", attributes)},
                {integers("s", shape)},
                14,
                refused};
  };
  return {
      flattened("flatten_default", 1, 9),
      flattened("flatten_negative_axis", -3, 13),
      {"flatten_axis_0", {1, 4, 6}, {relu, node("Flatten", {"r"}, "y", {number("axis", 0)})}},
      {"flatten_axis_2", {1, 1, 4, 6}, {relu, node("Flatten", {"r"}, "y", {number("axis", 2)})}},
      {"flatten_as_result", {-1, 3, 4, 5}, {ordered(), node("Flatten", {"i"}, "y")}},
      reshaped("reshape_zero", {0, 24}),
      reshaped("reshape_minus_one", {0, -1}),
      reshaped("reshape_batch_open", {-1, 8, 3}),
      reshaped("reshape_splits", {0, 2, 2, 6}),
      reshaped("reshape_keeps", {0, 0, 2, 3}),
      reshaped("reshape_allowzero", {0, 24}, {number("allowzero", 1)}, "allowzero"),
      reshaped("reshape_mixes_examples", {8, -1}, {}, "keeps examples apart"),
      {"reshape_of_images",
       {-1, 3, 4, 5},
       {ordered(), node("Reshape", {"i", "s"}, "y")},
       {integers("s", {0, 3, 20})}},
      {"reshape_computed",
       {-1, 4, 6},
       {relu, node("Shape", {"r"}, "a"), node("Gather", {"a", "zero"}, "n"),
        node("Unsqueeze", {"n"}, "u", {list("axes", {0})}),
        node("Concat", {"u", "rest"}, "s", {number("axis", 0)}), node("Reshape", {"r", "s"}, "y")},
       {tensor("zero", 7, {}).text(9, std::string(8, '\0')), integers("rest", {-1})},
       11},
      {"reshape_of_sliced_shape",
       {-1, 4, 6},
       {relu, node("Shape", {"r"}, "a"), node("Slice", {"a", "b", "e"}, "n"),
        node("Concat", {"n", "rest"}, "s", {number("axis", 0)}), node("Reshape", {"r", "s"}, "y")},
       {integers("b", {0}), integers("e", {1}), integers("rest", {3, 8})}},
      {"squeeze_attribute",
       {-1, 1, 6},
       {relu, node("Squeeze", {"r"}, "y", {list("axes", {1})})},
       {},
       11},
      {"squeeze_input",
       {-1, 1, 6},
       {relu, node("Squeeze", {"r", "a"}, "y")},
       {integers("a", {-2})}},
      {"unsqueeze_attribute",
       {-1, 6},
       {relu, node("Unsqueeze", {"r"}, "y", {list("axes", {1, 3})})},
       {},
       11},
      {"unsqueeze_input",
       {-1, 6},
       {relu, node("Unsqueeze", {"r", "a"}, "y")},
       {integers("a", {-1})}},
      {"transpose_of_sequences",
       {-1, 4, 6},
       {relu, node("Transpose", {"r"}, "y", {list("perm", {0, 2, 1})})}},
      {"transpose_of_images",
       {-1, 3, 4, 5},
       {ordered(), node("Transpose", {"i"}, "y", {list("perm", {0, 3, 1, 2})})}},
      {"transpose_there_and_back",
       {-1, 4, 6},
       {node("Transpose", {"x"}, "t", {list("perm", {0, 2, 1})}), node("Relu", {"t"}, "u"),
        node("Transpose", {"u"}, "y", {list("perm", {0, 2, 1})})}},
      {"transpose_default",
       kVectors,
       {relu, node("Transpose", {"r"}, "y")},
       {},
       13,
       "batch to stay in front"},
      {"transpose_six_axes",
       {-1, 2, 3, 2, 3, 2},
       {relu, node("Transpose", {"r"}, "t", {list("perm", {0, 4, 1, 5, 2, 3})}),
        node("Flatten", {"t"}, "f"), dense},
       {weights("w", {72, 3})}},
      {"expand", {-1, 1, 6}, {relu, node("Expand", {"r", "s"}, "y")}, {integers("s", {1, 4, 1})}},
      {"tile", {-1, 2, 6}, {relu, node("Tile", {"r", "s"}, "y")}, {integers("s", {1, 2, 3})}},
      {"tile_of_batch",
       {-1, 6},
       {relu, node("Tile", {"r", "s"}, "y")},
       {integers("s", {2, 1})},
       13,
       "batch"},
  };
}

std::vector<Case> parts() {
  const Message relu = node("Relu", {"x"}, "r");
  const auto sliced = [&](const char* name, const Integers& starts, const Integers& ends,
                          const Integers& axes, const Integers& steps = {},
                          const std::string& refused = "") {
    std::vector<Message> tensors = {integers("b", starts), integers("e", ends),
                                    integers("a", axes)};
    Strings inputs = {"r", "b", "e", "a"};
    if (!steps.empty()) {
      tensors.push_back(integers("s", steps));
      inputs.emplace_back("s");
    }
    return Case{name, {-1, 4, 6}, {relu, node("Slice", inputs, "y")}, tensors, 13, refused};
  };
  const auto gathered = [&](const char* name, const Integers& indices, int axis,
                            const std::string& refused = "") {
    return Case{name,
                {-1, 4, 6},
                {relu, node("Gather", {"r", "g"}, "y", {number("axis", axis)})},
                {integers("g", indices)},
                13,
                refused};
  };
  const auto split = [&](const char* name, const Strings& inputs, const Strings& outputs,
                         const std::vector<Message>& attributes,
                         const std::vector<Message>& tensors, int opset) {
    return Case{name, {-1, 4, 6}, {relu, op("Split", inputs, outputs, attributes)}, tensors, opset,
                "",   outputs};
  };
  const auto padded = [&](const char* name, const Integers& x, const Integers& pads,
                          const std::vector<Message>& attributes = {},
                          const std::string& refused = "") {
    std::vector<Message> nodes = {x.size() == 4 ? ordered() : relu};
    nodes.push_back(node("Pad", {x.size() == 4 ? "i" : "r", "p"}, "y", attributes));
    return Case{name, x, nodes, {integers("p", pads)}, 13, refused};
  };
  const Message one = tensor("g", 7, {}).text(9, std::string("\2\0\0\0\0\0\0\0", 8));
  return {
      {"slice_attributes",
       {-1, 4, 6},
       {relu,
        node("Slice", {"r"}, "y", {list("starts", {1}), list("ends", {3}), list("axes", {1})})},
       {},
       9},
      sliced("slice_inputs", {1}, {3}, {2}),
      sliced("slice_negative_places", {-3}, {-1}, {2}),
      sliced("slice_negative_axis", {2}, {1000000}, {-1}),
      sliced("slice_two_axes", {1, 2}, {3, 5}, {1, 2}, {1, 1}),
      sliced("slice_steps_2", {0}, {6}, {2}, {2}),
      sliced("slice_steps_3_of_5", {1}, {6}, {2}, {3}),
      sliced("slice_backwards", {5}, {-10}, {2}, {-1}, "steps"),
      sliced("slice_of_batch", {0}, {1}, {0}, {}, "axis of examples, found 0"),
      gathered("gather_in_a_row", {1, 2}, 1),
      gathered("gather_negative", {-2, -1}, -1),
      gathered("gather_in_any_order", {3, 0, 2}, 2),
      gathered("gather_repeated", {1, 1, 4}, 2),
      gathered("gather_outside", {7}, 2, "axis of 6"),
      {"gather_one",
       {-1, 4, 6},
       {relu, node("Gather", {"r", "g"}, "y", {number("axis", 1)})},
       {one}},
      split("split_equal", {"r"}, {"y", "z"}, {number("axis", 1)}, {}, 11),
      split("split_attribute", {"r"}, {"y", "z"}, {number("axis", -1), list("split", {2, 4})}, {},
            11),
      split("split_input", {"r", "p"}, {"y", "z", "u"}, {number("axis", 2)},
            {integers("p", {1, 2, 3})}, 13),
      split("split_count", {"r"}, {"y", "z", "u"}, {number("axis", 2), number("num_outputs", 3)},
            {}, 18),
      {"split_uneven",
       {-1, 5, 6},
       {relu, op("Split", {"r"}, {"y", "z"}, {number("axis", 1), number("num_outputs", 2)})},
       {},
       18,
       "",
       {"y", "z"}},
      padded("pad_images", {-1, 3, 4, 5}, {0, 0, 1, 2, 0, 0, 2, 0}),
      padded("pad_channels", {-1, 3, 4, 5}, {0, 1, 0, 0, 0, 2, 0, 0}),
      padded("pad_all", {-1, 3, 4, 5}, {0, 1, 1, 0, 0, 0, 2, 1}),
      padded("pad_sequences", {-1, 4, 6}, {0, 0, 2, 0, 0, 1}),
      padded("pad_features", {-1, 4, 6}, {0, 1, 0, 0, 2, 0}),
      padded("pad_vectors", kVectors, {0, 1, 0, 2}),
      padded("pad_cuts", {-1, 4, 6}, {0, 0, -1, 0, 1, -2}),
      padded("pad_reflect", {-1, 3, 4, 5}, {0, 0, 1, 1, 0, 0, 1, 1}, {attribute("mode", "reflect")},
             "mode constant"),
      padded("pad_edge", {-1, 3, 4, 5}, {0, 0, 1, 1, 0, 0, 1, 1}, {attribute("mode", "edge")},
             "mode constant"),
      {"pad_attribute",
       {-1, 3, 4, 5},
       {ordered(), node("Pad", {"i"}, "y", {list("pads", {0, 0, 1, 1, 0, 0, 0, 1})})},
       {},
       10},
      {"pad_value",
       {-1, 3, 4, 5},
       {ordered(), node("Pad", {"i", "p", "v"}, "y")},
       {integers("p", {0, 0, 1, 1, 0, 0, 0, 1}), real("v", 0.5F)},
       13,
       "zeros around"},
      {"pad_axes",
       {-1, 3, 4, 5},
       {ordered(), node("Pad", {"i", "p", "", "a"}, "y")},
       {integers("p", {1, 2, 0, 1}), integers("a", {-1, 2})},
       18},
  };
}

}  // namespace

Variants shapes() {
  Variants all;
  for (const auto& cases : {reshapes(), parts()}) {
    for (const Case& c : cases) {
      all.push_back({c.name,
                     file_of({.x = c.x,
                              .nodes = c.nodes,
                              .tensors = c.tensors,
                              .opset = c.opset,
                              .outputs = c.outputs}),
                     c.refused});
    }
  }
  return all;
}

}  // namespace octet::test::variants
