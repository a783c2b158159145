/*
 * stream_steps.c: times NAME_step() of exported C source, with net.h and net.c of octet_measure stream
 * in the include path. Prints one line of JSON: microseconds of processor time of a call, cpu_min.
 */
#include <stdio.h>
#include <time.h>

#include "net.c"

#define CALLS 2000
#define SAMPLES 25

int main(void)
{
    static net_state state;
    static int8_t x[NET_INPUT1_SIZE], y[NET_OUTPUT1_SIZE];
    double best = 1e9;
    int sample, i;
    if (net_reset(&state) != NET_OK) return 1;
    for (sample = 0; sample < SAMPLES; ++sample) {
        const clock_t begin = clock();
        double took;
        for (i = 0; i < CALLS; ++i) {
            x[0] = (int8_t)i;
            if (net_step(&state, x, y) != NET_OK) return 1;
        }
        took = 1e6 * (double)(clock() - begin) / CLOCKS_PER_SEC / CALLS;
        if (took < best) best = took;
    }
    printf("{\"cpu_min\":%g}\n", best);
    return 0;
}
