#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

// Stands in for ONNX Runtime's header of this name: the calls that docs/howto/onnxruntime.md shows,
// with the parameters that they have there. ONNX Runtime for Node computes (run.mjs);
// OCTET_ONNX_RUN is "node .../run.mjs PACKAGES". Names of files hold no spaces.

struct OrtAllocator {};
struct OrtMemoryInfo {};
enum OrtAllocatorType { OrtDeviceAllocator = 0, OrtArenaAllocator = 1 };
enum OrtMemType { OrtMemTypeCPU = -1, OrtMemTypeDefault = 0 };

namespace Ort {

using AllocatedStringPtr = std::unique_ptr<char, std::function<void(void*)>>;

struct Env {};
struct SessionOptions {
  SessionOptions& AddConfigEntry(const char* key, const char* value) {
    ::setenv("OCTET_ONNX_OPTION", (std::string(key) + "=" + value).c_str(), 1);
    return *this;
  }
};
struct RunOptions {};

struct AllocatorWithDefaultOptions {
  operator OrtAllocator*() const { return nullptr; }
};

struct MemoryInfo {
  static MemoryInfo CreateCpu(OrtAllocatorType /*type*/, OrtMemType /*memory*/) { return {}; }
  operator const OrtMemoryInfo*() const { return nullptr; }
};

class Value {
 public:
  template <class T>
  static Value CreateTensor(const OrtMemoryInfo* /*memory*/, T* data, std::size_t count,
                            const std::int64_t* shape, std::size_t axes) {
    return Value({data, data + count}, {shape, shape + axes});
  }
  Value(std::vector<float> values, std::vector<std::int64_t> shape)
      : values_(std::move(values)), shape_(std::move(shape)) {}
  Value(Value&&) = default;
  Value& operator=(Value&&) = default;

  template <class T>
  const T* GetTensorData() const {
    return values_.data();
  }
  const std::vector<float>& values() const { return values_; }
  const std::vector<std::int64_t>& shape() const { return shape_; }

 private:
  std::vector<float> values_;
  std::vector<std::int64_t> shape_;
};

class Session {
 public:
  Session(const Env& /*env*/, const char* path, const SessionOptions& /*options*/) : path_(path) {
    call("> names");
    std::ifstream names("names");
    std::getline(names, input_);
    std::getline(names, output_);
  }

  AllocatedStringPtr GetInputNameAllocated(std::size_t /*index*/, OrtAllocator* /*memory*/) const {
    return copied(input_);
  }
  AllocatedStringPtr GetOutputNameAllocated(std::size_t /*index*/, OrtAllocator* /*memory*/) const {
    return copied(output_);
  }

  std::vector<Value> Run(const RunOptions& /*options*/, const char* const* input_names,
                         const Value* inputs, std::size_t input_count,
                         const char* const* output_names, std::size_t output_count) {
    if (input_count != 1 || output_count != 1 || input_names[0] != input_ ||
        output_names[0] != output_) {
      throw std::runtime_error("Run: expected one input " + input_ + " and one output " + output_);
    }
    const std::vector<float>& values = inputs[0].values();
    std::ofstream("in", std::ios::binary)
        .write(reinterpret_cast<const char*>(values.data()),
               static_cast<std::streamsize>(values.size() * sizeof(float)));
    std::string shape;
    for (const std::int64_t extent : inputs[0].shape()) shape += "," + std::to_string(extent);
    call("in " + shape.substr(1) + " out");
    std::ifstream file("out", std::ios::binary);
    const std::string bytes(std::istreambuf_iterator<char>(file), {});
    std::vector<float> found(bytes.size() / sizeof(float));
    bytes.copy(reinterpret_cast<char*>(found.data()), bytes.size());
    const auto count = static_cast<std::int64_t>(found.size());
    std::vector<Value> results;
    results.emplace_back(std::move(found), std::vector<std::int64_t>{1, count});
    return results;
  }

 private:
  void call(const std::string& arguments) const {
    const std::string command = std::string(std::getenv("OCTET_ONNX_RUN")) + " " + path_ + " ";
    if (std::system((command + arguments).c_str()) != 0) {
      throw std::runtime_error("ONNX Runtime for Node failed");
    }
  }
  static AllocatedStringPtr copied(const std::string& name) {
    auto* copy = static_cast<char*>(std::malloc(name.size() + 1));
    name.copy(copy, name.size());
    copy[name.size()] = '\0';
    return {copy, [](void* text) { std::free(text); }};
  }

  std::string path_;
  std::string input_;
  std::string output_;
};

}  // namespace Ort
