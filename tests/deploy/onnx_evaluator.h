#pragma once

#include <octet/deploy/onnx/writer.h>
#include <octet/tests/deploy/onnx_bits.h>
#include <octet/tests/deploy/onnx_images.h>
#include <octet/tests/deploy/onnx_model.h>

namespace octet::test {

/// Runs an ONNX file node by node as the standard's text says, in float32 where that is the type;
/// a node that reads what is not there yet throws.
class OnnxEvaluator {
 public:
  explicit OnnxEvaluator(const OnnxFile& file) : file_(file), values_(file.constants) {}

  void run(const OnnxTensor& input) {
    values_[file_.inputs.at(0).name] = input;
    for (const OnnxNode& node : file_.nodes) {
      if (values_.contains(node.output)) throw std::runtime_error(node.output + " has two makers");
      values_[node.output] = compute(node);
    }
  }

  const OnnxTensor& value(const std::string& name) const { return values_.at(name); }

 private:
  const OnnxTensor& in(const OnnxNode& node, std::size_t i) const {
    return values_.at(node.inputs.at(i));
  }

  /// The element of `t`, which is broadcast, at element `i` of a tensor of `shape`.
  static double broadcast(const OnnxTensor& t, const std::vector<std::int64_t>& shape,
                          std::size_t i) {
    auto rest = static_cast<std::int64_t>(i);
    std::int64_t from = 0;
    std::int64_t stride = 1;
    for (std::size_t k = 0; k < t.shape.size(); ++k) {
      const std::int64_t mine = t.shape[t.shape.size() - 1 - k];
      const std::int64_t extent = shape.at(shape.size() - 1 - k);
      if (mine != 1 && mine != extent) throw std::runtime_error("operands do not broadcast");
      from += mine == 1 ? 0 : rest % extent * stride;
      rest /= extent;
      stride *= mine;
    }
    return t.values.at(static_cast<std::size_t>(from));
  }

  /// The shape that two have together.
  static std::vector<std::int64_t> common_shape(std::vector<std::int64_t> a,
                                                const std::vector<std::int64_t>& b) {
    if (b.size() > a.size()) return common_shape(b, a);
    for (std::size_t k = 0; k < b.size(); ++k) {
      std::int64_t& extent = a[a.size() - 1 - k];
      extent = std::max(extent, b[b.size() - 1 - k]);
    }
    return a;
  }

  /// `function` of every element and of the second operand's; both are broadcast.
  template <class Function>
  OnnxTensor map(const OnnxNode& node, Function function) const {
    const OnnxTensor& x = in(node, 0);
    const OnnxTensor& other = node.inputs.size() > 1 ? in(node, 1) : x;
    OnnxTensor result{x.type, common_shape(x.shape, other.shape), {}};
    const std::int64_t size = std::accumulate(result.shape.begin(), result.shape.end(),
                                              std::int64_t{1}, std::multiplies<>());
    for (std::size_t i = 0; i < static_cast<std::size_t>(size); ++i) {
      const double y = function(broadcast(x, result.shape, i), broadcast(other, result.shape, i));
      result.values.push_back(result.type == OnnxElement::float32 ? onnx::f32(y) : y);
    }
    return result;
  }

  /// The scale and zero point of element i: those of its index along the axis.
  struct Grid {
    const OnnxTensor& scale;
    const OnnxTensor& zero_point;
    std::size_t stride = 1;

    std::size_t at(std::size_t i) const { return i / stride % scale.values.size(); }
  };

  Grid grid(const OnnxNode& node) const {
    const auto& shape = in(node, 0).shape;
    Grid result{in(node, 1), in(node, 2)};
    if (result.scale.values.size() > 1) {
      const auto axis = static_cast<std::size_t>(node.attributes.at("axis"));
      for (std::size_t i = axis + 1; i < shape.size(); ++i) {
        result.stride *= static_cast<std::size_t>(shape[i]);
      }
    }
    return result;
  }

  OnnxTensor quantize(const OnnxNode& node) const {
    const Grid g = grid(node);
    OnnxTensor y{g.zero_point.type, in(node, 0).shape, {}};
    const double lowest = y.type == OnnxElement::int8 ? -128.0 : 0.0;
    for (std::size_t i = 0; i < in(node, 0).values.size(); ++i) {
      const std::size_t c = g.at(i);
      const double steps = std::nearbyint(onnx::f32(in(node, 0).values[i] / g.scale.values[c]));
      y.values.push_back(std::clamp(steps + g.zero_point.values[c], lowest, lowest + 255.0));
    }
    return y;
  }

