/* Runs an exported network on a bare machine under qemu, over the samples of input.bin, and writes output.bin. The
 * plugin counter.c counts from count_start() to count_stop(), first in a loop of a million instructions. With
 * -DEMPTY there is no network, and with -DSELF_TESTS the machine ends with what self_tests() returns. */
#include <stddef.h>
#include <stdint.h>
#ifdef EMPTY /* what the firmware takes without a network */
#define NETWORK_INPUT_SIZE 1
#define NETWORK_OUTPUT_SIZE 1
static int network_invoke(const int8_t *input, int8_t *output) { return *output = *input, 0; }
#else
#include "network.h"
#endif

#define MARK __attribute__((noinline, used))
MARK void count_start(void) { __asm__ volatile("" ::: "memory"); }
MARK void count_stop(void) { __asm__ volatile("" ::: "memory"); }

/* What compilers make of loops and assignments. */
#define PLAIN_LOOP __attribute__((optimize("no-tree-loop-distribute-patterns")))
PLAIN_LOOP void *memset(void *to, int value, size_t count)
{
    for (uint8_t *byte = to; count > 0; --count) *byte++ = (uint8_t)value;
    return to;
}
PLAIN_LOOP void *memcpy(void *to, const void *from, size_t count)
{
    const uint8_t *source = from;
    for (uint8_t *byte = to; count > 0; --count) *byte++ = *source++;
    return to;
}
PLAIN_LOOP void *memmove(void *to, const void *from, size_t count)
{
    uint8_t *byte = to;
    const uint8_t *source = from;
    if (byte < source) return memcpy(to, from, count);
    while (count-- > 0) byte[count] = source[count];
    return to;
}

int memcmp(const void *left, const void *right, size_t count)
{
    const uint8_t *a = left, *b = right;
    for (; count > 0; --count, ++a, ++b)
        if (*a != *b) return *a - *b;
    return 0;
}

static intptr_t host(uintptr_t request, const void *arguments)
{
#if defined(__arm__)
    register uintptr_t r0 __asm__("r0") = request;
    register const void *r1 __asm__("r1") = arguments;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return (intptr_t)r0;
#else
    register uintptr_t a0 __asm__("a0") = request;
    register const void *a1 __asm__("a1") = arguments;
    __asm__ volatile(
        ".balign 16\n.option push\n.option norvc\n slli x0, x0, 0x1f\n ebreak\n srai x0, x0, 7\n.option pop\n"
        : "+r"(a0)
        : "r"(a1)
        : "memory");
    return (intptr_t)a0;
#endif
}
enum { SYS_OPEN = 1, SYS_CLOSE = 2, SYS_WRITE0 = 4, SYS_WRITE = 5, SYS_READ = 6, SYS_EXIT = 0x18 };
static intptr_t open_file(const char *name, uintptr_t length, uintptr_t mode)
{
    const uintptr_t arguments[3] = {(uintptr_t)name, mode, length};
    return host(SYS_OPEN, arguments);
}
static intptr_t transfer(uintptr_t request, intptr_t file, void *bytes, uintptr_t count)
{
    const uintptr_t arguments[3] = {(uintptr_t)file, (uintptr_t)bytes, count};
    return host(request, arguments);
}
static void print_number(const char *name, uint32_t value)
{
    char digits[12], *at = digits + sizeof digits;
    *--at = '\0';
    *--at = '\n';
    do *--at = (char)('0' + value % 10u);
    while ((value /= 10u) != 0u);
    host(SYS_WRITE0, name);
    host(SYS_WRITE0, at);
}
static void end(int status)
{
    host(SYS_EXIT, (const void *)(uintptr_t)(status == 0 ? 0x20026u : 0x20027u));
    for (;;) {}
}

extern uint32_t stack_limit[], stack_top[];
enum { kPaint = 0x5eadbeef };
static MARK void loop_of_a_million(void)
{
    uint32_t rounds = 500000u;
#if defined(__arm__)
    __asm__ volatile(".syntax unified\n1: subs %0, #1\n bne 1b" : "+l"(rounds) : : "cc");
#else
    __asm__ volatile("1: addi %0, %0, -1\n bnez %0, 1b" : "+r"(rounds));
#endif
}

static __attribute__((section(".caller"))) int8_t input[NETWORK_INPUT_SIZE], output[NETWORK_OUTPUT_SIZE];

static MARK int run(void)
{
    const intptr_t from = open_file("input.bin", 9, 1), to = open_file("output.bin", 10, 5);
    const uint32_t *here = __builtin_frame_address(0);
    volatile uint32_t *word;
    if (from < 0 || to < 0) return 1;
    count_start();
    loop_of_a_million();
    count_stop();
    for (word = stack_limit; word + 16 < here; ++word) *word = kPaint;
    while (transfer(SYS_READ, from, input, sizeof input) == 0) {
        count_start();
        const int status = network_invoke(input, output);
        count_stop();
        if (status != 0 || transfer(SYS_WRITE, to, output, sizeof output) != 0) return 1;
    }
    host(SYS_CLOSE, &to);
    for (word = stack_limit; *word == kPaint;) ++word;
    print_number("stack ", (uint32_t)(here - (const uint32_t *)word) * 4u);
    return 0;
}

extern uint32_t data_load[], data_begin[], data_end[], bss_begin[], bss_end[];
static MARK void set_memory_and_run(void)
{
    const uint32_t *from = data_load;
    for (uint32_t *to = data_begin; to < data_end; ++to) *to = *from++;
    for (uint32_t *to = bss_begin; to < bss_end; ++to) *to = 0u;
#ifdef SELF_TESTS
    int self_tests(void);
    const int failed = self_tests();
    print_number("failed ", (uint32_t)failed);
    end(failed);
#else
    end(run());
#endif
}
static MARK void reset(void)
{
#if defined(__ARM_FEATURE_MVE)
    *(volatile uint32_t *)0xe000ed88u |= 0xfu << 20; /* CPACR: the vector unit, which loops of C may use */
    *(volatile uint32_t *)0xe000ed14u |= 1u << 19;   /* CCR: loops without branches */
    __asm__ volatile("dsb\n isb");
#endif
    set_memory_and_run();
}
#if defined(__arm__)
static void fail(void) { end(1); }
__attribute__((section(".vectors"), used)) static const struct {
    uint32_t *stack;
    void (*handlers[15])(void);
} vectors = {stack_top, {reset, fail, fail, fail, fail, fail, 0, 0, 0, 0, fail, fail, 0, fail, fail}};
#else
__attribute__((section(".vectors"), naked, used)) void _start(void)
{
    __asm__ volatile(".option push\n.option norelax\n la gp, __global_pointer$\n.option pop\n la sp, stack_top\n j %0"
                     :
                     : "i"(reset));
}
#endif
