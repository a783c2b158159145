#pragma once

#include <octet/report/report.h>
#include <octet/train/data/dataset.h>

#include <cstddef>

// How examples look on a page.

namespace octet::detail {

/// The first input of a test example, drawn by what its shape and its data say it is:
///
/// - features of a front end, [frames, ...]: a map, time to the right, the first feature at the
///   bottom;
/// - [height, width, 1 or 3], bytes [height, width] or more than 16 columns of numbers: a picture,
///   values from 0 to 1 as they are, all others stretched from the least to the largest;
/// - other numbers [steps, channels], and [steps]: a line for each channel. Where an example has
///   more points than a page has room for, each two stand for a stretch of steps: its least and its
///   largest value;
/// - others: nothing, as for values that are not finite.
///
/// Pictures of more than 96 pixels along a side are made smaller. Throws InvalidArgument for an
/// example outside of the set.
ExampleView view_of(const Dataset& test, std::size_t example);

}  // namespace octet::detail