  OnnxTensor dequantize(const OnnxNode& node) const {
    const Grid g = grid(node);
    if (g.zero_point.type != in(node, 0).type) throw std::runtime_error("types differ");
    OnnxTensor y{OnnxElement::float32, in(node, 0).shape, {}};
    for (std::size_t i = 0; i < in(node, 0).values.size(); ++i) {
      const std::size_t c = g.at(i);
      y.values.push_back(
          onnx::f32((in(node, 0).values[i] - g.zero_point.values[c]) * g.scale.values[c]));
    }
    return y;
  }

  OnnxTensor gemm(const OnnxNode& node) const {
    const OnnxTensor& x = in(node, 0);
    const OnnxTensor& w = in(node, 1);
    if (node.attributes.at("transB") != 1 || x.shape.at(1) != w.shape.at(1)) {
      throw std::runtime_error("Gemm: operands do not fit");
    }
    OnnxTensor y{OnnxElement::float32, {x.shape[0], w.shape[0]}, {}};
    const auto depth = static_cast<std::size_t>(w.shape[1]);
    const auto units = static_cast<std::size_t>(w.shape[0]);
    for (std::size_t row = 0; row < static_cast<std::size_t>(x.shape[0]); ++row) {
      for (std::size_t unit = 0; unit < units; ++unit) {
        // In float32, first term last: an order as good as any other.
        double sum = node.inputs.size() > 2 ? in(node, 2).values.at(unit) : 0.0;
        for (std::size_t i = depth; i-- > 0;) {
          sum = onnx::f32(sum + onnx::f32(x.values[row * depth + i] * w.values[unit * depth + i]));
        }
        y.values.push_back(sum);
      }
    }
    return y;
  }

  /// Products of the last two axes; the axes in front are broadcast.
  OnnxTensor matmul(const OnnxNode& node) const {
    const OnnxTensor& x = in(node, 0);
    const OnnxTensor& w = in(node, 1);
    const auto front =
        common_shape({x.shape.begin(), x.shape.end() - 2}, {w.shape.begin(), w.shape.end() - 2});
    const std::int64_t rows = x.shape[x.shape.size() - 2];
    const std::int64_t depth = x.shape.back();
    const std::int64_t columns = w.shape.back();
    if (w.shape[w.shape.size() - 2] != depth) throw std::runtime_error("MatMul: depths differ");
    OnnxTensor y{OnnxElement::float32, front, {}};
    y.shape.insert(y.shape.end(), {rows, columns});
    const auto matrix = [&](const OnnxTensor& t, std::int64_t number) {
      std::int64_t from = 0;
      std::int64_t stride = t.shape[t.shape.size() - 2] * t.shape.back();
      for (std::size_t k = 3; k <= t.shape.size(); ++k) {
        const std::int64_t mine = t.shape[t.shape.size() - k];
        const std::int64_t extent = y.shape[y.shape.size() - k];
        from += mine == 1 ? 0 : number % extent * stride;
        number /= extent;
        stride *= mine;
      }
      return from;
    };
    const std::int64_t count =
        std::accumulate(front.begin(), front.end(), std::int64_t{1}, std::multiplies<>());
    for (std::int64_t i = 0; i < count * rows * columns; ++i) {
      const std::int64_t number = i / (rows * columns);
      const std::int64_t a = matrix(x, number) + i / columns % rows * depth;
      const std::int64_t b = matrix(w, number) + i % columns;
      double sum = 0.0;
      for (std::int64_t k = 0; k < depth; ++k) {
        sum = onnx::f32(sum + onnx::f32(x.values.at(static_cast<std::size_t>(a + k)) *
                                        w.values.at(static_cast<std::size_t>(b + k * columns))));
      }
      y.values.push_back(sum);
    }
    return y;
  }

