#pragma once

#include <octet/core/function_ref.h>
#include <octet/core/shape.h>
#include <octet/core/tensor.h>
#include <octet/train/data/targets.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace octet {

struct DataDescription;

/// Features [n, example_shape...] and their n targets.
struct Batch {
  Tensor features;
  Targets targets;
  /// With several inputs, the features of those behind the first, and likewise the targets.
  std::vector<Tensor> more_features{};
  std::vector<Targets> more_targets{};
  /// See Dataset::with_sample_weights(); empty where all examples weigh 1.
  std::vector<float> weights{};

  /// A tensor for each input of a model.
  std::vector<Tensor> inputs() const;
  /// The targets of each output of a model.
  std::vector<Targets> all_targets() const;
};

/// Reads examples on demand, for example from a file that does not fit memory. Training requests
/// the batches of an epoch in shuffled order, on a thread that reads ahead; evaluation requests
/// rows in ascending order. Calls come one at a time, from any thread. A row must not depend on
/// when it is read: results are then the same on any number of threads.
class DatasetReader {
 public:
  virtual ~DatasetReader() = default;

  /// The number of examples, and the shape of one.
  virtual std::size_t size() const = 0;
  virtual Shape example_shape() const = 0;
  /// Labels are in [0, classes()); 0 where targets are tensors of target_shape().
  virtual int classes() const = 0;
  virtual Shape target_shape() const { return {1}; }
  /// All labels, of a reader that knows them before any example is read; they may not change. Where
  /// empty, they come with read() alone.
  virtual std::span<const std::int32_t> labels() const { return {}; }
  /// A text that changes when the examples change, e.g. a file's name, size and time: by it a
  /// resumed TrainingRun tells whether its data have changed. Where it is empty and labels() is
  /// not, the run reads all examples to tell.
  virtual std::string identity() const { return ""; }
  /// Features [rows.size(), example_shape...] and targets of the examples at `rows`, each below
  /// size(), for a model of one input and one output, without weights. Exceptions reach the caller
  /// of Trainer::fit() or of evaluate().
  virtual Batch read(std::span<const std::uint32_t> rows) = 0;
};

/// Examples, each with a class label or with a tensor as its target. Features are kept as bytes, as
/// in image files, and converted to floats a batch at a time, when they are read as floats: x =
/// byte / 255. Features that are not bytes are kept as floats.
class Dataset {
 public:
  Dataset() = default;

  /// A data set of bytes: `pixels` holds labels.size() examples of `example_shape`, row-major; x =
  /// pixel / 255. Throws InvalidArgument where sizes disagree or a label is outside [0, classes).
  static Dataset from_bytes(std::string name, Shape example_shape, std::vector<std::uint8_t> pixels,
                            std::vector<std::int32_t> labels, int classes);

  /// A data set of floats, which are used as they are: labels.size() examples of `example_shape`,
  /// row-major. Throws InvalidArgument as from_bytes().
  static Dataset from_floats(std::string name, Shape example_shape, std::vector<float> values,
                             std::vector<std::int32_t> labels, int classes);

  /// A data set of features [n, ...] with targets [n, ...], e.g. [n, 1] for one number per example:
  /// regression, several labels at once as 0 and 1, or distributions over classes. Both are copied.
  /// Throws InvalidArgument unless both have n rows of at least one value.
  static Dataset from_tensors(std::string name, const Tensor& features, const Tensor& targets);

  /// Features for each input of a model and targets for each of its outputs, in their order: class
  /// labels, as many classes as the largest of them plus 1, or tensors as above.
  ///
  ///     const Dataset pairs = Dataset::from_tensors("pairs", {images, angles}, {labels,
  ///     distances});
  ///
  /// All are copied. What this class says of features, targets, labels and classes applies to the
  /// first ones; batch() holds all. Throws InvalidArgument if there are no features or no
  /// targets, for other numbers of rows, and for labels below 0.
  static Dataset from_tensors(std::string name, const std::vector<Tensor>& features,
                              const std::vector<Targets>& targets);

  /// A data set whose examples `reader` reads on demand; nothing is kept. Throws InvalidArgument
  /// for a null reader and for sizes and shapes that make no sense.
  static Dataset from_reader(std::string name, std::shared_ptr<DatasetReader> reader);

  /// Returns the examples with these targets, [size(), ...], instead of all their own: images with
  /// several labels at once, say. Throws InvalidArgument for another number of rows, and for a set
  /// with a reader.
  Dataset with_targets(const Tensor& targets) const;

  /// Returns the examples with these labels, in [0, classes), instead of all their own targets.
  /// Throws InvalidArgument as from_bytes(), and for a set with a reader.
  Dataset with_labels(Labels labels, int classes) const;

