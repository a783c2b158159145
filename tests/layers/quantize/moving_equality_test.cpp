#include <octet/layers/graph.h>
#include <octet/layers/layers.h>
#include <octet/tests/core/quant/contracts.h>
#include <octet/tests/core/quant/quant_testing.h>
#include <octet/tests/layers/quantize/quantize_testing.h>
#include <octet/tests/layers/quantize/same_as_shipped.h>

#include <functional>

// Operators that no layer of Octet emits yet, in layers of one's own: what is trained is what the
// file computes.

namespace octet::test::moving_equality_test {
namespace {

/// A layer that emits what it is given.
class OwnLayer : public Layer {
 public:
  using Emit = std::function<GraphValue(Graph&, GraphValue)>;
  OwnLayer(Shape result, Emit emit)
      : Layer(""), result_(std::move(result)), emit_(std::move(emit)) {}
  std::string_view type() const override { return "OwnLayer"; }
  std::vector<GraphValue> emit(Graph& graph, std::span<const GraphValue> inputs) const override {
    return {emit_(graph, inputs[0])};
  }
  std::unique_ptr<Layer> clone() const override { return std::make_unique<OwnLayer>(*this); }

 protected:
  Shape result_shape(std::span<const Shape> /*input_shapes*/) const override { return result_; }

 private:
  Shape result_;
  Emit emit_;
};

/// A Dense layer, its result as a random block of numbers, an operator on it, and a Dense layer.
template <class Own>
class NetAround {
 public:
  explicit NetAround(std::uint32_t seed) : random_(seed) {
    const Shape block{random_.integer(2, 5), random_.integer(1, 4), random_.integer(1, 9)};
    model_.add(Input({inputs_}));
    model_.add(Dense(block.size()));
    model_.add(Reshape(block));
    model_.add(Own::layer(block, random_));
    model_.add(Flatten());
    model_.add(Dense(3));
    model_.build(seed);
  }

  const Sequential& model() const { return model_; }
  Tensor batch(Index size) {
    return Tensor::uniform({size, inputs_}, Random(random_.bits()), -1.0F, 1.0F);
  }

 private:
  PortableRandom random_;
  Index inputs_ = 7;
  Sequential model_{"around"};
};

struct Sliced {
  static OwnLayer layer(const Shape& block, PortableRandom& random) {
    std::vector<AxisSlice> axes;
    std::vector<Index> extents;
    for (Index i = 0; i < block.rank(); ++i) {
      const Index begin = random.integer(0, static_cast<int>(block[i]) - 1);
      axes.push_back({begin,
                      random.integer(static_cast<int>(begin) + 1, static_cast<int>(block[i])),
                      random.integer(1, 2)});
      extents.push_back(axes.back().extent());
    }
    return {Shape(extents), [axes](Graph& g, GraphValue x) { return g.slice(x, axes); }};
  }
};

struct Transposed {
  static OwnLayer layer(const Shape& block, PortableRandom& random) {
    std::vector<Index> axes;
    for (Index i = 0; i < block.rank(); ++i) {
      axes.insert(axes.begin() + random.integer(0, static_cast<int>(i)), i);
    }
    std::vector<Index> extents;
    extents.reserve(axes.size());
    for (const Index axis : axes) extents.push_back(block[axis]);
    return {Shape(extents), [axes](Graph& g, GraphValue x) { return g.transpose(x, axes); }};
  }
};

/// Scores of a block's rows with themselves, as attention has them, and the block by them.
struct Multiplied {
  static OwnLayer layer(const Shape& block, PortableRandom& random) {
    const bool of_rows = random.integer(0, 1) == 1;
    const Index size = of_rows ? block[1] : block[2];
    if (random.integer(0, 1) == 1) {
      return {Shape{block[0], size, size}, [of_rows](Graph& g, GraphValue x) {
                return g.op(OpCode::batch_matmul, {x, x},
                            BatchMatmulAttributes{.adj_x = !of_rows, .adj_y = of_rows});
              }};
    }
    return {block, [](Graph& g, GraphValue x) {
              const GraphValue scores = g.op(OpCode::batch_matmul, {x, x},
                                             BatchMatmulAttributes{.adj_y = true}, "/scores");
              return g.op(OpCode::batch_matmul, {scores, x});
            }};
  }
};

class MovingEquality : public ::testing::TestWithParam<Rounding> {
 protected:
  template <class Own>
  static void expect_ship() {
    expect_random_networks_ship<NetAround<Own>>(20, [](const auto& /*net*/) {
      return QuantizeOptions{.rounding = GetParam(),
                             .activation_bits = GetParam() == Rounding::q15 ? 16 : 8};
    });
  }
};

TEST_P(MovingEquality, OfSlices) { expect_ship<Sliced>(); }
TEST_P(MovingEquality, OfTransposes) { expect_ship<Transposed>(); }
TEST_P(MovingEquality, OfProducts) { expect_ship<Multiplied>(); }

INSTANTIATE_TEST_SUITE_P(Contracts, MovingEquality,
                         ::testing::Values(Rounding::fp32, Rounding::single_rounding,
                                           Rounding::double_rounding, Rounding::q15),
                         contract_name);

}  // namespace
}  // namespace octet::test::moving_equality_test
