#include <octet/deploy/c/plan.h>

// The arithmetic of the rounding contracts in C. It is core/quant's, word for word where C and C++
// agree, and in integers where core/quant uses floats: a C compiler may fuse, widen and reorder
// float operations as its flags say.

namespace octet::detail {
namespace {

constexpr std::string_view kShiftsKeepSigns =
    R"(/* Does not compile where >> of a negative number, which C leaves to the compiler, loses its sign. */
typedef char @name@_shifts_keep_signs[(-1 >> 1) == -1 ? 1 : -1];

)";

constexpr std::string_view kWideProduct =
    R"(static int64_t @name@_wide_product(int32_t a, int32_t b)
{
#if defined(__thumb__) && !defined(__thumb2__)
    /* The processor multiplies to 32 bits: by halves, of which the lower are unsigned. */
    const uint32_t low = ((uint32_t)a & 0xffffu) * ((uint32_t)b & 0xffffu);
    const int32_t middle = (a >> 16) * (b & 0xffff) + (int32_t)(low >> 16);
    const int32_t other = (a & 0xffff) * (b >> 16) + (middle & 0xffff);
    const int32_t high = (a >> 16) * (b >> 16) + (middle >> 16) + (other >> 16);
    return (int64_t)((uint64_t)(uint32_t)high << 32 | (uint32_t)other << 16 | (low & 0xffffu));
#else
    return (int64_t)a * b;
#endif
}

)";

constexpr std::string_view kToCode =
    R"(/* A rescaled sum, in steps of the output's scale, as a quantized value. */
static inline int8_t @name@_to_code(int32_t steps, int32_t zero_point, int32_t lowest, int32_t highest)
{
    const int32_t most = highest - zero_point;
    const int32_t least = lowest - zero_point;
    return (int8_t)((steps < least ? least : steps > most ? most : steps) + zero_point);
}

)";

// ---- single

constexpr std::string_view kRescaleSingle =
    R"(/* sum * multiplier * 2^(shift - 31), rounded once, ties upwards, to 32 bits. */
static int32_t @name@_rescale(int32_t sum, int32_t multiplier, int32_t shift)
{
    const int64_t product = @name@_wide_product(sum, multiplier);
    if (shift < 0) {
        return (((int32_t)(product >> 31) >> ~shift) + 1) >> 1;
    }
    return @name@_saturate((product + ((int64_t)1 << (30 - shift))) >> (31 - shift));
}

)";

// ---- double, and the softmax of both

constexpr std::string_view kSaturate = R"(/* The nearest 32-bit number. */
static int32_t @name@_saturate(int64_t x)
{
    return (int32_t)(x < INT32_MIN ? INT32_MIN : x > INT32_MAX ? INT32_MAX : x);
}

)";

constexpr std::string_view kHighMul =
    R"(/* a * b / 2^31, ties upwards; a and b are not both INT32_MIN. */
static int32_t @name@_high_mul(int32_t a, int32_t b)
{
    const int64_t product = @name@_wide_product(a, b) * 2;
    return (int32_t)(product >> 32) + (int32_t)((uint32_t)product >> 31);
}

)";

constexpr std::string_view kDivideByPower = R"(/* x / 2^n, ties away from zero, n <= 62. */
static int32_t @name@_divide_by_power(int32_t x, int32_t n)
{
    const int64_t size = x < 0 ? -(int64_t)x : x;
    const int64_t half = n > 0 ? (int64_t)1 << (n - 1) : 0;
    const int64_t quotient = (size + half) >> n;
    return (int32_t)(x < 0 ? -quotient : quotient);
}

)";

constexpr std::string_view kRescaleDouble =
    R"(/* sum * multiplier * 2^(shift - 31), rounded twice: the second time with ties away from zero. */
static int32_t @name@_@rescale@(int32_t sum, int32_t multiplier, int32_t shift)
{
    if (shift < 0) {
        const int32_t high = @name@_high_mul(sum, multiplier);
        return (((high + (high >> 31)) >> ~shift) + 1) >> 1;
    }
    return @name@_high_mul(@name@_saturate(sum * ((int64_t)1 << shift)), multiplier);
}

)";

constexpr std::string_view kReciprocal =
    R"(/* 1 / (1 + a) for 0 <= a < 1, both in units of 2^-31, by three Newton steps. */
