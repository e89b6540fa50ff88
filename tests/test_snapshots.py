"""Whole results, with every field, table, text and coordinate, are those that were stored.

What a result holds beside its headline is seldom asserted: counts, tables, texts, places of lines.
A change of the code that is not meant to change numbers has to reproduce all of them. The values of
a change that is meant are written by ``python tests/test_snapshots.py [NAME ...]``; the difference
of the files in ``tests/snapshots`` is then part of what is reviewed.

Names of classes and modules are not stored, so they may change.
"""

import dataclasses
import inspect
import io
import json
import math
import os
import re
import sys
import tempfile
import warnings
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from functools import cache, cached_property
from html.parser import HTMLParser
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.datasets import load_iris
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.frozen import FrozenEstimator
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KernelDensity, KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from threadpoolctl import threadpool_limits

import skmia
from skmia import Outputs, Records, ShadowPool

FOLDER = Path(__file__).with_name("snapshots")
# The last bits differ between processors. Numbers of single precision have their own limits, and
# those of a solver that ends when its gradient is small (1e-5 in L-BFGS).
RTOL, ATOL = 1e-6, 1e-9
MOST_BYTES = 670_000

# --- any result as plain values ----------------------------------------------------------------

# Circumstances of a run.
LEFT_OUT = {"attack_time", "created", "fit_time", "seconds", "sha256", "versions"}
TEXTS_AND_TABLES = ("summary", "to_frame", "frame", "to_dict")
SINGLE, SOLVED = "single precision", "by a solver"
LIMITS = {SINGLE: (1e-5, 1e-6), SOLVED: (1e-3, 1e-4)}
NOTHING = object()  # what is not stored: models of other libraries, functions, generators


def as_plain(value):
    """Any result as values of JSON: of floats eight digits, single precision marked."""
    if isinstance(value, np.ndarray | np.generic) and value.dtype == np.float32:
        return {SINGLE: as_plain(value.tolist())}
    if isinstance(value, np.generic):
        return as_plain(value.item())
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return float(f"{value:.8g}")
    for kinds, convert in KINDS:
        if isinstance(value, kinds):
            return convert(value)
    if hasattr(value, "get_xydata") or hasattr(value, "get_facecolor"):
        return NOTHING  # of a figure, which is described as a whole
    if type(value).__module__.startswith("skmia.") or dataclasses.is_dataclass(value):
        return _of_object(value)
    raise TypeError(f"no rule for {type(value).__module__}.{type(value).__name__}")


def _of_mapping(values):
    values = {name: value for name, value in values.items() if name not in LEFT_OUT}
    plain = {str(name): as_plain(value) for name, value in values.items()}
    return {name: value for name, value in plain.items() if value is not NOTHING}


def _of_sequence(values):
    if hasattr(values, "_asdict"):
        return _of_mapping(values._asdict()) | _read(values, _properties(values)) | _say(values)
    plain = [as_plain(value) for value in values]
    return [value for value in plain if value is not NOTHING]


def _of_frame(frame):
    columns = {_name(name): as_plain(frame[name].to_numpy()) for name in frame}
    return {"index": as_plain(frame.index), **columns}


def _name(name):
    return "index of columns" if name == "index" else str(name)


def _of_estimator(estimator):
    """What is fitted, and the summary."""
    if not type(estimator).__module__.startswith("skmia."):
        return NOTHING
    names = {*vars(estimator), *_properties(estimator)}
    return _read(estimator, {name for name in names if name.endswith("_")}) | _say(estimator)


def _of_object(value):
    """The public attributes, and what the methods for texts and tables return."""
    names = {*getattr(value, "__dict__", ()), *_fields(value), *_properties(value)}
    return _read(value, names) | _say(value)


def _say(value):
    """What the methods for texts and tables return."""
    names = [name for name in TEXTS_AND_TABLES if inspect.ismethod(getattr(value, name, None))]
    return {name: as_plain(getattr(value, name)()) for name in names}


def _fields(value):
    return [f.name for f in dataclasses.fields(value)] if dataclasses.is_dataclass(value) else []


def _properties(value):
    kinds = [vars(kind) for kind in type(value).__mro__ if kind.__module__.startswith("skmia.")]
    return {
        name
        for kind in kinds
        for name, member in kind.items()
        if isinstance(member, property | cached_property)
    }


def _read(value, names):
    names = sorted(name for name in names if not name.startswith("_") and name not in LEFT_OUT)
    return _of_mapping({name: getattr(value, name) for name in names if hasattr(value, name)})


def _of_records(records):
    return _of_mapping({"X": records.X, "y": records.y, **records.fields})


KINDS = [
    (np.ndarray, lambda array: as_plain(array.tolist())),
    (type(pd.NA) | type(pd.NaT), str),
    (Path, lambda path: path.name),
    (Mapping, _of_mapping),
    (set | frozenset, lambda values: sorted(map(str, values))),
    (list | tuple, _of_sequence),
    (pd.DataFrame, _of_frame),
    (pd.Series, lambda series: _of_frame(series.to_frame("values"))),
    (pd.Index, lambda index: _of_sequence(list(index))),
    ((sparse.sparray, sparse.spmatrix), lambda matrix: as_plain(matrix.toarray())),
    (Records, _of_records),
    (BaseEstimator, _of_estimator),
    (np.random.RandomState | np.random.Generator | type, lambda _: NOTHING),
]


# --- drawings and pages ------------------------------------------------------------------------


LOOKS = ("linestyle", "linewidth", "color", "marker")


def describe_drawing(figure):
    """Every line, area, bar, text and limit of a figure."""
    return [_describe_axes(axes) for axes in figure.axes]


def _describe_axes(axes):
    from matplotlib.collections import LineCollection, PathCollection

    assert not axes.spines["right"].get_visible(), "a drawing with its whole frame"
    places = []
    for part in axes.collections:
        if isinstance(part, PathCollection):
            places.append(part.get_offsets().data)
        elif isinstance(part, LineCollection):
            places.append(part.get_segments())
        else:
            places.append([path.vertices for path in part.get_paths()])
    legend = axes.get_legend()
    return {
        "texts": [axes.get_title(), axes.get_xlabel(), axes.get_ylabel()],
        "scales": [axes.get_xscale(), axes.get_yscale()],
        "limits": [axes.get_xlim(), axes.get_ylim()],
        "lines": [
            [*map(line.properties().get, LOOKS), np.asarray(line.get_xydata(), dtype=float)]
            for line in axes.lines
        ],
        "areas and points": places,
        "patches": [patch.get_path().vertices for patch in axes.patches if patch.get_visible()],
        "bars": [
            [patch.get_x(), patch.get_y(), patch.get_width(), patch.get_height()]
            for patch in axes.patches
            if hasattr(patch, "get_width")
        ],
        "notes": [[text.get_text(), *text.get_position()] for text in axes.texts],
        "legend": [text.get_text() for text in legend.get_texts()] if legend else [],
    }


def draw(display, **settings):
    """The coordinates of a Display."""
    from matplotlib.figure import Figure

    figure = Figure()
    display.plot(figure.subplots(), **settings)
    return describe_drawing(figure)


class _Page(HTMLParser):
    """The texts of a page, and the elements of its drawings with their numbers."""

    def __init__(self):
        super().__init__()
        self.texts, self.shapes, self._silent, self._depth = [], [], 0, 0

    def handle_starttag(self, tag, attributes):
        self._silent += tag in ("style", "script")
        self._depth += tag == "svg"
        if self._depth:
            wanted = [(n, v) for n, v in attributes if n not in ("class", "style", "id")]
            self.shapes.append([tag, {name: split_numbers(value) for name, value in wanted}])

    def handle_endtag(self, tag):
        self._silent -= tag in ("style", "script")
        self._depth -= tag == "svg"

    def handle_data(self, text):
        if not self._silent and text.strip():
            self.texts.append(" ".join(text.split()))


_NUMBER = re.compile(r"(-?\d+\.?\d*(?:e-?\d+)?)")


def split_numbers(text):
    """An attribute such as the points of a line: numbers as numbers, what is between as text."""
    parts = [part.strip(" ,") for part in _NUMBER.split(text or "")]
    return [float(part) if _NUMBER.fullmatch(part) else part for part in parts if part]


def describe_page(html):
    page = _Page()
    page.feed(html)
    return {"texts": page.texts, "shapes": page.shapes}


# --- what the results are made of --------------------------------------------------------------

CASES = {}


def snapshot(*depends):
    """Register a function that returns results, and the packages on whose version they depend."""

    def register(make):
        CASES[make.__name__] = make, depends
        return make

    return register


SKLEARN = ("scikit-learn", "numpy")
PAGES = (*SKLEARN, "Jinja2")


def seeded(seed=0):
    return np.random.default_rng(seed)


@cache
def problem(n=120, n_features=6):
    """Records of two classes with a group, and membership."""
    rng = seeded()
    X = rng.normal(size=(n, n_features)).round(3)
    y = (X[:, 0] + rng.normal(size=n) > 0).astype(int)
    membership = rng.permutation(n) % 2
    return Records(X, y, group=np.where(X[:, 1] > 0, "high", "low")), membership


@cache
def known_values():
    """The same records with values to predict."""
    records, membership = problem()
    return Records(records.X, records.X[:, 0] + seeded(1).normal(size=len(records))), membership


def fit(model, data=problem):
    records, membership = data()
    members = records[membership == 1]
    return FrozenEstimator(clone(model).fit(members.X, members.y))


