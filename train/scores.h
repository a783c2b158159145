#pragma once

#include <octet/core/tensor.h>
#include <octet/train/data/targets.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// Numbers that tell how good outputs are on a whole data set. None is a mean over rows, so that
// they are no Metric: that is measured piece by piece.

namespace octet {

/// [label][predicted class]: how many rows of a label were said to be of a class.
using ConfusionMatrix = std::vector<std::vector<std::uint64_t>>;

/// The most classes of a confusion matrix, which takes 128 MiB then.
inline constexpr int kMostConfusedClasses = 4096;

/// Counts rows. Throws InvalidArgument for lists of unlike lengths, numbers outside [0, classes)
/// and more classes than kMostConfusedClasses.
ConfusionMatrix confusion_matrix(std::span<const std::int32_t> predictions,
                                 std::span<const std::int32_t> labels, int classes);

/// tp / (tp + fp) of a class: the share of what is said to be of it that is. 0 of none.
double precision_of(const ConfusionMatrix& counts, std::size_t label);
/// tp / (tp + fn) of a class: the share of it that is found. 0 of none.
double recall_of(const ConfusionMatrix& counts, std::size_t label);
/// 2 tp / (2 tp + fp + fn) of a class, the harmonic mean of precision and recall: the Dice
/// coefficient of its pixels. 0 of none.
double f1_of(const ConfusionMatrix& counts, std::size_t label);
/// tp / (tp + fp + fn) of a class: intersection over union. 0 of none.
double iou_of(const ConfusionMatrix& counts, std::size_t label);

/// The share of rows [n, classes] whose label is among the k largest outputs; of equal ones the
/// first count as larger. Throws InvalidArgument for k below 1 and other shapes.
double top_k_accuracy(const Tensor& outputs, std::span<const std::int32_t> labels, int k);

/// The area under the ROC curve: the probability that an example of label 1 has a larger score than
/// one of label 0, where equal ones count half (Hanley and McNeil, Radiology 1982). Throws
/// InvalidArgument for lists of unlike lengths, other labels, NaN, and where a label has no
/// example.
double roc_auc(std::span<const float> scores, std::span<const std::int32_t> labels);

/// The mean of (output - target)^2 over the values of each example: where a model gives back its
/// input, the score that tells anomalies, which it gives back worse. Throws InvalidArgument for no
/// examples, and for tensors of other sizes or numbers of rows.
std::vector<float> reconstruction_errors(const Tensor& outputs, const Tensor& targets);

/// The mean of |output - target|, and 1 - sum (output - target)^2 / sum (target - mean(target))^2:
/// 1 where all are met, 0 for the mean of the targets. R2 of constant targets is 1 where all are
/// met, else 0. Throw InvalidArgument for no values and lists of unlike lengths.
double mean_absolute_error_of(std::span<const float> outputs, std::span<const float> targets);
double r2_of(std::span<const float> outputs, std::span<const float> targets);

/// The names that score() knows, top_K for any K.
std::vector<std::string_view> score_names();

/// A number by its name, of outputs [n, ...] and the targets of the same rows:
///
/// - `accuracy`, `top_K`; `precision`, `recall`, `f1`, `iou` and `dice`, which are means over the
///   classes that have examples. Targets are labels, or tensors whose last axis has a value for
///   each class, from 0 to 1, each place of which is a row; with one value 1 stands for class 1.
///   One output says class 1 above `threshold`;
/// - `roc_auc`: of one output or two that of class 1, of more classes the mean over the classes of
///   each against all others;
/// - `mean_absolute_error` and `r2`: targets are tensors.
///
/// Throws InvalidArgument for another name, and for targets that do not go with it.
double score(std::string_view name, const Tensor& outputs, const Targets& targets,
             float threshold = 0.5F);

}  // namespace octet