  OnnxTensor pad(const OnnxNode& node) const {
    const OnnxTensor& x = in(node, 0);
    const auto& pads = in(node, 1).values;
    const OnnxTensor& border = in(node, 2);
    if (border.type != x.type) throw std::runtime_error("Pad: types differ");
    const std::size_t rank = x.shape.size();
    OnnxTensor y{x.type, x.shape, {}};
    std::int64_t size = 1;
    for (std::size_t i = 0; i < rank; ++i) {
      y.shape[i] += static_cast<std::int64_t>(pads.at(i) + pads.at(rank + i));
      size *= y.shape[i];
    }
    for (std::int64_t i = 0; i < size; ++i) {
      std::int64_t rest = i;
      std::int64_t from = 0;
      std::int64_t stride = 1;
      bool inside = true;
      for (std::size_t k = rank; k-- > 0;) {
        const std::int64_t place = rest % y.shape[k] - static_cast<std::int64_t>(pads[k]);
        rest /= y.shape[k];
        inside = inside && place >= 0 && place < x.shape[k];
        from += place * stride;
        stride *= x.shape[k];
      }
      y.values.push_back(inside ? x.values[static_cast<std::size_t>(from)] : border.values.at(0));
    }
    return y;
  }

  OnnxTensor softmax(const OnnxNode& node) const {
    if (node.attributes.at("axis") != -1) throw std::runtime_error("Softmax: another axis");
    OnnxTensor y = in(node, 0);
    const auto row = y.shape.back();
    for (auto first = y.values.begin(); first != y.values.end(); first += row) {
      const double most = *std::max_element(first, first + row);
      double sum = 0.0;
      std::for_each(first, first + row, [&](double& v) { sum += v = std::exp(v - most); });
      std::for_each(first, first + row, [&](double& v) { v = onnx::f32(v / sum); });
    }
    return y;
  }

  OnnxTensor reshape(const OnnxNode& node) const {
    OnnxTensor y = in(node, 0);
    y.shape.clear();
    std::int64_t known = 1;
    for (const double extent : in(node, 1).values) {
      y.shape.push_back(static_cast<std::int64_t>(extent));
      if (extent > 0) known *= y.shape.back();
    }
    std::ranges::replace(y.shape, std::int64_t{-1}, std::ssize(y.values) / known);
    return y;
  }

  /// Along one axis, whose place the axes of the indices take.
  OnnxTensor gather(const OnnxNode& node) const {
    const OnnxTensor& x = in(node, 0);
    const OnnxTensor& from = in(node, 1);
    const auto found = node.attributes.find("axis");
    const auto axis = static_cast<std::size_t>(found == node.attributes.end() ? 0 : found->second);
    OnnxTensor y{x.type, x.shape, {}};
    const auto place = y.shape.erase(y.shape.begin() + static_cast<std::ptrdiff_t>(axis));
    y.shape.insert(place, from.shape.begin(), from.shape.end());
    std::int64_t inner = 1;
    for (std::size_t k = axis + 1; k < x.shape.size(); ++k) inner *= x.shape[k];
    const std::int64_t piece = x.shape.at(axis) * inner;
    for (std::int64_t first = 0; first < std::ssize(x.values); first += piece) {
      for (const double i : from.values) {
        const auto begin = x.values.begin() + first + static_cast<std::int64_t>(i) * inner;
        y.values.insert(y.values.end(), begin, begin + inner);
      }
    }
    return y;
  }

  OnnxTensor arg_max(const OnnxNode& node) const {
    const OnnxTensor& x = in(node, 0);
    const auto axis = static_cast<std::size_t>(node.attributes.at("axis"));
    if (node.attributes.at("keepdims") != 0 || node.attributes.at("select_last_index") != 0) {
      throw std::runtime_error("ArgMax: another shape, or another of equal values");
    }
    OnnxTensor y{OnnxElement::int64, x.shape, {}};
    y.shape.erase(y.shape.begin() + static_cast<std::ptrdiff_t>(axis));
    std::ptrdiff_t inner = 1;
    for (std::size_t k = axis + 1; k < x.shape.size(); ++k) inner *= x.shape[k];
    const std::ptrdiff_t piece = x.shape.at(axis) * inner;
    for (std::ptrdiff_t i = 0; i < std::ssize(x.values); ++i) {
      if (i % piece >= inner) continue;
      std::ptrdiff_t best = i;
      for (std::ptrdiff_t k = i; k < i - i % piece + piece; k += inner) {
        const auto at = [&](std::ptrdiff_t place) {
          return x.values[static_cast<std::size_t>(place)];
        };
        if (at(k) > at(best)) best = k;
      }
      const auto place = (best - i) / inner;
      y.values.push_back(static_cast<double>(place));
    }
    return y;
  }