@cache
def answers(n_together=1, estimator=None):
    """Shadow models by their answers, and records with those of a victim.

    The answers are exact in single precision, in which a pool keeps them, so that they are the same
    on all processors.

    Parameters
    ----------
    n_together : int
        Consecutive records of one person.
    estimator : estimator
        How the models were trained, if it is known: a forest of 16 trees that vote.
    """
    records, membership = problem()
    records = records.with_fields(group_by=np.arange(len(records)) // n_together)
    rng, n_people = seeded(4), len(records) // n_together
    inside = rng.permuted(np.arange(12)[:, None].repeat(n_people, 1) % 2 == 0, axis=0)
    inside = np.vstack([inside, membership[::n_together]]).repeat(n_together, axis=1)
    log_odds = rng.normal(size=inside.shape) + rng.normal(size=len(records)) + 1.5 * inside
    log_odds = (log_odds * 32).round() / 32
    if estimator is not None:
        votes = (16 / (1 + np.exp(-log_odds))).round().clip(1, 15)
        log_odds = (np.log(votes / (16 - votes)) * 1024).round() / 1024
    pool = ShadowPool.from_outputs(
        log_odds[:-1], inside[:-1], records, kind="log_odds", estimator=estimator
    )
    outputs = Outputs(log_odds[-1], kind="log_odds")
    return FrozenEstimator(pool), records.with_fields(outputs=outputs), inside[-1].astype(int)


@cache
def victim():
    return fit(GaussianNB())


# Solved far enough that where the steps end does not depend on the last bits.
LOGISTIC = LogisticRegression(solver="newton-cholesky", tol=1e-10)
FEW_STEPS = MLPClassifier((4,), solver="lbfgs", max_iter=5, random_state=0)
TREE = DecisionTreeClassifier(min_samples_leaf=2, random_state=0)


def describe_attack(attack, records, membership):
    """A fitted attack with all that it says of records, without its models."""
    attributes = as_plain(attack)
    for name in ("victim_", "shadows_", "pool_"):
        attributes.pop(name, None)
    return {
        "attributes": attributes,
        "scores": attack.score_samples(records),
        "guesses": attack.predict(records),
        "score": attack.score(records, membership),
    }


# --- epsilon -----------------------------------------------------------------------------------


@snapshot()
def epsilon_bounds():
    from skmia.epsilon.bounds import (
        bayesian_epsilon_interval,
        epsilon_lower_bound,
        gaussian_epsilon,
    )

    coins = np.repeat([1, 0], 150)
    scores = seeded().normal(size=300).round(6) + 2 * coins
    thresholds = {"bonferroni": 0.01, "split": 1e-3, "multisplit": 1e-5, 1.0: 1e-9}
    made = {
        f"{method} {threshold} {delta}": epsilon_lower_bound(
            coins, scores, method=method, threshold=threshold, delta=delta, random_state=0
        )
        for method in ("clopper_pearson", "gaussian")
        for threshold, delta in thresholds.items()
    }
    return {
        **made,
        "copies": epsilon_lower_bound(coins, scores, n_copies=2, random_state=0),
        "bayesian": bayesian_epsilon_interval(coins, scores, random_state=0),
        "bayesian, fixed": bayesian_epsilon_interval(coins, scores, threshold=1.0, delta=1e-3),
        "gaussian": [gaussian_epsilon(mu, delta) for mu in (0.1, 1, 5) for delta in (1e-9, 0.01)],
    }


@snapshot()
def one_run_bounds():
    from skmia.epsilon import one_run_epsilon_bounds, one_run_epsilon_lower_bound

    rng = seeded()
    coins = rng.integers(2, size=80)
    scores = (rng.normal(size=80) + 3 * coins).round(6)
    made = {"all": one_run_epsilon_bounds(coins, scores, sample_rate=0.5)}
    for family in ("laplace", "epsilon_delta"):
        made[family] = one_run_epsilon_bounds(coins, scores, family=family).order_statistics
    for bound in ("any", "gdp"):
        for n_guesses in ("auto", [10, 41], "any")[: 3 if bound == "any" else 2]:
            made[f"{bound} {n_guesses}"] = one_run_epsilon_lower_bound(
                coins, scores, bound=bound, n_guesses=n_guesses, delta=1e-5
            )
    made["known number"] = one_run_epsilon_lower_bound(coins, scores, n_guesses=30, n_in=14)
    made["pure"] = one_run_epsilon_lower_bound(coins, scores, delta=0.0, n_guesses="any")
    return made


@snapshot(*SKLEARN)
def epsilon_audits():
    from skmia.epsilon import EpsilonAudit

    X, y = load_iris(return_X_y=True)
    settings = {"canary": "random_label", "n_trials": 60, "random_state": 0}
    model = DecisionTreeClassifier(max_depth=6)
    return {
        "plain": EpsilonAudit(model, **settings).fit(X, y),
        "gaussian": EpsilonAudit(GaussianNB(), method="gaussian", **settings).fit(X, y),
        "sequential": EpsilonAudit(
            model, sequential=True, claimed_epsilon=1.0, neighbors="replace", **settings
        ).fit(X, y),
    }


@snapshot(*SKLEARN)
def one_run_audits():
    from skmia.epsilon import LabelAudit, OneRunAudit

    X, y = load_iris(return_X_y=True)
    forest = RandomForestClassifier(5, random_state=0)
    settings = {"n_canaries": 30, "random_state": 0}
    return {
        "any": OneRunAudit(forest, n_guesses="any", **settings).fit(X, y),
        "gdp": OneRunAudit(
            GaussianNB(var_smoothing=0.01), "exposed", bound="gdp", claimed_epsilon=1.0, **settings
        ).fit(X, y),
        "labels": LabelAudit(forest, **settings).fit(X, y),
        "wrong labels": LabelAudit(forest, "wrong", reference=False, **settings).fit(X, y),
    }


@snapshot("numpy")
def canaries():
    from skmia.epsilon.canaries import make_canaries, make_gradient_canaries, trace_scores

    X, y = load_iris(return_X_y=True)
    kinds = ("clip_bkd", "exposed", "natural", "random_label")
    made = {
        kind: make_canaries(X, y, 1 if kind == "clip_bkd" else 3, kind=kind, random_state=0)
        for kind in kinds
    }
    gradients = seeded().normal(size=(3, 20, 4)) * [1, 0.3, 0.1, 0.03]
    for kind, given in {
        "dirac": {"n_parameters": 4},
        "selected": {"gradients": gradients, "noise_multiplier": 1.0, "batch_size": 2},
        "selected without noise": {"gradients": gradients, "batch_size": 2},
        "spread": {"n_parameters": 8},
    }.items():
        made[kind] = make_gradient_canaries(
            3, kind=kind.split()[0], max_grad_norm=0.5, random_state=0, **given
        )
    drawn = make_gradient_canaries(6, n_parameters=20, random_state=0).gradients
    steps = (np.array([1, 0, 1, 1, 0, 0]) @ drawn + seeded().normal(size=(20, 20))) / 100
    for aggregate in ("sum", "max"):
        made[f"scores, {aggregate}"] = trace_scores(
            steps, drawn, batch_size=100, noise_multiplier=1.0, aggregate=aggregate, sample_rate=0.5
        )
    return made


# --- games, disparity, selection ---------------------------------------------------------------


@snapshot(*SKLEARN)
def disparity():
    from skmia.attacks import ThresholdAttack
    from skmia.disparity import DisparityTest

    attack = ThresholdAttack(signal="correctness")
    model = DecisionTreeClassifier(random_state=0)
    return {
        "games": DisparityTest(model, attack, n_rounds=8, random_state=0).fit(problem(240)[0]),
        "table": DisparityTest.from_table(_vulnerabilities()),
    }


def _vulnerabilities():
    table = seeded().normal([0.1, 0.2, 0.3], 0.1, size=(12, 3)).round(6)
    return pd.DataFrame(table, columns=["young", "old", "unknown"])


@snapshot("matplotlib")
def disparity_drawing():
    from skmia.disparity import DisparityDisplay

    display = DisparityDisplay.from_table(_vulnerabilities())
    return {"display": display.frame(), "drawing": describe_drawing(display.figure_)}


@snapshot(*SKLEARN)
def unlearning():
    from skmia.datasets import make_membership_problem
    from skmia.games import unlearning_game
    from skmia.games.unlearning import (
        SISA,
        FineTuning,
        NegativeWeights,
        Relabeling,
        WeightNoise,
    )

    records, _ = make_membership_problem(160, n_features=30, random_state=0)
    model = SGDClassifier(loss="log_loss", alpha=0.1, max_iter=5, tol=None)
    settings = {"forget": 0.3, "n_estimators": 8, "n_targets": 4, "random_state": 0}
    ways = {
        "noop": "noop",
        "retrain": "retrain",
        "sisa": SISA(3),
        "fine-tuning": FineTuning(2),
        "negative weights": NegativeWeights(2),
        "relabeling": Relabeling(n_epochs=2),
        "noise": WeightNoise(0.5),
    }
    return {
        name: unlearning_game(model, way, records, max_fpr=0.1, both=name == "noop", **settings)
        for name, way in ways.items()
    }


@snapshot(*SKLEARN)
def games():
    from skmia.attacks import ThresholdAttack
    from skmia.games import (
        average_datum_game,
        leave_two_unlabeled,
        membership_game,
        per_datum_game,
        retraining_oracle,
    )
    from skmia.leakage import EmpiricalMean, MeanLikelihoodRatioAttack, NoisyMean
    from skmia.leakage.bounds import bounded_loss_accuracy

    records, membership = problem()
    tree = DecisionTreeClassifier(random_state=0)
    played = {"n_samples": 20, "n_rounds": 30, "reference_size": 200, "random_state": 0}
    attack = MeanLikelihoodRatioAttack()
    game = membership_game(
        tree, ThresholdAttack(), records, n_rounds=4, random_state=0, return_guesses=True
    )
    values, _ = known_values()
    return {
        "membership": game,
        "per datum": per_datum_game(
            EmpiricalMean(), attack, np.full(10, 1.0), lambda n, rng: rng.normal(size=(n, 10)),
            **played,
        ),
        "average datum": average_datum_game(
            NoisyMean(0.5), attack, lambda n, rng: rng.normal(size=(n, 10)), **played
        ),
        "pairs": leave_two_unlabeled(ThresholdAttack(victim()), records, membership),
        "retraining": retraining_oracle(
            fit(Ridge(), known_values), values, membership, n_rounds=10, random_state=0
        ),
        "losses": bounded_loss_accuracy([1, 1, 0, 0], [0.0, 0.5, 1.0, 0.0], bound=2.0),
    }  # fmt: skip


@snapshot(*SKLEARN)
def selection():
    from skmia.attacks import RMIA, CalibratedAttack, LiRA
    from skmia.model_selection import (
        choose_by_power,
        leave_one_model_out,
        power_curve,
    )

    pool, records, _ = answers()
    attacks = {"LiRA": LiRA(shadows=pool), "RMIA": RMIA(shadows=pool)}
    attacks["calibrated"] = CalibratedAttack(shadows=pool)
    curve = power_curve(attacks["LiRA"], records, n_targets=4, max_fprs=[0.2])
    return {
        "curve": curve.reset_index(),
        "power": leave_one_model_out(attacks["RMIA"], records, max_fprs=[0.2, 0.01]),
        "by group": leave_one_model_out(attacks["LiRA"], records, group="group", max_fprs=[0.2]),
        "grid": choose_by_power(attacks["LiRA"], {"online": [True, False]}, records),
        "classes": choose_by_power(attacks, {}, records, criterion=0.2),
    }


# --- leakage -----------------------------------------------------------------------------------


@snapshot(*SKLEARN)
def left_out():
    from skmia.leakage import LeaveOneOutLeakage

    records, _ = problem(60, 4)
    values = Records(records.X, records.X[:, 0] + seeded(1).normal(size=60))
    classifiers = {
        "forest": RandomForestClassifier(15, random_state=0),
        "neighbors": KNeighborsClassifier(3),
        "discriminant": LinearDiscriminantAnalysis(),
        "logistic": LOGISTIC,
    }
    regressors = {
        "ordinary": LinearRegression(),
        "ridge": Ridge(),
        "forest of values": RandomForestRegressor(15, random_state=0),
    }
    made = {}
    for models, data in ((classifiers, records), (regressors, values)):
        for name, model in models.items():
            made[name] = LeaveOneOutLeakage(model).fit(data.X, data.y)
    made["share"] = LeaveOneOutLeakage(classifiers["forest"], scale="p").fit(records.X, records.y)
    return made


@snapshot()
def means():
    from skmia.leakage import (
        EmpiricalMean,
        MahalanobisLeakage,
        MeanGLiRAttack,
        MeanLikelihoodRatioAttack,
        MeanScalarProductAttack,
        NoisyMean,
        SubsampledMean,
    )

    X = seeded().normal(size=(40, 5)).round(6)
    X[7] *= 2
    mechanisms = (EmpiricalMean(), NoisyMean(0.5), SubsampledMean(0.5, noise_scale=0.1))
    made = {f"mechanism {i}": m.fit(X) for i, m in enumerate(mechanisms)}
    made |= {f"drawn {i}": m.sample(3, random_state=0) for i, m in enumerate(mechanisms)}
    for name, settings in {
        "plain": {},
        "diagonal": {"covariance": "diagonal"},
        "full": {"covariance": "full"},
        "noisy": {"noise_scale": 2.0, "n_samples": 30},
        "subsampled": {"sampling_ratio": 0.3, "noise_scale": 0.1},
        "published": {"sampling_ratio": 0.3, "subsampling": "published"},
    }.items():
        leakage = MahalanobisLeakage(**settings).fit(X)
        made[name] = {
            "attributes": leakage,
            "scores": leakage.score_samples(X),
            "advantage": leakage.advantage(X),
            "top": leakage.top_k(X, 5),
        }
    released = seeded(1).normal(size=(10, 5)).round(6) / 5
    target = np.full(5, 1.5)
    for name, attack in {
        "likelihood ratio": MeanLikelihoodRatioAttack(target, n_samples=20),
        "generalized": MeanGLiRAttack(target, n_samples=20),
        "scalar product": MeanScalarProductAttack(target, n_samples=20, random_state=0),
    }.items():
        fitted = attack.fit(X)
        made[name] = {
            "attributes": fitted,
            "scores": fitted.score_samples(released),
            "guesses": fitted.predict(released),
        }
    return made


@snapshot()
def leakage_bounds():
    from skmia.leakage import (
        MisspecifiedTarget,
        leverage_total_variation,
        mean_log_likelihood_ratio,
        normal_total_variation,
        total_variation,
    )
    from skmia.leakage.bounds import (
        bayes_success,
        bounded_loss_success_bound,
        cramer_rate,
        dp_advantage_bound,
        generalization_gap_probability_bound,
        mutual_information_success_bound,
        required_mutual_information,
        subexponential_loss_success_bound,
        subgaussian_loss_success_bound,
    )

    gaps = np.linspace(0, 2, 9)
    shares = np.linspace(0, 1, 9)
    rng = seeded()
    samples = rng.normal(1, 1, 80).round(6), rng.normal(0, 1, 90).round(6)
    return {
        "bounded": bounded_loss_success_bound(gaps, 2.0),
        "bounded, from 0": bounded_loss_success_bound(gaps, 3.0, baseline=0.6, nonnegative=True),
        "subgaussian": subgaussian_loss_success_bound(gaps, 0.7),
        "subgaussian, cut": subgaussian_loss_success_bound(gaps, 0.7, cutoff=2.0),
        "subexponential": subexponential_loss_success_bound(gaps, 2.0, baseline=0.6),
        "subexponential, cut": subexponential_loss_success_bound(gaps, 2.0, cutoff=5.0),
        "information": mutual_information_success_bound(shares, baseline=0.6),
        "required": required_mutual_information(0.6 + 0.4 * shares, baseline=0.6),
        "private": dp_advantage_bound(gaps, 0.01),
        "private, printed": dp_advantage_bound(gaps, 0.01, form="printed"),
        "gap": generalization_gap_probability_bound(gaps[1:], 5.0, 1000, proxy_variance=0.25),
        "leverage": leverage_total_variation(shares),
        "normal": normal_total_variation(gaps, 1.0, 0.0, 1.5),
        "plugin": total_variation(samples[0].round(), samples[1].round()),
        "kde": total_variation(*samples, method="kde"),
        "rate": cramer_rate(shares[1:-1], lambda t: np.logaddexp(t, -t) - np.log(2)),
        "Bayes": bayes_success([[0.7, 0.2, 0.1], [0.2, 0.3, 0.5]], prior=[0.6, 0.4]),
        "normal mean": mean_log_likelihood_ratio([[1.0], [0.0]], [2.0], [0.0], [1.0], n_samples=2),
        "Bernoulli mean": mean_log_likelihood_ratio(
            [[0.5, 0.5]], [1, 0], [0.25, 0.25], n_samples=4, family="bernoulli"
        ),
        "misspecified": _describe_misspecified(MisspecifiedTarget(4.0, 3.0, 2.0)),
    }


def _describe_misspecified(target):
    return {
        "itself": target,
        "power": [target.power(rate) for rate in (0.01, 0.1)],
    }


@snapshot(*SKLEARN)
def worst_case():
    from skmia.leakage import (
        GaussianRegressionAttacker,
        GeneralizationGapBound,
        WorstCaseVulnerability,
        bandwidth_sensitivity,
    )
    from skmia.signals import Signals

    records, membership = problem()
    signals = Signals(fit(TREE), ["confidence", "correctness"]).fit(records).transform(records)
    made = {
        method: WorstCaseVulnerability(
            method, estimator=LOGISTIC, n_permutations=19, random_state=0
        ).fit(signals[:, :1], membership)
        for method in ("plugin", "kde", "neighbors", "classifier")
    }
    for interval in ("welch", "bernstein"):
        bound = GeneralizationGapBound(value_range=(0, 1), interval=interval)
        made[interval] = bound.fit(signals, membership)
    scores = seeded().normal(size=(2, 60)).round(6) + np.array([[1], [0]])
    made["sensitivity"] = bandwidth_sensitivity(*scores, n_permutations=19, random_state=0)
    values, _ = known_values()
    model = fit(LinearRegression(fit_intercept=False), known_values)
    attack = GaussianRegressionAttacker(
        model, coef=np.eye(6)[0], n_simulations=500, random_state=0
    ).fit(values[membership == 1])
    made["regression"] = describe_attack(attack, values, membership)
    return made


# --- attacks, signals, shadow models -----------------------------------------------------------


@snapshot(*SKLEARN)
def shadow_pool():
    from skmia.shadow import (
        MarginalSynthesizer,
        ModelBasedSynthesizer,
        NoisyRecords,
        record_separation,
    )

    records, _ = problem()
    balanced = ShadowPool(
        GaussianNB(), 8, design="balanced", signals=("auto", "hinge"),
        temperatures=(1.0, 3.0), random_state=0,
    ).fit(records)  # fmt: skip
    values, _ = known_values()
    pool, known, _ = answers()
    synthetic = {
        "marginal": MarginalSynthesizer(random_state=0),
        "noisy": NoisyRecords(random_state=0),
        "model": ModelBasedSynthesizer(victim(), min_confidence=0.6, random_state=0),
    }
    return {
        "signals": ShadowPool(GaussianNB(), 8, random_state=0).fit_transform(records)[:40],
        "membership": pool.estimator.membership(known),
        "separation": record_separation(pool.estimator, known),
        "balanced": {
            "signals": balanced.transform(records[:20]),
            "membership": balanced.membership(records[:20]),
            "names": balanced.get_feature_names_out(),
        },
        "ridge": ShadowPool(Ridge(), 8, random_state=0).fit_transform(values)[:20],
        "logistic": ShadowPool(LOGISTIC, 8, random_state=0).fit_transform(records)[:20],
        "synthetic": {name: s.fit(records).sample(5) for name, s in synthetic.items()},
    }


@snapshot(*SKLEARN)
def pool_attacks():
    from skmia.attacks import RMIA, CalibratedAttack, LiRA

    pool, records, membership = answers()
    settings = {"victim": None, "shadows": pool}
    attacks = {
        "LiRA": LiRA(**settings),
        "LiRA, example": LiRA(variance="example", **settings),
        "LiRA, pooled trend": LiRA(variance="pooled", prior=0.3, **settings),
        "LiRA, offline": LiRA(online=False, target_fpr=0.1, **settings),
        "RMIA": RMIA(**settings),
        "RMIA, offline": RMIA(online=False, a=0.5, gamma=2.0, **settings),
        "calibrated": CalibratedAttack(**settings),
        "calibrated, midpoint": CalibratedAttack(reference="midpoint", target_fpr=0.2, **settings),
    }
    made = {
        name: describe_attack(attack.fit(records), records[:20], membership[:20])
        for name, attack in attacks.items()
    }
    votes, _, _ = answers(estimator=RandomForestClassifier(16, min_samples_leaf=1))
    attack = LiRA(None, votes).fit(records)
    made["LiRA of votes"] = describe_attack(attack, records[:20], membership[:20])
    return made


@snapshot(*SKLEARN)
def file_attacks():
    from skmia.attacks import (
        MomentsAttack,
        NodeEquationsAttack,
        ReleasedModelAttack,
        SplitThresholdAttack,
        StationarityAttack,
        StoredValuesAttack,
    )

    records, membership = problem()
    forest = fit(RandomForestClassifier(4, min_samples_leaf=5, random_state=0))
    boosting = fit(HistGradientBoostingClassifier(max_iter=5, min_samples_leaf=10, random_state=0))
    attacks = {
        "equations of a forest": NodeEquationsAttack(forest, random_state=0),
        "equations of boosting": NodeEquationsAttack(boosting, solver="ridge", random_state=0),
        "thresholds": SplitThresholdAttack(forest),
        "edges of bins": SplitThresholdAttack(boosting),
        "moments": MomentsAttack(fit(GaussianNB()), random_state=0),
        "stationarity": StationarityAttack(fit(LOGISTIC), random_state=0),
        "stored values": StoredValuesAttack(fit(KNeighborsClassifier(3))),
        "scaled Bayes": ReleasedModelAttack(
            fit(make_pipeline(StandardScaler(), GaussianNB())), random_state=0
        ),
    }
    return {
        name: describe_attack(attack.fit(records), records[:20], membership[:20])
        for name, attack in attacks.items()
    }


@snapshot(*SKLEARN)
def other_attacks():
    from skmia.attacks import (
        AnalyticLiRA,
        AttributeInferenceAttack,
        DiversityAttack,
        LiRA,
        MorganAttack,
        QuantileAttack,
        QueriedThresholdAttack,
        RenyiAttack,
        ThresholdAttack,
        attack_people,
    )
    from skmia.attacks.white_box import MahalanobisAttack

    records, membership = problem()
    values, _ = known_values()
    net = fit(FEW_STEPS)
    outside = records[membership == 0]
    attacks = {
        "threshold": ThresholdAttack(victim(), signal="modified_entropy"),
        "mean loss": ThresholdAttack(victim(), mean_train_loss=0.2),
        "quantile": QuantileAttack(
            victim(), population=outside, estimator=DecisionTreeRegressor(max_depth=2), cv=3,
            random_state=0,
        ),
        "diversity": DiversityAttack(victim(), random_state=0),
        "Mahalanobis": MahalanobisAttack(net, random_state=0),
        "Morgan": MorganAttack(net, n_changes=5, random_state=0),
        "Rényi": RenyiAttack(victim(), random_state=0),
        "queried thresholds": QueriedThresholdAttack(fit(TREE), max_queries=2000, random_state=0),
    }  # fmt: skip
    made = {}
    for name, attack in attacks.items():
        with_members = attack.fit(records, membership)
        made[name] = describe_attack(with_members, records[:20], membership[:20])
    analytic = AnalyticLiRA(fit(Ridge(), known_values)).fit(values)
    made["analytic"] = describe_attack(analytic, values[:40], membership[:40])
    rounded = Records(np.column_stack([records.X[:, :5], records.X[:, 5].round()]), records.y)
    attribute = AttributeInferenceAttack(victim(), sensitive=5, values=[-1.0, 0.0, 1.0])
    attribute = attribute.set_params(random_state=0).fit(rounded[membership == 0])
    made["attribute"] = {"attributes": attribute, "table": attribute.compare(rounded[:40])}
    pool, people, _ = answers(2)
    attack = LiRA(None, pool).fit(people)
    made["people"] = [
        attack_people(attack, people, combine=how) for how in ("standardized", "likelihood")
    ]
    return made


@snapshot()
def signals():
    from skmia.signals import Signals, get_signal_names

    proba = np.array([[0.7, 0.2, 0.1], [0.0, 1.0, 0.0], [0.1, 0.1, 0.8], [1 / 3, 1 / 3, 1 / 3]])
    y = np.array([0, 0, 2, 1])
    answers = {
        "probabilities": (Outputs(proba, classes=np.arange(3), kind="proba"), y),
        "values": (Outputs(np.array([1.0, 2.0, 3.5, 0.0]), kind="value"), y / 2),
        "margins": (Outputs(proba * 4 - 1, classes=np.arange(3), kind="decision"), y),
        "labels": (Outputs(np.array([0, 1, 2, 0]), kind="label", classes=np.arange(3)), y),
    }
    made = {}
    for kind, (outputs, labels) in answers.items():
        records = Records(np.zeros((4, 1)), labels, outputs=outputs)
        for name in get_signal_names(answers_only=True):
            try:
                found = Signals(None, [name]).fit(records).transform(records)
            except (TypeError, ValueError) as error:
                found = str(error)
            made[f"{name} of {kind}"] = found
    return made


# --- metrics -----------------------------------------------------------------------------------


@cache
def _scores():
    """Membership of 100 records, two scores, and four records for each person."""
    rng = seeded()
    membership = np.repeat([1, 0], [48, 52])
    strong = (membership + rng.normal(size=100)).round(3)
    weak = (strong + rng.normal(size=100)).round(1)
    return membership, {"strong": strong, "weak": weak}, np.arange(100) // 4


@snapshot()
def metrics():
    from skmia.metrics import (
        RankingTest,
        advantage_interval,
        auc_interval,
        best_advantage_score,
        clopper_pearson,
        conformal_pvalues,
        difference_interval,
        fpr_at_tpr_score,
        list_members,
        membership_advantage_score,
        membership_roc_curve,
        operating_point,
        paired_difference,
        precision_at_prior,
        rate_sequence,
        resolvable_fpr,
        score_people,
        tpr_at_fpr_score,
    )
    from skmia.metrics.distances import (
        fisher_rao_distance,
        normal_fisher_rao_distance,
        renyi_divergence,
    )

    membership, scores, people = _scores()
    strong, weak = scores.values()
    guesses = (strong > 0.5).astype(int)
    first, second = auc_interval(membership, strong), auc_interval(membership, weak)
    made = {
        f"{name} {fpr} {'people' if groups is not None else 'records'}": operating_point(
            membership, score, max_fpr=fpr, groups=groups, on_unresolvable="ignore"
        )
        for name, score in scores.items()
        for fpr in (0.01, 0.2)
        for groups in (None, people)
    }
    p, q = np.array([[0.7, 0.2, 0.1], [0.2, 0.3, 0.5]])
    return {
        **made,
        "curve": membership_roc_curve(membership, weak),
        "AUC": [first, second, auc_interval(membership, weak, groups=people)],
        "difference": difference_interval(first, second, correlation=0.3),
        "paired": [
            paired_difference(membership, strong, weak),
            paired_difference(membership, strong, weak, groups=people),
            paired_difference([membership] * 3, [strong] * 3, [weak, -weak, strong], max_fpr=0.2),
        ],
        "advantage": [
            advantage_interval(membership, guesses),
            advantage_interval(membership, guesses, groups=people),
            membership_advantage_score(membership, guesses),
            best_advantage_score(membership, weak),
        ],
        "rates": [
            tpr_at_fpr_score(membership, weak, max_fpr=0.2),
            fpr_at_tpr_score(membership, weak),
            fpr_at_tpr_score(membership, weak, min_tpr=0.5, interpolate=True),
            precision_at_prior(0.3, 0.01, 0.1),
            resolvable_fpr(898),
        ],
        "exact": [clopper_pearson(k, 20) for k in (0, 3, 20)],
        "sequence": [rate_sequence(k, 20, confidence_level=0.9) for k in (0, 3, 20)],
        "conformal": conformal_pvalues(strong[:10], nonmember_score=strong[60:]),
        "members": [
            list_members(strong[:60], strong[60:], false_share=share) for share in (0.1, 0.4)
        ],
        "people": [
            score_people(strong, people, y_true=membership, combine=how) for how in ("mean", "sum")
        ],
        "ranking": RankingTest().fit(seeded().uniform(size=(12, 3))),
        "distances": [
            renyi_divergence(p, q, 2.0),
            renyi_divergence(p, q, 0.5),
            fisher_rao_distance(p, q),
            normal_fisher_rao_distance(0.0, 1.0, 0.5, 2.0),
        ],
    }


@snapshot("matplotlib")
def roc_drawings():
    from skmia.metrics import MembershipRocDisplay

    membership, scores, _ = _scores()
    display = MembershipRocDisplay.from_predictions(membership, scores)
    one = MembershipRocDisplay.from_predictions(membership, {"weak": scores["weak"]})
    return {
        "table": display.frame(),
        "wide": draw(one, max_fpr=0.2),
        "narrow": draw(display, max_fpr=0.05, confidence_level=None, plot_chance_level=False),
    }


@snapshot("matplotlib")
def drawings():
    from skmia.metrics import (
        CriticalDifferenceDisplay,
        PairedDifferenceDisplay,
        PrivacyUtilityDisplay,
        RankingTest,
        ScoreDistributionDisplay,
    )

    membership, scores, _ = _scores()
    test = RankingTest().fit(pd.DataFrame(seeded().uniform(size=(12, 4)), columns=list("abcd")))
    displays = {
        "ranks": CriticalDifferenceDisplay.from_estimator(test),
        "differences": PairedDifferenceDisplay.from_predictions(
            membership, {**scores, "both": scores["strong"] + scores["weak"]}, reference="weak"
        ),
        "frontier": PrivacyUtilityDisplay(
            utility=np.array([0.9, 0.8, 0.7]),
            leakage=np.array([0.4, 0.1, 0.2]),
            utility_std=np.array([0.01, 0.02, 0.03]),
            leakage_std=np.array([0.03, 0.02, 0.01]),
            labels=["large", "small", "odd"],
            chosen=1,
        ),
        "scores": ScoreDistributionDisplay.from_predictions(
            membership, scores["strong"], threshold=1.5
        ),
    }
    return {
        name: {"table": display.frame(), "drawing": draw(display)}
        for name, display in displays.items()
    }


@snapshot("matplotlib", *SKLEARN)
def record_drawings():
    from skmia.shadow import RecordSeparationDisplay, RecordSignalsDisplay

    pool, known, _ = answers()
    shadows = pool.estimator
    displays = {
        "separation": RecordSeparationDisplay.from_pool(shadows, known, groups=known["group"]),
        "signals": RecordSignalsDisplay.from_pool(shadows, known[[3, 5]]),
    }
    return {
        name: {"table": display.frame(), "drawing": describe_drawing(display.figure_)}
        for name, display in displays.items()
    }


# --- files, disclosure, inspection -------------------------------------------------------------


@cache
def _models():
    kinds = {
        "tree": TREE,
        "forest": RandomForestClassifier(3, max_depth=4, random_state=0),
        "boosting": GradientBoostingClassifier(n_estimators=3, max_depth=2, random_state=0),
        "histograms": HistGradientBoostingClassifier(max_iter=3, max_bins=8, random_state=0),
        "logistic": make_pipeline(StandardScaler(), LOGISTIC),
        "neighbors": KNeighborsClassifier(3),
        "Bayes": GaussianNB(),
        "vectors": SVC(),
        "process": GaussianProcessClassifier(),
        "net": FEW_STEPS,
    }
    return {name: fit(model).estimator for name, model in kinds.items()}


@snapshot(*SKLEARN)
def parameters():
    from skmia.disclosure import count_parameters

    values = {"ridge": Ridge(), "forest of values": RandomForestRegressor(2, random_state=0)}
    others = {name: fit(model, known_values).estimator for name, model in values.items()}
    return {name: count_parameters(model) for name, model in {**_models(), **others}.items()}


@snapshot(*SKLEARN)
def structure():
    from skmia.disclosure import structural_checks

    records, membership = problem()
    made = {
        name: structural_checks(model, records, membership)
        for name, model in _models().items()
        if name in ("forest", "logistic", "neighbors")
    }
    made = {name: report.to_dict() for name, report in made.items()}
    made["rounded"] = structural_checks(
        _models()["tree"], records, decimals=1, thresholds={"k": 3}, rules="sacro_ml"
    ).to_dict()
    few = Records([[0]] * 5 + [[1]] * 4 + [[2]] * 3, [0] * 8 + [1] * 4)
    coarse = structural_checks(DecisionTreeClassifier().fit(few.X, few.y), few)
    made["coarse"] = {
        "table": coarse.to_frame(),
        "records": coarse.to_records(),
        "text": coarse.summary().splitlines(),
    }
    return made


@snapshot()
def decisions():
    from skmia.disclosure import Condition, Measurement, StructuralCheck, load_policy, recommend
    from skmia.metrics import Interval

    def check(name, status, value=None):
        return StructuralCheck(name, "both", status, value, None, None, "Text.", "a source")

    passed = [check(name, "passed", 50) for name in ("k", "small_cells", "residual_dof")]
    passed += [check("smallest_leaf", "passed", 50)]
    passed += [
        check(name, "passed")
        for name in ("class_disclosure", "keeps_rows", "rules", "rounded_answers")
    ]
    few = [check("k", "flagged", 3), check("keeps_rows", "flagged"), *passed[1:6]]
    tpr = Measurement("tpr_at_fpr_01", Interval(0.01, 0.005, 0.02))
    aucs = {
        "low": Interval(0.51, 0.48, 0.54),
        "high": Interval(0.80, 0.76, 0.84),
        "open": Interval(0.60, 0.5, 0.7),
    }
    able = {"reference models": None, "stored numbers": None}
    made = {"cautious": load_policy("cautious")}
    for name in ("cautious", "research"):
        policy = load_policy(name)
        for release in ("file", "service"):
            for size in aucs if name == "cautious" else ("open",):
                numbers = [tpr, Measurement("auc", aucs[size], n_records=400)]
                numbers += [Measurement("auc", aucs[size], "group=a", n_records=150)]
                tried = [(passed, able), (few, {"reference models": "None."})]
                for checks, spoken in tried[:1] if release == "service" else tried:
                    found = recommend(policy, release, numbers, checks, spoken=spoken)
                    made[f"{name} {release} {size} {len(checks)}"] = found.to_dict()
    conditions = [
        Condition(
            f"rounded at {cost}", [tpr, Measurement("auc", aucs[size])], cost=cost,
            same_records=True, adapted=adapted,
        )
        for cost, size, adapted in ((3, "low", True), (2, "high", True), (1, "low", False))
    ]  # fmt: skip
    made["conditions"] = recommend(
        load_policy("cautious"), "file", [tpr, Measurement("auc", aucs["high"])], passed,
        conditions=conditions, spoken=able, provenance={"command": "by hand"},
    )  # fmt: skip
    policy = load_policy("cautious")
    risks = ("singling_out", "linkability", "inference", "privacy_loss", "exact_rare_copies")
    low = [Measurement(name, Interval(0.005, 0.0, 0.01)) for name in risks]
    made["table"] = recommend(policy, "table", low).to_dict()
    high = [Measurement(name, aucs["high"]) for name in risks]
    made["table, high"] = recommend(policy, "table", high).to_dict()
    return {name: _without_policy(found) for name, found in made.items()}


def _without_policy(found):
    """A decision; the text of its policy is stored once."""
    plain = as_plain(found)
    for part in (plain, plain.get("to_dict", {})):
        part.pop("policy", None)
    return plain


@snapshot(*SKLEARN)
def inspections():
    from skmia.inspection import inspect_model, reconstruct_values
    from skmia.victims import bisect_thresholds, read_state

    records, _ = problem()
    X = pd.DataFrame({"age": [21, 34, 35, 36, 62] * 10, "size": np.arange(50) % 7})
    table = HistGradientBoostingClassifier(max_iter=3).fit(X, X["age"] > 34)
    made = {name: str(inspect_model(model)).splitlines() for name, model in _models().items()}
    made["neighbors with candidates"] = inspect_model(_models()["neighbors"], records)
    made["forest with candidates"] = inspect_model(_models()["forest"], records).to_dict()
    made["values"] = reconstruct_values(table)
    made["state"] = read_state(_models()["logistic"]).to_frame()
    made["queried"] = bisect_thresholds(
        _models()["tree"], records.X[:10], max_queries=200, random_state=0
    )
    return made


# --- defenses, memorization, synthetic tables --------------------------------------------------


@snapshot(*SKLEARN)
def defenses():
    from skmia.defenses import (
        LabelOnlyDefense,
        LabelSmoothingDefense,
        ReleasedFileDefense,
        RoundingDefense,
        SELENADefense,
        SoftLabelDefense,
        SoftRegressionDefense,
        StudentDefense,
        TemperatureDefense,
        TopKDefense,
        evaluate_defense,
    )
    from skmia.defenses.mechanisms import (
        GaussianMechanism,
        LaplaceMechanism,
        NonSphericalGaussianMechanism,
        gaussian_sigma,
    )
    from skmia.defenses.soft_targets import soften, soften_values
    from skmia.epsilon.canaries import mislabel

    X, y = load_iris(return_X_y=True)
    made = {}
    for name, defense in {
        "label only": LabelOnlyDefense(TREE),
        "label smoothing": LabelSmoothingDefense(LOGISTIC),
        "released file": ReleasedFileDefense(TREE, decimals=2, move=True, random_state=0),
        "rounding": RoundingDefense(TREE, decimals=1),
        "SELENA": SELENADefense(TREE, n_estimators=6, n_left_out=3, random_state=0),
        "soft labels": SoftLabelDefense(TREE, n_estimators=6, n_left_out=3, random_state=0),
        "student": StudentDefense(TREE, X[::3], random_state=0),
        "temperature": TemperatureDefense(TREE),
        "top classes": TopKDefense(TREE, k=2, renormalize=True),
    }.items():
        fitted = defense.fit(X, y)
        answers = getattr(fitted, "predict_proba", fitted.predict)(X[::5])
        made[name] = {"attributes": fitted, "answers": answers}
    values, _ = known_values()
    soft = SoftRegressionDefense(Ridge(), n_estimators=6, n_left_out=3, random_state=0)
    made["regression"] = soft.fit(values.X, values.y).predict(values.X[:20])
    for name, mechanism in {
        "Gaussian": GaussianMechanism(random_state=0),
        "Laplace": LaplaceMechanism(random_state=0),
        "not spherical": NonSphericalGaussianMechanism(lower=[0, 1], upper=[1, 5], random_state=0),
    }.items():
        fitted = mechanism.fit(X[:5, :2])
        made[name] = [fitted, fitted.transform(X[:5, :2])]
    made["sigma"] = [
        gaussian_sigma(eps, 1e-5, method=method) for eps in (0.5, 2.0) for method in ("exact",)
    ]
    proba = clone(TREE).fit(X, y).predict_proba(X[::20])
    answers = np.stack([proba, 0.8 * proba + 0.2 / 3])
    made["soften"] = {
        spread: soften(answers, y[::20], 0.3, spread=spread)
        for spread in ("label", "direction", "coordinate")
    }
    made["soften values"] = soften_values(values.y[:10].reshape(2, 5), values.y[5:10], 0.3)
    records, _ = problem()
    made["mislabel"] = mislabel(records[:30], 5, random_state=0)
    evaluation = evaluate_defense(
        {"tree": TREE, "labels": LabelOnlyDefense(TREE)}, records, n_estimators=8, n_targets=2,
        max_fpr=0.2, random_state=0,
    )  # fmt: skip
    made["evaluation"] = {"itself": evaluation, "match": evaluation.match(["tree"])}
    return made


@snapshot("scipy")
def memorization():
    from skmia.memorization import (
        CanaryFormat,
        Exposure,
        NGramModel,
        insert_canaries,
        log_perplexity,
        shortest_path_extraction,
        skew_normal_exposure,
        token_records,
    )

    secrets = CanaryFormat("pin ##", "0123456789", alphabet="0123456789 pin")
    others, canary = secrets.sample(60, random_state=0), secrets.encode(["pin 12"])
    training = insert_canaries(others, canary, 5, random_state=0)
    model = NGramModel(4).fit(training)
    made = {}
    for method in ("exact", "sampling", "skew_normal"):
        for ties in ("first", "last"):
            exposure = Exposure(
                FrozenEstimator(model), secrets, method=method, ties=ties, n_samples=300,
                random_state=0,
            ).fit()  # fmt: skip
            pins = ["pin 12", "pin 56", "pin 90"]
            made[f"{method} {ties}"] = {
                "attributes": exposure,
                "exposure": [exposure.exposure(pin) for pin in pins],
                "scores": exposure.score_samples(pins),
            }
    return {
        **made,
        "training": secrets.decode(np.asarray(training)[:20]),
        "perplexity": log_perplexity(model, others[:10]),
        "extracted": shortest_path_extraction(model, secrets, n_sequences=3, batch_size=1),
        "cut": shortest_path_extraction(model, secrets, max_nodes=5, batch_size=4),
        "skewed": skew_normal_exposure([100.0, 60.0], seeded().normal(100, 5, size=200)),
        "tokens": token_records([[5, 1, 4], [2, 2]], text=["to be or", "not not"]),
    }


@cache
def _tables(n=90):
    rng = seeded(3)
    frame = pd.DataFrame(rng.normal(size=(3 * n, 3)), columns=list("abc")).round(2)
    frame["city"] = rng.choice(["Rome", "Oslo"], 3 * n)
    frame["ill"] = np.where(frame["a"] + rng.normal(size=3 * n) > 0, "yes", "no")
    train, held_out, synthetic = frame[:n], frame[n : 2 * n], frame[2 * n :]
    leaky = pd.concat([train[:20], synthetic[20:]], ignore_index=True)
    return train.reset_index(drop=True), held_out.reset_index(drop=True), leaky


@snapshot(*PAGES)
def synthetic_report():
    from skmia.report import recommend_release
    from skmia.synthetic import audit_table

    train, held_out, synthetic = _tables()
    report = audit_table(
        train, synthetic, held_out, target="ill", secrets=["city", "ill"], random_state=0
    )
    report = replace(report, **_same_circumstances(report))
    return {**_texts(report), "decision": recommend_release(report, policy="cautious").reasons}


@snapshot(*SKLEARN)
def synthetic_risks():
    from skmia.synthetic import (
        BootstrapGenerator,
        CopyTest,
        GeneratorAttack,
        GowerEncoder,
        InferenceRisk,
        LinkabilityRisk,
        NearestNeighborAdversarialAccuracy,
        PrivacyLoss,
        SinglingOutRisk,
        excess_risk,
        rare_class_rate,
    )

    tables = _tables()
    numbers = [table[list("abc")].to_numpy() for table in tables]
    made = {
        "copies": CopyTest(random_state=0).fit(*tables),
        "privacy loss": PrivacyLoss(n_permutations=49, random_state=0).fit(*numbers),
        "linkability": LinkabilityRisk(n_attacks=50, n_permutations=49, random_state=0).fit(
            *tables
        ),
        "inference": InferenceRisk(n_attacks=50, n_permutations=49, random_state=0).fit(*tables),
        "rare": rare_class_rate(tables[0]["ill"], tables[2]["ill"]),
        "excess": [excess_risk(30, 50, 10, 50), excess_risk(0, 5, 0, 5)],
        "Gower": GowerEncoder().fit(tables[0]).transform(tables[2][:5]),
        "bootstrap": BootstrapGenerator().fit(numbers[0]).sample(5, random_state=0),
    }
    for mode in ("univariate", "multivariate"):
        risk = SinglingOutRisk(mode, n_attacks=40, n_permutations=49, random_state=0)
        made[f"singling out, {mode}"] = risk.fit(*tables)
    accuracy = NearestNeighborAdversarialAccuracy(random_state=0).fit(numbers[0])
    made["accuracy"] = {"attributes": accuracy, "score": accuracy.score(numbers[2])}
    records = Records(np.concatenate(numbers[:2]), np.zeros(180))
    generator = FrozenEstimator(KernelDensity(bandwidth=0.1).fit(numbers[0]))
    membership = np.repeat([1, 0], 90)
    for statistic in ("density_ratio", "distance"):
        attack = GeneratorAttack(generator, statistic=statistic, n_samples=30, random_state=0)
        attack = attack.fit(records)
        made[statistic] = describe_attack(attack, records[::9], membership[::9])
    return made


@snapshot()
def gradient_bounds():
    from skmia.synthetic.critic_bounds import critic_gradient_bounds, gradient_penalty_bounds

    weights, biases = [[[2.0, -1.0], [0.5, 1.0]], [[3.0, -2.0]]], [[0.5, -0.1]]
    return {
        "critic": critic_gradient_bounds(weights, biases),
        "sizes": critic_gradient_bounds(weights, biases, sizes=[1, 1]),
        "penalty": gradient_penalty_bounds(weights),
    }


# --- the report --------------------------------------------------------------------------------


def _same_circumstances(report):
    return {
        "created": "2000-01-01T00:00:00+00:00",
        "versions": dict.fromkeys(report.versions, "0"),
        "seconds": dict.fromkeys(report.seconds, 0.0),
    }


def _texts(report):
    """All forms of a report; the plain values of its document have no circumstances."""
    document = json.loads(report.to_json())
    return {
        "document": {name: document[name] for name in document if name not in LEFT_OUT},
        "summary": report.summary().splitlines(),
        "markdown": report.to_markdown().splitlines(),
        "page": describe_page(report.to_html()),
    }


@cache
def _report():
    from skmia.attacks import LiRA, ThresholdAttack

    records, membership = problem(160, 5)
    report = skmia.audit(
        TREE, records, membership, shadows=4, group="group",
        attacks={"loss": ThresholdAttack(), "LiRA": LiRA()}, fprs=(0.2,), random_state=0,
    )  # fmt: skip
    return replace(report, **_same_circumstances(report))


@snapshot(*PAGES)
def audit_report():
    return _texts(_report())


@snapshot(*PAGES)
def audit_of_a_regression():
    values, membership = known_values()
    report = skmia.audit(
        Ridge(), values, membership, shadows="auto", fprs=(0.2,), controls=True, random_state=0
    )
    report = replace(report, growth={**report.growth, "seconds_per_model": 0.0})
    made = _texts(replace(report, **_same_circumstances(report)))
    return {"document": made["document"], "shapes": made["page"]["shapes"]}


@snapshot(*PAGES)
def comparison():
    from skmia.cli import main

    first, second = _report(), replace(_report(), victim="Another", victim_name="Another")
    scores = {name: -score for name, score in first.scores.items()}
    made = {}
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for name, report in (("a", first), ("b", replace(second, scores=scores))):
            report.to_json(f"{name}.json")
        printed = io.StringIO()
        with redirect_stdout(printed):
            made["code"] = main(["compare", "a.json", "b.json", "--out", "page.html"])
            made["page again"] = main(["report", "a.json", "--out", "again.html"])
        made["text"] = printed.getvalue().splitlines()
        made["page"] = describe_page(Path("page.html").read_text("utf-8"))
        made["the same page"] = Path("again.html").read_text("utf-8") == first.to_html()
    return made


@snapshot(*SKLEARN)
def checks():
    from skmia.report import (
        blind_baseline,
        compare_formats,
        drift_test,
        find_duplicates,
        list_measurements,
        negative_control,
        permutation_test,
        positive_control,
    )

    records, membership = problem()
    X = records.X.copy()
    X[np.flatnonzero(membership == 0)[:5]] = X[np.flatnonzero(membership == 1)[:5]]
    X[membership == 1, 2] = X[membership == 1, 2].round(1)
    other = Records(X, records.y, group=records["group"])
    scores = {"strong": seeded().normal(size=120) + membership, "blind": X[:, 4]}
    level = {"low": other["group"] == "low"}
    return {
        "baseline": blind_baseline(other, membership, random_state=0),
        "formats": compare_formats(other, membership, n_permutations=99, random_state=0),
        "drift": drift_test(LOGISTIC, other, membership, random_state=0),
        "duplicates": find_duplicates(other, membership, random_state=0),
        "permutations": permutation_test(
            membership, scores, max_fprs=(0.2,), n_permutations=99, random_state=0,
            subsets=[("group", name, rows) for name, rows in level.items()],
        ),
        "people": permutation_test(
            membership[: 60].repeat(2), scores["strong"], group_by=np.arange(120) // 2,
            n_permutations=99, random_state=0,
        ),
        "positive control": positive_control(records, membership, shadows=8, random_state=0),
        "negative control": negative_control(
            DecisionTreeClassifier(), records, membership, shadows=8, random_state=0
        ),
        "measurements": [
            [found.name, found.group, found.n_records, found.at(0.9, 0.95)]
            for found in list_measurements(_report())
        ],
    }  # fmt: skip


@snapshot(*SKLEARN)
def conditions():
    from skmia.attacks import LiRA
    from skmia.disclosure import load_policy
    from skmia.report import measure_conditions, recommend_release

    records, membership = problem(160, 5)
    model = fit(DecisionTreeClassifier(random_state=0), lambda: problem(160, 5)).estimator
    report = skmia.audit(
        model, records, membership, attacks={"LiRA": LiRA()}, shadows=8, fprs=(0.2,), random_state=0
    )
    policy = replace(
        load_policy("research"),
        limits={way: {"auc": 0.65} for way in ("service", "file")},
        required=dict.fromkeys(("service", "file"), ("auc",)),
        structure={},
        groups=("all",),
    )
    asked = {"policy": policy, "release": "file"}
    found = measure_conditions(report, model, records, **asked)
    decision = recommend_release(report, model, records, conditions=found, **asked).to_dict()
    return {
        "decision": {name: v for name, v in decision.items() if name != "provenance"},
        "measured": [
            [way.name, way.cost, {m.name: m.at(0.9, 0.95) for m in way.measurements}]
            for way in found
        ],
    }


@cache
def models():
    """Shadow models of a logistic regression, a victim like them, records and membership."""
    records, membership = problem()
    pool = ShadowPool(LOGISTIC, 8, store="models", random_state=0).fit(records)
    return fit(LOGISTIC), FrozenEstimator(pool), records, membership


@snapshot(*SKLEARN)
def attacks_with_models():
    from skmia.attacks import (
        LabelInferenceAttack,
        OneQueryAttack,
        RangeAttack,
        ShadowAttack,
        StackedAttack,
        TransferredQueryAttack,
        VulnerableRecordsAttack,
        shadow_nonmember_scores,
    )

    given, pool, records, membership = models()
    tree = DecisionTreeClassifier(max_depth=3, random_state=0)
    seed = {"random_state": 0}
    attacks = {
        "shadow": ShadowAttack(given, pool, attack_estimator=tree, **seed),
        "shadow, of all classes": ShadowAttack(
            given,
            pool,
            attack_estimator=tree,
            features=("loss", "entropy"),
            per_class=False,
            **seed,
        ),
        "stacked": StackedAttack(given, pool, **seed),
        "swapped features": TransferredQueryAttack(given, pool, search="swap", n_steps=5, **seed),
        "gradients": TransferredQueryAttack(given, pool, search="gradient", n_steps=3, **seed),
        "one query": OneQueryAttack(given, pool, n_steps=5),
        "vulnerable": VulnerableRecordsAttack(given, pool, radius=1.5, max_neighbors=10, **seed),
        "ranges": RangeAttack(given, None, pool, n_samples=3, **seed),
        "labels": LabelInferenceAttack(given, pool),
    }
    made = {
        name: describe_attack(attack.fit(records), records[:12], membership[:12])
        for name, attack in attacks.items()
    }
    of_models = shadow_nonmember_scores(attacks["stacked"], records[:4])
    made["scores of non-members"] = {SOLVED: of_models}
    return made


@snapshot(*SKLEARN)
def white_box_attacks():
    from skmia.attacks.white_box import EnsembleAttack, GradientAttack, LayerOutputsAttack

    records, membership = problem()
    tree = DecisionTreeClassifier(max_depth=2, random_state=0)
    made = {}
    for name, model in (("logistic", LOGISTIC), ("perceptron", FEW_STEPS)):
        for kind, settings in (
            (EnsembleAttack, {"signals": ["loss", "entropy", "gradient_norm_x"]}),
            (GradientAttack, {"wrt": "inputs"}),
            (LayerOutputsAttack, {"layers": (-1,)}),
        ):
            attack = kind(fit(model), attack_estimator=tree, cv=3, random_state=0, **settings)
            described = describe_attack(
                attack.fit(records, membership), records[:12], membership[:12]
            )
            made[f"{kind.__name__} of {name}"] = described
    return made


@snapshot(*SKLEARN)
def signals_of_models():
    from skmia import signals as room

    given, _, records, _ = models()
    names = [
        "AdversarialDistance", "BoundaryDistance", "Doctor", "GradientNorm", "LabelRobustness",
        "Merlin", "ODIN",
    ]  # fmt: skip
    made = {}
    for victim_name, of in (("logistic", given), ("perceptron", fit(FEW_STEPS))):
        for name in names:
            signal = getattr(room, name)()
            if "random_state" in inspect.signature(type(signal)).parameters:
                signal = type(signal)(random_state=0)
            found = room.Signals(of, [signal]).fit(records).transform(records[:12])
            made[f"{name} of {victim_name}"] = found
    return made


@snapshot("xgboost", "lightgbm", *SKLEARN)
def files_of_ensembles():
    from lightgbm import LGBMClassifier
    from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier, ExtraTreesRegressor
    from xgboost import XGBClassifier

    from skmia.attacks import ReleasedModelAttack
    from skmia.inspection import inspect_model

    records, membership = problem(48, 4)
    values = Records(records.X, records.X[:, 0] + seeded(1).normal(size=48))
    few = {"n_estimators": 4, "random_state": 0}
    classifiers = {
        "AdaBoost": AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), **few),
        "bagging": BaggingClassifier(TREE, **few),
        "gradient boosting": GradientBoostingClassifier(max_depth=2, **few),
        "LightGBM": LGBMClassifier(min_child_samples=5, num_leaves=4, verbose=-1, **few),
        "XGBoost": XGBClassifier(max_depth=2, n_jobs=1, **few),
    }
    regressors = {
        "extra trees": ExtraTreesRegressor(4, bootstrap=True, max_depth=3, random_state=0),
        "least squares": LinearRegression(),
        "ridge": Ridge(),
    }
    made = {}
    for found, data in ((classifiers, records), (regressors, values)):
        for name, model in found.items():
            given = fit(model, lambda data=data: (data, membership))
            attack = ReleasedModelAttack(given, random_state=0).fit(data)
            described = describe_attack(attack, data[:12], membership[:12])
            made[name] = {SOLVED: described}
            # Of a part that which is about all records is long.
            parts = described["attributes"].pop("parts_")
            described["parts"] = {
                part: {key: value for key, value in found.items() if len(as_text(value)) < 400}
                for part, found in parts.items()
            }
            made[f"{name}, inspected"] = str(inspect_model(given.estimator)).splitlines()
    return made


