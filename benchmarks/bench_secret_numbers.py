"""Table 1 of Carlini et al. (2019): the least perplexing of a billion numbers.

    python benchmarks/bench_secret_numbers.py [--insertions 8 16]

A small net reads the descriptions of data sets in scikit-learn, into which "the random number is
281265017" was inserted, and a search finds the nine least perplexing of all numbers of nine
digits. Writes secret_sharer_table_1.csv.
"""

import argparse
import time
from pathlib import Path

import pandas as pd
import sklearn.datasets
import torch
from published import annotate

from skmia.memorization import (
    CanaryFormat,
    TorchSequenceModel,
    insert_canaries,
    log_perplexity,
    shortest_path_extraction,
)

SECRET, BEGINNING, N_FOUND, N_EPOCHS = "281265017", "the random number is ", 9, 20
NAMES = ("iris", "wine", "breast_cancer", "diabetes", "digits", "linnerud")


class Reader(torch.nn.Module):
    def __init__(self, n_tokens, dropout=0.0):
        super().__init__()
        self.embedding = torch.nn.Embedding(n_tokens, 32)
        self.recurrent = torch.nn.GRU(32, 64, batch_first=True)
        self.output = torch.nn.Linear(64, n_tokens)
        self.dropout = torch.nn.Dropout(dropout)

    def forward(self, tokens):
        read = self.recurrent(self.dropout(self.embedding(tokens)))[0]
        return self.output(self.dropout(read))


def read_lines():
    text = "\n".join(getattr(sklearn.datasets, f"load_{name}")().DESCR for name in NAMES)
    lines = [line.strip().lower() for line in text.splitlines() if len(line.strip()) > 10]
    return [line for line in dict.fromkeys(lines) if line.isascii()]


def train_epochs(lines, alphabet, seed, dropout=0.0, penalty=0.0):
    """A net that reads character by character, after each epoch.

    The token after the last one starts a line.
    """
    start = len(alphabet)
    torch.manual_seed(seed)
    net = Reader(start + 1, dropout)
    optimizer = torch.optim.Adam(net.parameters(), lr=5e-3, weight_decay=penalty)
    lines = [torch.tensor([start, *map(alphabet.index, line)]) for line in lines]
    for _ in range(N_EPOCHS):
        net.train()
        for rows in torch.randperm(len(lines)).split(32):
            batch = [lines[row] for row in rows]
            x = torch.nn.utils.rnn.pad_sequence(batch, batch_first=True, padding_value=start)
            loss = torch.nn.functional.cross_entropy(
                net(x[:, :-1]).flatten(0, 1), x[:, 1:].flatten(), ignore_index=start
            )
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        yield TorchSequenceModel(net.eval(), start_token=start)


def train(lines, alphabet, seed):
    """The net after the last epoch."""
    *_, model = train_epochs(lines, alphabet, seed)
    return model


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--insertions", type=int, nargs="+", default=[8, 16])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    options = parser.parse_args()
    torch.set_num_threads(1)
    lines, rows = read_lines(), []
    alphabet = "".join(sorted(set("".join([*lines, "0123456789"]))))
    secrets = CanaryFormat(BEGINNING + "#" * len(SECRET), "0123456789", alphabet=alphabet)
    for insertions in options.insertions:
        for seed in range(options.seeds):
            start = time.process_time()
            training = insert_canaries(lines, [BEGINNING + SECRET], insertions, random_state=seed)
            model = train(training, alphabet, seed)
            found = shortest_path_extraction(model, secrets, n_sequences=N_FOUND, max_nodes=100_000)
            given = len(BEGINNING)
            bits = log_perplexity(model, found.sequences, n_given=given)
            facts = {"insertions": insertions, "seed": seed, "expanded": found.n_expanded}
            facts |= {"seconds": round(time.process_time() - start, 1)}
            numbers = [sequence[given:] for sequence in secrets.decode(found.sequences)]
            for rank, (number, cost) in enumerate(zip(numbers, bits, strict=True), 1):
                rows.append({**facts, "rank": rank, "number": number, "log_perplexity": cost})
            print(facts, numbers, flush=True)
    table = annotate("secret_sharer_table_1.csv", pd.DataFrame(rows).round(4))
    table.to_csv(options.out / "secret_sharer_table_1.csv", index=False)


if __name__ == "__main__":
    main()
