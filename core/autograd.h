#pragma once

#include <octet/core/tensor.h>

#include <functional>
#include <string_view>
#include <utility>
#include <vector>

namespace octet {

/// Given the gradient of the loss with respect to an op's result, returns one gradient per input,
/// each of its input's shape; undefined where the input needs none.
using BackwardFn = std::function<std::vector<Tensor>(const Tensor& grad_output)>;

/// While one is alive, ops on this thread record nothing.
class NoGrad {
 public:
  NoGrad();
  ~NoGrad();
  NoGrad(const NoGrad&) = delete;
  NoGrad& operator=(const NoGrad&) = delete;

 private:
  bool previous_;
};

/// Calls `body` with the tape off.
template <class Body>
decltype(auto) no_grad(Body&& body) {
  const NoGrad guard;
  return std::forward<Body>(body)();
}

/// The values that a backward function reads again: backward() throws InvalidArgument, naming the
/// op, where they were written to after the op had run.
enum class BackwardReads { nothing, inputs, result, inputs_and_result };

/// Whether an op on these inputs has to record its gradient.
bool records_gradient(const std::vector<Tensor>& inputs);

/// Puts `result`, computed from `inputs`, on the tape where one of them wants a gradient, and
/// returns it. Every op of Octet is made with this, and so is a user's own:
///
///     Tensor cube(const Tensor& x) {
///       Tensor y = no_grad([&] { return x * x * x; });
///       return record("cube", y, {x}, [x](const Tensor& g) {
///         return std::vector<Tensor>{g * (3.0F * square(x))};
///       });
///     }
///
/// `backward` runs with the tape off. `result` must not itself be on the tape. A backward function
/// that needs the result captures `result.detach()`: holding the result itself would be a cycle
/// that is never freed. `reads` says which values it reads; the gradient of a sum, for example,
/// reads neither, so that `BackwardReads::nothing` lets the program go on writing to its inputs.
Tensor record(std::string_view operation, Tensor result, std::vector<Tensor> inputs,
              BackwardFn backward, BackwardReads reads = BackwardReads::inputs);

}  // namespace octet
