#pragma once

#include <octet/deploy/tflite/budget.h>
#include <octet/deploy/tflite/reader.h>

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

// A part of a graph, between values that become the ends of a model; and the ends that leave out
// what is refused.

namespace octet::tflite {
struct Model;
struct SubGraph;
}  // namespace octet::tflite

namespace octet::detail {

/// A part of a graph, by the indices that the graph has.
struct Cut {
  std::vector<std::int32_t> inputs;
  std::vector<std::int32_t> outputs;
  /// Whether an operator, a tensor is a part of it.
  std::vector<bool> operators;
  std::vector<bool> tensors;
};

/// What `reading` asks for of `graph`. Throws FormatError where a name is that of no value, or
/// where what is asked for reads an input that is not named in `from`.
Cut cut_of(const tflite::SubGraph& graph, const TfliteReading& reading, Budget& budget);

/// An operator of a graph as the tensors that it reads and writes.
struct Link {
  std::vector<std::int32_t> inputs;
  std::vector<std::int32_t> outputs;
  bool is_refused = false;
};

/// The values, at most four, that follow from `inputs` without an operator that is refused, and
/// that the outputs of the graph or other operators read; none where there are more.
std::vector<std::int32_t> ends_in_front_of(std::span<const Link> links,
                                           std::span<const std::int32_t> inputs,
                                           std::span<const std::int32_t> outputs,
                                           const std::set<std::int32_t>& constants);

/// "; --to 'a' --to 'b' takes the operators in front of them".
std::string proposal(std::span<const std::string> ends);

/// The names of the values in front of the operators that from_tflite() refuses, those of a file of
/// one graph; none where there are no such. Whether these can be read was not tried.
std::vector<std::string> readable_ends(const tflite::Model& file, std::size_t file_bytes);
std::vector<std::string> readable_ends(std::span<const std::uint8_t> bytes);

/// Reads as from_tflite() does, whose errors propose no ends.
IntegerModel read_part(std::span<const std::uint8_t> bytes, const TfliteReading& reading);

}  // namespace octet::detail
