"""Exposure of a secret by epoch, and with regularization (Carlini et al. 2019).

    python benchmarks/bench_secret_epochs.py [--seeds 2]

Small nets read the descriptions of data sets in scikit-learn, into which a number of four digits
was inserted eight times. Writes secret_sharer_epochs.csv: after each epoch the exact exposure, of
at most 13.3 bits, and the bits for a character of training lines and of lines kept aside.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from bench_secret_numbers import BEGINNING, read_lines, train_epochs

from skmia.memorization import CanaryFormat, Exposure, insert_canaries, log_perplexity

N_INSERTIONS = 8
SETTINGS = {"none": {}, "dropout 0.3": {"dropout": 0.3}, "penalty 1e-3": {"penalty": 1e-3}}


def bits_per_character(model, lines, alphabet):
    tokens = (np.array([[alphabet.index(character) for character in line]]) for line in lines)
    return sum(log_perplexity(model, line)[0] for line in tokens) / sum(map(len, lines))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    options = parser.parse_args()
    torch.set_num_threads(1)
    lines = read_lines()
    aside, lines = lines[::10], [line for number, line in enumerate(lines) if number % 10]
    alphabet = "".join(sorted(set("".join([*lines, *aside, "0123456789"]))))
    secrets = CanaryFormat(BEGINNING + "#" * 4, "0123456789", alphabet=alphabet)
    rows = []
    for seed in range(options.seeds):
        canary = secrets.decode(secrets.sample(random_state=seed))
        training = insert_canaries(lines, canary, N_INSERTIONS, random_state=seed)
        for name, settings in SETTINGS.items():
            models = train_epochs(training, alphabet, seed, **settings)
            for epoch, model in enumerate(models, 1):
                row = {"regularization": name, "seed": seed, "epoch": epoch}
                row["exposure"] = Exposure(model, secrets).fit().exposure(canary[0])
                row["bits_train"] = bits_per_character(model, lines[::5], alphabet)
                row["bits_aside"] = bits_per_character(model, aside, alphabet)
                rows.append(row)
            print(row, flush=True)
        table = pd.DataFrame(rows).round(3)
        table.to_csv(options.out / "secret_sharer_epochs.csv", index=False)


if __name__ == "__main__":
    main()
