"""
A model with a small gap that leaks every member (del Grosso, section 2.1.3)
============================================================================

A large gap between the losses on training records and on other records means that the records leak.
The converse is false: del Grosso (2023, section 2.1.3) describes a model with an arbitrarily small
gap, and all its members can be identified.
"""

import os

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from skmia import Records
from skmia.attacks import ThresholdAttack
from skmia.leakage import GeneralizationGapBound
from skmia.signals import Signals

FAST = os.environ.get("SKMIA_EXAMPLE_FAST") == "1"  # fewer records and shifts
N_RECORDS, N_SHIFTS = (400, 4) if FAST else (20_000, 12)

# %%
# The model
# ---------
# The response is pure noise, uniform on [0, spread]. The model has memorized the responses of its
# training records. For any other record it draws a response from the same distribution and adds a
# shift.


class Memorizer(RegressorMixin, BaseEstimator):
    def __init__(self, shift, spread, seed=0):
        self.shift = shift
        self.spread = spread
        self.seed = seed

    def fit(self, X, y):
        self.known_ = dict(zip(X[:, 0], y, strict=True))
        return self

    def predict(self, X):
        invented = np.random.default_rng(self.seed).uniform(
            0, self.spread, len(X)
        )
        invented += self.shift
        return np.array(
            [
                self.known_.get(x, guess)
                for x, guess in zip(X[:, 0], invented, strict=True)
            ]
        )


def make_victim(shift, spread):
    rng = np.random.default_rng(1)
    X = np.arange(2.0 * N_RECORDS)[:, None]
    records = Records(X, rng.uniform(0, spread, 2 * N_RECORDS))
    membership = rng.permutation(np.arange(2 * N_RECORDS) % 2)
    members = records[membership == 1]
    model = Memorizer(shift, spread).fit(members.X, members.y)
    return model, records, membership


# %%
# Errors of members and non-members
# ---------------------------------
# The absolute error of a member is 0. The error of a non-member is ``shift + u - v`` with two
# uniform numbers, which has a triangular density around the shift. The gap is exactly the shift,
# and no loss exceeds 1 if shift and spread add up to at most 1.


def as_absolute(signals):
    """Minus the absolute errors, of minus the squared ones."""
    return -np.sqrt(-signals)


SHIFT, SPREAD = 0.3, 0.2
victim, records, membership = make_victim(SHIFT, SPREAD)
losses = -as_absolute(
    Signals(victim, ["squared_error"]).fit_transform(records)
)[:, 0]

figure, ax = plt.subplots(figsize=(7, 3.2), layout="constrained")
edges = np.linspace(0, 0.6, 61)
others = losses[membership == 0]
ax.hist(
    losses[membership == 1], edges, color="#0072B2", label="members, all at 0"
)
ax.hist(others, edges, color="#D55E00", label="non-members")
triangle = (
    np.maximum(1 - np.abs(edges - SHIFT) / SPREAD, 0)
    / SPREAD
    * (edges[1] - edges[0])
)
ax.plot(
    edges, len(others) * triangle, color="black", lw=1, label="the triangle"
)
ax.axvline(
    others.mean(),
    color="black",
    ls=":",
    lw=1,
    label="mean of non-members = gap",
)
ax.set(
    xlabel="Absolute error", ylabel="Records", ylim=(0, 0.07 * len(others))
)
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False)
plt.show()

# %%
# Bound and attack at smaller gaps
# --------------------------------
# The shift goes to 0, and the spread with it. The attack is a threshold on the loss, set to 0. The
# bound uses the range of the loss, [0, 1].

rows = {}
for shift in np.geomspace(0.5, 0.001, N_SHIFTS):
    victim, records, membership = make_victim(shift, spread=shift)
    attack = ThresholdAttack(victim, signal="squared_error").fit(
        records, membership
    )
    signals = Signals(victim, ["squared_error"])
    steps = (
        signals,
        FunctionTransformer(as_absolute),
        GeneralizationGapBound(value_range=(-1, 0)),
    )
    bound = make_pipeline(*steps).fit(records, membership)[-1]
    rows[shift] = {
        "gap": bound.gap_[0],
        "bound": bound.success_bound_[0],
        "attack": (1 + attack.score(records, membership)) / 2,
    }
table = pd.DataFrame(rows).T.rename_axis("shift")
print(table.round(4).to_string())

figure, ax = plt.subplots(figsize=(7, 3.6), layout="constrained")
ax.plot(table["gap"], table["attack"], "o-", color="#0072B2", label="attack")
ax.plot(table["gap"], table["bound"], "k-", label="lower bound from the gap")
ax.axhline(0.5, color="#666666", lw=0.8)
ax.set(
    xscale="log",
    xlabel="Generalization gap",
    ylabel="Success",
    ylim=(0.45, 1.05),
)
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False, loc="center left")
plt.show()

# %%
# The bound holds at every gap: it states how much leaks at least. It does not state that nothing
# else leaks. A gap near 0 is not evidence of privacy, and neither is an attack that fails.
