"""Whether the state of a Mersenne twister was made of a seed of 32 bits."""

import numpy as np


def follows_from_a_seed(words):
    """Whether words are those that numpy and torch, or Python, make of a seed."""
    words = [int(word) for word in words]
    made = [
        (1812433253 * (word ^ (word >> 30)) + k + 1) % 2**32 for k, word in enumerate(words[:-1])
    ]
    return np.mean(np.array(made) == words[1:]) > 0.1 or words[0] == 2**31
