#pragma once

#include <octet/train/data/dataset.h>

#include <cstdint>
#include <string>
#include <vector>

namespace octet {

/// What examples belong to, one number for each: a recording, a person. Empty: each to itself.
using Groups = std::vector<std::uint32_t>;

/// Divides the examples into a training part, which gets `share` of the examples of each class, and
/// a test part. Examples of one group stay together, so that the share is met as well as the groups
/// allow; which go where, `seed` draws. Both parts keep the order of the examples. Throws
/// InvalidArgument for a share outside (0, 1), a number of groups other than that of examples, and
/// a class of which one part would have no example, by its name.
DataSplit split_data(const Dataset& data, double share, const Groups& groups = {},
                     std::uint64_t seed = 0);

}  // namespace octet