  OnnxTensor hard_sigmoid(const OnnxNode& node) const {
    const double alpha = double{node.reals.at("alpha")};
    const double beta = double{node.reals.at("beta")};
    return map(node, [&](double a, double) {
      return std::clamp(onnx::f32(onnx::f32(alpha * a) + beta), 0.0, 1.0);
    });
  }

  /// Divides integers, rounded towards zero.
  OnnxTensor divide(const OnnxNode& node) const {
    if (in(node, 0).type != OnnxElement::int64) throw std::runtime_error("Div: no integers");
    return map(node, [](double a, double b) { return std::trunc(a / b); });
  }

  OnnxTensor concat(const OnnxNode& node) const {
    OnnxTensor y = in(node, 0);
    const auto axis = static_cast<std::ptrdiff_t>(node.attributes.at("axis"));
    const auto inner = [&](const OnnxTensor& t) {
      return std::accumulate(t.shape.begin() + axis, t.shape.end(), std::ptrdiff_t{1},
                             std::multiplies<>());
    };
    const std::ptrdiff_t pieces = std::ssize(y.values) / inner(y);
    y.values.clear();
    auto& extent = y.shape.at(static_cast<std::size_t>(axis));
    extent = 0;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      extent += in(node, i).shape.at(static_cast<std::size_t>(axis));
    }
    for (std::ptrdiff_t piece = 0; piece < pieces; ++piece) {
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        const std::ptrdiff_t size = inner(in(node, i));
        const auto first = in(node, i).values.begin() + piece * size;
        y.values.insert(y.values.end(), first, first + size);
      }
    }
    return y;
  }

  OnnxTensor reduce_sum(const OnnxNode& node) const {
    const OnnxTensor& x = in(node, 0);
    if (x.type == OnnxElement::float32) throw std::runtime_error("ReduceSum: no integers");
    if (in(node, 1).values == std::vector<double>{0.0}) return onnx::sum_of_planes(node, x);
    return onnx::sum_of_pixels(node, x, in(node, 1).values, 1.0);
  }

  /// Computes ReduceMean, whose axes are an input from version 18 on.
  OnnxTensor reduce_mean(const OnnxNode& node) const {
    const OnnxTensor& x = in(node, 0);
    const auto pixels = static_cast<double>(x.shape.at(1) * x.shape.at(2));
    if (file_.opset >= 18) return onnx::sum_of_pixels(node, x, in(node, 1).values, pixels);
    const auto& axes = node.lists.at("axes");
    return onnx::sum_of_pixels(node, x, {axes.begin(), axes.end()}, pixels);
  }

  OnnxTensor compute(const OnnxNode& node) const {
    if (node.op == "QuantizeLinear") return quantize(node);
    if (node.op == "DequantizeLinear") return dequantize(node);
    if (node.op == "Gemm") return gemm(node);
    if (node.op == "MatMul") return matmul(node);
    if (node.op == "Conv") {
      return onnx::conv(node, in(node, 0), in(node, 1),
                        node.inputs.size() > 2 ? &in(node, 2) : nullptr);
    }
    if (node.op == "ConvTranspose") {
      return onnx::conv_transpose(node, in(node, 0), in(node, 1),
                                  node.inputs.size() > 2 ? &in(node, 2) : nullptr);
    }
    if (node.op == "Transpose") return onnx::transpose(node, in(node, 0));
    if (node.op == "MaxPool" || node.op == "AveragePool") {
      return onnx::pool(node, in(node, 0));
    }
    if (node.op == "Pad") return pad(node);
    if (node.op == "Sign") {
      return map(node, [](double a, double) { return a > 0 ? 1.0 : a < 0 ? -1.0 : 0.0; });
    }
    if (node.op == "Softmax") return softmax(node);
    if (node.op == "Reshape") return reshape(node);
    if (node.op == "Gather") return gather(node);
    if (node.op == "ArgMax") return arg_max(node);
    if (node.op == "Resize") return onnx::resize(node, in(node, 0), in(node, 2).values);
    if (node.op == "HardSigmoid") return hard_sigmoid(node);
    if (node.op == "Identity") return in(node, 0);
    if (node.op == "Round") return map(node, [](double a, double) { return std::nearbyint(a); });
    if (node.op == "ReduceSum") return reduce_sum(node);
    if (node.op == "ReduceMean") return reduce_mean(node);
    if (node.op == "BitShift") return onnx::shifted_right(node, in(node, 0), in(node, 1));
    if (node.op == "BitwiseAnd") return onnx::common_bits(in(node, 0), in(node, 1));
    if (node.op == "Slice") {
      if (node.inputs.size() == 3) {
        return onnx::slice(in(node, 0), in(node, 1).values, in(node, 2).values);
      }
      return onnx::slice(in(node, 0), in(node, 1).values, in(node, 2).values, in(node, 3).values,
                         in(node, 4).values);
    }
    if (node.op == "Mul") return map(node, [](double a, double b) { return a * b; });
    if (node.op == "PRelu") return map(node, [](double a, double b) { return a < 0 ? a * b : a; });
    if (node.op == "Add") return map(node, [](double a, double b) { return a + b; });
    if (node.op == "Div") return divide(node);
    if (node.op == "Concat") return concat(node);
    if (node.op == "Sub") return map(node, [](double a, double b) { return a - b; });
    if (node.op == "Max") return map(node, [](double a, double b) { return std::max(a, b); });
    if (node.op == "Min") return map(node, [](double a, double b) { return std::min(a, b); });
    if (node.op == "Elu")
      return map(node, [](double a, double) { return a < 0 ? std::expm1(a) : a; });
    if (node.op == "Erf") return map(node, [](double a, double) { return std::erf(a); });
    if (node.op == "Relu") return map(node, [](double a, double) { return std::max(a, 0.0); });
    if (node.op == "Exp") return map(node, [](double a, double) { return std::exp(a); });
    if (node.op == "Log") return map(node, [](double a, double) { return std::log(a); });
    if (node.op == "Sqrt") return map(node, [](double a, double) { return std::sqrt(a); });
    if (node.op == "Reciprocal") return map(node, [](double a, double) { return 1.0 / a; });
    if (node.op == "Tanh") return map(node, [](double a, double) { return std::tanh(a); });
    if (node.op == "Sigmoid") {
      return map(node, [](double a, double) { return 1.0 / (1.0 + std::exp(-a)); });
    }
    if (node.op == "Clip") {
      const double lo = in(node, 1).values.at(0);
      const double hi = in(node, 2).values.at(0);
      return map(node, [&](double a, double) { return std::clamp(a, lo, hi); });
    }
    if (node.op == "Cast") {
      OnnxTensor y = in(node, 0);
      y.type = static_cast<OnnxElement>(node.attributes.at("to"));
      if (y.type == OnnxElement::float32) return y;
      for (double& value : y.values) value = std::trunc(value);
      return y;
    }
    throw std::runtime_error("an operator that no writer of ours writes: " + node.op);
  }

  const OnnxFile& file_;
  std::map<std::string, OnnxTensor> values_;
};

