/* Runs an exported network on a Cortex-M, sample by sample, over files on the host.
 *
 * Codes come from input.bin and go to output.bin, through semihosting, which debuggers and qemu know:
 * a breakpoint with a request in r0 and its arguments in r1. On a board of your own, the lines that
 * count are those around answer(). */
#include <stdint.h>
#include "network.h"

void exit_with(int status);

enum {
    SYS_OPEN = 0x01,
    SYS_CLOSE = 0x02,
    SYS_WRITE0 = 0x04,
    SYS_WRITE = 0x05,
    SYS_READ = 0x06,
    SYS_EXIT = 0x18
};
enum { READ_BINARY = 1, WRITE_BINARY = 5 };
static const uint32_t kApplicationExit = 0x20026;

static int32_t host(uint32_t request, const void *arguments)
{
    register uint32_t r0 __asm__("r0") = request;
    register const void *r1 __asm__("r1") = arguments;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return (int32_t)r0;
}
static int32_t open_file(const char *name, uint32_t length, uint32_t mode)
{
    const uint32_t arguments[3] = {(uint32_t)name, mode, length};
    return host(SYS_OPEN, arguments);
}
/* How many bytes are left that were not transferred. */
static int32_t transfer(uint32_t request, int32_t file, void *bytes, uint32_t count)
{
    const uint32_t arguments[3] = {(uint32_t)file, (uint32_t)bytes, count};
    return host(request, arguments);
}
static void print(const char *text) { host(SYS_WRITE0, text); }
static void print_number(const char *name, uint32_t value)
{
    char digits[12];
    char *at = digits + sizeof digits;
    *--at = '\0';
    *--at = '\n';
    do *--at = (char)('0' + value % 10u); while ((value /= 10u) != 0u);
    print(name);
    print(at);
}

/* SysTick counts down from 2^24 - 1 with the processor's clock. */
#define SYSTICK_CONTROL (*(volatile uint32_t *)0xe000e010u)
#define SYSTICK_RELOAD (*(volatile uint32_t *)0xe000e014u)
#define SYSTICK_VALUE (*(volatile uint32_t *)0xe000e018u)
static const uint32_t kPassedZero = 1u << 16; /* in the control register, until that is read */

static uint32_t start_ticks(void)
{
    SYSTICK_VALUE = 0u; /* starts again from the reload value */
    while (SYSTICK_VALUE == 0u) {}
    (void)SYSTICK_CONTROL;
    return SYSTICK_VALUE;
}
static uint32_t ticks_since(uint32_t begin)
{
    const uint32_t end = SYSTICK_VALUE;
    if ((SYSTICK_CONTROL & kPassedZero) == 0u) return begin - end;
    print("a sample takes longer than SysTick counts\n");
    exit_with(1);
    return 0u;
}
/* A loop of a million instructions: what they take tells what a tick is. */
static uint32_t ticks_of_a_million(void)
{
    uint32_t rounds = 500000u;
    const uint32_t begin = start_ticks();
    __asm__ volatile("1: subs %0, %0, #1\n bne 1b" : "+r"(rounds) : : "cc");
    return ticks_since(begin);
}

/* Of startup.c and the linker script: the stack grows down to stack_limit. */
extern uint32_t stack_limit[], stack_top[];
static const uint32_t kPaint = 0xdeadbeefu;

static void paint_stack(void)
{
    const uint32_t *here;
    __asm__ volatile("mov %0, sp" : "=r"(here));
    for (uint32_t *word = stack_limit; word < here; ++word) *word = kPaint;
}
static uint32_t stack_used(void)
{
    const uint32_t *word = stack_limit;
    while (word < stack_top && *word == kPaint) ++word;
    return (uint32_t)(stack_top - word) * 4u;
}

#ifdef NETWORK_SELFTEST
/* The main() of network.c, where that is compiled with -Dmain=network_selftest. */
int network_selftest(void);
#else
static int network_selftest(void) { return 0; }
#endif

#ifdef NETWORK_STREAMS
/* Of one step, as step_model() makes it: samples are the pieces of one stream. */
#define NETWORK_INPUT_SIZE NETWORK_INPUT1_SIZE
#define NETWORK_OUTPUT_SIZE NETWORK_OUTPUT1_SIZE
static network_state stream;
static int begin(void) { return network_reset(&stream); }
static int answer(const int8_t *input, int8_t *output) { return network_step(&stream, input, output); }
#else
static int begin(void) { return NETWORK_OK; }
static int answer(const int8_t *input, int8_t *output) { return network_invoke(input, output); }
#endif

int main(void)
{
    static int8_t input[NETWORK_INPUT_SIZE], output[NETWORK_OUTPUT_SIZE];
    const int32_t from = open_file("input.bin", 9, READ_BINARY);
    const int32_t to = open_file("output.bin", 10, WRITE_BINARY);
    uint32_t samples = 0, least = UINT32_MAX, most = 0;
    if (network_selftest() != 0) {
        print("the self-test failed\n");
        return 1;
    }
    if (from < 0 || to < 0) {
        print("input.bin or output.bin cannot be opened\n");
        return 1;
    }
    if (begin() != NETWORK_OK) return 1;
    paint_stack();
    SYSTICK_RELOAD = 0xffffffu;
    SYSTICK_CONTROL = 5u; /* on, by the processor's clock */
    print_number("million ", ticks_of_a_million());
    while (transfer(SYS_READ, from, input, sizeof input) == 0) {
        const uint32_t begin = start_ticks();
        if (answer(input, output) != NETWORK_OK) return 1;
        const uint32_t ticks = ticks_since(begin);
        least = ticks < least ? ticks : least;
        most = ticks > most ? ticks : most;
        if (transfer(SYS_WRITE, to, output, sizeof output) != 0) return 1;
        ++samples;
    }
    host(SYS_CLOSE, &to);
    print_number("samples ", samples);
    print_number("least ", least);
    print_number("most ", most);
    print_number("stack ", stack_used());
    return 0;
}

void exit_with(int status)
{
    /* Where the arguments cannot be told, as on 32 bits, any other reason than a regular end is 1. */
    host(SYS_EXIT, (const void *)(uintptr_t)(status == 0 ? kApplicationExit : kApplicationExit + 1u));
}
