#include <fmt/core.h>
#include <octet/bench/report/markdown.h>
#include <octet/bench/report/tables.h>

#include <array>
#include <functional>

namespace octet::bench {
namespace {

using nlohmann::json;

constexpr std::array kBatches = {32, 128, 512};

json training(const char* who, const char* mode, int batch, int threads, const char* isa = "auto") {
  return {{"what", "train"}, {"who", who},         {"mode", mode},
          {"batch", batch},  {"threads", threads}, {"isa", isa}};
}

/// The line of the products alone.
json floor_of(int batch, int threads) {
  return {{"what", "train"}, {"who", "floor"}, {"batch", batch}, {"threads", threads}};
}

Rounds epoch(const Results& results, const json& like) {
  return results.rounds(like, "s_per_epoch");
}

/// The quicker of both peers in each round.
Rounds peer(const Results& results, const char* mode, int batch, int threads) {
  return least(epoch(results, training("torch", mode, batch, threads)),
               epoch(results, training("libtorch", mode, batch, threads)));
}

/// A line of the table of ratios: what it says of a batch, and its goals for batch 32, 128, 512.
struct RatioRow {
  std::string label;
  std::function<Rounds(int batch)> ratio;
  std::string bound;
  std::array<double, 3> goals;
};

std::vector<RatioRow> ratio_rows(const Results& r) {
  const auto ours = [&r](const char* mode, int batch, int threads, const char* isa = "auto") {
    return epoch(r, training("octet", mode, batch, threads, isa));
  };
  const auto peer_ratio = [&r, ours](const char* mode, int threads) {
    return [&r, ours, mode, threads](int batch) {
      return ratios(peer(r, mode, batch, threads), ours(mode, batch, threads));
    };
  };
  const auto threads_ratio = [ours](const char* mode) {
    return [ours, mode](int batch) { return ratios(ours(mode, batch, 1), ours(mode, batch, 2)); };
  };
  return {
      {"float / floor, 1 thread",
       [&r, ours](int batch) {
         return ratios(ours("float", batch, 1), epoch(r, floor_of(batch, 1)));
       },
       "at most",
       {1.8, 1.35, 1.30}},
      {"quantized / float, 1 thread",
       [ours](int batch) { return ratios(ours("qat", batch, 1), ours("float", batch, 1)); },
       "at most",
       {0.90, 0.80, 0.80}},
      {"the same with OCTET_ISA=avx2",
       [ours](int batch) {
         return ratios(ours("qat", batch, 1, "avx2"), ours("float", batch, 1, "avx2"));
       },
       "at most",
       {1.10, 1.05, 1.05}},
      {"peer / ours, quantized, 1 thread", peer_ratio("qat", 1), "at least", {6.5, 4.5, 3.0}},
      {"peer / ours, quantized, 2 threads", peer_ratio("qat", 2), "at least", {5.0, 6.0, 3.5}},
      {"peer / ours, float, 1 thread", peer_ratio("float", 1), "at least", {1.8, 1.4, 1.15}},
      {"1 thread / 2 threads, float", threads_ratio("float"), "at least", {1.3, 1.7, 1.8}},
      {"1 thread / 2 threads, quantized", threads_ratio("qat"), "at least", {1.3, 1.7, 1.8}},
  };
}

std::string epoch_table(const Results& results, int threads) {
  Markdown table({fmt::format("seconds per epoch, {} thread{}", threads, threads == 1 ? "" : "s"),
                  "batch 32", "batch 128", "batch 512", "test accuracy at 128"});
  const auto add = [&](const std::string& label, const std::function<json(int)>& like) {
    std::vector<std::string> cells = {label};
    for (const int batch : kBatches) {
      cells.push_back(number(results.median(like(batch), "s_per_epoch"), 3));
    }
    cells.push_back(percent(results.median(like(128), "acc"), 1));
    table.add(cells);
  };
  const auto trained = [&add, threads](const char* label, const char* who, const char* mode,
                                       const char* isa = "auto") {
    add(label, [=](int batch) { return training(who, mode, batch, threads, isa); });
  };
  trained("Octet, float", "octet", "float");
  trained("Octet, quantized", "octet", "qat");
  if (threads == 1) {
    trained("Octet, float, AVX2", "octet", "float", "avx2");
    trained("Octet, quantized, AVX2", "octet", "qat", "avx2");
  }
  trained("PyTorch, float", "torch", "float");
  trained("PyTorch, quantized", "torch", "qat");
  trained("libtorch, float", "libtorch", "float");
  trained("libtorch, quantized", "libtorch", "qat");
  add("floor: the products alone, oneDNN",
      [threads](int batch) { return floor_of(batch, threads); });
  return table.text();
}

std::string wide_table(const Results& results) {
  const auto image = [&results](const char* who, const char* mode) {
    return results.rounds({{"what", "wide"}, {"who", who}, {"mode", mode}}, "us_per_image");
  };
  const auto ratio = [](const Rounds& a, const Rounds& b) {
    const auto found = spread(ratios(a, b));
    return number(found ? std::optional(found->median) : std::nullopt, 2);
  };
  Markdown table({"784-2048-2048-10, batch 256, 1 thread", "ratio"});
  table.add({"float / floor", ratio(image("octet", "float"), image("floor", "float"))});
  table.add({"quantized / float", ratio(image("octet", "qat"), image("octet", "float"))});
  return table.text();
}

std::string inference_table(const Results& results) {
  Markdown table(
      {"microseconds, 1 thread", "batch 1", "batch 32", "batch 10,000", "test accuracy"});
  const auto add = [&](const std::string& label, const char* who, const std::string& prefix) {
    const json like = {{"what", "infer"}, {"who", who}};
    table.add({label, number(results.median(like, prefix + "_b1"), 2),
               number(results.median(like, prefix + "_b32"), 1),
               number(results.median(like, prefix + "_b10000"), 0),
               percent(results.median(like, "acc"), 2)});
  };
  add("Octet, int8 in and out", "octet", "us");
  add("Octet, float in and out", "octet", "us_float");
  add("oneDNN, u8 in and out", "onednn", "us");
  add("the same without AMX", "onednn_vnni", "us");
  add("XNNPACK, int8 in and out", "xnnpack", "us");
  add("ONNX Runtime on Node, float in and out", "onnxruntime", "us");
  add("floor: VNNI peak, or reading the weights", "peak", "us");
  const json ours = {{"what", "infer"}, {"who", "octet"}};
  return table.text() +
         fmt::format("\nSetting the interpreter up takes {} ms, {} ms with reading the file.\n",
                     number(results.median(ours, "set_up_ms"), 2),
                     number(results.median(ours, "open_ms"), 2));
}

std::string growth_table(const Results& results, const std::string& axis) {
  const json like = {{"what", "growth"}, {"axis", axis}};
  Markdown table({axis, "thousand weights", "float, us an image", "quantized, us an image",
                  "float, MB peak", "quantized, MB peak"});
  std::vector<std::string> places;
  for (const json& line : results.matching(like)) {
    const std::string place = line.at("at").dump();
    if (std::ranges::find(places, place) != places.end()) continue;
    places.push_back(place);
    const auto figure = [&](const char* mode, const char* name, int digits) {
      const json point = {
          {"what", "growth"}, {"axis", axis}, {"at", line.at("at")}, {"mode", mode}};
      return number(results.median(point, name), digits);
    };
    table.add({line.at("at").is_string() ? line.at("at").get<std::string>() : place,
               number(line.value("weights", 0.0) / 1e3, 0), figure("float", "us_per_image", 2),
               figure("qat", "us_per_image", 2), figure("float", "peak_mb", 1),
               figure("qat", "peak_mb", 1)});
  }
  return places.empty() ? "" : table.text() + "\n";
}

/// Where a step goes: the middle of each phase over rounds.
std::string profile_table(const Results& results, const char* mode) {
  const std::string prefix = "phase NN ";
  const json like = {{"what", "profile"}, {"mode", mode}};
  const auto lines = results.matching(like);
  if (lines.empty()) return "";
  const double step = *results.median(like, "us_per_step");
  Markdown table({fmt::format("{}, us a step of 128", mode), "", "share"});
  for (const auto& item : lines.front().items()) {
    if (!item.key().starts_with("phase ")) continue;
    const auto phase = results.median(like, item.key());
    table.add({item.key().substr(prefix.size()), number(phase, 1), percent(*phase / step, 1)});
  }
  table.add({"all", number(step, 1), percent(results.median(like, "explained"), 1)});
  return table.text() + "\n";
}

std::string figures_table(const Results& results) {
  const json start = {{"what", "start"}};
  Markdown table({"", ""});
  table.add({"most memory of `mnist_qat` as it comes, on MNIST",
             number(results.median({{"what", "default"}}, "run_peak_mb"), 0) + " MB"});
  table.add({"start to first step, without reading the data",
             number(results.median(start, "start_s"), 3) + " s"});
  table.add({"reading the data", number(results.median(start, "read_s"), 2) + " s"});
  table.add({"evaluation in integers, of an epoch's training",
             percent(results.median(start, "integer_share"), 1)});
  table.add({"evaluation of the simulation, of an epoch's training",
             percent(results.median(start, "simulated_share"), 1)});
  return table.text();
}

std::string machine(const Results& results) {
  std::string text;
  for (const json& line : results.matching({{"what", "machine"}})) {
    text = fmt::format("{}, {}, {} cores, {}, `{}`.", line.value("date", "?"),
                       line.value("cpu", "?"), line.value("cores", 0), line.value("compiler", "?"),
                       line.value("command", "?"));
  }
  const json peak = {{"what", "infer"}, {"who", "peak"}};
  const auto rate = [&](const char* name) { return number(results.largest(peak, name), 0); };
  return text + fmt::format(
                    " One core: {} GFLOP/s in float, {} GOP/s in int8 (VNNI), {} GB/s read "
                    "and {} GB/s copied in the second-level cache. Other programs used up "
                    "to {} of the machine while these ran.\n",
                    rate("float_gflops"), rate("int8_gops"), rate("read_gbs"), rate("copy_gbs"),
                    percent(results.largest(json::object(), "others"), 0));
}

}  // namespace

std::string ratio_table(const Results& results, bool with_goals) {
  Markdown table({"ratio of seconds per epoch", "batch 32", "batch 128", "batch 512"});
  double widest = 0.0;
  for (const RatioRow& row : ratio_rows(results)) {
    std::vector<std::string> cells = {row.label};
    for (std::size_t i = 0; i < kBatches.size(); ++i) {
      const auto found = spread(row.ratio(kBatches[i]));
      std::string cell = number(found ? std::optional(found->median) : std::nullopt, 2);
      if (found) widest = std::max(widest, (found->largest - found->least) / found->median);
      if (with_goals) cell += fmt::format(" ({} {:g})", row.bound, row.goals[i]);
      cells.push_back(cell);
    }
    table.add(cells);
  }
  const std::string rounds =
      widest > 0.0
          ? fmt::format("Medians over rounds; between rounds a ratio differs by up to {:.0f} %.",
                        100.0 * widest)
          : "One round.";
  return table.text() + "\n" + rounds + " The peer is the quicker of PyTorch and libtorch.\n";
}

std::string report(const Results& results, bool with_goals) {
  std::string text = machine(results) + "\n## Training, MLP 784-256-128-10, Adam, MNIST\n\n";
  text += ratio_table(results, with_goals) + "\n" + epoch_table(results, 1) + "\n" +
          epoch_table(results, 2) + "\n" + wide_table(results) +
          "\n## Inference, the int8 model of that network\n\n" + inference_table(results) +
          "\n## Growth\n\n";
  const auto images = results.largest({{"what", "growth"}}, "images").value_or(0.0);
  text += fmt::format(
      "Hidden layers of 256 and 128 and batch 128 on one thread unless said "
      "otherwise, {:.0f} images of noise, which are {:.0f} MB of the memory.\n\n",
      images, images * 784.0 / 1e6);
  for (const char* axis : {"batch", "width", "depth", "threads"}) {
    text += growth_table(results, axis);
  }
  return text + "## Where a step goes\n\n" + profile_table(results, "float") +
         profile_table(results, "qat") + "## Around training\n\n" + figures_table(results);
}

}  // namespace octet::bench
