#include <octet/deploy/tflite/reader.h>
#include <octet/runtime/interpreter.h>

#include <algorithm>
#include <string>

// Runs the file named first on one empty sample. It has as many outputs as named next.
int main(int argc, char** argv) {
  if (argc != 3) return 2;
  octet::Interpreter interpreter(octet::read_tflite(argv[1]));
  const auto input = interpreter.input<std::int8_t>();
  std::fill(input.begin(), input.end(), std::int8_t{-128});
  interpreter.invoke();
  return interpreter.output<std::int8_t>().size() == std::stoul(argv[2]) ? 0 : 1;
}
