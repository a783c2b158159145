#!/usr/bin/env python3
"""torch_sequences.py NETWORK BATCH THREADS SECONDS: training steps of a network for sequences in PyTorch.

The networks are those for sequences in bench/measure/reference.cpp, in float: PyTorch's quantization-aware
training has no recurrent layers and no attention. The data is noise, the optimizer Adam. Prints one line of
JSON as torch_network.py does.
"""

import json
import statistics
import sys
import warnings

import torch
from torch import nn
from torch_network import BATCHES, MOST_STEPS, Trainer

CLASSES = 10


class Recurrent(nn.Module):
    """A recurrent layer over the steps and a classifier of its last state."""

    def __init__(self, layer, units):
        super().__init__()
        self.states = layer(units, units, batch_first=True)
        self.end = nn.Linear(units, CLASSES)

    def forward(self, x):
        return self.end(self.states(x)[0][:, -1])


class Tcn(nn.Module):
    """Causal convolutions with residuals in blocks, dilated by 1, 2, 4, ..."""

    def __init__(self, features, filters, blocks):
        super().__init__()
        dilations = [1] + [1 << block for block in range(blocks) for _ in range(2)]
        self.convolutions = nn.ModuleList(
            nn.Conv1d(features if i == 0 else filters, filters, 3, dilation=dilation)
            for i, dilation in enumerate(dilations))
        self.end = nn.Linear(filters, CLASSES)

    def convolved(self, x, i):
        convolution = self.convolutions[i]
        return torch.relu(convolution(nn.functional.pad(x, (2 * convolution.dilation[0], 0))))

    def forward(self, x):
        x = self.convolved(x.transpose(1, 2), 0)
        for i in range(1, len(self.convolutions), 2):
            x = x + self.convolved(self.convolved(x, i), i + 1)
        return self.end(x.mean(2))


class Attention(nn.Module):
    """Attention of a sequence to itself, and a classifier of the mean of its results."""

    def __init__(self, features, heads):
        super().__init__()
        self.attention = nn.MultiheadAttention(features, heads, batch_first=True)
        self.end = nn.Linear(features, CLASSES)

    def forward(self, x):
        y = self.attention(x, x, x, need_weights=False)[0]
        return self.end((x + y).mean(1))


# By name: the network, and its examples [steps, features].
NETWORKS = {
    "gru64": (lambda: Recurrent(nn.GRU, 64), (50, 64)),
    "gru128": (lambda: Recurrent(nn.GRU, 128), (50, 128)),
    "lstm64": (lambda: Recurrent(nn.LSTM, 64), (50, 64)),
    "lstm128": (lambda: Recurrent(nn.LSTM, 128), (50, 128)),
    "tcn": (lambda: Tcn(16, 32, 6), (100, 16)),
    "attention": (lambda: Attention(64, 4), (64, 64)),
}


class SequenceTrainer(Trainer):
    def __init__(self, name, batch):  # pylint: disable=super-init-not-called
        torch.manual_seed(0)
        make, shape = NETWORKS[name]
        self.classes, self.batch = CLASSES, batch
        self.network = make().train()
        self.examples = torch.rand(BATCHES * batch, *shape)
        self.labels = torch.randint(0, CLASSES, (len(self.examples),))
        self.adam = torch.optim.Adam(self.network.parameters(), lr=1e-3)


def main():
    if len(sys.argv) != 5 or sys.argv[1] not in NETWORKS:
        print(f"usage: torch_sequences.py {'|'.join(NETWORKS)} BATCH THREADS SECONDS", file=sys.stderr)
        return 2
    batch, threads, seconds = map(int, sys.argv[2:5])
    warnings.simplefilter("ignore")
    torch.set_num_threads(threads)
    wall, processor = SequenceTrainer(sys.argv[1], batch).time_steps(MOST_STEPS, seconds)
    print(json.dumps({
        "s_per_step": statistics.median(wall), "min": min(wall),
        "cpu_s_per_step": statistics.median(processor), "cpu_min": min(processor),
        "steps": len(wall)}))
    return 0


sys.exit(main())