@snapshot("torch", "skorch", "opacus", "numpy")
def private_training():
    import torch
    from skorch import NeuralNetClassifier

    from skmia.defenses import DPSGDClassifier
    from skmia.synthetic import DPWassersteinGAN

    records, _ = problem()
    net = NeuralNetClassifier(
        _make_net, criterion=torch.nn.CrossEntropyLoss, train_split=None, verbose=0, max_epochs=2,
        batch_size=30, lr=0.1,
    )  # fmt: skip
    made = {}
    for accountant in ("rdp", "prv"):
        private = DPSGDClassifier(
            net, noise_multiplier=1.0, accountant=accountant, target_delta=1e-3, classes=[0, 1],
            noise_seed=0, random_state=0,
        ).fit(records.X, records.y)  # fmt: skip
        answers = private.predict_proba(records.X[:5])
        made[accountant] = {"epsilon": private.epsilon_, "answers": answers}
    unit = (np.tanh(records.X[:, :3]) + 1) / 2
    for privacy, noise in (("bounds", "minimum_trace"), ("clipping", "spherical"), (None, None)):
        settings = {} if privacy is None else {"noise": noise, "noise_multiplier": 1.0}
        generator = DPWassersteinGAN(
            privacy=privacy, target_delta=1e-3, max_iter=2, n_critic=2, batch_size=20,
            critic_layers=(5,), noise_seed=0, random_state=0, **settings,
        ).fit(unit)  # fmt: skip
        rows = np.float32(generator.sample(4, random_state=0))
        made[str(privacy)] = {"epsilon": generator.epsilon_, "rows": rows}
    return made


