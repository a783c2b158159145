#include <octet/tests/interop/variants/variants.h>

namespace octet::test::variants {

Variants products() {
  Variants all;
  const auto gemm = [&](const std::string& name, const std::vector<Message>& attributes,
                        const Integers& weight, const Integers& bias, int opset = 13,
                        const std::string& refused = "") {
    std::vector<Message> tensors = {weights("w", weight)};
    Strings inputs = {"x", "w"};
    if (bias != Integers{-1}) {
      tensors.push_back(weights("b", bias));
      inputs.emplace_back("b");
    }
    all.push_back({name,
                   file_of({kVectors, {node("Gemm", inputs, "y", attributes)}, tensors, opset}),
                   refused});
  };
  const Integers none = {-1};
  const Message transposed = number("transB", 1);
  gemm("gemm_defaults", {}, {6, 4}, {4});
  gemm("gemm_transposed", {transposed}, {4, 6}, {4});
  gemm("gemm_no_bias", {transposed}, {4, 6}, none);
  gemm("gemm_bias_of_one", {}, {6, 4}, {1});
  gemm("gemm_bias_scalar", {}, {6, 4}, {});
  gemm("gemm_bias_row", {}, {6, 4}, {1, 4});
  gemm("gemm_alpha_beta", {attribute("alpha", 0.5F), attribute("beta", -2.0F)}, {6, 4}, {4});
  gemm("gemm_alpha_alone", {attribute("alpha", 0.5F), transposed}, {4, 6}, none);
  gemm("gemm_opset_7", {}, {6, 4}, {4}, 7);
  gemm("gemm_opset_9", {transposed}, {4, 6}, {4}, 9);
  gemm("gemm_opset_24", {transposed}, {4, 6}, {4}, 24);
  const auto of = [&](const std::string& name, const Integers& x, const std::vector<Message>& nodes,
                      const std::vector<Message>& tensors, int opset = 13,
                      const std::string& refused = "") {
    all.push_back({name, file_of({x, nodes, tensors, opset}), refused});
  };
  of("gemm_trans_a_of_one", {1, 6},
     {node("Transpose", {"x"}, "t", {list("perm", {1, 0})}),
      node("Gemm", {"t", "w", "b"}, "y", {number("transA", 1)})},
     {weights("w", {6, 4}), weights("b", {4})});
  of("gemm_trans_a_of_batch", kVectors, {node("Gemm", {"x", "w"}, "y", {number("transA", 1)})},
     {weights("w", {6, 4})}, 13, "transA");
  const Message plain = node("MatMul", {"x", "w"}, "y");
  of("matmul_vectors", kVectors, {plain}, {weights("w", {6, 4})});
  of("matmul_rank_3", {-1, 4, 5}, {plain}, {weights("w", {5, 3})});
  of("matmul_rank_4", {-1, 2, 4, 5}, {plain}, {weights("w", {5, 3})});
  of("matmul_bias_behind", kVectors,
     {node("MatMul", {"x", "w"}, "m"), node("Add", {"m", "b"}, "y")},
     {weights("w", {6, 4}), weights("b", {4})});
  of("matmul_bias_in_front", {-1, 4, 5},
     {node("MatMul", {"x", "w"}, "m"), node("Add", {"b", "m"}, "y")},
     {weights("w", {5, 3}), weights("b", {3})});
  of("matmul_left_constant", {-1, 4, 5}, {node("MatMul", {"w", "x"}, "y")}, {weights("w", {3, 4})});
  of("matmul_batch_of_weights", {-1, 4, 5}, {plain}, {weights("w", {1, 5, 3})});
  of("matmul_attention", {-1, 4, 5},
     {node("Transpose", {"x"}, "t", {list("perm", {0, 2, 1})}), node("MatMul", {"x", "t"}, "p"),
      node("Softmax", {"p"}, "s", {number("axis", -1)}), node("MatMul", {"s", "x"}, "y")},
     {});
  of("einsum", {-1, 4, 5},
     {node("Einsum", {"x", "w"}, "y", {attribute("equation", "bij,jk->bik")})},
     {weights("w", {5, 3})}, 13, "no such operator");
  return all;
}

}  // namespace octet::test::variants
