#!/usr/bin/env python3
"""torch_network.py NETWORK.json float|qat BATCH THREADS SECONDS: training steps of a network in PyTorch.

The network is what `octet_measure network` prints; the data is noise, the optimizer Adam. qat is
eager quantization-aware training with fused modules, the fused observer and fake quantization, 8
bits, convolutions with a scale per channel. Of both memory layouts the quicker is measured. Prints
one line of JSON: seconds of the middle step and the quickest, by the wall clock and of processor time.
"""

import json
import statistics
import sys
import time
import warnings

import torch
from torch import nn
from torch.ao import quantization

WARM_STEPS = 3
PROBE_STEPS = 5
MOST_STEPS = 300
LEAST_STEPS = 5
# Batches of noise in memory.
BATCHES = 4


def padding_of(layer):
    """PyTorch pads both sides alike; where TensorFlow pads one more behind, both get the larger."""
    top, bottom, left, right = layer["pad"]
    return max(top, bottom), max(left, right)


class Step(nn.Module):
    """An operation with the normalization and the clamp behind it."""

    def __init__(self, layer):
        super().__init__()
        self.main = self.norm = self.relu = None
        inputs, outputs = layer["in"], layer["out"][2]
        if layer["op"] == "dense":
            values = inputs[0] * inputs[1] * inputs[2]
            self.main = nn.Linear(values, outputs, bias=not layer["norm"])
            norm = nn.BatchNorm1d
        else:
            groups = inputs[2] if layer["op"] == "depthwise" else 1
            self.main = nn.Conv2d(inputs[2], outputs, layer["kernel"], layer["stride"],
                                  padding_of(layer), groups=groups, bias=not layer["norm"])
            norm = nn.BatchNorm2d
        if layer["norm"]:
            self.norm = norm(outputs)
        if layer["relu"]:
            self.relu = nn.ReLU(inplace=True)

    def forward(self, x):
        if isinstance(self.main, nn.Linear) and x.dim() == 4:
            # In the order that is in memory, without a copy.
            x = (x if x.is_contiguous() else x.permute(0, 2, 3, 1)).flatten(1)
        for part in (self.main, self.norm, self.relu):
            if part is not None:
                x = part(x)
        return x


class Sum(nn.Module):
    def __init__(self, relu):
        super().__init__()
        self.relu = relu
        # A module of its own, whose result is observed.
        self.add = torch.ao.nn.quantized.FloatFunctional()

    def forward(self, x, y):
        return self.add.add_relu(x, y) if self.relu else self.add.add(x, y)


class Mean(nn.Module):
    def forward(self, x):
        return nn.functional.adaptive_avg_pool2d(x, 1)


class Network(nn.Module):
    def __init__(self, layers):
        super().__init__()
        self.sources = [layer["from"] for layer in layers]
        self.steps = nn.ModuleList([quantization.QuantStub()] + [make(layer) for layer in layers[1:]])

    def forward(self, x):
        results = [self.steps[0](x)]
        for step, sources in zip(self.steps[1:], self.sources[1:]):
            results.append(step(*[results[i] for i in sources]))
        return results[-1]


def make(layer):
    if layer["op"] == "add":
        return Sum(layer["relu"])
    if layer["op"] == "mean":
        return Mean()
    if layer["op"] == "maxpool":
        return nn.MaxPool2d(layer["kernel"], layer["stride"], padding_of(layer))
    return Step(layer)


def configs():
    """For convolutions and for dense layers."""
    fused = quantization.FusedMovingAvgObsFakeQuantize
    activation = fused.with_args(observer=quantization.MovingAverageMinMaxObserver, quant_min=0,
                                 quant_max=255, dtype=torch.quint8)
    weight = {"averaging_constant": 1.0, "quant_min": -127, "quant_max": 127, "dtype": torch.qint8}
    by_channel = fused.with_args(observer=quantization.MovingAveragePerChannelMinMaxObserver,
                                 qscheme=torch.per_channel_symmetric, ch_axis=0, **weight)
    by_layer = fused.with_args(observer=quantization.MovingAverageMinMaxObserver,
                               qscheme=torch.per_tensor_symmetric, **weight)
    return (quantization.QConfig(activation=activation, weight=by_channel),
            quantization.QConfig(activation=activation, weight=by_layer))


