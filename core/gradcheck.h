#pragma once

#include <octet/core/tensor.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace octet {

struct GradcheckOptions {
  /// Half the step of the central difference. Float32 wants it large: rounding costs about
  /// 1e-7 |f| / eps, the curvature eps^2 |f'''| / 6.
  float eps = 1e-2F;
  /// An element passes where |tape - numeric| <= atol + rtol |numeric|.
  double atol = 1e-3;
  double rtol = 1e-2;
  /// Seed of the random weights of the checked sum.
  std::uint64_t seed = 1;
};

struct GradcheckResult {
  bool ok = false;
  /// The worst element: which input, its flat index, both numbers; or why there was none.
  std::string message;
  double worst_error = 0.0;
  explicit operator bool() const { return ok; }
};

/// Compares the tape's gradient of L = sum(w * f(inputs)), w random in [0.5, 1.5) with random
/// signs, with the central difference (L(x + eps) - L(x - eps)) / (2 eps), for every element of
/// every input. f must be smooth within eps of the inputs and give the same result each time. A
/// wrong gradient is a result that is not ok, never an exception: neither one of another shape, nor
/// a wrong number of them, nor a backward function that throws. Exceptions of f pass through.
///
///     const GradcheckResult r = gradcheck([](const auto& in) { return exp(in[0]); }, {x});
///     EXPECT_TRUE(r.ok) << r.message;
GradcheckResult gradcheck(const std::function<Tensor(const std::vector<Tensor>&)>& f,
                          const std::vector<Tensor>& inputs, const GradcheckOptions& options = {});

}  // namespace octet
