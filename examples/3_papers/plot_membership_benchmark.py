"""
Ten strategies with known members (del Grosso, chapter 3)
=========================================================

Attacks that know some members can learn how members differ: in the victim's predictions, in its
hidden layers, in its gradients. Del Grosso (2023) ran 21 such strategies against seven nets and
ranked them. This example runs ten of them against twelve small nets, first checks that only
membership can be learned from the records, and finally tests which of the differences are
significant.

Nothing is downloaded. The full version takes about two minutes on one core.
"""

import os
import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score
from sklearn.neural_network import MLPClassifier

from skmia import Records
from skmia.attacks import DiversityAttack, RenyiAttack, ThresholdAttack
from skmia.attacks.white_box import (
    EnsembleAttack,
    GradientAttack,
    LayerOutputsAttack,
    MahalanobisAttack,
)
from skmia.datasets import load_sklearn, make_membership_problem
from skmia.exceptions import ResolutionWarning
from skmia.metrics import (
    CriticalDifferenceDisplay,
    MembershipRocDisplay,
    RankingTest,
    operating_point,
)
from skmia.signals import AdversarialDistance

FAST = (
    os.environ.get("SKMIA_EXAMPLE_FAST") == "1"
)  # fewer records, data sets and epochs
N_RECORDS, N_KNOWN, N_NULL = (400, 60, 1) if FAST else (4000, 250, 5)

# %%
# The victims
# -----------
# There are four data sets, each with half of its records as members, and three nets for each: one
# that is trained for a short time, one that is trained until it has memorized its members, and a
# wide one.


def make_digits(share_wrong, rng):
    records = load_sklearn("digits")
    wrong = rng.random(len(records)) < share_wrong
    y = np.where(wrong, rng.integers(10, size=len(records)), records.y)
    return Records(np.asarray(records.X) / 16, y)


def make_table(kind, n_features, n_classes):
    settings = {
        "kind": kind,
        "n_features": n_features,
        "n_classes": n_classes,
    }
    return make_membership_problem(N_RECORDS, **settings, random_state=0)[0]


DATA = {
    "digits": make_digits(0, np.random.default_rng(0)),
    "digits, wrong labels": make_digits(0.2, np.random.default_rng(0)),
    "clusters": make_table("mixture", 20, 4),
    "baskets": make_table("baskets", 200, 20),
}
NETS = {
    "short": MLPClassifier((64,), max_iter=20, random_state=0),
    "long": MLPClassifier(
        (64, 32), max_iter=200, tol=0, n_iter_no_change=200, random_state=0
    ),
    "wide": MLPClassifier(
        (256,), max_iter=100, tol=0, n_iter_no_change=100, random_state=0
    ),
}
if FAST:
    DATA = {name: DATA[name][:N_RECORDS] for name in ("digits", "clusters")}
    NETS = {
        name: NETS[name].set_params(max_iter=20) for name in ("short", "long")
    }

# %%
# The strategies
# --------------
# Six strategies need only a prediction or a gradient of each record, or compare it with the
# predictions for known members; four train a classifier on known members. All scores are higher for
# members.


def make_attacks(victim):
    return {
        "loss": ThresholdAttack(victim, signal="loss"),
        "modified entropy": ThresholdAttack(
            victim, signal="modified_entropy"
        ),
        "gradient norm": ThresholdAttack(victim, signal="gradient_norm_w"),
        "adv. distance": ThresholdAttack(
            victim, signal=AdversarialDistance("linf", n_steps=5, n_rounds=3)
        ),
        "diversity": DiversityAttack(victim, cv=2, random_state=0),
        "Rényi": RenyiAttack(victim, cv=2, random_state=0),
        "Mahalanobis": MahalanobisAttack(victim, cv=2, random_state=0),
        "gradient model": GradientAttack(victim, cv=2, random_state=0),
        "layer outputs": LayerOutputsAttack(victim, cv=2, random_state=0),
        "ensemble": EnsembleAttack(
            victim,
            signals=[
                "max_softmax",
                "modified_entropy",
                "loss",
                "gradient_norm_w",
            ],
            max_iter=20 if FAST else 300,
            cv=2,
            random_state=0,
        ),
    }


def ask(victim, members, others):
    """Scores of the records that no attack has learned from, and their
    membership."""
    known = Records.concat([members[:N_KNOWN], others[:N_KNOWN]])
    asked = Records.concat([members[N_KNOWN:], others[N_KNOWN:]])
    attacks = make_attacks(victim)
    for attack in attacks.values():
        attack.fit(known, np.repeat([1, 0], N_KNOWN))
    n_asked = len(members) - N_KNOWN, len(others) - N_KNOWN
    scores = {
        name: attack.score_samples(asked) for name, attack in attacks.items()
    }
    return scores, np.repeat([1, 0], n_asked)


