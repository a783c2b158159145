#pragma once

#include <octet/core/file.h>
#include <octet/deploy/onnx/writer.h>
#include <octet/octet.h>
#include <octet/tests/interop/case_tensors.h>
#include <octet/tests/interop/reference_kernels.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

// The folder that make_interop_cases writes: cases.json and cases.bin.

namespace octet::interop {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

/// Samples, end to end, and where cases.bin has them.
struct Samples {
  DType dtype = DType::float32;
  Index count = 0;
  Bytes bytes{};
  ordered_json part{};
};

/// The first `count` of some samples.
inline Samples head(Samples samples, Index count) {
  const auto bytes = samples.bytes.size() / static_cast<std::size_t>(samples.count) *
                     static_cast<std::size_t>(count);
  samples.bytes.resize(bytes);
  samples.part[1] = samples.part[0].get<std::size_t>() + bytes;
  samples.count = count;
  return samples;
}

class CaseFolder {
 public:
  template <class T>
  Samples input(DType dtype, Index count, std::span<const T> values) {
    const auto bytes = std::as_bytes(values);
    return {dtype, count, {bytes.begin(), bytes.end()}, store(bytes)};
  }

  /// A .tflite file and what its outputs have to be under `rounding`.
  ordered_json& add(const std::string& name, const IntegerModel& model, const Samples& input,
                    Rounding rounding = Rounding::fp32) {
    const Interpreter interpreter = run(model, input, rounding);
    ordered_json outputs = ordered_json::array();
    for (const std::int32_t i : model.outputs) outputs.push_back(describe(interpreter, i));
    const bool by_single = std::ranges::any_of(
        model.operators, [&](const Operator& op) { return rescales_by_single(model, op); });
    if (rounding == Rounding::fp32 && by_single) add_reference(outputs, model, input);
    cases_.push_back({{"name", name},
                      {"samples", input.count},
                      {"model", store_file(to_tflite(model))},
                      {"input", describe(input, model)},
                      {"outputs", outputs},
                      {"differs", rounding != Rounding::fp32 && rounding != Rounding::q15}});
    return cases_.back();
  }

  /// Adds the case's model as ONNX, and the quantized values of all its layers. `input` is of the
  /// model's own type, or of floats where the model is to have float ends.
  void add_onnx(ordered_json& entry, const IntegerModel& model, const Samples& input,
                const Interpreter& interpreter) {
    const auto codes = code_tensors(model);
    OnnxOptions options{.float_io = input.dtype == DType::float32};
    for (const std::int32_t i : codes) options.code_outputs.push_back(tensor_of(model, i).name);
    const auto exact = store_file(to_onnx(model, options));
    options.style = OnnxStyle::standard;
    const auto standard = store_file(to_onnx(model, options));
    // Further outputs keep ONNX Runtime from merging what they stand between.
    options.code_outputs.clear();
    const auto standard_alone = store_file(to_onnx(model, options));

    const auto inexact = behind_softmax(model);
    ordered_json list = ordered_json::array();
    for (const std::int32_t i : codes) {
      list.push_back(describe(interpreter, i));
      list.back()["exact"] = !inexact.contains(i);
      const Operator* maker = maker_of(model, i);
      if (maker == nullptr) continue;
      list.back()["operator"] = to_string(maker->code);
      list.back()["reads"] = names_of_codes(model, *maker);
    }
    entry["onnx"] = {{"one_class", softmax_of_one(model)},
                     {"exact", exact},
                     {"standard", standard},
                     {"standard_alone", standard_alone},
                     {"input", describe(input, model)},
                     {"codes", list}};
  }

  /// Adds what add_onnx() adds, and the files with packed weights: they have to give what that with
  /// int8 gives.
  void add_packed_onnx(ordered_json& entry, const IntegerModel& model, const Samples& input,
                       const Interpreter& interpreter) {
    add_onnx(entry, model, input, interpreter);
    OnnxOptions options{.float_io = input.dtype == DType::float32};
    for (const std::int32_t i : code_tensors(model)) {
      options.code_outputs.push_back(tensor_of(model, i).name);
    }
    ordered_json forms = ordered_json::array();
    for (const OnnxWeights weights : {OnnxWeights::planes, OnnxWeights::int4}) {
      options.weights = weights;
      options.style = OnnxStyle::exact;
      const auto exact = store_file(to_onnx(model, options));
      options.style = OnnxStyle::standard;
      forms.push_back({{"exact", exact}, {"standard", store_file(to_onnx(model, options))}});
    }
    entry["onnx"]["packed"] = forms;
  }

  static Interpreter run(const IntegerModel& model, const Samples& input,
                         Rounding rounding = Rounding::fp32) {
    Interpreter interpreter(model,
                            {.rounding = rounding, .batch = input.count, .keep_tensors = true});
    std::ranges::copy(input.bytes, interpreter.input_bytes().begin());
    interpreter.invoke();
    return interpreter;
  }

  void write(const fs::path& folder, std::string_view images) const {
    fs::create_directories(folder);
    write_file_atomic(folder / "cases.bin", data_);
    const ordered_json index{{"images", images}, {"cases", cases_}};
    write_file_atomic(folder / "cases.json", index.dump(1));
  }

 private:
  static ordered_json names_of_codes(const IntegerModel& model, const Operator& op) {
    ordered_json names = ordered_json::array();
    for (const std::int32_t i : computed_codes(model, op)) {
      names.push_back(tensor_of(model, i).name);
    }
    return names;
  }

  /// What the reference kernels give, where that is other than `outputs`.
  void add_reference(ordered_json& outputs, const IntegerModel& model, const Samples& input) {
    const std::vector<Bytes> values = run_reference(model, input.bytes, input.count);
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      const Bytes& value = values[static_cast<std::size_t>(model.outputs[k])];
      const std::size_t begin = outputs[k]["data"][0];
      const bool same =
          std::ranges::equal(value, std::as_bytes(std::span(data_).subspan(begin, value.size())));
      if (!same) outputs[k]["reference"] = store(value);
    }
  }

  /// Appends to cases.bin. Parts start at multiples of 8, so that they may hold any numbers.
  ordered_json store(std::span<const std::byte> bytes) {
    const std::size_t begin = (data_.size() + 7) / 8 * 8;
    data_.resize(begin + bytes.size());
    std::ranges::transform(bytes, data_.begin() + static_cast<std::ptrdiff_t>(begin),
                           [](std::byte b) { return static_cast<std::uint8_t>(b); });
    return {begin, data_.size()};
  }

  ordered_json store_file(const std::vector<std::uint8_t>& bytes) {
    return store(std::as_bytes(std::span(bytes)));
  }

  static ordered_json describe(const Samples& input, const IntegerModel& model) {
    return {{"data", input.part},
            {"dtype", to_string(input.dtype)},
            {"shape", tensor_of(model, model.inputs[0]).shape}};
  }

  ordered_json describe(const Interpreter& interpreter, std::int32_t i) {
    const ModelTensor& t = tensor_of(interpreter.model(), i);
    return {{"name", t.name},
            {"data", store(interpreter.tensor_bytes(i))},
            {"dtype", to_string(t.dtype)},
            {"size", t.size()}};
  }

  std::vector<std::uint8_t> data_;
  std::vector<ordered_json> cases_;
};

}  // namespace octet::interop
