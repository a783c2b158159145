#pragma once

#include <array>
#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

namespace octet::peers {

/// One line of `octet_measure network`: an operation, a normalization and a clamp behind it.
struct NetworkLayer {
  std::string op;
  std::vector<std::size_t> from;
  /// Height, width, channels.
  std::array<std::int64_t, 3> in = {1, 1, 1};
  std::array<std::int64_t, 3> out = {1, 1, 1};
  std::array<std::int64_t, 2> kernel = {1, 1};
  std::array<std::int64_t, 2> stride = {1, 1};
  /// Top, bottom, left, right.
  std::array<std::int64_t, 4> pad = {0, 0, 0, 0};
  bool norm = false;
  bool relu = false;

  bool is_convolution() const { return op == "conv" || op == "depthwise"; }
  bool is_dense() const { return op == "dense"; }
  std::int64_t groups() const { return op == "depthwise" ? in[2] : 1; }
  std::int64_t inputs() const { return in[0] * in[1] * in[2]; }
};

struct NetworkLayers {
  /// 0: trained to give back its input.
  std::int64_t classes = 0;
  /// The first is the input.
  std::vector<NetworkLayer> layers;
};

inline NetworkLayers read_network(const std::string& file) {
  std::ifstream in(file);
  if (!in) throw std::runtime_error("cannot read " + file);
  const auto description = nlohmann::json::parse(in);
  NetworkLayers network{description.at("classes"), {}};
  for (const auto& line : description.at("layers")) {
    NetworkLayer layer{line.at("op"), line.at("from")};
    line.at("out").get_to(layer.out);
    line.at("norm").get_to(layer.norm);
    line.at("relu").get_to(layer.relu);
    if (line.contains("in")) line.at("in").get_to(layer.in);
    if (line.contains("kernel")) {
      line.at("kernel").get_to(layer.kernel);
      line.at("stride").get_to(layer.stride);
      line.at("pad").get_to(layer.pad);
    }
    network.layers.push_back(layer);
  }
  return network;
}

}  // namespace octet::peers
