#!/usr/bin/env python3
"""torch_mlp.py float|qat BATCH THREADS EPOCHS DATA: the example's network in PyTorch, Adam at 1e-3.

qat is eager quantization-aware training (torch.ao.quantization) with the fused observer and fake
quantization, which is PyTorch's quickest: 8 bits, moving averages for activations, symmetric
weights, ReLU fused. Prints one line of JSON. The only Python in this project: it is the peer.
"""

import gzip
import json
import pathlib
import statistics
import sys
import time
import warnings

import numpy
import torch
from torch import nn
from torch.ao import quantization

LAYERS = [(784, 256), (256, 128), (128, 10)]


def read_idx(path, header):
    """The bytes of an IDX file behind its header."""
    with gzip.open(path) as file:
        return numpy.frombuffer(file.read(), numpy.uint8, offset=header)


def read_examples(folder, name):
    pixels = read_idx(folder / f"{name}-images-idx3-ubyte.gz", 16)
    labels = read_idx(folder / f"{name}-labels-idx1-ubyte.gz", 8)
    images = pixels.reshape(len(labels), -1).astype(numpy.float32) / 255
    return torch.from_numpy(images), torch.from_numpy(labels.astype(numpy.int64))


def make_network():
    layers = [quantization.QuantStub()]
    for inputs, outputs in LAYERS:
        layers += [nn.Linear(inputs, outputs), nn.ReLU()]
    layers[-1] = quantization.DeQuantStub()
    return nn.Sequential(*layers)


def quantized(network):
    fused = quantization.FusedMovingAvgObsFakeQuantize
    observer = quantization.MovingAverageMinMaxObserver
    network.qconfig = quantization.QConfig(
        activation=fused.with_args(
            observer=observer, quant_min=0, quant_max=255, dtype=torch.quint8),
        weight=fused.with_args(
            observer=observer, averaging_constant=1.0, quant_min=-128, quant_max=127,
            dtype=torch.qint8, qscheme=torch.per_tensor_symmetric))
    # A linear layer and the ReLU behind it become one module.
    pairs = [[str(i), str(i + 1)] for i in range(1, 2 * len(LAYERS) - 1, 2)]
    network.train()
    return quantization.prepare_qat(quantization.fuse_modules_qat(network, pairs))


def train_epoch(network, adam, images, labels, batch):
    begin = time.perf_counter()
    order = torch.randperm(len(labels))
    for rows in order.split(batch):
        adam.zero_grad(set_to_none=True)
        nn.functional.cross_entropy(network(images[rows]), labels[rows]).backward()
        adam.step()
    return time.perf_counter() - begin


def main():
    if len(sys.argv) != 6 or sys.argv[1] not in ("float", "qat"):
        print("usage: torch_mlp.py float|qat BATCH THREADS EPOCHS DATA", file=sys.stderr)
        return 2
    mode, (batch, threads, epochs), folder = sys.argv[1], map(int, sys.argv[2:5]), sys.argv[5]
    warnings.simplefilter("ignore")
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    images, labels = read_examples(pathlib.Path(folder), "train")
    test_images, test_labels = read_examples(pathlib.Path(folder), "t10k")
    network = quantized(make_network()) if mode == "qat" else make_network()
    adam = torch.optim.Adam(network.parameters(), lr=1e-3)
    seconds = [train_epoch(network, adam, images, labels, batch) for _ in range(epochs)]
    network.eval()
    with torch.no_grad():
        right = (network(test_images).argmax(1) == test_labels).float().mean().item()
    # The first epoch warms up.
    print(json.dumps({"s_per_epoch": statistics.median(seconds[1:] or seconds), "acc": right}))
    return 0


sys.exit(main())
