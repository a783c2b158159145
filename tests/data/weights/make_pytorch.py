#!/usr/bin/env python3
"""Writes the PyTorch networks of tests/import/weights_pytorch_test.cpp, with inputs and what PyTorch
makes of them. Debian's python3-torch and python3-numpy; the files are committed: run by hand."""

import json
import pathlib

import numpy
import torch
from torch import nn

HERE = pathlib.Path(__file__).parent
TYPES = {"float32": "F32", "int64": "I64"}


def write_safetensors(path, tensors):
    header, data = {}, b""
    for name, tensor in tensors.items():
        values = numpy.ascontiguousarray(tensor.detach().numpy())
        begin, data = len(data), data + values.tobytes()
        header[name] = {"dtype": TYPES[str(values.dtype)], "shape": list(tensor.shape),
                        "data_offsets": [begin, len(data)]}
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)


def channels_last(x):
    return x.movedim(1, -1).contiguous() if x.dim() > 2 else x


def make(name, net, *shape):
    """Gives the network statistics of its own, and writes <name>.safetensors and <name>_runs."""
    for parameter in net.parameters():
        if parameter.dim() == 1:
            nn.init.uniform_(parameter, -0.5, 0.5)
    net.train()
    with torch.no_grad():
        for _ in range(20):
            net(torch.randn(16, *shape) * 2 + 0.5)
        net.eval()
        x = torch.randn(8, *shape)
        y = net(x)
    write_safetensors(HERE / f"{name}.safetensors", net.state_dict())
    write_npz(name, net)
    write_safetensors(HERE / f"{name}_runs.safetensors",
                      {"x": channels_last(x), "y": channels_last(y)})


def write_npz(name, net):
    """The MLP under Keras' names and in its layouts, the images under PyTorch's, compressed."""
    arrays = {key: tensor.detach().numpy() for key, tensor in net.state_dict().items()}
    if name == "pytorch_images":
        numpy.savez_compressed(HERE / f"{name}.npz", **arrays)
    if name != "pytorch_mlp":
        return
    keras = {}
    for i, layer in enumerate(["dense", "dense_1", "dense_2"], 1):
        keras[f"{layer}/kernel:0"] = numpy.ascontiguousarray(arrays[f"fc{i}.weight"].T)
        if f"fc{i}.bias" in arrays:
            keras[f"{layer}/bias:0"] = arrays[f"fc{i}.bias"].astype("float64")
    numpy.savez(HERE / "keras_mlp.npz", **keras)


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(12, 9)
        self.fc2 = nn.Linear(9, 7)
        self.fc3 = nn.Linear(7, 4, bias=False)

    def forward(self, x):
        return self.fc3(torch.relu(self.fc2(torch.relu(self.fc1(x)))))


def images():
    return nn.Sequential(
        nn.Conv2d(3, 6, (3, 2), padding=1, bias=False), nn.BatchNorm2d(6), nn.ReLU(),
        nn.Conv2d(6, 12, 3, groups=6, stride=2), nn.ReLU(),
        nn.Conv2d(12, 8, 1, groups=4), nn.ReLU(),
        nn.ConvTranspose2d(8, 5, 3, stride=2), nn.BatchNorm2d(5), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.BatchNorm1d(45), nn.Dropout(0.5), nn.Linear(45, 10), nn.BatchNorm1d(10),
        nn.ReLU(), nn.Linear(10, 3))


class Sequences(nn.Module):
    """Flattens a sequence and an image, and reads both side by side."""

    def __init__(self):
        super().__init__()
        self.left = nn.Conv1d(4, 6, 3)
        self.right = nn.Conv1d(4, 5, 2, groups=1)
        self.out = nn.Linear(6 * 7 + 5 * 8, 3)

    def forward(self, x):
        a = torch.flatten(torch.relu(self.left(x)), 1)
        b = torch.flatten(torch.relu(self.right(x)), 1)
        return self.out(torch.cat([a, b], 1))


torch.manual_seed(1)
make("pytorch_mlp", Mlp(), 12)
make("pytorch_images", images(), 3, 8, 7)
make("pytorch_sequences", Sequences(), 4, 9)