@snapshot(*SKLEARN)
def generators():
    from skmia.synthetic import BootstrapGenerator, SyntheticDistance

    train, held_out, _ = _tables()
    numbers = [table[list("abc")].to_numpy()[:30] for table in (train, held_out)]
    rows, made = np.concatenate(numbers)[::6], {}
    for metric in ("euclidean", "cosine"):
        settings = {"n_samples": 20, "metric": metric, "random_state": 0}
        fitted = SyntheticDistance(BootstrapGenerator(), **settings).fit(numbers[0])
        made[metric] = [fitted, fitted.predict(rows)]
    return made


@snapshot(*PAGES)
def command_line():
    """What commands print, but for the lines that tell versions, files and times."""
    from skmia.cli import main

    train, held_out, synthetic = _tables(60)
    rng, made = seeded(5), {}
    frame = pd.concat([train, held_out], ignore_index=True).assign(
        trained=np.repeat([1, 0], 60), person=np.arange(120) // 2
    )
    frame.loc[rng.choice(120, 5), "a"] = np.nan
    commands = {
        "audit": "audit --data data.csv --target ill --members trained --estimator logistic "
        "--drop person --shadows 8 --seed 0 --out .",
        "audit, people": "audit --data data.csv --target ill --members trained --drop city "
        "--estimator logistic --group-by person --shadows 8 --seed 0 --verbose",
        "report": "report audit.json",
        "compare": "compare audit.json audit.json",
        "decide": "decide audit.json",
        "table": "table train.csv made.csv --held-out held.csv --target ill --seed 0",
        "no target": "audit --data data.csv --target sick --members trained",
        "no column": "audit --data data.csv --target ill --members person",
        "few models": "audit --data data.csv --target ill --members trained --shadows 1",
    }
    with tempfile.TemporaryDirectory() as folder:
        tables = {"data": frame, "train": train, "held": held_out, "made": synthetic}
        for name, table in tables.items():
            table.to_csv(Path(folder, f"{name}.csv"), index=False)
        before = os.getcwd()
        os.chdir(folder)
        try:
            for name, command in commands.items():
                out, err = io.StringIO(), io.StringIO()
                quiet = patch("skmia._core.progress.BETWEEN_STATES", 1e9)  # on a busy machine too
                with redirect_stdout(out), redirect_stderr(err), quiet:
                    try:
                        code = main(command.split())
                    except SystemExit as stop:
                        code = stop.code
                lines = [*out.getvalue().splitlines(), *err.getvalue().splitlines()]
                made[name] = [code, *lines]
        finally:
            os.chdir(before)
    return made


