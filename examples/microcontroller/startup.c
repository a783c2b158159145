/* What runs before main() on a Cortex-M: the vector table and memory as C wants it. A vendor's project
 * has files of its own for this. */
#include <stddef.h>
#include <stdint.h>

extern uint32_t data_load[], data_begin[], data_end[], bss_begin[], bss_end[], stack_top[];
int main(void);
void exit_with(int status);

/* What compilers make of loops and assignments; a C library has them too. Volatile: or they would call
 * themselves. */
void *memset(void *to, int value, size_t count);
void *memset(void *to, int value, size_t count)
{
    volatile uint8_t *byte = to;
    while (count-- > 0) *byte++ = (uint8_t)value;
    return to;
}
void *memcpy(void *to, const void *from, size_t count);
void *memcpy(void *to, const void *from, size_t count)
{
    volatile uint8_t *byte = to;
    const uint8_t *source = from;
    while (count-- > 0) *byte++ = *source++;
    return to;
}
/* The network's self-test compares with it. */
int memcmp(const void *left, const void *right, size_t count);
int memcmp(const void *left, const void *right, size_t count)
{
    const volatile uint8_t *a = left;
    const uint8_t *b = right;
    for (; count > 0; --count, ++a, ++b) {
        const int difference = *a - *b;
        if (difference != 0) return difference;
    }
    return 0;
}

static void fail(void)
{
    exit_with(1);
    for (;;) {}
}

void reset(void);
void reset(void)
{
    const uint32_t *from = data_load;
    for (uint32_t *to = data_begin; to < data_end; ++to) *to = *from++;
    for (uint32_t *to = bss_begin; to < bss_end; ++to) *to = 0u;
    exit_with(main());
    for (;;) {}
}

typedef void (*Handler)(void);
__attribute__((section(".vectors"), used)) static const struct {
    uint32_t *stack;
    Handler handlers[15];
} vectors = {stack_top, {reset, fail, fail, fail, fail, fail, 0, 0, 0, 0, fail, fail, 0, fail, fail}};
