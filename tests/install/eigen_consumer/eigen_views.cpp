#include <octet/core/eigen.h>

// Views of tensors from the installed package.

int main() {
  octet::Tensor x(octet::Shape{2, 2});
  octet::as_mutable_matrix(x) << 1.0F, 2.0F, 3.0F, 4.0F;
  const octet::Tensor product = octet::from_eigen(octet::as_matrix(x) * octet::as_matrix(x));
  return product.data()[3] == 22.0F ? 0 : 1;
}