static int32_t @name@_one_over_one_plus(int32_t a)
{
    const int32_t half = (int32_t)(((int64_t)a + ((int64_t)1 << 31)) / 2);
    int32_t x = 1515870810 + @name@_high_mul(half, -1010580540); /* 48/17 - 32/17 half */
    for (int32_t step = 0; step < 3; ++step) {
        const int32_t error = ((int32_t)1 << 29) - @name@_high_mul(half, x);
        x += @name@_saturate((int64_t)@name@_high_mul(x, error) * 4);
    }
    return @name@_saturate((int64_t)x * 2);
}

)";

constexpr std::string_view kLargest =
    R"(static int32_t @name@_largest(const int8_t *codes, int32_t length)
{
    int32_t largest = codes[0];
    for (int32_t i = 1; i < length; ++i) {
        largest = codes[i] > largest ? codes[i] : largest;
    }
    return largest;
}

)";

constexpr std::string_view kSoftmaxFixed = R"(/* One row; powers[d] = exp(-beta * scale * d). */
static void @name@_softmax(const int8_t *input, int8_t *output, int32_t length,
        const uint32_t *powers)
{
    const int32_t largest = @name@_largest(input, length);
    uint32_t sum = 0; /* in units of 2^-19 */
    int32_t headroom = 0;
    int32_t reciprocal;
    for (int32_t i = 0; i < length; ++i) {
        const int32_t power = (int32_t)powers[largest - input[i]];
        sum += (uint32_t)@name@_divide_by_power(power, 12);
    }
    while (sum < 0x80000000u) {
        sum <<= 1;
        ++headroom;
    }
    reciprocal = @name@_one_over_one_plus((int32_t)(sum - 0x80000000u));
    for (int32_t i = 0; i < length; ++i) {
        const int32_t power = (int32_t)powers[largest - input[i]];
        const int32_t share = @name@_high_mul(reciprocal, power);
        const int32_t code = @name@_divide_by_power(share, 35 - headroom) - 128;
        output[i] = (int8_t)(code > 127 ? 127 : code);
    }
}

)";

// ---- fp32

constexpr std::string_view kFloat32 = R"(/*
 * The float32 numbers of contract fp32 in integers, so that no processor and no compiler flag can
 * change a bit: digits * 2^exponent, at most 2^24 in digits. Signs are kept elsewhere.
 */
typedef struct {
    uint64_t digits;
    int32_t exponent;
} @name@_float32;

/* x / 2^n, ties to even, n <= 62. */
static uint64_t @name@_half_to_even(uint64_t x, int32_t n)
{
    if (n == 0) {
        return x;
    }
    return (x + (((uint64_t)1 << (n - 1)) - 1) + ((x >> n) & 1)) >> n;
}

/* x * 2^exponent as float32 holds it: rounded to 24 bits. */
static @name@_float32 @name@_to_float32(uint64_t x, int32_t exponent)
{
    @name@_float32 result;
    int32_t n = 0; /* bits to drop */
    for (int32_t step = 32; step > 0; step /= 2) {
        if (x >> n >> step >= 0x800000) {
            n += step;
        }
    }
    result.digits = @name@_half_to_even(x, n);
    result.exponent = exponent + n;
    return result;
}

)";

constexpr std::string_view kRescaleFloat =
    R"(/* rint(float32(sum) * float32(multiplier * 2^(shift - 48))), ties to even; 2^30 where it is more. */
static int32_t @name@_rescale_slowly(int32_t sum, int32_t multiplier, int32_t shift)
{
    const uint64_t most = (uint64_t)1 << 30;
    const uint64_t size = (uint64_t)(sum < 0 ? -(int64_t)sum : sum);
    const @name@_float32 x = @name@_to_float32(size, 0);
    const @name@_float32 y =
        @name@_to_float32(x.digits * (uint32_t)(multiplier >> 7), x.exponent + shift - 41);
    uint64_t steps = y.digits; /* without an exponent, or a large one, beyond any code */
    if (y.exponent < -32) {
        steps = 0;
    } else if (y.exponent < 0) {
        steps = @name@_half_to_even(y.digits, -y.exponent);
    }
    steps = steps < most ? steps : most;
    return sum < 0 ? -(int32_t)steps : (int32_t)steps;
}

/* rescale_slowly() where that gives a quantized value, and beyond all of them where it does: from the exact product
 * in units of 2^-16, unless floats, which are off by two of them at most, could end on the other side of a tie. */
