#pragma once

#include <string_view>

// The sequences of an LSTM on integers, behind the sums of its gates.

namespace octet::detail::kernel_text {

inline constexpr std::string_view kSequenceLstm =
    R"(/* Points of the logistic function, in units of 2^-16. */
@points@/* The place on the curve of a number, in units of 1 / (3 * 4096). */
static int32_t @name@_place(int32_t x, int32_t factor, int32_t shift)
{
    return (x * factor + (int32_t)(((uint32_t)1 << shift) >> 1)) >> shift;
}

/* The line between the points beside `size`, which lie 2^bits apart, in units of 2^-(16 + bits). */
static int32_t @name@_line(int32_t size, int32_t bits, int32_t most)
{
    const int32_t point = size >> bits;
    if (point >= 255) {
        return most << bits;
    }
    return (@name@_points[point] << bits) +
           (size & (((int32_t)1 << bits) - 1)) * (@name@_points[point + 1] - @name@_points[point]);
}

/* Functions of a place, in units of 2^-15. */
static int32_t @name@_logistic(int32_t place)
{
    const int32_t line = @name@_line(place < 0 ? -place : place, 9, 65534);
    return (place < 0 ? ((int32_t)1 << 25) - line + 511 : line + 512) >> 10;
}

static int32_t @name@_tanh(int32_t place)
{
    const int32_t line = @name@_line(place < 0 ? -place : place, 8, 65535) - ((int32_t)1 << 23);
    return (place < 0 ? 127 - line : line + 128) >> 8;
}

typedef struct {
    @name@_sums input[4]; /* of the gates i, f, c, o */
    @name@_sums hidden[4];
    int32_t batch;
    int32_t steps;
    int32_t rows_apart;  /* rows of values from one sequence to the next */
    int32_t steps_apart; /* and from one step to the next */
    int32_t tanh_factor; /* of the cell state */
    int32_t tanh_shift;
    int32_t added_multiplier;
    int32_t added_shift;
    int32_t clip;
    int32_t hidden_multiplier;
    int32_t hidden_shift;
    int32_t zero_point;
} @name@_lstm;

/* The functions of the gates of a step; behind them is memory for sums of one gate. */
static void @name@_gates(const @name@_lstm *l, const int8_t *x, const int8_t *hidden, int16_t *gates, @name@_row *row)
{
    const int32_t units = l->hidden[0].units;
    int16_t *sums = gates + 4 * units;
    int32_t total = @name@_set_row(x, l->input[0].depth, row, 0, 1);
    for (int32_t gate = 0; gate < 4; ++gate) {
        @name@_outputs_wide(&l->input[gate], row, 1, &total, gates + gate * units);
    }
    total = @name@_set_row(hidden, units, row, 0, 1);
    for (int32_t gate = 0; gate < 4; ++gate) {
        @name@_outputs_wide(&l->hidden[gate], row, 1, &total, sums);
        for (int32_t i = 0; i < units; ++i) {
            const int32_t sum = @name@_clamp(*gates + sums[i], -32768, 32767);
            const int32_t place = @name@_place(sum, @gate_factor@, @gate_shift@);
            *gates++ = (int16_t)(gate == 2 ? @name@_tanh(place) : @name@_logistic(place));
        }
    }
}

/* The next states of a unit, from the functions of its gates. */
static int8_t @name@_next_state(const @name@_lstm *l, const int16_t *gates, int16_t *cell)
{
    const int32_t units = l->hidden[0].units;
    const int32_t kept = @name@_rescale(gates[units] * *cell, @kept_multiplier@, @kept_shift@);
    const int32_t added = @name@_rescale(gates[0] * gates[2 * units], l->added_multiplier, l->added_shift);
    const int32_t sum = @name@_clamp(kept, -32768, 32767) + @name@_clamp(added, -32768, 32767);
    const int32_t next = @name@_clamp(@name@_clamp(sum, -32768, 32767), -l->clip, l->clip);
    const int32_t tanh_of_cell = @name@_tanh(@name@_place(next, l->tanh_factor, l->tanh_shift));
    const int32_t steps =
        @name@_rescale(gates[3 * units] * tanh_of_cell, l->hidden_multiplier, l->hidden_shift);
    *cell = (int16_t)next;
    return (int8_t)(@name@_clamp(steps, -128 - l->zero_point, 127 - l->zero_point) + l->zero_point);
}

/* Each next state may lie where the state was. */
static void @name@_sequence_lstm(const @name@_lstm *l, const int8_t *input, const int8_t *hidden, const int16_t *cell,
        int8_t *output, int8_t *next_hidden, int16_t *next_cell, int16_t *gates, @name@_row *row)
{
    const int32_t units = l->hidden[0].units;
    const int32_t depth = l->input[0].depth;
    for (int32_t sequence = 0; sequence < l->batch; ++sequence) {
        const int8_t *x = input + sequence * l->rows_apart * depth;
        int8_t *y = output + sequence * l->rows_apart * units;
        const int8_t *before = hidden;
        for (int32_t i = 0; i < units; ++i) {
            next_cell[i] = cell[i];
        }
        for (int32_t step = 0; step < l->steps; ++step) {
            @name@_gates(l, x, before, gates, row);
            for (int32_t i = 0; i < units; ++i) {
                y[i] = @name@_next_state(l, gates + i, next_cell + i);
            }
            before = y;
            x += l->steps_apart * depth;
            y += l->steps_apart * units;
        }
        for (int32_t i = 0; i < units; ++i) {
            next_hidden[i] = before[i];
        }
        hidden += units;
        cell += units;
        next_hidden += units;
        next_cell += units;
    }
}

)";

}  // namespace octet::detail::kernel_text
