"""Promises of the unlearning game."""

import numpy as np
from sklearn.linear_model import Ridge, SGDClassifier

from skmia import Records
from skmia.games import unlearning_game
from skmia.games._unlearning_result import (
    FORGOTTEN,
    NEVER,
    AttackSeparation,
    estimate_mean,
    estimate_tpr,
)

from ._registry import promise

N_TARGETS = 16


def draw_linear(rng, n_rows=1):
    """Records of a regression on nearly as many features as training records, in groups."""
    X = rng.normal(size=(120, 40))
    records = Records(X, X[:, 0] + rng.normal(size=120))
    return records if n_rows == 1 else records.with_fields(group_by=np.arange(120) // n_rows)


def draw_classes(rng):
    X = rng.normal(size=(120, 40))
    return Records(X, (X[:, 0] + rng.normal(size=120) > 0).astype(int))


def make_ridge():
    return Ridge(alpha=0.1)


def make_sgd():
    return SGDClassifier(loss="log_loss", alpha=0.01, max_iter=10, tol=None)


DESIGNS = {
    "Ridge, retrained": {"make": make_ridge, "draw": draw_linear, "unlearn": "retrain"},
    "Ridge, SISA": {"make": make_ridge, "draw": draw_linear, "unlearn": "sisa"},
    "Ridge, retrained, 3 records of a person": {
        "make": make_ridge,
        "draw": lambda rng: draw_linear(rng, 3),
        "unlearn": "retrain",
    },
    "SGDClassifier, retrained": {"make": make_sgd, "draw": draw_classes, "unlearn": "retrain"},
}


def play(rng, make, draw, unlearn, n_targets=N_TARGETS):
    return unlearning_game(
        make(),
        unlearn,
        draw(rng),
        forget=0.3,
        n_estimators=16,
        n_targets=n_targets,
        random_state=int(rng.integers(2**31)),
    )


@promise(
    "`unlearning_game` finds exact unlearning (leak or reversed)",
    nominal=0.05,
    side="at most",
    designs=DESIGNS,
    n_trials=400,
)
def unlearning_alarms(rng, n_trials, make, draw, unlearn):
    found = [play(rng, make, draw, unlearn).evidence for _ in range(n_trials)]
    return sum(word in ("leak", "reversed") for word in found), n_trials


@promise(
    "The interval of an AUC of `unlearning_game` covers the mean over 800 targets, where nothing "
    "is forgotten",
    nominal=0.95,
    designs={
        name: {"make": make, "draw": draw, "attack": attack}
        for name, make, draw, attack in (
            ("Ridge, population", make_ridge, draw_linear, "population"),
            ("Ridge, U-LiRA", make_ridge, draw_linear, "ulira"),
            ("SGDClassifier, U-LiRA", make_sgd, draw_classes, "ulira"),
        )
    },
    n_trials=300,
)
def unlearning_auc_intervals(rng, n_trials, make, draw, attack):
    covered, n_blocks = [], int(np.clip(n_trials, 2, 50))
    while len(covered) < n_trials:
        game = play(rng, make, draw, "noop", n_targets=n_blocks * N_TARGETS)
        aucs = game.aucs["after", attack].to_numpy()
        for values in aucs.reshape(n_blocks, N_TARGETS):
            interval, _ = estimate_mean(values, 0.95, 0.5)
            covered.append(interval.low <= aucs.mean() <= interval.high)
    return sum(covered), len(covered)


def draw_scores(rng, n_targets, shift, share):
    """Scores of targets that differ in level and in spread, with a share of members found."""
    level, spread = (
        shift * rng.normal(size=n_targets),
        np.exp(shift / 3 * rng.normal(size=n_targets)),
    )
    scores = rng.normal(size=(n_targets, 300)) * spread[:, None] + level[:, None]
    sides = np.tile(np.repeat([FORGOTTEN, NEVER], [75, 225]), (n_targets, 1))
    scores[:, :75] += 4 * (rng.random((n_targets, 75)) < share)
    return scores, sides


@promise(
    "The interval of the TPR at 1% FPR of `unlearning_game` covers it",
    nominal=0.95,
    designs={
        f"{n_targets} targets, shift {shift}, share found {share}": {
            "n_targets": n_targets,
            "shift": shift,
            "share": share,
        }
        for n_targets in (8, 16)
        for shift, share in ((0.0, 0.0), (0.3, 0.0), (0.3, 0.1), (0.3, 0.5), (0.6, 0.1))
    },
    n_trials=400,
)
def unlearning_tpr_intervals(rng, n_trials, n_targets, shift, share):
    scores, sides = draw_scores(rng, int(np.clip(100 * n_trials, 1000, 20_000)), shift, share)
    cut = np.quantile(scores[sides == NEVER], 0.99)
    truth, covered = (scores[sides == FORGOTTEN] > cut).mean(), 0
    judged = np.ones(scores.shape[1], dtype=bool)
    for _ in range(n_trials):
        drawn = AttackSeparation(*draw_scores(rng, n_targets, shift, share), FORGOTTEN, judged)
        interval = estimate_tpr(drawn, 0.95, 0.01)
        covered += interval.low <= truth <= interval.high
    return covered, n_trials
