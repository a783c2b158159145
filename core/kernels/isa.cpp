#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/core/kernels/isa.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#elif defined(__aarch64__) && defined(__linux__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

#include <atomic>
#include <cstdlib>
#include <string>

namespace octet {
namespace {

std::atomic<const KernelTable*> forced{nullptr};

#if defined(__x86_64__)
// __builtin_cpu_supports() of GCC 12 and Clang 14 does not know these features.

bool has_avx_vnni() {
  unsigned int eax = 0;
  unsigned int ebx = 0;
  unsigned int ecx = 0;
  unsigned int edx = 0;
  return __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) != 0 && (eax & (1U << 4U)) != 0;
}

/// Detects AMX with int8 and requests permission to use it, which Linux grants per process.
bool has_amx() {
#if defined(__linux__) && defined(SYS_arch_prctl)
  unsigned int eax = 0;
  unsigned int ebx = 0;
  unsigned int ecx = 0;
  unsigned int edx = 0;
  constexpr unsigned int kTilesAndInt8 = 3U << 24U;
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) == 0) return false;
  if ((edx & kTilesAndInt8) != kTilesAndInt8) return false;
  constexpr long kRequestPermission = 0x1023;
  constexpr long kTileData = 18;
  return ::syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
  return false;
#endif
}
#endif

#if defined(__aarch64__)
bool has_dotprod() {
#if defined(__linux__)
  return (::getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0;
#else
  return false;
#endif
}
#endif

const KernelTable* choose() {
  const auto available = available_kernels();
  const char* wanted = std::getenv("OCTET_ISA");
  if (wanted == nullptr || *wanted == '\0') return available.back();
  std::string names;
  for (const KernelTable* table : available) {
    if (to_string(table->isa) == wanted) return table;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", to_string(table->isa));
  }
  throw InvalidArgument(
      fmt::format("OCTET_ISA: expected an instruction set of this processor ({}), found \"{}\"",
                  names, wanted));
}

}  // namespace

std::string_view to_string(Isa isa) {
  switch (isa) {
    case Isa::portable:
      return "portable";
    case Isa::avx2:
      return "avx2";
    case Isa::avx_vnni:
      return "avx_vnni";
    case Isa::avx512:
      return "avx512";
    case Isa::avx512_vnni:
      return "avx512_vnni";
    case Isa::amx:
      return "amx";
    case Isa::neon:
      return "neon";
    case Isa::neon_dotprod:
      break;
  }
  return "neon_dotprod";
}

std::vector<const KernelTable*> available_kernels() {
  std::vector<const KernelTable*> tables = {&detail::kPortableKernels};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    tables.push_back(&detail::kAvx2Kernels);
    if (has_avx_vnni()) tables.push_back(&detail::kAvxVnniKernels);
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq")) {
      tables.push_back(&detail::kAvx512Kernels);
      if (__builtin_cpu_supports("avx512vnni")) {
        tables.push_back(&detail::kAvx512VnniKernels);
        if (has_amx()) tables.push_back(&detail::kAmxKernels);
      }
    }
  }
#elif defined(__aarch64__)
  tables.push_back(&detail::kNeonKernels);
  if (has_dotprod()) tables.push_back(&detail::kNeonDotprodKernels);
#endif
  return tables;
}

const KernelTable& kernels() {
  if (const KernelTable* table = forced.load(std::memory_order_relaxed)) return *table;
  static const KernelTable* const chosen = choose();
  return *chosen;
}

void force_kernels(const KernelTable* table) { forced.store(table, std::memory_order_relaxed); }

}  // namespace octet
