#pragma once

#include <octet/import/weights/weight_file.h>
#include <octet/layers/model.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace octet {

/// Whose names and layouts the tensors of a file have.
enum class WeightNames {
  octet,   ///< "dense/kernel", as Model::parameters() and state()
  keras,   ///< "dense/kernel:0", "batch_normalization/moving_mean:0"
  pytorch  ///< "fc1.weight", "bn1.running_mean"; other layouts, see load_weights()
};

/// How load_weights() finds a model's tensors in a file.
struct WeightRules {
  WeightNames names = WeightNames::octet;
  /// A layer's name in the file, and in the model: {{"fc1", "dense"}}. A layer that is not listed
  /// has the same name in both.
  std::map<std::string, std::string> layers{};
  /// Tensors of the file that no layer takes are left out, otherwise an error.
  bool allow_unused = false;
  /// Tensors of the model that the file does not have keep their values, otherwise an error.
  bool allow_missing = false;
  /// pytorch: what stands behind a flattened image counts its values channels first.
  bool flatten_channels_first = true;
};

/// What load_weights() has done.
struct LoadedWeights {
  /// The tensors of the model that got values of the file: "dense/kernel".
  std::vector<std::string> loaded;
  /// The tensors of the model that the file does not have, and that keep their values.
  std::vector<std::string> missing;
  /// The names of tensors of the file that no layer takes.
  std::vector<std::string> unused;
};

/// Gives a built model the parameters and the state (moving statistics) that a `.safetensors` or
/// `.npz` file holds, which its first bytes tell. A name is that of a layer and that of its tensor,
/// parted by the last '/', or the last '.' for pytorch:
///
///     model's tensor    keras                              pytorch
///     kernel            kernel, depthwise_kernel           weight
///     bias              bias                               bias
///     gamma, beta       gamma, beta                        weight, bias of a batch normalization
///     moving_mean       moving_mean                        running_mean
///     moving_variance   moving_variance                    running_var
///
/// ":0" at the end of a Keras name is left out. pytorch: the names before the '.' with a
/// running_mean or a weight of one axis are batch normalizations, num_batches_tracked is ignored,
/// and kernels are transposed:
///
///     Dense             weight [units, inputs]                 to [inputs, units]
///     Conv1D            weight [filters, channels / groups, k] to [k, channels / groups, filters]
///     DepthwiseConv1D   weight [channels * multiplier, 1, k]   to [k, channels, multiplier]
///     Conv2D            weight [filters, channels / groups, h, w]
///                           to [h, w, channels / groups, filters]
///     DepthwiseConv2D   weight [channels * multiplier, 1, h, w]
///                           to [h, w, channels, multiplier]
///     TransposedConv2D  weight [channels, filters, h, w]       to [h, w, filters, channels]
///
/// A Dense or a BatchNorm behind a flattened image, with layers in between that keep the order of
/// values, takes its rows from the order channels, height, width to ours, height, width, channels.
/// An epsilon is in no file: give BatchNorm PyTorch's, {.epsilon = 1e-5F}.
///
/// Every tensor of the model has to be in the file and every tensor of the file in the model, with
/// the right shape, and the model is changed only where all of that holds. Throws FormatError that
/// lists what does not match, with both shapes, and where layers have other names suggests
/// `layers`; InvalidArgument for a model that is not built, a quantized one under keras and
/// pytorch, and a map that names what is not there; and as read_weight_file(). Logs a warning where
/// both allowances let a file pass of which the model takes nothing.
LoadedWeights load_weights(Model& model, const std::filesystem::path& path,
                           const WeightRules& rules = {});

/// Writes parameters and state of a built model as a `.safetensors` file, under the names and in
/// the layouts from which load_weights() reads them with the same rules; the allowances do not
/// count. For PyTorch: `safetensors.torch.load_file()`. Throws InvalidArgument where load_weights()
/// does and where two tensors would have one name; IoError.
void save_weights(const Model& model, const std::filesystem::path& path,
                  const WeightRules& rules = {});

}  // namespace octet