@snapshot("torch", "skorch", "numpy")
def nets():
    import torch
    from skorch import NeuralNetClassifier
    from torch import nn

    records, _ = problem()
    settings = {
        "criterion": nn.CrossEntropyLoss, "train_split": None, "verbose": 0, "max_epochs": 3,
        "batch_size": 16, "iterator_train__shuffle": True, "lr": 0.05,
    }  # fmt: skip
    made = {}
    for name, optimizer in (("Adam", torch.optim.Adam), ("SGD", torch.optim.SGD)):
        model = NeuralNetClassifier(_make_net, optimizer=optimizer, **settings)
        shadows = ShadowPool(model, 8, random_state=0).fit(records)
        made[name] = shadows.transform(records[:20])
    return made


def _make_net():
    from torch import nn

    return nn.Sequential(nn.Linear(6, 4), nn.ReLU(), nn.Linear(4, 2)).double()


# --- stored and compared -----------------------------------------------------------------------


def make(name):
    """Make the results of a case anew, as they are stored."""
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")  # those have tests of their own
        return as_plain(CASES[name][0]())


def list_differences(stored, made, place="$", limits=(RTOL, ATOL)):
    """Each place where two plain values differ, in one line."""
    if isinstance(stored, dict) and isinstance(made, dict):
        for name in sorted(stored.keys() | made.keys()):
            if name not in made or name not in stored:
                yield f"{place}.{name} is {'missing' if name in stored else 'new'}"
            else:
                inner = LIMITS.get(name, limits)
                yield from list_differences(stored[name], made[name], f"{place}.{name}", inner)
    elif isinstance(stored, list) and isinstance(made, list):
        if len(stored) != len(made):
            yield f"{place} has {len(made)} values in place of {len(stored)}"
        for i, pair in enumerate(zip(stored, made)):
            yield from list_differences(*pair, f"{place}[{i}]", limits)
    elif not _are_equal(stored, made, *limits):
        yield f"{place} is {made!r} in place of {stored!r}"


