#include <fmt/core.h>
#include <octet/bench/report/markdown.h>
#include <octet/bench/report/networks.h>
#include <octet/report/charts.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <stdexcept>
#include <utility>

namespace octet::bench {
namespace {

using nlohmann::json;

/// A network and a batch size.
using NetworkBatch = std::pair<std::string, int>;

/// The networks and batch sizes in lines of this kind ("steps", "invokes"), in the order in which
/// they first occur.
std::vector<NetworkBatch> network_batches(const Results& results, const char* what) {
  std::vector<NetworkBatch> found;
  for (const json& line : results.matching({{"what", what}})) {
    NetworkBatch of(line.value("network", ""), line.value("batch", 0));
    if (std::ranges::find(found, of) == found.end()) found.push_back(std::move(of));
  }
  return found;
}

/// Processor seconds of the quickest step, round by round, on one thread.
Rounds quickest_step(const Results& results, const NetworkBatch& of, const char* who,
                     const char* mode, const char* isa = "auto") {
  return results.rounds({{"what", "steps"},
                         {"network", of.first},
                         {"batch", of.second},
                         {"threads", 1},
                         {"who", who},
                         {"mode", mode},
                         {"isa", isa}},
                        "cpu_min");
}

/// Processor seconds of the quickest step of the quicker of both peers, round by round.
Rounds quickest_peer(const Results& results, const NetworkBatch& of, const char* mode) {
  return least(quickest_step(results, of, "torch", mode),
               quickest_step(results, of, "libtorch", mode));
}

/// The median of a / b over rounds.
std::optional<double> middle_ratio(const Rounds& a, const Rounds& b) {
  const auto found = spread(ratios(a, b));
  return found ? std::optional(found->median) : std::nullopt;
}

/// Returns the largest batch of each network, in the order in which networks occur.
std::vector<NetworkBatch> largest_batches(const Results& results) {
  std::vector<NetworkBatch> chosen;
  for (const NetworkBatch& of : network_batches(results, "steps")) {
    const auto found = std::ranges::find(chosen, of.first, &NetworkBatch::first);
    if (found == chosen.end()) {
      chosen.push_back(of);
    } else {
      found->second = std::max(found->second, of.second);
    }
  }
  return chosen;
}

std::vector<double> ratios_of(const Results& results, const NetworkBatch& of) {
  const Rounds qat = quickest_step(results, of, "octet", "qat");
  const Rounds in_float = quickest_step(results, of, "octet", "float");
  std::vector<double> ratios;
  for (const std::optional<double>& ratio :
       {middle_ratio(quickest_peer(results, of, "qat"), qat),
        middle_ratio(quickest_peer(results, of, "float"), in_float), middle_ratio(qat, in_float)}) {
    ratios.push_back(ratio.value_or(std::numeric_limits<double>::quiet_NaN()));
  }
  return ratios;
}

std::optional<double> middle(const Rounds& rounds, double unit) {
  const auto found = spread(rounds);
  return found ? std::optional(found->median * unit) : std::nullopt;
}

/// Wall seconds, which is what threads change; of rounds in which others left the machine to us.
Rounds wall_step(const Results& results, const NetworkBatch& of, int threads) {
  constexpr double kMostOthers = 0.1;
  Rounds rounds;
  for (const json& line : results.matching({{"what", "steps"},
                                            {"network", of.first},
                                            {"batch", of.second},
                                            {"threads", threads},
                                            {"who", "octet"},
                                            {"mode", "qat"},
                                            {"isa", "auto"}})) {
    if (line.value("others", 0.0) > kMostOthers) continue;
    rounds[line.value("round", 0)] = line.at("min").get<double>();
  }
  return rounds;
}

std::string ratios_table(const Results& r) {
  Markdown table({"ratio of steps", "batch", "quantized / float", "the same, AVX2",
                  "peer / ours, quantized", "peer / ours, float", "quantized / floor",
                  "float / floor", "1 thread / 2 threads, quantized"});
  for (const NetworkBatch& of : network_batches(r, "steps")) {
    const auto ours = [&](const char* mode, const char* isa = "auto") {
      return quickest_step(r, of, "octet", mode, isa);
    };
    const Rounds floor = quickest_step(r, of, "floor", "float");
    const auto cell = [](const Rounds& a, const Rounds& b) {
      return number(middle_ratio(a, b), 2);
    };
    table.add({of.first, std::to_string(of.second), cell(ours("qat"), ours("float")),
               cell(ours("qat", "avx2"), ours("float", "avx2")),
               cell(quickest_peer(r, of, "qat"), ours("qat")),
               cell(quickest_peer(r, of, "float"), ours("float")), cell(ours("qat"), floor),
               cell(ours("float"), floor), cell(wall_step(r, of, 1), wall_step(r, of, 2))});
  }
  return table.text();
}

std::string steps_table(const Results& r) {
  Markdown table({"ms a step, 1 thread", "batch", "floor", "PyTorch, float", "PyTorch, quantized",
                  "libtorch, float", "libtorch, quantized", "Octet, float", "Octet, quantized"});
  for (const NetworkBatch& of : network_batches(r, "steps")) {
    std::vector<std::string> cells = {of.first, std::to_string(of.second)};
    cells.push_back(number(middle(quickest_step(r, of, "floor", "float"), 1e3), 2));
    for (const char* who : {"torch", "libtorch", "octet"}) {
      for (const char* mode : {"float", "qat"}) {
        cells.push_back(number(middle(quickest_step(r, of, who, mode), 1e3), 2));
      }
    }
    table.add(cells);
  }
  return table.text();
}

std::string invokes_table(const Results& r) {
  Markdown table({"microseconds, 1 thread", "batch", "Octet", "oneDNN", "XNNPACK",
                  "ONNX Runtime on Node", "ours / quickest peer"});
  for (const NetworkBatch& of : network_batches(r, "invokes")) {
    const auto quickest = [&](const char* who) {
      return r.rounds(
          {{"what", "invokes"}, {"network", of.first}, {"batch", of.second}, {"who", who}},
          "cpu_min");
    };
    const Rounds peers =
        least(least(quickest("onednn"), quickest("xnnpack")), quickest("onnxruntime"));
    std::vector<std::string> cells = {of.first, std::to_string(of.second)};
    for (const char* who : {"octet", "onednn", "xnnpack", "onnxruntime"}) {
      cells.push_back(number(middle(quickest(who), 1.0), 1));
    }
    cells.push_back(number(middle_ratio(quickest("octet"), peers), 2));
    table.add(cells);
  }
  return table.text();
}

std::string growth_of(const Results& r, const std::string& axis) {
  Markdown table({axis, "thousand weights", "float, us an image", "quantized, us an image",
                  "float, MB peak", "quantized, MB peak"});
  std::vector<int> places;
  for (const json& line : r.matching({{"what", "network_growth"}, {"axis", axis}})) {
    const int at = line.at("at").get<int>();
    if (std::ranges::find(places, at) != places.end()) continue;
    places.push_back(at);
    const auto figure = [&](const char* what, const char* mode, const char* name) {
      return r.median({{"what", what}, {"axis", axis}, {"at", at}, {"mode", mode}}, name);
    };
    const auto image = [&](const char* mode) {
      const auto step = figure("network_growth", mode, "cpu_min");
      const double unit = 1e6 / line.value("batch", 1.0);
      return number(step ? std::optional(*step * unit) : std::nullopt, 1);
    };
    table.add({std::to_string(at), number(line.value("weights", 0.0) / 1e3, 1), image("float"),
               image("qat"), number(figure("network_memory", "float", "peak_mb"), 1),
               number(figure("network_memory", "qat", "peak_mb"), 1)});
  }
  return places.empty() ? "" : table.text() + "\n";
}

std::string machine(const Results& results) {
  std::string text;
  for (const json& line : results.matching({{"what", "machine"}})) {
    text = fmt::format("{}, {}, {} cores, {}, `{}`. ", line.value("date", "?"),
                       line.value("cpu", "?"), line.value("cores", 0), line.value("compiler", "?"),
                       line.value("command", "?"));
  }
  double busiest = 0.0;
  for (const char* what : {"steps", "invokes", "network_growth"}) {
    busiest = std::max(busiest, results.largest({{"what", what}}, "others").value_or(0.0));
  }
  return text + fmt::format("Other programs used up to {:.0f} % of the machine while these ran.",
                            100.0 * busiest);
}

}  // namespace

std::string networks_report(const Results& results) {
  if (network_batches(results, "steps").empty()) return "";
  std::string text =
      machine(results) +
      " Processor time of the quickest step or sample; medians over rounds, ratios round by "
      "round.\n"
      "\n### Steps of training\n\n" +
      ratios_table(results) +
      "\nThe peer is the quicker of PyTorch and libtorch. Threads are compared by the wall clock, "
      "in rounds in which other programs used at most a tenth of the machine.\n"
      "\n" +
      steps_table(results);
  if (!network_batches(results, "invokes").empty()) {
    text += "\n### Inference in int8\n\n" + invokes_table(results);
  }
  const std::string growth =
      growth_of(results, "channels") + growth_of(results, "image") + growth_of(results, "batch");
  if (growth.empty()) return text;
  return text +
         "\n### Growth of convolutions\n\n"
         "Four convolutions of 3 x 3 with batch normalization and relu, and a classifier: 32 "
         "channels, images of 32 x 32 and batches of 32 on one thread unless said otherwise.\n\n" +
         growth.substr(0, growth.size() - 1);
}

std::string networks_plot(const Results& results) {
  detail::BarChart chart{
      .title = "",
      .x_label = "times as long",
      .series = {"peer / ours, quantized", "peer / ours, float", "quantized / float, ours"},
      .rows = {},
      .width = 660.0,
      .values = true};
  for (const NetworkBatch& of : largest_batches(results)) {
    chart.rows.push_back(
        {fmt::format("{}, batch {}", of.first, of.second), ratios_of(results, of)});
  }
  if (chart.rows.empty()) throw std::runtime_error("networks_plot: the results hold no steps");
  return detail::bar_plot(chart).file("Ratios of training steps by network");
}

}  // namespace octet::bench