def measure_auc(scores, membership):
    return {
        name: roc_auc_score(membership, each) for name, each in scores.items()
    }


def train(net, records):
    """A victim, and the halves of the records that it was and was not trained
    on."""
    order = np.random.default_rng(1).permutation(len(records))
    members, others = records[order[::2]], records[order[1::2]]
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", ConvergenceWarning
        )  # the number of epochs is chosen
        victim = net.fit(members.X, members.y)
    return victim, members, others


# %%
# Check without members
# ---------------------
# Classifiers learn any difference between two sets of records: members that were collected at
# another time, sorted files, duplicates. This check splits the *non-members* into random halves,
# calls one half members, and attacks. What an attack finds here is not leakage. The mean over
# several splits should be 0.5.

victim, members, others = train(NETS["long"], DATA["digits"])
null = []
for seed in range(N_NULL):
    halves = others[np.random.default_rng(seed).permutation(len(others))]
    first, second = halves[: len(halves) // 2], halves[len(halves) // 2 :]
    null.append(measure_auc(*ask(victim, first, second)))
print("mean AUC on non-members alone")
print(pd.DataFrame(null).mean().round(3).to_string(), "\n")

# %%
# The comparison
# --------------

aucs, found, rocs = {}, {}, {}
for data, records in DATA.items():
    for name, net in NETS.items():
        victim, members, others = train(net, records)
        scores, membership = ask(victim, members, others)
        key = f"{data}: {name}"
        aucs[key], rocs[key] = (
            measure_auc(scores, membership),
            (membership, scores),
        )
        found[key] = {
            name: operating_point(
                membership, each, 0.01, on_unresolvable="ignore"
            ).tpr
            for name, each in scores.items()
        }
        accuracy = [
            victim.score(side.X, side.y) for side in (members, others)
        ]
        print(
            f"{key:28} accuracy {accuracy[0]:.3f} on members, "
            f"{accuracy[1]:.3f} on non-members"
        )
aucs, found = pd.DataFrame(aucs).T, pd.DataFrame(found).T
print("\nAUC\n", aucs.round(3).to_string(), "\n")
print(
    "true positive rate at a false positive rate of 0.01\n",
    found.round(3).to_string(),
    "\n",
)

# %%
# The figure shows one victim in detail. The axes are logarithmic, because the left side matters:
# members that are identified with almost no false positives. The axes begin at 10 false positives:
# lower rates cannot be measured with so few non-members. The curve of the loss comes into view at
# 0.03: for as many non-members, and as many members, the probability of the label is rounded to 1.

key = next(reversed(rocs)) if FAST else "baskets: long"
membership, scores = rocs[key]
names = ("loss", "Rényi", "Mahalanobis", "gradient model", "ensemble")
figure, ax = plt.subplots(figsize=(7.2, 6.2), layout="constrained")
MembershipRocDisplay.from_predictions(
    membership, {name: scores[name] for name in names}, ax=ax
)
ax.set_title(key)
plt.show()

# %%
# Significance of the differences
# -------------------------------
# Each victim ranks the strategies, and the diagram shows the mean ranks, the best at the left. A
# bar joins strategies without a significant difference between any two by signed-rank tests,
# corrected for their 45 pairs. The tests assume independent victims, which nets on the same records
# are not entirely.

with warnings.catch_warnings():
    warnings.simplefilter(
        "default" if not FAST else "ignore", ResolutionWarning
    )
    test = RankingTest().fit(aucs)
print(test.summary())
figure, ax = plt.subplots(figsize=(9, 3.6), layout="constrained")
CriticalDifferenceDisplay.from_estimator(test, ax=ax)
plt.show()

# %%
# With seven victims, as in the thesis, no pair could be significant: if one strategy is better than
# the other on all seven, the p-value is 2 / 2**7 = 0.016, and the smallest of 45 must be below
# 0.0011. ``RankingTest`` warns of this.

few = aucs.iloc[:7]
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always", ResolutionWarning)
    RankingTest().fit(few)
print(*(one.message for one in caught), sep="\n")

# %%
# With twelve victims:
#
# * No strategy is far ahead, as in the thesis. On ten of the twelve the best is at most 0.03 better
#   than the loss, which costs one query and needs no known member.
# * On memorized baskets, a classifier on seven statistics of the gradient finds more than any other
#   strategy, AUC 0.77 next to 0.72 for the loss; elsewhere it is hardly better than the loss. The
#   layers of these small nets alone reveal nothing.
# * At a false positive rate of 0.01 all strategies identify between 0 and 4% of the members: they
#   know what members look like, but not what *this* record would look like if it were a non-member.
#   Shadow models do.
# * Four of 45 pairs differ significantly. A bar over the others does not prove that they are equal.
