#pragma once

#include <octet/layers/activation_function.h>
#include <octet/layers/model.h>
#include <octet/train/data/dataset.h>

#include <optional>
#include <string>
#include <utility>

#include "options.h"

namespace octet::application {

/// The task that the targets of an output are of, by their kind, shape and values.
Task task_of(const Targets& targets);
/// The task of examples, which is reconstruction where their targets are what they are. None where
/// they have several outputs. Of a set that is read the first hundred decide.
std::optional<Task> task_of(const Dataset& data);

/// The task in words: the given one, else that of the data, with a hint at an option where targets
/// may as well be meant for another.
std::string task_text(const Dataset& data, std::optional<Task> given);

/// The examples with class labels, of at least `classes` classes, where their targets are a whole
/// number each or rows with a single 1; others as they are.
Dataset classifying(const Dataset& data, int classes = 0);

/// The examples with targets for an output of places [..., classes]: rows of 0 and 1 where targets
/// are the number of a class for each place; others as they are, but for axes of one place. Throws
/// FormatError for numbers of no class.
Dataset with_classes_of_places(const Dataset& data, const Shape& output);

/// The examples with themselves as targets, each of shape `target`. Throws InvalidArgument for
/// another number of values, several inputs, and a set with a reader.
Dataset reconstructing(const Dataset& data, const Shape& target);

/// The data with the targets of Options::task, and those of places for a FILE. Those of a
/// reconstruction are the examples themselves: rows of numbers for a network by name, of the shape
/// of its output for a FILE. Throws command_line::UsageError where the task needs other targets
/// than the data have.
DataSplit with_task(DataSplit data, const Options& options);

/// How many outputs a network for such targets has, and what they end in. Without a task it is that
/// of the targets. Throws
/// command_line::UsageError for several outputs and targets of places, which no network by name
/// has.
std::pair<Index, Activation> network_end(const Dataset& data, std::optional<Task> task);

}  // namespace octet::application
