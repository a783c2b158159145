#include <octet/tests/interop/variants/variants.h>

namespace octet::test::variants {
namespace {

struct Case {
  std::string name;
  std::string code;
  std::vector<Message> attributes;
  Integers x = kImages;
  int opset = 17;
  std::string refused{};
  /// Whether x comes from a ReLU, so that it is 0 or more.
  bool behind_relu = false;
};

Message size(const Integers& values) { return list("kernel_shape", values); }
Message strides(const Integers& values) { return list("strides", values); }
Message pads(const Integers& values) { return list("pads", values); }

void add_windows(Variants& all) {
  const Message counts = number("count_include_pad", 1);
  const Message ceil = number("ceil_mode", 1);
  const std::vector<Case> cases = {
      {"max_pool_defaults", "MaxPool", {size({2, 2})}},
      {"max_pool_opset_7", "MaxPool", {size({2, 2}), strides({2, 2})}, kImages, 7},
      {"max_pool_opset_10", "MaxPool", {size({2, 2}), strides({2, 2})}, kImages, 10},
      {"max_pool_opset_22", "MaxPool", {size({2, 2}), strides({2, 2})}, kImages, 22},
      {"max_pool_strides_2_1", "MaxPool", {size({3, 2}), strides({2, 1})}},
      {"max_pool_same_upper",
       "MaxPool",
       {size({3, 3}), strides({2, 2}), attribute("auto_pad", "SAME_UPPER")}},
      {"max_pool_same_lower",
       "MaxPool",
       {size({2, 2}), attribute("auto_pad", "SAME_LOWER")},
       kImages,
       17,
       "",
       true},
      {"max_pool_valid",
       "MaxPool",
       {size({3, 3}), strides({2, 2}), attribute("auto_pad", "VALID")}},
      {"max_pool_pads", "MaxPool", {size({3, 3}), pads({1, 1, 1, 1})}},
      {"max_pool_pads_behind_relu",
       "MaxPool",
       {size({3, 3}), strides({2, 2}), pads({1, 0, 0, 1})},
       kImages,
       17,
       "",
       true},
      {"max_pool_pads_below_zero",
       "MaxPool",
       {size({3, 3}), strides({2, 2}), pads({1, 0, 0, 1})},
       kImages,
       17,
       "may be below 0"},
      {"max_pool_ceil", "MaxPool", {size({2, 2}), strides({2, 2}), ceil}},
      {"max_pool_dilations",
       "MaxPool",
       {size({2, 2}), list("dilations", {2, 2})},
       kImages,
       17,
       "dilations of 1"},
      {"max_pool_1d", "MaxPool", {size({3}), strides({2})}, kSequences},
      {"average_pool_defaults", "AveragePool", {size({2, 2})}},
      {"average_pool_opset_7", "AveragePool", {size({3, 2}), strides({2, 2})}, kImages, 7},
      {"average_pool_opset_19", "AveragePool", {size({3, 2}), strides({2, 2})}, kImages, 19},
      {"average_pool_same_upper",
       "AveragePool",
       {size({3, 3}), strides({2, 2}), attribute("auto_pad", "SAME_UPPER")}},
      {"average_pool_same_pads", "AveragePool", {size({3, 3}), pads({1, 1, 1, 1})}},
      {"average_pool_counts", "AveragePool", {size({3, 3}), pads({1, 0, 1, 2}), counts}},
      {"average_pool_leaves_out",
       "AveragePool",
       {size({3, 3}), strides({2, 2}), pads({1, 0, 0, 1})},
       kImages,
       17,
       "count_include_pad=1"},
      {"average_pool_ceil", "AveragePool", {size({2, 2}), strides({2, 2}), ceil}},
      {"average_pool_1d", "AveragePool", {size({4}), strides({3})}, kSequences},
      {"average_pool_1d_counts", "AveragePool", {size({3}), pads({1, 1}), counts}, kSequences},
      {"lp_pool", "LpPool", {size({2, 2})}, kImages, 17, "no such operator"}};
  for (const Case& c : cases) {
    std::vector<Message> nodes;
    if (c.behind_relu) nodes.push_back(node("Relu", {"x"}, "r"));
    nodes.push_back(node(c.code, {c.behind_relu ? "r" : "x"}, "y", c.attributes));
    all.push_back({c.name, file_of({c.x, nodes, {}, c.opset}), c.refused});
  }
}

/// An operator over whole axes; `given` are its axes, an input since an opset.
struct Reduction {
  std::string name;
  std::string code;
  Integers axes;
  int keep = 1;
  int opset = 13;
  Integers x = kImages;
  bool as_input = false;
  std::string refused{};
};

void add_reductions(Variants& all) {
  const std::vector<Reduction> cases = {
      {"mean_of_images", "ReduceMean", {2, 3}},
      {"mean_drops_axes", "ReduceMean", {2, 3}, 0},
      {"mean_negative_axes", "ReduceMean", {-1, -2}, 0, 11},
      {"mean_axes_input", "ReduceMean", {2, 3}, 1, 18, kImages, true},
      {"mean_negative_axes_input", "ReduceMean", {-2, -1}, 0, 20, kImages, true},
      {"mean_of_channels", "ReduceMean", {1}, 1},
      {"mean_of_rows", "ReduceMean", {2}, 0},
      {"mean_of_columns", "ReduceMean", {3}, 1},
      {"mean_of_steps", "ReduceMean", {2}, 0, 13, kSequences},
      {"mean_of_features", "ReduceMean", {-2}, 1, 13, kSequences},
      {"mean_of_vectors", "ReduceMean", {1}, 1, 13, kVectors},
      {"sum_of_images", "ReduceSum", {2, 3}, 0, 11},
      {"sum_axes_input", "ReduceSum", {2, 3}, 1, 13, kImages, true},
      {"sum_of_steps", "ReduceSum", {2}, 0, 11, kSequences},
      {"max_of_images", "ReduceMax", {2, 3}, 0},
      {"max_axes_input", "ReduceMax", {-1, -2}, 1, 18, kImages, true},
      {"max_of_steps", "ReduceMax", {-1}, 1, 13, kSequences},
      {"min_of_images", "ReduceMin", {2, 3}, 0},
      {"min_of_steps", "ReduceMin", {2}, 0, 13, kSequences},
      {"l2_of_images", "ReduceL2", {2, 3}, 0, 13, kImages, false, "no such operator"},
      {"product_of_images", "ReduceProd", {2, 3}, 0, 13, kImages, false, "no such operator"},
      {"mean_of_batch", "ReduceMean", {0}, 0, 13, kVectors, false, "an axis of examples"}};
  for (const Reduction& c : cases) {
    // An image operator says in which order channels lie.
    std::vector<Message> nodes;
    const bool ordered = c.x.size() > 2;
    if (ordered) nodes.push_back(node("MaxPool", {"x"}, "i", {size(Integers(c.x.size() - 2, 1))}));
    Strings inputs = {ordered ? "i" : "x"};
    std::vector<Message> attributes = {number("keepdims", c.keep)};
    std::vector<Message> tensors;
    if (c.as_input) {
      inputs.emplace_back("axes");
      tensors.push_back(integers("axes", c.axes));
    } else {
      attributes.push_back(list("axes", c.axes));
    }
    nodes.push_back(node(c.code, inputs, "y", attributes));
    all.push_back({c.name, file_of({c.x, nodes, tensors, c.opset}), c.refused});
  }
  for (const auto& [name, code, x] : {std::tuple("global_mean", "GlobalAveragePool", kImages),
                                      std::tuple("global_max", "GlobalMaxPool", kImages),
                                      std::tuple("global_mean_1d", "GlobalAveragePool", kSequences),
                                      std::tuple("global_max_1d", "GlobalMaxPool", kSequences)}) {
    all.push_back({name, file_of({x, {node(code, {"x"}, "y")}})});
  }
  all.push_back({"arg_max_cut",
                 file_of({kVectors,
                          {node("Gemm", {"x", "w"}, "g"), node("ArgMax", {"g"}, "y")},
                          {weights("w", {6, 4})}}),
                 "--to 'g'"});
  all.push_back({"arg_max_left_out",
                 file_of({kVectors,
                          {node("Gemm", {"x", "w"}, "g"), node("ArgMax", {"g"}, "y")},
                          {weights("w", {6, 4})}}),
                 "",
                 {"--to", "g"}});
}

}  // namespace

Variants pools() {
  Variants all;
  add_windows(all);
  add_reductions(all);
  return all;
}

}  // namespace octet::test::variants