def _are_equal(stored, made, rtol, atol):
    if type(stored) is not type(made):
        return False  # whole numbers stay whole numbers
    if isinstance(stored, float) and math.isfinite(stored):
        return math.isclose(stored, made, rel_tol=rtol, abs_tol=atol)
    return stored == made or (stored != stored and made != made)


def list_versions(packages):
    """Major and minor version of each package; None for what is not installed."""
    return {package: _find_version(package) for package in packages}


def _find_version(package):
    try:
        return ".".join(version(package).split(".")[:2])
    except PackageNotFoundError:
        return None


def read(name):
    return json.loads((FOLDER / f"{name}.json").read_text("utf-8"))


def as_text(value, indent=""):
    """JSON with a line for each field and each row of a table, unless all of it fits a line."""
    text, deeper = json.dumps(value, ensure_ascii=False, separators=(",", ":")), indent + " "
    if len(text) < 100 or not isinstance(value, dict | list):
        return text
    if isinstance(value, dict):
        lines = [f"{deeper}{json.dumps(k)}: {as_text(v, deeper)}" for k, v in value.items()]
    elif any(isinstance(part, list | dict) for part in value):
        lines = [deeper + as_text(part, deeper) for part in value]
    else:
        return text
    first, last = "{}" if isinstance(value, dict) else "[]"
    return "\n".join([first, ",\n".join(lines), indent + last])


