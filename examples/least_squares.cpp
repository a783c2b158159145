// Fits a linear classifier of digits in closed form with Eigen, quantizes it after training and
// ships the integers. Needs octet::eigen.
#include <fmt/core.h>
#include <octet/core/eigen.h>
#include <octet/octet.h>

#include <Eigen/Cholesky>

namespace {

/// A row per example: its features, and a 1 for the bias.
octet::Matrix with_ones(const octet::Tensor& features) {
  octet::Matrix x(features.dim(0), features.dim(1) + 1);
  x << octet::as_matrix(features), Eigen::VectorXf::Ones(features.dim(0));
  return x;
}

/// A row per example: 1 at its class, else 0.
octet::Matrix one_hot(std::span<const std::int32_t> labels, int classes) {
  octet::Matrix y = octet::Matrix::Zero(static_cast<Eigen::Index>(labels.size()), classes);
  for (std::size_t i = 0; i < labels.size(); ++i) y(static_cast<Eigen::Index>(i), labels[i]) = 1.0F;
  return y;
}

}  // namespace

int main() {
  using namespace octet;
  const DataSplit data = make_digits(/*seed=*/0, /*train_count=*/4000, /*test_count=*/1000);
  const Tensor features = data.train.features(0, data.train.size()).reshape({-1, 784});

  // Ridge regression: the weights that solve (X^T X + r I) W = X^T Y.
  const Matrix x = with_ones(features);
  Eigen::MatrixXf gram = x.transpose() * x;
  gram.diagonal().array() += 10.0F;
  const Matrix y = one_hot(data.train.labels(), data.train.classes());
  const Matrix weights = gram.llt().solve(x.transpose() * y);

  Sequential model("least_squares", Input({784}), Dense(10, Activation::none, "linear"));
  model.build();
  for (auto& [name, tensor] : model.parameters()) {
    // The maps write to the model's own tensors.
    if (tensor.rank() == 2) as_mutable_matrix(tensor) = weights.topRows(784);
    if (tensor.rank() == 1) as_mutable_vector(tensor) = weights.row(784);
  }

  Sequential quantized = quantize_model(model);
  calibrate(quantized, features);
  const IntegerModel integers = lower(quantized);
  const double in_float = evaluate(model, data.test).accuracy;
  const double in_integers = evaluate(integers, data.test).accuracy;
  fmt::print("test accuracy: float {:.1f} %, integers {:.1f} %\n", 100.0 * in_float,
             100.0 * in_integers);
  write_tflite(integers, "least_squares_int8.tflite");
  return in_float > 0.7 && in_integers > in_float - 0.02 ? 0 : 1;
}
