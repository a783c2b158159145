#include <octet/tests/interop/variants/variants.h>

namespace octet::test::variants {
namespace {

Message scales(const std::vector<float>& values) {
  return floats_in("s", {static_cast<std::int64_t>(values.size())}, values);
}
Message mode(const char* value) { return attribute("mode", value); }
Message place(const char* value) { return attribute("coordinate_transformation_mode", value); }
Message rounds(const char* value) { return attribute("nearest_mode", value); }

}  // namespace

Variants resizes() {
  Variants all;
  const auto of = [&](const std::string& name, const Message& last,
                      const std::vector<Message>& tensors, int opset = 13,
                      const std::string& refused = "") {
    // An image operator says in which order channels lie.
    all.push_back({name,
                   file_of({{-1, 3, 4, 5},
                            {node("MaxPool", {"x"}, "i", {list("kernel_shape", {1, 1})}), last},
                            tensors,
                            opset}),
                   refused});
  };
  const Message twice = scales({1, 1, 2, 2});
  const Strings by_scales = {"i", "", "s"};
  const Strings by_sizes = {"i", "", "", "n"};
  const Message sizes = integers("n", {1, 3, 8, 15});
  of("upsample_opset_7",
     node("Upsample", {"i"}, "y", {mode("nearest"), of_floats("scales", {1, 1, 2, 2})}), {}, 7);
  of("upsample_opset_9", node("Upsample", {"i", "s"}, "y", {mode("nearest")}), {twice}, 9);
  of("upsample_linear_opset_9", node("Upsample", {"i", "s"}, "y", {mode("linear")}), {twice}, 9);
  of("resize_opset_10", node("Resize", {"i", "s"}, "y", {mode("nearest")}), {scales({1, 1, 2, 3})},
     10);
  of("resize_linear_opset_10", node("Resize", {"i", "s"}, "y", {mode("linear")}), {twice}, 10);
  of("resize_half_pixel", node("Resize", by_scales, "y", {mode("nearest"), place("half_pixel")}),
     {twice});
  of("resize_asymmetric_floor",
     node("Resize", by_scales, "y", {mode("nearest"), place("asymmetric"), rounds("floor")}),
     {twice});
  of("resize_prefer_ceil",
     node("Resize", by_scales, "y",
          {mode("nearest"), place("half_pixel"), rounds("round_prefer_ceil")}),
     {twice});
  of("resize_sizes",
     node("Resize", by_sizes, "y", {mode("nearest"), place("asymmetric"), rounds("floor")}),
     {sizes});
  for (const char* how : {"half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric"}) {
    of(std::string("resize_linear_") + how,
       node("Resize", by_sizes, "y", {mode("linear"), place(how)}), {sizes});
  }
  of("resize_linear_scales", node("Resize", by_scales, "y", {mode("linear")}),
     {scales({1, 1, 1.5F, 2.4F})});
  of("resize_linear_smaller",
     node("Resize", by_sizes, "y", {mode("linear"), place("align_corners")}),
     {integers("n", {1, 3, 2, 3})});
  of("resize_opset_18", node("Resize", by_scales, "y", {mode("nearest")}), {twice}, 18);
  of("resize_opset_19", node("Resize", by_sizes, "y", {mode("linear")}), {sizes}, 19);
  of("resize_axes", node("Resize", by_scales, "y", {mode("nearest"), list("axes", {2, 3})}),
     {scales({2, 2})}, 18);
  of("resize_axes_of_sizes",
     node("Resize", by_sizes, "y", {mode("linear"), list("axes", {-2, -1})}),
     {integers("n", {8, 10})}, 18);
  of("resize_cubic", node("Resize", by_scales, "y", {mode("cubic")}), {twice}, 13, "mode");
  of("resize_nearest_fraction", node("Resize", by_scales, "y", {mode("nearest")}),
     {scales({1, 1, 1.5F, 2})}, 13, "whole");
  of("resize_antialias", node("Resize", by_scales, "y", {mode("linear"), number("antialias", 1)}),
     {scales({1, 1, 0.5F, 0.5F})}, 18, "antialias");
  of("resize_of_channels", node("Resize", by_scales, "y", {mode("nearest")}),
     {scales({1, 2, 2, 2})}, 13, "expected");
  const auto blocks = [&](const std::string& name, const char* code, const Integers& x,
                          const std::vector<Message>& attributes, int opset) {
    all.push_back({name, file_of({x, {node(code, {"x"}, "y", attributes)}, {}, opset})});
  };
  const Message two = number("blocksize", 2);
  blocks("depth_to_space", "DepthToSpace", {-1, 8, 3, 5}, {two}, 9);
  blocks("depth_to_space_dcr", "DepthToSpace", {-1, 8, 3, 5}, {two, mode("DCR")}, 11);
  blocks("depth_to_space_crd", "DepthToSpace", {-1, 8, 3, 5}, {two, mode("CRD")}, 13);
  blocks("depth_to_space_3", "DepthToSpace", {-1, 9, 3, 5}, {number("blocksize", 3)}, 13);
  blocks("space_to_depth", "SpaceToDepth", {-1, 3, 4, 6}, {two}, 13);
  return all;
}

}  // namespace octet::test::variants
