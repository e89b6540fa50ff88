"""
The optimal attacker on a linear regression (del Grosso, figure 3.1)
====================================================================

How well an attacker can infer whether a response was used in a linear regression is known exactly
for Gaussian noise. This example compares the exact success with the general bounds of theory: a
lower bound from the generalization gap, and an upper bound from the information in the
coefficients. It redraws figure 3.1 of del Grosso's thesis (2023) with the author's own random
numbers, the exact values that a simulation only estimates, and two corrections.
"""

import os

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.linear_model import LinearRegression

from skmia import Records
from skmia.attacks import ThresholdAttack
from skmia.leakage import GaussianRegressionAttacker
from skmia.metrics import clopper_pearson

FAST = (
    os.environ.get("SKMIA_EXAMPLE_FAST") == "1"
)  # fewer designs, games and draws
SIZES = (21, 60) if FAST else (21, 40, 60, 80, 100, 120, 140)
N_GAMES, N_DRAWS = (50, 1_000) if FAST else (1_000, 20_000)

# %%
# The game
# --------
# A design of n rows and 20 features is fixed and public. Each game draws new responses, and the
# victim publishes their least squares coefficients. A coin decides whether the attacker receives
# the response of a random row or a fresh one. The authors' files come from one generator for
# all designs, which each game seeds again; this example repeats them draw by draw.

N_FEATURES, NOISE = 20, 2.0
rng = np.random.RandomState(9)
coef = rng.uniform(-2, 2, N_FEATURES)


def play(rng, design, seed):
    """One game: the victim, the record that is shown, and whether it is a
    member."""
    rng.seed(seed)
    is_member, row = rng.randint(2), rng.randint(len(design))
    y = design @ coef + rng.normal(0, NOISE, len(design))
    response = (
        y[row] if is_member else design[row] @ coef + rng.normal(0, NOISE)
    )
    rng.normal(0, NOISE, len(design))  # a test set of the authors' code
    victim = LinearRegression(fit_intercept=False).fit(design, y)
    return victim, Records(design[[row]], [response]), is_member


# %%
# The attackers
# -------------
# The authors' attacker sees the response but does not know its row. For an attacker who knows the
# row, the success is exact and depends only on the leverages of the rows. Each game is also played
# by a threshold on the squared residual, at the variance of the noise.

rows = {}
for n in SIZES:
    design = rng.normal(0, 2, (n, N_FEATURES))
    records = Records(
        design, np.zeros(n)
    )  # rows are known, responses are not needed
    settings = {"coef": coef, "noise_std": NOISE, "random_state": 0}
    knowing = GaussianRegressionAttacker(**settings).fit(records)
    thesis = GaussianRegressionAttacker(**settings, proxy="thesis").fit(
        records
    )
    blind = GaussianRegressionAttacker(
        **settings, knows_index=False, n_simulations=N_DRAWS
    )
    blind.fit(records)
    loss = ThresholdAttack(signal="loss", mean_train_loss=NOISE**2)
    won = []
    for seed in range(0, 3 * N_GAMES, 3):
        victim, shown, is_member = play(rng, design, seed)
        loss.set_params(victim=victim).fit(shown)
        attacks = (
            blind.set_params(victim=victim),
            knowing.set_params(victim=victim),
            loss,
        )
        won.append(
            [attack.predict(shown)[0] == is_member for attack in attacks]
        )
    n_won = np.sum(won, axis=0)
    low, high = clopper_pearson(n_won[0], N_GAMES)
    rows[n] = {
        "repeated": n_won[0] / N_GAMES,
        "repeated_low": low,
        "repeated_high": high,
        "row_unknown": blind.success_rate_,
        "row_unknown_error": blind.success_rate_error_,
        "row_known": knowing.success_rate_,
        "row_known_games": n_won[1] / N_GAMES,
        "loss_games": n_won[2] / N_GAMES,
        "information": knowing.mutual_information_,
        "upper_bound": knowing.success_upper_bound_,
        "lower_bound": knowing.success_lower_bound_,
        "printed_lower_bound": thesis.success_lower_bound_,
    }

table = pd.DataFrame(rows).T.rename_axis("rows")
print(table.round(4).T.to_string())

# %%
# The figure
# ----------

figure, (ax, below) = plt.subplots(
    2, sharex=True, height_ratios=(3, 1), figsize=(7, 6), layout="constrained"
)
ax.fill_between(
    table.index,
    table["lower_bound"],
    table["upper_bound"],
    color="#E8E8E8",
    lw=0,
)
ax.plot(table["upper_bound"], "k-", lw=1, label="upper bound (information)")
ax.plot(
    table["row_known"], "o-", color="#0072B2", label="Bayes, row known: exact"
)
ax.plot(
    table["row_unknown"],
    "s-",
    color="#D55E00",
    label="Bayes, row unknown: simulated",
)
repeated = table["repeated"]
reach = [repeated - table["repeated_low"], table["repeated_high"] - repeated]
ax.errorbar(
    table.index,
    repeated,
    reach,
    fmt="x",
    color="#D55E00",
    capsize=3,
    alpha=0.6,
    label="row unknown: the authors' games",
)
ax.plot(
    table["printed_lower_bound"], "k:", lw=1, label="lower bound as printed"
)
ax.plot(table["lower_bound"], "k-", lw=1, label="lower bound (gap)")
ax.set(ylabel="Success", ylim=(0.45, 1.02))
ax.legend(frameon=False, fontsize="small")
below.plot(table["information"], "o-", color="black", ms=4)
below.set(
    xlabel="Rows of the design", ylabel="Information, nats", ylim=(0, None)
)
for one in (ax, below):
    one.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# With 21 rows for 20 features the model passes close to nearly every response, and an attacker who
# knows the row is right in 88 of 100 cases. From 40 rows on, not knowing the row costs most of the
# margin. The rates of the authors' files are from 1,000 games each: at 140 rows they fall below 1/2
# by chance. Below is the mutual information between the response with its row and the published
# coefficients, which gives the upper bound.
#
# The lower bound needs a variance that bounds the tails of the residual. The printed bound uses the
# variance of the noise, which residuals of fresh responses exceed; the right variance lowers the
# bound. Both bounds are for an attacker who can compute the loss, and therefore knows the row. The
# upper bound must use one unit for information and divergence; with nats for one and bits for the
# other it is too low.
