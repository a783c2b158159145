// The C source on emulated processors, each of which takes a path of its own through the kernels.

#include <octet/layers/lower.h>
#include <octet/tests/core/quant/contracts.h>
#include <octet/tests/deploy/c_programs.h>
#include <octet/tests/layers/quantize/random_convolutions.h>
#include <octet/tests/layers/quantize/random_nets.h>
#include <octet/tests/runtime/lstm_models.h>
#include <octet_test_paths.h>

namespace octet::test::c_source_emulated_test {
namespace {

struct Machine {
  std::string name;
  std::string compiler;
  Words flags;
  /// The emulator, and its board.
  Words emulator;
  std::string flash;
  std::string ram;
};

/// No board of qemu has a Cortex-M0+ with enough memory: its code runs on a Cortex-M3.
std::vector<Machine> machines() {
  const auto arm = [](const std::string& cpu, const std::string& board, const std::string& floats) {
    return Machine{cpu.substr(std::string_view("cortex-").size()),
                   "arm-none-eabi-gcc",
                   {"-mcpu=" + cpu, "-mthumb", "-mfloat-abi=" + floats},
                   {"qemu-system-arm", "-machine", board},
                   "0",
                   "0x20000000"};
  };
  return {arm("cortex-m0plus", "mps2-an385", "soft"), arm("cortex-m4", "mps2-an386", "soft"),
          arm("cortex-m55", "mps3-an547", "hard"),
          Machine{"rv32imc",
                  "riscv64-unknown-elf-gcc",
                  {"-march=rv32imc", "-mabi=ilp32", "-mcmodel=medany"},
                  {"qemu-system-riscv32", "-machine", "virt", "-bios", "none"},
                  "0x80000000",
                  "0x80100000"}};
}

/// Random nets of Dense layers and of convolutions, under every contract, and then LSTMs.
std::vector<CSource> random_sources(std::uint32_t count) {
  std::vector<CSource> sources;
  for (std::uint32_t seed = 0; seed < count; ++seed) {
    const QuantizeOptions options{.rounding = kContracts[seed / 3 % 3],
                                  .per_channel = seed / 2 % 2 == 0};
    Sequential net("m", Input({1}));
    Tensor samples;
    if (seed % 3 == 0) {
      RandomNet random(seed);
      net = random.model();
      samples = random.batch(9);
    } else {
      net = seed % 3 == 1 ? random_images_net(seed) : random_sequences_net(seed);
      samples = images_for(net, 20, seed);
    }
    Sequential model = quantize_model(net, options);
    calibrate(model, samples);
    sources.push_back(to_c_source(lower(model), "net_" + std::to_string(seed),
                                  {.rounding = options.rounding,
                                   .code = seed % 4 < 3 ? CCode::fast : CCode::small,
                                   .rows = seed % 5 / 2}));
  }
  for (std::uint32_t seed = 0; seed < count / 6; ++seed) {
    const auto states = seed % 3 == 0 ? LstmStates::of_one_call : LstmStates::kept;
    sources.push_back(to_c_source(random_lstms(seed, states), fmt::format("net_{}", count + seed),
                                  {.code = seed % 2 == 0 ? CCode::fast : CCode::small}));
  }
  return sources;
}

class CSourceEmulated : public ::testing::TestWithParam<Machine> {};

TEST_P(CSourceEmulated, SelfTestsOfRandomNetsPass) {
  if (one_c_compiler()) GTEST_SKIP() << "one C compiler is asked for, and no emulator";
  const Machine& machine = GetParam();
  const std::string compiler = find_program(machine.compiler);
  const std::string emulator = find_program(machine.emulator[0]);
  if (compiler.empty() || emulator.empty()) GTEST_SKIP() << machine.compiler << " is not here";
  const CProject project;
  std::string text;
  std::string calls;
  int number = 0;
  int by_rows = 0;
  for (const CSource& source : random_sources(36)) {
    by_rows += source.rows > 0 ? 1 : 0;
    project.write(source);
    const std::string main = source.name + "_self_test";
    text +=
        fmt::format("#define NET_{}_SELFTEST\n#define main {}\n#include \"{}.c\"\n#undef main\n",
                    number++, main, source.name);
    calls += fmt::format("  if ({}() != 0) return {};\n", main, number);
  }
  EXPECT_GT(by_rows, 1);
  project.write("tests.c", text + "int self_tests(void);\nint self_tests(void)\n{\n" + calls +
                               "  return 0;\n}\n");
  const std::string examples = OCTET_EXAMPLES_DIR;
  const std::string board = examples + "/../bench/microcontroller";
  for (const char* optimization : {"-O3", "-Os"}) {
    const Words flags = joined(
        joined(machine.flags, kStrict),
        {"-std=c99", optimization, "-ffreestanding", "-I", examples + "/microcontroller", "-c"});
    project.build(compiler, flags, "tests.o", {"tests.c"});
    const Words link = joined(
        joined({compiler}, machine.flags),
        {"-O1", "-ffreestanding", "-nostdlib", "-DEMPTY", "-DSELF_TESTS", "-T", board + "/board.ld",
         "-Wl,--defsym=FLASH_AT=" + machine.flash + ",--defsym=RAM_AT=" + machine.ram,
         board + "/measure.c", project.path("tests.o"), "-lgcc", "-o", project.path("tests.elf")});
    const ProcessResult linked = run_process(link);
    ASSERT_EQ(linked.exit_code, 0) << linked.err;
    Words command = machine.emulator;
    command[0] = emulator;
    const ProcessResult ran = run_process(
        joined(command, {"-nographic", "-monitor", "none", "-serial", "none", "-semihosting-config",
                         "enable=on,target=native", "-kernel", project.path("tests.elf")}));
    EXPECT_EQ(ran.exit_code, 0) << optimization << ran.err << ran.out;
  }
}

std::string machine_name(const ::testing::TestParamInfo<Machine>& machine) {
  return machine.param.name;
}

INSTANTIATE_TEST_SUITE_P(Machines, CSourceEmulated, ::testing::ValuesIn(machines()), machine_name);

}  // namespace
}  // namespace octet::test::c_source_emulated_test
