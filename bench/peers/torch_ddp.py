#!/usr/bin/env python3
"""torch_ddp.py RANKS BATCH STEPS: training steps of PyTorch's DistributedDataParallel, by gloo.

The MLP 784-256-128-10 with Adam in float32, one thread a rank, RANKS processes of this machine that
share out a global batch of noise. Prints one line of JSON: seconds of the middle step of rank 0, and
a digest of the weights after all steps. Held against others it tells whether the result depends on
the number of ranks.
"""

import hashlib
import json
import statistics
import sys
import tempfile
import time

import torch
from torch import distributed, multiprocessing, nn

WARM_STEPS = 10
# Batches of noise in memory.
BATCHES = 16


def train(rank, ranks, batch, steps, meeting):
    torch.set_num_threads(1)
    distributed.init_process_group("gloo", init_method=meeting, rank=rank, world_size=ranks)
    torch.manual_seed(0)
    sizes = [784, 256, 128, 10]
    layers = []
    for inputs, outputs in zip(sizes, sizes[1:]):
        layers += [nn.Linear(inputs, outputs), nn.ReLU()]
    model = nn.parallel.DistributedDataParallel(nn.Sequential(*layers[:-1]))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    loss_of = nn.CrossEntropyLoss()
    images = torch.rand(BATCHES, batch, 784)
    labels = torch.randint(0, 10, (BATCHES, batch))
    own = slice(rank * batch // ranks, (rank + 1) * batch // ranks)
    seconds = []
    for step in range(steps + WARM_STEPS):
        begin = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        loss_of(model(images[step % BATCHES, own]), labels[step % BATCHES, own]).backward()
        optimizer.step()
        seconds.append(time.perf_counter() - begin)
    if rank == 0:
        weights = b"".join(p.detach().numpy().tobytes() for p in model.parameters())
        print(json.dumps({"ranks": ranks, "batch": batch,
                          "seconds": statistics.median(seconds[WARM_STEPS:]),
                          "sha256": hashlib.sha256(weights).hexdigest()}))
    distributed.destroy_process_group()


def main():
    ranks, batch, steps = map(int, sys.argv[1:4])
    with tempfile.TemporaryDirectory() as folder:
        meeting = f"file://{folder}/meeting"
        multiprocessing.spawn(train, args=(ranks, batch, steps, meeting), nprocs=ranks)


if __name__ == "__main__":
    main()
