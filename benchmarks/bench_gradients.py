"""Time of the gradients of the loss of each record, against an epoch of training of the same net.

Prints ratios measured in one run; asserts nothing. The net is ``make_conv_net()`` (439,722
parameters) and the images are noise of the size of CIFAR. Times are the best of a few rounds, in
each of which everything is timed once, and are given for all images. vmap and the loop over
records are timed on a part of the images.

    python benchmarks/bench_gradients.py [--images 10000] [--threads 2] [--device cpu]
"""

import argparse
from time import perf_counter, process_time

import numpy as np
import torch
from literature_nets import make_conv_net

from skmia.victims import open_white_box
from skmia.victims._white_box._torch_passes import LoopPass, RulePass, VmapPass

WAYS = {"rules": RulePass, "vmap": VmapPass, "one by one": LoopPass}


def make_images(n):
    rng = np.random.default_rng(0)
    return rng.random((n, 3, 32, 32), dtype=np.float32), rng.integers(10, size=n)


def time_epoch(net, images, labels, clock):
    start = clock()
    net.partial_fit(images, labels)
    return clock() - start


def time_answer(white_box, ask, images, labels, clock):
    start = clock()
    getattr(white_box, ask)(images, labels)
    return clock() - start


def measure(net, images, labels, n_slow, clock):
    """Seconds for all images of everything that is timed, by name."""
    found = {"an epoch of training": time_epoch(net, images, labels, clock)}
    n = len(images)
    for name, way in WAYS.items():
        some = slice(n if name == "rules" else min(n, n_slow))
        white_box = open_white_box(net)
        white_box.gradient_norms(images[:4], labels[:4])  # finds its way
        white_box._way = way, way.plan(net.module_)
        seconds = time_answer(white_box, "gradient_norms", images[some], labels[some], clock)
        found[f"norms for parameters, {name}"] = seconds * n / len(images[some])
    white_box = open_white_box(net)
    found["inputs' gradients"] = time_answer(white_box, "input_gradient", images, labels, clock)
    some = slice(n_slow)
    seconds = time_answer(white_box, "gradient_statistics", images[some], labels[some], clock)
    found["statistics for parameters"] = seconds * n / len(images[some])
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=10_000)
    parser.add_argument("--slow", type=int, default=100, help="images for what is slow")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--device", default="cpu")
    parser.add_argument(
        "--cpu-time",
        action="store_true",
        help="count processor time, which other programs disturb less (use with --threads 1)",
    )
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    clock = process_time if arguments.cpu_time else perf_counter
    images, labels = make_images(arguments.images)
    net = make_conv_net(max_epochs=1, device=arguments.device).fit(images[:256], labels[:256])
    rounds = [measure(net, images, labels, arguments.slow, clock) for _ in range(arguments.rounds)]
    best = {name: min(one[name] for one in rounds) for name in rounds[0]}
    epoch = best["an epoch of training"]
    for name, seconds in best.items():
        print(f"{name}: {seconds:.1f} s, {seconds / epoch:.1f}x", flush=True)


if __name__ == "__main__":
    main()