  /// Returns the examples with the features, of any shape, of another set of as many, and its front
  /// end, in place of their own; and without their description() where the shape is another. Throws
  /// InvalidArgument for another number of examples, for several inputs, and where only one of the
  /// sets has a reader.
  Dataset with_features(Dataset features) const;

  const std::string& name() const { return name_; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const Shape& example_shape() const { return example_shape_; }

  /// Whether the targets of an output are class labels; else they are tensors, those of the first
  /// of target_shape(). `output` must be below outputs().
  bool has_labels(std::size_t output = 0) const {
    return output == 0 ? !target_shape_ : more_targets_[output - 1].are_labels();
  }
  /// Labels are in [0, classes()); 0 where the targets are tensors.
  int classes() const { return classes_; }
  /// Returns the examples with names for the classes, in the order of labels, for reports. Throws
  /// InvalidArgument unless there is one name for each class.
  Dataset with_class_names(std::vector<std::string> names) const&;
  Dataset with_class_names(std::vector<std::string> names) &&;
  /// Empty where no names were given.
  const std::vector<std::string>& class_names() const { return class_names_; }
  /// Returns the examples with a weight each: training multiplies what an example adds to the
  /// gradient of the loss by it, on average by 1 where rates and schedules are to stay. Losses that
  /// are printed, metrics and evaluation do not weigh. A weight stays with its row: an augmentation
  /// that mixes examples leaves it as it is. Throws InvalidArgument for another number of weights,
  /// one that is negative or not finite, none above 0, and for a set with a reader.
  Dataset with_sample_weights(std::vector<float> weights) const&;
  Dataset with_sample_weights(std::vector<float> weights) &&;
  /// Empty where all examples weigh 1.
  std::span<const float> sample_weights() const { return sample_weights_; }
  /// Returns the examples with what reports call each: the file that it is of, or its place in one.
  /// `names` gives the name of a row, on any thread; sets that are made of this one keep the names.
  Dataset with_example_names(std::function<std::string(std::size_t row)> names) &&;
  /// "example ROW" where no names were given. Throws InvalidArgument for a row outside the set.
  std::string example_name(std::size_t row) const;
  /// The examples with the description of the front end that has made them of sounds
  /// (LogMel::description()), which models that are trained on them carry.
  Dataset with_front_end(std::string description) &&;
  /// Empty where there is none.
  const std::string& front_end() const { return front_end_; }
  /// The examples with the signals [samples, axes] that their features were made of, in the same
  /// order: LoaderOptions::augments_signals. Throws InvalidArgument for another number of them.
  Dataset with_signals(Dataset signals) &&;
  /// Null where they were not kept; DataOptions::keep_signals keeps them.
  const Dataset* signals() const { return signals_.get(); }
  /// The examples with a description of how files became them.
  Dataset with_description(std::shared_ptr<const DataDescription> description) &&;
  /// Null where none was given; load_data() gives one to training examples.
  const std::shared_ptr<const DataDescription>& description() const { return description_; }
  /// All labels. Throws InvalidArgument if the targets are tensors, and where labels_are_read().
  std::span<const std::int32_t> labels() const;
  /// Whether targets come from a reader, and only with the examples: DatasetReader::labels().
  bool labels_are_read() const { return is_read() && labels_.empty(); }
  /// The shape of one example's target. Throws InvalidArgument where targets are labels.
  const Shape& target_shape() const;

  /// The raw bytes; empty for a set made from floats and for one with a reader.
  std::span<const std::uint8_t> bytes() const { return bytes_; }

  /// The examples at `rows`, as floats [rows.size(), example_shape...]. Throws InvalidArgument for
  /// a row outside the set.
  Tensor features(std::span<const std::uint32_t> rows) const;
  /// Examples [begin, end) as floats. Throws InvalidArgument unless begin <= end <= size().
  Tensor features(std::size_t begin, std::size_t end) const;

  /// The targets at `rows`, and of examples [begin, end). Throw InvalidArgument as features().
  Targets targets(std::span<const std::uint32_t> rows) const;
  Targets targets(std::size_t begin, std::size_t end) const;

  /// How many inputs an example has features for, and how many outputs it has targets for.
  std::size_t inputs() const { return 1 + more_features_.size(); }
  std::size_t outputs() const { return 1 + more_targets_.size(); }

  /// Features and targets together: for a set with a reader, half the work of reading each.
  Batch batch(std::span<const std::uint32_t> rows) const;
  Batch batch(std::size_t begin, std::size_t end) const;
  /// batch() with signals() in place of the features. Throws InvalidArgument where there are none.
  Batch signal_batch(std::span<const std::uint32_t> rows) const;

  /// Whether the examples come from a DatasetReader.
  bool is_read() const { return reader_ != nullptr; }
  /// DatasetReader::identity(), with a hash of the rows where they are not all of the reader's; ""
  /// of a set in memory.
  std::string identity() const;

  /// The first `count` examples (all where there are fewer).
  Dataset head(std::size_t count) const;
  /// Examples [begin, end). Throws InvalidArgument unless begin <= end <= size().
  Dataset slice(std::size_t begin, std::size_t end) const;
  /// The examples at `rows`, in this order. Throws InvalidArgument for a row outside the set.
  Dataset subset(std::span<const std::uint32_t> rows) const;

 private:
  /// A reader and the lock that lets one thread at a time call it.
  struct SharedReader;

  Dataset(std::string name, Shape example_shape, std::size_t size, std::size_t values);

  void set_labels(std::vector<std::int32_t> labels, int classes);
  /// A copy, whose targets are to be set.
  Dataset for_other_targets() const;
  void set_targets(const Tensor& targets);
  /// Examples row(0) to row(count - 1).
  Tensor gather(std::size_t count, FunctionRef<std::size_t(std::size_t)> row) const;
  void prefetch_row(std::size_t row) const;
  /// The examples row(0) to row(count - 1).
  Dataset select(std::size_t count, FunctionRef<std::size_t(std::size_t)> row) const;
  /// The set, which has no reader, with those examples alone, without signals.
  Dataset select_kept(std::size_t count, FunctionRef<std::size_t(std::size_t)> row) const;
  /// Adds the features and targets behind the first ones, and the weights, for the examples row(0)
  /// to row(count - 1).
  void gather_more(Batch& batch, std::size_t count,
                   FunctionRef<std::size_t(std::size_t)> row) const;
  /// Row i of the result is the target of example row(i).
  Targets gather_targets(std::size_t count, FunctionRef<std::size_t(std::size_t)> row) const;
  void check_labels(std::span<const std::int32_t> labels) const;
  /// Throws InvalidArgument unless targets `number`, from 1, are a label of 0 or more per example.
  void check_own_labels(std::size_t number, const Labels& labels) const;
  void check_rows(std::span<const std::uint32_t> rows) const;
  Batch read(std::span<const std::uint32_t> rows) const;
  /// Has the examples row(0) to row(count - 1) of `from` keep their names in this set.
  void take_names(const Dataset& from, std::size_t count,
                  FunctionRef<std::size_t(std::size_t)> row);
  /// The set, which has a reader, with its rows row(0) to row(count - 1) alone.
  Dataset select_read(std::size_t count, FunctionRef<std::size_t(std::size_t)> row) const;
  void check_range(std::size_t begin, std::size_t end) const;

  std::string name_;
  Shape example_shape_;
  std::size_t example_size_ = 1;
  std::size_t size_ = 0;
  std::vector<std::uint8_t> bytes_;
  std::vector<float> floats_;
  int classes_ = 0;
  std::vector<std::string> class_names_;
  std::string front_end_;
  std::shared_ptr<const Dataset> signals_;
  std::shared_ptr<const DataDescription> description_;
  std::vector<std::int32_t> labels_;
  /// None where the targets are labels.
  std::optional<Shape> target_shape_;
  std::vector<float> targets_;
  std::vector<Tensor> more_features_;
  std::vector<Targets> more_targets_;
  std::vector<float> sample_weights_;
  std::function<std::string(std::size_t row)> example_names_;
  /// The rows that example_names_ knows the examples by; null: those of the set.
  std::shared_ptr<const std::vector<std::uint32_t>> named_rows_;
  /// Stands in for bytes_, floats_ and targets_, and for labels_ where it does not know them all;
  /// null without a reader.
  std::shared_ptr<SharedReader> reader_;
  /// The rows of the reader that are the examples; null: all, as they stand.
  std::shared_ptr<const std::vector<std::uint32_t>> reader_rows_;
};

/// A training set and the test set that goes with it.
struct DataSplit {
  Dataset train;
  Dataset test;
  /// What decides when training ends and which weights are kept, which the test set must not; empty
  /// where there is none.
  Dataset validation{};
  /// What is wrong with each example that load_data() left out: DataOptions::skip_bad.
  std::vector<std::string> skipped{};
  /// Whether these are the parts of the training that DataOptions::trained_split is of.
  bool is_trained_split = false;

  /// The set that each epoch is scored on: the validation set, else the test set.
  const Dataset& scored_in_training() const { return validation.empty() ? test : validation; }
};

}  // namespace octet
