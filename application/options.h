#pragma once

#include <octet/compress/layer_flash.h>
#include <octet/core/shape.h>
#include <octet/layers/layer.h>
#include <octet/layers/quantize/quantize_config.h>
#include <octet/train/data/augmentation.h>
#include <octet/train/data/data_options.h>
#include <octet/train/distributed/gradient_format.h>
#include <octet/train/qat_recipe.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace CLI {
class App;
}

namespace octet::application {

/// Activations of so many bits are int16 values.
inline constexpr int kInt16Bits = 16;

/// The network that --hidden describes.
inline constexpr std::string_view kMlp = "mlp";

/// Where a program that does nothing but train says what it takes.
inline constexpr std::string_view kSeeHelp = "--help lists the options";

/// What a model learns to say of an example.
enum class Task {
  classification,  ///< Its class label.
  regression,      ///< Numbers.
  multi_label,     ///< Several labels at once, each 0 or 1.
  segmentation,    ///< Classes of places, 0 or 1 each: targets of rank 2 or more.
  reconstruction   ///< The example itself: how wrong it is tells anomalies.
};

/// What --task takes.
inline constexpr std::array<std::pair<std::string_view, Task>, 5> kTasks = {
    {{"classification", Task::classification},
     {"regression", Task::regression},
     {"multi-label", Task::multi_label},
     {"segmentation", Task::segmentation},
     {"reconstruction", Task::reconstruction}}};
std::string_view to_string(Task task);

/// NAME=LOSS and NAME=WEIGHT of outputs: see losses_of().
struct LossOptions {
  std::vector<std::string> losses;
  std::vector<std::string> weights;
};

/// What the command line asks for.
struct Options {
  /// The float model that training begins with, or in JSON one whose weights are drawn; empty:
  /// `network`, its weights drawn.
  std::string file;
  /// The shape of what the model of `file` gives of an example, once it is read; none where it gets
  /// another last layer.
  std::optional<Shape> file_output;
  std::string data;
  DataOptions data_options;
  /// None: what the targets are.
  std::optional<Task> task;
  /// The classes that a reconstruction learns; empty: those of all training examples.
  std::vector<std::string> normal;
  LossOptions losses;
  std::filesystem::path out = "octet-out";
  int epochs = 5;
  int qat_epochs = 2;
  std::size_t batch = 128;
  float lr = 1e-3F;
  float qat_lr = 1e-4F;
  /// Whether the command line has chosen `qat_lr`: no recipe changes it then.
  bool qat_lr_chosen = false;
  /// Whether the rate falls to `qat_lr` over the epochs in float, along half a cosine, or stays.
  bool rate_falls = false;
  /// Whether the rate falls to 0 over the QAT epochs, along half a cosine, or stays.
  bool qat_rate_falls = true;
  /// Whether --network takes files too, which become `file`: set before options are added.
  bool takes_network_files = false;
  /// "mlp", or the name of one of networks::classifiers().
  std::string network = std::string(kMlp);
  /// Units of the hidden layers of the MLP.
  std::vector<int> hidden = {256, 128};
  bool batch_norm = false;
  /// How quantized training computes gradients.
  Backward backward = Backward::float32;
  /// Decay of the weights: AdamW's instead of Adam, L2 of SGD; 0: none.
  float weight_decay = 0.0F;
  /// Whether SGD with Nesterov's momentum of 0.9 trains, or Adam.
  bool sgd = false;
  /// Whether quantized training moves the statistics of batch normalization after epochs in float.
  bool batch_statistics = false;
  /// Whether mean and deviation of every channel are measured on the training examples, instead of
  /// `mean` and `deviation`.
  bool normalize = false;
  /// Whether FILE gets another last layer, for the classes of the data.
  bool fine_tunes = false;
  float dropout = 0.0F;
  float input_dropout = 0.0F;
  /// The model was trained on (x - mean) / deviation of pixels in [0, 1]; one number, or one for
  /// each channel. Empty: 0 and 1.
  std::vector<float> mean;
  std::vector<float> deviation;
  /// "balanced", or numbers with commas between; empty: all examples weigh alike.
  std::string class_weights;
  /// Epochs in float without a better score after which training ends with the best weights; 0:
  /// all epochs are trained.
  int patience = 0;
  /// Epochs in float without a better score after which the rate falls to a tenth; 0: it does not.
  int plateau = 0;
  /// The decay of an average of the weights in float, which the epochs end with; 0: none.
  float average_weights = 0.0F;
  /// Classes of the new last layer; 0: those of the data.
  int classes = 0;
  /// Beginnings of names of layers that are not trained.
  std::vector<std::string> frozen;
  /// How training examples are changed in every epoch.
  Augmentation augmentation;
  /// Training images are moved by up to so many pixels, see ImageAugmentation.
  int shift = 0;
  std::uint64_t seed = 0;
  /// Shards of a batch, see TrainerOptions::shards. 0: default_shards().
  std::size_t shards = 0;
  /// How gradients of shards are added and sent.
  GradientFormat gradients = GradientFormat::float32;
  /// 0: as many as the machine has.
  int threads = 0;
  /// How the model is quantized.
  QuantizeOptions quantize;
  /// Layers whose weights have other bits than `quantize` says.
  std::vector<LayerBits> layer_bits;
  /// Whether the command line has chosen scales: no recipe changes them then.
  bool scales_chosen = false;
  /// Training examples that ranges are measured on; none: as TrainerOptions::calibration_batches.
  std::optional<std::size_t> calibrate;
  bool tfmot_ranges = false;
  /// Whether a copy of the float network is trained for the same further epochs in float.
  bool control = false;
  /// Whether weights that the target takes no packed form of are refused.
  bool packed = false;
  /// A runtime's name where one is asked for; `quantize.rounding` is then its contract.
  std::string target;
  /// With one of them the bits of every layer are searched for after the epochs in float: for so
  /// many bytes, or for a drop in accuracy of at most so many percentage points.
  std::optional<std::int64_t> flash;
  std::optional<double> max_drop;
  std::filesystem::path checkpoint_dir;
  /// Where the HTML report goes; empty: none is written.
  std::filesystem::path report;
  /// What it calls the classes; empty: by their numbers.
  std::vector<std::string> class_names;
  /// As a shell takes it, for the report.
  std::string command;
  /// What each option that decides the result says, or is without it: see complete().
  std::map<std::string, std::string> by_name;
  std::string log_level = "warn";
  bool resume = false;
  bool no_progress = false;
  bool profile = false;
  bool json = false;
  /// Whether a command that writes a report by default leaves it out.
  bool no_report = false;
  /// Whether this is `octet quantize`, which trains nothing in float.
  bool only_quantizes = false;
};

/// What --augment and --shift say together.
Augmentation all_augmentation(const Options& options);

/// Whether training begins with weights of a file, not with drawn ones.
bool has_trained_weights(const Options& options);

/// Whether the bits of every layer are searched for.
inline bool searches_bits(const Options& options) {
  return options.flash.has_value() || options.max_drop.has_value();
}

/// The fewest bits that options give weights of a layer, a search aside.
int fewest_weight_bits(const Options& options);

/// The name of the network or of the model's file, for titles.
std::string model_name(const Options& options);

/// Completes and checks options that a command line was parsed into: what the network, --target and
/// the bits choose where they are not given. Throws CLI::ValidationError for options that
/// contradict each other.
void complete(const CLI::App& app, Options& options);

/// Takes scales and learning rate that suit the bits of quantized training, where the command line
/// has not chosen them.
void take_recipe(const QatRecipe& recipe, Options& options);

/// What decides how ranges come about, by option, where it is not the default.
std::map<std::string, std::string> range_options(const Options& options);

/// The options that a resumed run must share with the run it continues, by name. Throws IoError
/// where the model's file cannot be read.
std::map<std::string, std::string> defining_options(const Options& options);

/// What decides the result, by the option's name: what has been chosen, and what else the command
/// line or the option's default says. Throws as defining_options().
std::map<std::string, std::string> deciding_options(const Options& options);

/// The options of a command line, or the exit code to end with and what to say before: 0 and help
/// or version, 2 and an error in one line.
struct ParsedOptions {
  std::optional<Options> options;
  int exit_code = 0;
  std::string text{};
};

/// Parses the command line of a program that does nothing but train.
ParsedOptions parse_options(const std::string& program, const std::string& description, int argc,
                            char** argv);

}  // namespace octet::application
