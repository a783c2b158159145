/* Reads the 784 pixels of an image, a byte each, and prints the digit. */
#include <stdio.h>
#include "mnist_int8.h"

int main(void)
{
    float image[MNIST_INT8_INPUT_SIZE];
    int8_t codes[MNIST_INT8_INPUT_SIZE], scores[MNIST_INT8_OUTPUT_SIZE];
    int best = 0;
    for (int i = 0; i < MNIST_INT8_INPUT_SIZE; ++i) image[i] = (float)getchar() / 255.0f;
    mnist_int8_quantize_input(image, codes);
    mnist_int8_invoke(codes, scores);
    for (int i = 1; i < MNIST_INT8_OUTPUT_SIZE; ++i) best = scores[i] > scores[best] ? i : best;
    printf("%d\n", best);
    return 0;
}
