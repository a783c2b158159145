#include <fmt/core.h>
#include <octet/core/description.h>
#include <octet/core/error.h>
#include <octet/layers/dot.h>
#include <octet/layers/graph.h>
#include <octet/layers/image_layer.h>

namespace octet {

Index Dot::counted(const Shape& shape, std::size_t i) const {
  const Index axis = axes_.at(i) < 0 ? axes_.at(i) + shape.rank() : axes_.at(i) - 1;
  return axis < shape.rank() ? axis : -1;
}

Shape Dot::shape_of_products(std::span<const Shape> inputs) const {
  bool fits = inputs.size() == 2;
  std::string found;
  std::vector<Index> extents;
  std::vector<Index> rest;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Shape& shape = inputs[i];
    found += (found.empty() ? "" : " and ") + shape.to_string();
    const Index axis = i < 2 && shape.rank() <= 2 ? counted(shape, i) : -1;
    fits = fits && axis >= 0;
    for (Index k = 0; k < shape.rank(); ++k) (k == axis ? extents : rest).push_back(shape[k]);
  }
  fits = fits && extents[0] == extents[1] && extents[0] > 0;
  if (fits) return rest.empty() ? Shape{1} : Shape(std::move(rest));
  throw InvalidArgument(
      fmt::format("Dot \"{}\": expected two examples of 1 or 2 axes with as many elements along "
                  "axes {} and {}, "
                  "counted from 1 behind the batch, found {}",
                  name(), axes_[0], axes_[1], found));
}

std::vector<GraphValue> Dot::emit(Graph& g, std::span<const GraphValue> inputs) const {
  std::vector<Shape> shapes;
  for (const GraphValue input : inputs) shapes.push_back(g.shape(input));
  const Shape result = shape_of_products(shapes);
  std::array<GraphValue, 2> matrices{};
  std::array<bool, 2> is_last{};
  for (std::size_t i = 0; i < 2; ++i) {
    const Shape& shape = shapes[i];
    const bool is_row = shape.rank() == 1;
    is_last.at(i) = is_row || counted(shape, i) == 1;
    matrices.at(i) =
        is_row ? g.reshape(inputs[i], {1, shape[0]}, i == 0 ? "/first" : "/second") : inputs[i];
  }
  const GraphValue products =
      g.op(OpCode::batch_matmul, {matrices[0], matrices[1]},
           BatchMatmulAttributes{.adj_x = !is_last[0], .adj_y = is_last[1]}, "/products");
  if (g.shape(products) == result) return {products};
  return {g.reshape(products, result)};
}

void Dot::describe(Description& description) const {
  description.set("axes", detail::as_shape(axes_));
}

std::unique_ptr<Layer> Dot::make(const Description& d) {
  return std::make_unique<Dot>(detail::pair_in(d, "axes"));
}

}  // namespace octet
