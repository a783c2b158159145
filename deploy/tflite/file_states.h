#pragma once

#include <octet/deploy/tflite/writer.h>

#include <cstdint>
#include <set>
#include <vector>

namespace octet::detail {

/// Metadata of files whose variable tensors begin at 0 in each call: of a whole sequence, whose
/// states are constants of 0 in the model.
inline constexpr const char* kStatesOfOneCall = "octet.states_of_one_call";

/// The states of a model that is being written which are no inputs and outputs of the file.
struct FileStates {
  /// A resource variable: the tensors that it is read into and assigned from.
  struct Resource {
    std::int32_t read = 0;
    std::int32_t assigned = 0;
  };
  std::vector<Resource> resources{};
  /// Variable tensors.
  std::set<std::int32_t> changed{};
};

/// Whether a file of the model has such states: take_states() has something to do.
bool has_file_states(const IntegerModel& model, TfliteStates form);

/// Takes states from the inputs and the outputs of a model that has some: those of operators that
/// change variable tensors, which then lack the outputs for them, and in form `variables` all
/// others. The model is no valid one afterwards. Throws InvalidArgument as to_tflite().
FileStates take_states(IntegerModel& model, TfliteStates form);

}  // namespace octet::detail