static int32_t @name@_rescale(int32_t sum, int32_t multiplier, int32_t shift)
{
    int32_t steps = 32768;
    int32_t fits = 1;
    if (shift < 0) {
        steps += (int32_t)(@name@_wide_product(sum, multiplier) >> 32) >> -shift;
    } else if (shift <= 24) {
        const int32_t shifted = (int32_t)((uint32_t)sum << shift);
        steps += (int32_t)(@name@_wide_product(shifted, multiplier) >> 32);
        fits = shifted >> shift == sum;
    } else {
        fits = 0;
    }
    if (fits && ((steps + 4) & 0xfff8) != 0) {
        return steps >> 16;
    }
    return @name@_rescale_slowly(sum, multiplier, shift);
}

)";

constexpr std::string_view kSoftmaxFloat = R"(static @name@_float32 @name@_from_bits(uint32_t bits)
{
    const uint32_t field = bits >> 23;
    @name@_float32 result;
    result.digits = field == 0 ? bits : (bits & 0x7fffff) | 0x800000;
    result.exponent = field == 0 ? -149 : (int32_t)field - 150;
    return result;
}

static @name@_float32 @name@_add(@name@_float32 a, @name@_float32 b)
{
    const @name@_float32 high = a.exponent >= b.exponent ? a : b;
    const @name@_float32 low = a.exponent >= b.exponent ? b : a;
    const int32_t gap = high.exponent - low.exponent;
    if (gap > 38) {
        return high; /* the other is far below its last bit */
    }
    return @name@_to_float32((high.digits << gap) + low.digits, low.exponent);
}

/* 256 / x for x >= 1. */
static @name@_float32 @name@_steps_per_unit(@name@_float32 x)
{
    const uint64_t one = (uint64_t)1 << 62;
    const uint64_t inexact = one % x.digits != 0; /* below the last bit that counts */
    return @name@_to_float32((one / x.digits) | inexact, 8 - 62 - x.exponent);
}

/* One row; powers[d] = exp(-beta * scale * d). The sum is made in order, as floats have it. */
static void @name@_softmax(const int8_t *input, int8_t *output, int32_t length,
        const uint32_t *powers)
{
    const int32_t largest = @name@_largest(input, length);
    @name@_float32 sum = @name@_from_bits(0);
    @name@_float32 factor;
    for (int32_t i = 0; i < length; ++i) {
        sum = @name@_add(sum, @name@_from_bits(powers[largest - input[i]]));
    }
    factor = @name@_steps_per_unit(sum);
    for (int32_t i = 0; i < length; ++i) {
        const @name@_float32 power = @name@_from_bits(powers[largest - input[i]]);
        const @name@_float32 share =
            @name@_to_float32(power.digits * factor.digits, power.exponent + factor.exponent);
        const int32_t n = -share.exponent; /* at least 15, for a share is at most 256 */
        const uint64_t steps = n > 32 ? 0 : (share.digits + ((uint64_t)1 << (n - 1))) >> n;
        output[i] = (int8_t)(steps > 255 ? 127 : (int32_t)steps - 128);
    }
}

)";

}  // namespace

std::string_view c_rescale_twice(const CPlan& plan) {
  return plan.rounding == Rounding::double_rounding ? "rescale" : "rescale_twice";
}

std::string c_arithmetic(const CPlan& plan, const std::set<CFunction>& calls) {
  const bool sums = calls.contains(CFunction::rescale);
  const bool softmax = calls.contains(CFunction::softmax);
  const bool fp32 = plan.rounding == Rounding::fp32;
  const bool twice = plan.rounding == Rounding::double_rounding;
  // Some operators round twice whatever the contract.
  const bool rounds_twice = (sums && twice) || calls.contains(CFunction::rescale_twice);
  const bool fixed_point = rounds_twice || (softmax && !fp32);
  Fillings fillings = plan.fillings();
  fillings["rescale"] = c_rescale_twice(plan);
  std::string text;
  const auto add = [&](bool needed, std::string_view function) {
    if (needed) text += fill(function, fillings);
  };
  text += fill(kShiftsKeepSigns, fillings);
  add(fixed_point || sums, kWideProduct);
  add(fixed_point || (sums && !fp32), kSaturate);
  add(fixed_point, kHighMul);
  add(softmax && !fp32, kDivideByPower);
  add(fp32 && (sums || softmax), kFloat32);
  add(sums && fp32, kRescaleFloat);
  add(rounds_twice, kRescaleDouble);
  add(sums && !fp32 && !twice, kRescaleSingle);
  add(calls.contains(CFunction::to_code), kToCode);
  add(softmax, kLargest);
  add(softmax && fp32, kSoftmaxFloat);
  add(softmax && !fp32, kReciprocal);
  add(softmax && !fp32, kSoftmaxFixed);
  return text;
}

}  // namespace octet::detail
