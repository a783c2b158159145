#include <octet/train/distributed/messages.h>
#include <octet/train/evaluate_internal.h>
#include <octet/train/outputs.h>

#include <cstddef>

namespace octet {

std::vector<Tensor> outputs_on(Interpreter& interpreter, const Dataset& data, ProcessGroup* group) {
  detail::check_not_empty("outputs_on", data);
  ProcessGroup& ranks = group_or_alone(group);
  const IntegerModel& model = interpreter.model();
  std::vector<std::vector<float>> own(model.outputs.size());
  detail::each_own_piece(data, ranks, [&](std::size_t begin, std::size_t end) {
    const std::vector<Tensor> outputs = detail::real_outputs(interpreter, data.batch(begin, end));
    for (std::size_t k = 0; k < own.size(); ++k) {
      own[k].insert(own[k].end(), outputs[k].span().begin(), outputs[k].span().end());
    }
  });
  std::vector<Tensor> result;
  for (std::size_t k = 0; k < own.size(); ++k) {
    const ModelTensor& output = model.tensors[static_cast<std::size_t>(model.outputs[k])];
    result.push_back(
        Tensor::from(output.example_shape().with_batch(static_cast<Index>(data.size())),
                     gather_values(ranks, own[k])));
  }
  return result;
}

}  // namespace octet