def write(names):
    FOLDER.mkdir(exist_ok=True)
    for name in names:
        document = {"made with": list_versions(CASES[name][1]), "results": make(name)}
        text = as_text(document) + "\n"
        (FOLDER / f"{name}.json").write_text(text, encoding="utf-8", newline="\n")


@pytest.mark.parametrize("name", CASES)
def test_results_are_those_that_were_stored(name):
    document = read(name)
    if document["made with"] != (here := list_versions(CASES[name][1])):
        pytest.skip(f"stored with {document['made with']}, and here are {here}")
    differences = list(list_differences(document["results"], make(name)))
    assert not differences, "\n".join([f"{len(differences)} differences", *differences[:20]])


def test_each_file_is_of_a_case_and_all_are_small():
    files = list(FOLDER.iterdir())
    assert {path.name for path in files} == {f"{name}.json" for name in CASES}
    assert sum(path.stat().st_size for path in files) < MOST_BYTES


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.json")), ids=lambda path: path.stem)
def test_no_module_and_no_address_is_stored(path):
    text = path.read_text("utf-8")
    assert not re.findall(r"skmia\._|skmia\.[a-z_]+\._|0x[0-9a-f]{6}|/tmp/", text)


STORED = {
    "a": [1.0, 2],
    "low": {SINGLE: [1.0], SOLVED: 1.0},
    "text": "p = .03",
    "none": None,
    "nan": math.nan,
    "high": math.inf,
}