/// Codes of int8 in a file that may write them as uint8, 128 higher, and back.
inline OnnxTensor code_input(const OnnxFile& file, std::span<const std::int32_t> shape,
                             std::span<const std::int8_t> codes) {
  const OnnxElement type = file.inputs.at(0).type;
  OnnxTensor input{type, {shape.begin(), shape.end()}, {codes.begin(), codes.end()}};
  if (type == OnnxElement::uint8) {
    for (double& code : input.values) code += 128.0;
  } else if (type != OnnxElement::int8) {
    throw std::runtime_error(file.inputs[0].name + " takes no codes");
  }
  return input;
}

inline std::vector<double> int8_codes(OnnxTensor codes) {
  if (codes.type == OnnxElement::uint8) {
    for (double& code : codes.values) code -= 128.0;
  }
  return codes.values;
}

/// The codes of `output`, as int8, in the file of a model that has one input of codes `x`.
inline std::vector<double> onnx_codes(const IntegerModel& model, const OnnxOptions& options,
                                      std::span<const std::int8_t> x,
                                      const std::string& output = "y") {
  const OnnxFile file(to_onnx(model, options));
  OnnxEvaluator onnx(file);
  onnx.run(code_input(file, model.tensors[static_cast<std::size_t>(model.inputs[0])].shape, x));
  return int8_codes(onnx.value(output));
}

}  // namespace octet::test