def quantized(network):
    """Fused and prepared. Fusing forgets configs, so that dense layers get theirs afterwards."""
    convolution, dense = configs()
    network.train()
    network.qconfig = convolution
    for step in network.steps:
        if not isinstance(step, Step):
            continue
        parts = [name for name in ("main", "norm", "relu") if getattr(step, name) is not None]
        # Linear, BatchNorm and ReLU have no module of all three: the clamp is quantized by itself.
        apart = isinstance(step.main, nn.Linear) and len(parts) == 3
        if apart:
            parts.remove("relu")
        is_dense = isinstance(step.main, nn.Linear)
        if len(parts) > 1:
            quantization.fuse_modules_qat(step, [parts], inplace=True)
        if is_dense:
            step.main.qconfig = dense
        if apart:
            step.main.qconfig = quantization.QConfig(activation=nn.Identity, weight=dense.weight)
            step.relu = nn.Sequential(step.relu, quantization.QuantStub(dense))
    return quantization.prepare_qat(network, inplace=True)


class Trainer:
    """Steps of training on noise: gather a batch, forward, backward, Adam."""

    def __init__(self, description, mode, batch, channels_last):
        layers, self.classes, self.batch = description["layers"], description["classes"], batch
        torch.manual_seed(0)
        self.network = Network(layers)
        if mode == "qat":
            self.network = quantized(self.network)
        self.network.train()
        height, width, channels = layers[0]["out"]
        is_image = height * width > 1
        shape = (channels, height, width) if is_image else (channels,)
        self.examples = torch.rand(BATCHES * batch, *shape)
        self.format = torch.channels_last if channels_last and is_image else torch.contiguous_format
        if is_image:
            self.network.to(memory_format=self.format)
            self.examples = self.examples.contiguous(memory_format=self.format)
        self.labels = torch.randint(0, max(self.classes, 1), (len(self.examples),))
        self.adam = torch.optim.Adam(self.network.parameters(), lr=1e-3)

    def step(self, rows):
        self.adam.zero_grad(set_to_none=True)
        x = self.examples[rows]
        if x.dim() == 4:
            x = x.contiguous(memory_format=self.format)
        y = self.network(x).flatten(1)
        if self.classes == 0:
            loss = nn.functional.mse_loss(y, x)
        else:
            loss = nn.functional.cross_entropy(y, self.labels[rows])
        loss.backward()
        self.adam.step()

    def time_steps(self, most, seconds):
        """Wall and processor seconds of each step but the first ones."""
        wall, processor = [], []
        end = time.perf_counter() + seconds
        while len(wall) < most + WARM_STEPS:
            rows = torch.randperm(len(self.examples))[:self.batch]
            begin, processor_begin = time.perf_counter(), time.process_time()
            self.step(rows)
            wall.append(time.perf_counter() - begin)
            processor.append(time.process_time() - processor_begin)
            if time.perf_counter() > end and len(wall) >= LEAST_STEPS + WARM_STEPS:
                break
        return wall[WARM_STEPS:], processor[WARM_STEPS:]


def main():
    if len(sys.argv) != 6 or sys.argv[2] not in ("float", "qat"):
        print("usage: torch_network.py NETWORK.json float|qat BATCH THREADS SECONDS",
              file=sys.stderr)
        return 2
    mode, batch, threads, seconds = sys.argv[2], *map(int, sys.argv[3:6])
    warnings.simplefilter("ignore")
    torch.set_num_threads(threads)
    with open(sys.argv[1], encoding="utf-8") as file:
        description = json.load(file)
    trainers = [Trainer(description, mode, batch, last) for last in (True, False)]
    # By processor time, which others on the machine do not change.
    trainer = min(trainers, key=lambda each: min(each.time_steps(PROBE_STEPS, seconds)[1]))
    wall, processor = trainer.time_steps(MOST_STEPS, seconds)
    print(json.dumps({
        "s_per_step": statistics.median(wall), "min": min(wall),
        "cpu_s_per_step": statistics.median(processor), "cpu_min": min(processor),
        "steps": len(wall), "channels_last": trainer.format == torch.channels_last}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