@pytest.mark.parametrize(
    "change, line",
    [
        ({"a": [1.0 + 2e-6, 2]}, "$.a[0] is 1.000002 in place of 1.0"),
        ({"a": [1.0, 3]}, "$.a[1] is 3 in place of 2"),
        ({"a": [1.0, 2.0]}, "$.a[1] is 2.0 in place of 2"),
        ({"a": [1.0]}, "$.a has 1 values in place of 2"),
        ({"text": "p = .04"}, "$.text is 'p = .04' in place of 'p = .03'"),
        ({"none": 0.0}, "$.none is 0.0 in place of None"),
        ({"nan": 0.0}, "$.nan is 0.0 in place of nan"),
        ({"high": 1e300}, "$.high is 1e+300 in place of inf"),
        ({"more": 1}, "$.more is new"),
        ({"a": [1.0 + 1e-7, 2]}, None),
        ({"low": {SINGLE: [1.0 + 5e-6], SOLVED: 1.0 + 5e-4}}, None),
        (
            {"low": {SINGLE: [1.0 + 2e-5], SOLVED: 1.0}},
            f"$.low.{SINGLE}[0] is 1.00002 in place of 1.0",
        ),
        ({"low": {SINGLE: [1.0], SOLVED: 1.002}}, f"$.low.{SOLVED} is 1.002 in place of 1.0"),
        ({}, None),
    ],
)
def test_differences_are_named(change, line):
    assert list(list_differences(STORED, {**STORED, **change})) == ([line] if line else [])
    assert ["$.a is missing"] == list(list_differences({"a": 1}, {}))


def test_any_result_becomes_plain():
    @dataclasses.dataclass
    class Found:
        table: pd.DataFrame
        _hidden: int = 1

        def summary(self):
            return "one line"

    table = pd.DataFrame({"a": [0.1, np.nan], "b": ["x", None]}, index=[3, 4])
    plain = as_plain({"found": Found(table), "seconds": 2.5, (1, "k"): np.float32(0.1)})
    text = as_text(plain)
    assert json.loads(text).keys() == {"found", "(1, 'k')"}
    assert plain["found"]["table"]["index"] == [3, 4]
    assert plain["found"]["summary"] == "one line"
    assert "_hidden" not in plain["found"] and "Found" not in text
    with pytest.raises(TypeError, match="no rule for"):
        as_plain(object())


if __name__ == "__main__":
    os.environ["MPLBACKEND"] = "Agg"
    write(sys.argv[1:] or CASES)
