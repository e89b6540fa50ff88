"""Clocks, gradients, budgets and sentences of the core, each decision with an answer by hand."""

import io
import warnings
from types import SimpleNamespace as NS
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from by_hand import expect_answers, tell_refusal
from numpy import array, nan
from scipy import sparse
from scipy.special import gammaln
from scipy.stats import multivariate_normal, norm

from skmia import Outputs
from skmia._core import (
    accountant,
    blind,
    coefficients,
    containers,
    drawing,
    escaping,
    gaussians,
    guesses,
    hashing,
    label_maps,
    levels,
    linear_influence,
    matrix,
    metric_inputs,
    moments,
    needs,
    out_of_core,
    probabilities,
    progress,
    pseudo_victims,
    pvalues,
    sandbox,
    splits,
    targets,
    text,
    threads,
    tokens,
    tradeoff,
    transactions,
    types,
)

LOG, INF = np.log, np.inf
Step = progress.StageStep


class Clock:
    """A clock that stands where it is put, and what is written meanwhile."""

    def __init__(self, expected, *, is_terminal=False):
        self.file, self.now = io.StringIO(), 100.0
        self.file.isatty = lambda: is_terminal
        with self:
            self.times = progress.StageTimes(expected, self.file)

    def __enter__(self):
        self.patch = mock.patch.object(progress, "time", NS(monotonic=lambda: self.now))
        self.patch.start()
        return self

    def __exit__(self, *_):
        self.patch.stop()

    def run(self, *events):
        """Do what is written after each time, and return what was measured or written last."""
        found = None
        with self:
            for at, name, *given in events:
                self.now = 100.0 + at
                found = getattr(self.times, name)(*given)
        return found

    def read(self):
        return self.file.getvalue().replace("\r", "|")


def measure(expected, *events, **settings):
    return Clock(expected, **settings).run(*events)


def tell(expected, *events, **settings):
    clock = Clock(expected, **settings)
    clock.run(*events)
    return [line.rstrip() for line in clock.read().splitlines()]


def at_work(*events):
    """Measure what is left of a step from 100 of which 10 seconds are expected."""
    work = progress._StageAtWork("a", 100.0)
    for at, name, *given in events[:-1]:
        getattr(work, name)(*given, 100.0 + at)
    at, *n_parts = events[-1]
    return work.measure_parts(10.0, 100.0 + at, *n_parts)


def move_bar(shown, moved, passed, left):
    bar = NS(_shown=shown, _moved=5.0)
    progress.StageTimes._move_bar(bar, 5.0 + moved, passed, left)
    return bar._shown


def draw_bar(shown, told="told", name="a", n=0, total=0):
    """Draw a bar, in characters that any terminal takes."""
    work = None if name is None else NS(name=name, n=n, total=total)
    wrote = []
    bar = NS(_at_work=work, _widget=None, _shown=shown, _file=NS(encoding="ascii"))
    bar._write = wrote.append
    progress.StageTimes._draw_bar(bar, told)
    return wrote[0]


TWO, STEPS = {"a": 1.0, "b": 3.0}, {"x": Step(10.0, "k"), "y": Step(30.0, "k"), "z": Step(5.0)}

X, SLOPES = array([[1.0, 2.0], [3.0, -1.0], [0.0, 4.0]]), array([[1.0, 0.5], [2.0, -1.0], [3.0, 1]])
WEIGHTS = array([[1.0, 2.0, 3.0], [0.5, -1.0, 4.0]])


def make_gradients(is_sparse=False, kept=None, has_intercept=True):
    rows = sparse.csr_array(X) if is_sparse else X
    weights = WEIGHTS if has_intercept else WEIGHTS[:, :2]
    settings = {"has_intercept": has_intercept, "weights": weights}
    return coefficients.GradientRows(rows, SLOPES, kept=kept, **settings)


def write_gradients(kept=None, has_intercept=True):
    """Return the matrix by its definition."""
    features = np.column_stack([X, np.ones(3)])[:, : 2 + has_intercept]
    full = np.einsum("kj,ik,ij->kji", WEIGHTS[:, : 2 + has_intercept], SLOPES, features)
    full = full.reshape(-1, 3)
    return full if kept is None else full[kept]


def compare_gradients(**settings):
    """Return whether all that factors are asked for is what the matrix says."""
    rows, full = make_gradients(**settings), None
    full = write_gradients(settings.get("kept"), settings.get("has_intercept", True))
    left, right = np.arange(1.0, len(full) + 1), array([2.0, -1.0, 5.0])
    pairs = [
        (rows.toarray(), full),
        (rows @ right, full @ right),
        (rows.T @ left, full.T @ left),
        (rows.square_rows(), (full**2).sum(axis=1)),
        (rows.square_columns(), (full**2).sum(axis=0)),
        (rows.multiply_rows(left).toarray(), full * left[:, None]),
        (rows.multiply_columns(right).toarray(), full * right),
        (rows.take_columns([2, 0]).toarray(), full[:, [2, 0]]),
        (rows.take_first(2).toarray(), full[:2]),
        (
            np.concatenate(
                [
                    np.asarray(one.todense() if sparse.issparse(one) else one)
                    for one in rows.iter_equations(1)
                ]
            ),
            full,
        ),
    ]
    return [rows.shape == full.shape, *(np.allclose(one, other) for one, other in pairs)]


def spend(history, pure=(), delta=0.1):
    return accountant.spent_epsilon(history, delta, "rdp", pure)


def convert(curve):
    """Return epsilon at the order where it is least, by another loop over all orders."""
    found = [
        c - (LOG(0.1 * order)) / (order - 1) + np.log1p(-1 / order)
        for c, order in zip(curve, accountant.ORDERS, strict=True)
    ]
    return max(0.0, min(found))


ORDERS = accountant.ORDERS
GAUSSIAN = ORDERS / (2 * 0.5**2)


def find_delta(epsilon):
    logs = (ORDERS - 1) * (GAUSSIAN - epsilon + np.log1p(-1 / ORDERS)) - LOG(ORDERS)
    return min(1.0, float(np.exp(logs.min())))


def compare_moments(kind):
    """Compare a covariance that is shrunk, or not, with what numpy says of one vector."""
    rng = np.random.default_rng(0)
    rows, vector = rng.normal(size=(6, 3)), array([1.0, -2.0, 0.5])
    if kind == "full":
        found = gaussians.make_moments(np.zeros(3), np.cov(rows.T), 0.5)
        covariance = np.cov(rows.T) + 0.25 * np.eye(3)
    else:
        found = gaussians.make_moments(np.zeros(3), rows.var(axis=0), array([0.0, 1.0, 2.0]))
        covariance = np.diag(rows.var(axis=0) + array([0.0, 1.0, 4.0]))
    return type(found).__name__, found.solve(vector) - np.linalg.solve(covariance, vector)


def compare_shares(n_rows, n_columns):
    """Compare likelihoods of shrunk correlations with those of scipy."""
    rng = np.random.default_rng(0)
    rows, held = rng.normal(size=(n_rows, n_columns)), rng.normal(size=(2, n_columns))
    rows[:, 0] += rows[:, 1]
    found = gaussians._compare_shares(rows, held)
    mean, spread = rows.mean(axis=0), rows.std(axis=0, ddof=1)
    own, new = (rows - mean) / spread, (held - mean) / spread
    wanted = []
    for share in gaussians._SHARES:
        law = (1 - share) * own.T @ own / (n_rows - 1) + share * np.eye(n_columns)
        likelihood = multivariate_normal(np.zeros(n_columns), law).logpdf(new).sum()
        likelihood += len(new) * n_columns * LOG(2 * np.pi) / 2
        distance = (new @ np.linalg.inv(law) * new).sum()
        wanted.append([likelihood, distance])
    return np.abs(found - np.transpose(wanted)).max() < 1e-6 * np.abs(wanted).max()


def warn_of_sums(given):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        tokens._warn_of_sums(array(given))
    return len(caught)


def check_log_proba(given):
    return (tell_refusal(lambda: tokens._check_log_proba(array(given))) or "")[31:]


LOGITS = ". Logits are made log-probabilities by log_softmax over the vocabulary."
LOSSES = ". Pass minus the losses if these are losses."
SHARES = ". Pass np.log of them if these are probabilities."


def refuse_labels(criterion, y, n_units=3):
    net = NS(criterion_=type(criterion, (), {})())
    outputs = np.zeros((len(y), n_units)) if n_units else np.zeros(len(y))
    return (targets._refuse_labels(net, outputs, array(y)) or "")[:40]


def read_cells(*cells):
    return blind._read_text_cells(pd.Series(list(cells)))


def draw_legend(share, bottom=0.1, is_last=True, place=True, after=0.0):
    """Make room for a legend that ends so far below the axes, as a share of the figure."""
    adjusted = []
    figure = NS(
        bbox=NS(height=100.0, y0=1.0),
        subplotpars=NS(bottom=bottom),
        subplots_adjust=lambda bottom: adjusted.append(bottom),
    )
    spec = NS(is_last_row=lambda: is_last) if place else None
    ax = NS(figure=figure, get_subplotspec=lambda: spec, bbox=NS(y0=50.0))
    legend = NS(get_window_extent=lambda: NS(y0=after if adjusted else 50.0 - 100 * share))
    return drawing._make_room_for_legend(ax, legend), adjusted


def hold_noted():
    before = transactions._running.get()
    with transactions._noted("copy", "original"):
        within = transactions._running.get()[len(before) :]
    return within, transactions._running.get() == before


def run_with_threads(is_light):
    """Return whether BLAS is taken by a context, and whether it is free again."""
    with threads.all_on_one_thread(is_light):
        taken = not threads._BLAS.acquire(blocking=False)
        if not taken:
            threads._BLAS.release()
    free = threads._BLAS.acquire(blocking=False)
    threads._BLAS.release()
    return taken, free


def move(values, others):
    values = np.arange(12.0).reshape(1, 4, 3)
    return pseudo_victims.values_of(values, array(others))


def are_lost(*squares):
    """Return whether squares are lost beside 1e6 before, of records in two queries."""
    both = [NS(squares=np.full((1, 2), 1e6))] * len(squares)
    rest = [None if one is None else NS(squares=array([one])) for one in squares]
    both = [None if one is None else side for one, side in zip(squares, both, strict=True)]
    return pseudo_victims._are_lost(both, rest)


LEAST = pseudo_victims._LEAST_SHARE * 1e6


def choose_pairs(partners, n_wanted):
    return pseudo_victims.choose_pairs(NS(partners=array(partners)), n_wanted)


def draw_others(columns, models):
    """Draw the models that leave, of three OUT and two IN models, of which one is elsewhere."""
    inside = np.broadcast_to(array([True, False, True, False])[:, None], (4, len(columns)))
    design = NS(n_in=2, n_out=3)
    return pseudo_victims._draw_others(design, inside, array(columns), array(models))


def expect_drawn(columns, models):
    """The same in loops, by shares of the steps of model and column."""
    into, out, steps = [0, 2], [1, 3], pseudo_victims._STEPS
    found = []
    for model in models:
        others, n = (out, 3) if model in into else (into, 2)
        ranks = [int((model * steps[0] + column * steps[1]) % 1 * n) for column in columns]
        found.append([others[rank] if rank < 2 else -1 for rank in ranks])
    return found


def check_moment(name, values, given=((-1.0, nan), (-2.0, -3.0))):
    found = tokens._check_moment(array(values), name, array(given))
    return found


def read_rows(X):
    return (tell_refusal(lambda: tokens.read_tokens(array(X))) or "")[:21]


def keeps(kind, what, kept):
    return needs._is_kept_signal(what, NS(kind=kind, keeps=kept))


def read_seconds(text):
    with mock.patch.dict("os.environ", {} if text is None else {sandbox._SECONDS: text}):
        return sandbox.read_seconds()


def limit(evidence, low, estimate):
    name = next(iter(levels.LIMITS))
    return levels.set_level(evidence, {name: {"low": low, "estimate": estimate}})


def choose_shrinkage(X):
    """Return the share with the largest likelihood of held-out fifths, in loops."""
    folds = np.arange(len(X)) % 5
    parts = [gaussians._compare_shares(X[folds != k], X[folds == k]) for k in range(5)]
    likelihood, distance = np.sum(parts, axis=0)
    best = int(likelihood.argmax())
    return gaussians._SHARES[best], distance[best] / distance[-1]


def make_related(n, d=3):
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, d)) + 2 * rng.normal(size=(n, 1))


def renyi(alpha, p=(0.75, 0.25), q=(0.5, 0.5)):
    p, q = array(p), array(q)
    with np.errstate(divide="ignore"):
        return float(probabilities.renyi_divergence_of_logs(LOG(p), LOG(q), alpha))


def multiply_rows(X, Z):
    moments = NS(
        mean=array([1.0, 2.0]),
        constant=array([False, True]),
        inner=lambda left, right: (left * right).sum(axis=1),
    )
    return gaussians.inner_products(array(X), array(Z), moments)


# Of each module: calls and answers. Whatever may be equal differs, and each branch decides once.
ANSWERS = {
    progress: [
        # Parts of a step: as expected, by the parts that are over, and longer if it overruns.
        # Of a step that lasts longer than expected, and of which no part is over, as long again.
        (lambda: at_work((12, "move", 0, 4), (13,)), 13.0),
        (lambda: at_work((12, "move", 0, 4), (16, "move", 1, 4), (17,)), 3.0 + 2 * 4.0),
        (lambda: at_work((0,)), 10.0),
        (lambda: at_work((4,)), 6.0),
        (lambda: at_work((9,)), 3.0),
        (lambda: at_work((20,)), 20 - 2 / 3 * 10),
        # One of four after 2 seconds: (10 / 4 + 2) / 2 for each of three, the first of which runs.
        (lambda: at_work((0, "move", 0, 4), (2, "move", 1, 4), (2,)), 2.25 * 3),
        (lambda: at_work((0, "move", 0, 4), (2, "move", 1, 4), (3,)), 2.25 * 3 - 1),
        (lambda: at_work((0, "move", 0, 4), (2, "move", 1, 4), (2, 6)), (10 / 6 + 2) / 2 * 5),
        (lambda: at_work((0, "move", 0, 4), (8, "move", 4, 4), (8,)), 0.8),
        (lambda: at_work((0, "move", 0, 4), (8, "move", 4, 4), (8.5,)), 0.3),
        (lambda: at_work((0, "move", 0, 4), (8, "move", 4, 4), (12,)), 4 - 2 / 3 * 0.8),
        # A bar that goes on with 4 of 6, of which each took 2 seconds, and begins a second later.
        (
            lambda: at_work((0, "move", 0, 4), (8, "move", 4, 4), (9, "move", 4, 6), (9,)),
            (2 + 1) * 2.0,
        ),
        (
            lambda: at_work(
                (0, "move", 0, 4), (8, "move", 4, 4), (9, "move", 4, 6), (12, "move", 5, 6), (12,)
            ),
            (2 + 4) / 2,
        ),
        (lambda: progress._outlast(6.0, 3.0), 3.0),
        (lambda: progress._outlast(6.0, 6.0), 2.0),
        (lambda: progress._outlast(6.0, 12.0), 8.0),
        (lambda: Step(6.0, n_parts=2, most_parts=3).widen(), (9.0, None, True, 3, 3)),
        (lambda: Step(6.0, n_parts=3, most_parts=3).widen(), (6.0, None, True, 3, 3)),
        # Shares of an unknown whole, until a twentieth of it is over.
        (lambda: measure(TWO, (2, "measure")), (2.0, None)),
        (lambda: measure(TWO, (1, "enter", "a"), (2, "measure")), (2.0, None)),
        (lambda: measure(TWO, (1, "enter", "a"), (3, "enter", "b"), (3, "measure")), (3.0, 6.0)),
        (
            lambda: measure(
                {"a": 0.1, "b": 3.0}, (0, "enter", "a"), (2, "enter", "b"), (2, "measure")
            ),
            (2.0, None),
        ),
        (
            lambda: measure(TWO, (1, "enter", "a"), (3, "move", 1, 4), (3, "measure")),
            (3.0, 6.0 + 24.0),
        ),
        (lambda: measure(TWO, (1, "enter", "a"), (3, "move", 0, 4), (3, "measure")), (3.0, None)),
        # Seconds of one stage scale those of the others.
        (lambda: measure(TWO, (0, "expect", {"a": 4.0}), (0, "measure")), (0.0, 16.0)),
        (
            lambda: measure(
                TWO, (0, "expect", {"a": 4.0}), (0, "expect", {"b": 1.0}), (0, "measure")
            ),
            (0.0, 5.0),
        ),
        (lambda: measure(TWO, (0, "expect", {"c": 4.0}), (0, "measure")), (0.0, 0.0)),
        # Steps of one kind are as much slower as those that are over; others are as expected.
        (
            lambda: measure(
                {"a": 1.0},
                (0, "expect", {"a": STEPS}),
                (0, "enter", "a"),
                (0, "enter", "x"),
                (20, "enter", "y"),
                (20, "measure"),
            ),
            (20.0, 30 * (20 + 0.1 * 40) / (10 + 0.1 * 40) + 5.0),
        ),
        (
            lambda: measure(
                {"a": 1.0},
                (0, "expect", {"a": STEPS}),
                (0, "enter", "a"),
                (0, "enter", "z"),
                (10, "enter", "x"),
                (10, "measure"),
            ),
            (10.0, 40.0),
        ),
        (
            lambda: measure(
                {"a": 1.0, "b": 1.0},
                (0, "expect", {"a": 4.0, "b": {"u": Step(8.0), "v": Step(5.0, is_certain=False)}}),
                (0, "enter", "a"),
                (8, "enter", "b"),
                (8, "measure"),
            ),
            (8.0, 8 * (8 + 0.5 * 17) / (4 + 0.5 * 17)),
        ),
        (
            lambda: measure(
                {"a": 1.0},
                (0, "expect", {"a": {"u": Step(8.0, n_parts=2, most_parts=3)}}),
                (0, "measure", True),
            ),
            (0.0, 12.0),
        ),
        # A stage that is over is not begun again, and no unknown one.
        (
            lambda: tell(
                TWO,
                (0, "enter", "b"),
                (40, "enter", "a"),
                (40, "enter", "c"),
                (45, "move", 2, 2),
                (50, "close"),
            ),
            ["  done   b, 2                                      0:50"],
        ),
        (
            lambda: tell(
                {"a": 1.0, "b": 1.0, "c": 1.0},
                (0, "enter", "a"),
                (10, "enter", "b"),
                (40, "enter", "c"),
                (50, "close"),
            ),
            [
                "  done   a                                         0:10",
                "  done   b                                         0:30",
                "  done   c                                         0:10",
                "  0:50 in all: b 60%, a 20%, c 20%",
            ],
        ),
        (lambda: tell(TWO, (0, "enter", "a"), (29, "close")), []),
        (lambda: tell(TWO, (0, "enter", "a"), (99, "close", False)), []),
        (
            lambda: tell(TWO, (0, "enter", "a"), (30, "_draw")),
            ["  now    a: 0:30 passed"],
        ),
        (lambda: tell(TWO, (0, "enter", "a"), (29, "_draw")), []),
        (
            lambda: tell(TWO, (0, "expect", {"a": 4.0}, "A line."), (30, "_draw")),
            [],
        ),
        (
            lambda: tell(
                TWO, (0, "enter", "a"), (31, "expect", {"a": 40.0}, "A line."), (62, "_draw")
            ),
            ["A line.", "  now    a: 1:02 passed, about 2:35 left"],
        ),
        # The bar goes on so that it ends when the rest is over, and slower if it is ahead.
        (lambda: move_bar(0.0, 1.0, 0.0, 9.0), 0.1),
        (lambda: move_bar(0.5, 1.0, 9.0, 3.0), 0.5 + 0.5 / 4),
        (lambda: move_bar(0.75, 1.0, 1.0, 3.0), 0.75 + 0.25 * (1 / 3) ** 0.5 / 4),
        (lambda: move_bar(0.5, 0.0, 9.0, 3.0), 0.5),
        (lambda: move_bar(0.5, 2.0, 9.0, 0.0), 1.0),
        (lambda: draw_bar(0.25, name=None), f"\r{'  #####...............  25%  told':79s}"),
        (
            lambda: draw_bar(0.5, n=3.9, total=7),
            f"\r{'  ##########..........  50%  a 3 of 7  told':79s}",
        ),
        (
            lambda: draw_bar(1.0, told="t" * 60),
            f"\r  {'#' * 7} 100%  a  {'t' * 60}",
        ),
        (lambda: draw_bar(1.0, told="t" * 90), f"\r   100%  a  {'t' * 67}"),
        (lambda: progress.format_seconds(59.9), "0:59"),
        (lambda: progress.format_seconds(3599), "59:59"),
        (lambda: progress.format_seconds(3725), "1:02:05"),
        (lambda: progress.add_steps({"u": Step(2.0), "v": Step(5.0, is_certain=False)}), 2.0),
        (lambda: progress.can_write(NS(encoding="latin-1"), "\u00e9"), True),
        (lambda: progress.can_write(NS(encoding=None), "\u00e9"), False),
        (lambda: progress.can_write(NS(encoding="none"), "e"), False),
    ],
    coefficients: [
        (lambda: compare_gradients(), [True] * 11),
        (lambda: compare_gradients(is_sparse=True), [True] * 11),
        (lambda: compare_gradients(kept=array([0, 2, 4])), [True] * 11),
        (lambda: compare_gradients(kept=array([1, 5]), is_sparse=True), [True] * 11),
        (lambda: compare_gradients(has_intercept=False), [True] * 11),
        (lambda: make_gradients().n_coefficients, 2 * (6 + 3)),
        (lambda: make_gradients(is_sparse=True).n_coefficients, 2 * (5 + 3)),
        (lambda: make_gradients(has_intercept=False).n_coefficients, 12),
        (lambda: make_gradients().count_step(), coefficients.BLOCK // 3),
        (lambda: make_gradients(is_sparse=True).count_step(), 2),
        (lambda: make_gradients().keep(array([0, 1, 2, 3, 4, 5])).kept, None),
        (lambda: make_gradients().keep(array([0, 2])).kept, [0, 2]),
    ],
    accountant: [
        (lambda: accountant._step_curve(0.5, 1)[9], 2 * 2.0),
        (lambda: spend([(0.5, 1, 3)]), convert(3 * GAUSSIAN)),
        (lambda: spend([(1e-101, 1, 1)]), INF),
        (lambda: spend([], [(0.5, 2), (0.25, 1)], 1e-9), 1.25),
        (lambda: spend([(0.5, 1, 1)], [(0.25, 2)]) <= 0.5 + convert(GAUSSIAN), True),
        (
            lambda: spend([(0.5, 1, 1)], [(0.001, 2)]),
            convert(GAUSSIAN + 2 * ORDERS * 0.001**2 / 2),
        ),
        (lambda: accountant._pure_curve(0.009), np.minimum(0.009, ORDERS * 0.009**2 / 2)),
        (
            lambda: accountant._pure_curve(2.0)[9],  # of order 2
            LOG((np.exp(2.0) + np.exp(-4.0)) / (1 + np.exp(-2.0))),
        ),
        (lambda: accountant.convert_divergences(np.full(len(ORDERS), nan), 0.1), INF),
        (lambda: accountant.convert_divergences(0 * ORDERS, 0.9), 0.0),
        (lambda: accountant.compute_divergences([(0.5, 1, 2), (1.0, 1, 1)])[9], 2 * 4.0 + 1.0),
        (lambda: accountant.compute_divergences([(1e-101, 1, 1)])[0], INF),
        (lambda: accountant.find_delta(GAUSSIAN, [1.0, 9.0]), [find_delta(1.0), find_delta(9.0)]),
        (lambda: float(accountant.find_delta(GAUSSIAN, 0.0)), find_delta(0.0)),
    ],
    tradeoff: [
        (
            lambda: tradeoff.power(array([0.0, 0.1, 1.0]), 2.0),
            norm.cdf(norm.ppf([0.0, 0.1, 1.0]) + 2.0),
        ),
        (lambda: tradeoff.power(array([0.0, 0.5, 1.0]), INF), [1.0, 1.0, 1.0]),
        (lambda: tradeoff.power(array([0.0, 0.5, 1.0]), -INF), [0.0, 0.0, 1.0]),
        (lambda: tradeoff.power(array([0.5]), INF, 0.25), [0.625]),
        (lambda: tradeoff.check_epsilons([0.0, 2.0]), [0.0, 2.0]),
        (lambda: tell_refusal(lambda: tradeoff.check_epsilons(-0.5)) is None, False),
        (lambda: tradeoff.privacy_budget([0.9, 0.0], [0.0, 1.0]), [0.0, INF]),
        (lambda: tradeoff.privacy_budget(0.0, 1.0, 0.25, "out/in"), -np.log1p(-0.25)),
        (
            lambda: tradeoff.privacy_profile(tradeoff.privacy_budget(0.01, 3.0), 3.0, 1.0, "both"),
            0.01,
        ),
    ],
    gaussians: [
        (lambda: compare_moments("full"), ("FullMoments", [0.0] * 3)),
        (lambda: compare_moments("diagonal"), ("DiagonalMoments", [0.0] * 3)),
        (
            lambda: type(gaussians.make_moments(np.zeros(2), np.zeros((2, 2)))).__name__,
            "DiagonalMoments",
        ),
        (lambda: compare_shares(9, 3), True),
        (lambda: compare_shares(3, 3), True),
        (lambda: compare_shares(4, 6), True),
        (
            lambda: gaussians._estimate_from_rows(
                array([[1.0, 0.1], [3.0, 0.1], [8.0, 0.1]]), "full", None
            ),
            ([4.0, 0.1], [[13.0, 0.0], [0.0, 0.0]]),
        ),
        (
            lambda: gaussians._estimate_from_rows(
                array([[1.0, 0.1], [3.0, 0.1], [8.0, 0.1]]), "diagonal", None
            ),
            ([4.0, 0.1], [13.0, 0.0]),
        ),
        (
            lambda: gaussians._estimate_from_rows(
                array([[1.0, 0.1], [3.0, 0.1], [8.0, 0.1]]), "auto", NS(share=1)
            )[1],
            [13.0, 0.0],
        ),
        (lambda: gaussians._factorize(array([[4.0, 2.0], [2.0, 5.0]])), [[2.0, 0.0], [1.0, 2.0]]),
        (
            lambda: (tell_refusal(lambda: gaussians._factorize(np.ones((2, 2)))) or "")[:31],
            "The covariance of 2 features is",
        ),
        (lambda: gaussians.check_noise_scale([0.0, 2.0], 2), [0.0, 2.0]),
        (lambda: float(gaussians.check_noise_scale(0.5, 2)), 0.5),
        (lambda: gaussians.scale_noise_of_mean([0.0, 6.0], 2, 9), [0.0, 2.0]),
        (lambda: tell_refusal(lambda: gaussians.check_noise_scale([1.0], 2)) is None, False),
    ],
    linear_influence: [
        (
            lambda: (
                tell_refusal(lambda: linear_influence.refuse_infinite(array([1.0, INF]))) or ""
            )[:33],
            "X holds numbers whose squares are",
        ),
        (lambda: linear_influence.refuse_infinite(array([1.0, -1e300])), None),
        (
            lambda: linear_influence._sum_weighted(X, array([1.0, 2.0, 0.5])),
            X.T @ np.diag([1.0, 2.0, 0.5]) @ X,
        ),
        (
            lambda: linear_influence._sum_weighted(sparse.csr_array(X), array([1.0, 2.0, 0.5])),
            X.T @ np.diag([1.0, 2.0, 0.5]) @ X,
        ),
    ],
    levels: [
        (lambda: levels.check_evidence({"evidence": "a"}, "a"), None),
        (
            lambda: tell_refusal(lambda: levels.check_evidence({"evidence": "a"}, "b")),
            "evidence is 'a', but its numbers and checks say 'b'",
        ),
    ],
    tokens: [
        (
            lambda: tokens.show_given(array([-1, 7, -tokens.GIVEN, 5 - tokens.GIVEN])),
            [-1, 7, 0, 5],
        ),
        (
            lambda: tokens.show_given(array([-tokens.GIVEN // 2, 1 - tokens.GIVEN // 2])),
            [tokens.GIVEN // 2, 1 - tokens.GIVEN // 2],
        ),
        (lambda: check_log_proba([[-1.0, 1e-6]]), ""),
        (
            lambda: check_log_proba([[-1.0, nan], [0.0, 3.0]]),
            "; got 3 for record 1 at position 1" + LOGITS,
        ),
        (lambda: check_log_proba([[0.0, 0.5]]), "; got 0.5 for record 0 at position 1" + SHARES),
        (lambda: check_log_proba([[1.0, 0.0]]), "; got 1 for record 0 at position 0" + SHARES),
        (lambda: check_log_proba([[1.5, 0.0]]), "; got 1.5 for record 0 at position 0" + LOSSES),
        # Ten tokens in falling order have a chance below one in a million, and nine have not.
        (lambda: float(gammaln(10)) < LOG(1e6) < float(gammaln(11)), True),
        (lambda: warn_of_sums([-np.arange(10.0)]), 1),
        (lambda: warn_of_sums([-np.arange(9.0)]), 0),
        (lambda: warn_of_sums([-np.r_[np.arange(6.0), nan], -np.arange(7.0)]), 1),
        (lambda: warn_of_sums([np.r_[-np.arange(10.0), 0.0]]), 0),
        (lambda: warn_of_sums(np.zeros((0, 3))), 0),
    ],
    targets: [
        (lambda: refuse_labels("BCELoss", [0.0, 1.0]), ""),
        (lambda: refuse_labels("BCELoss", [0.0, 2.0]), "The loss BCELoss takes the labels 0 and "),
        (lambda: refuse_labels("BCEWithLogitsLoss", [-1.0, 1.0])[:14], "The loss BCEWi"),
        (lambda: refuse_labels("MSELoss", [-1.0, 9.0]), ""),
        (lambda: refuse_labels("NLLLoss", [0, 2]), ""),
        (lambda: refuse_labels("NLLLoss", [0, 3]), "The net has 3 output units, and y must h"),
        (lambda: refuse_labels("CrossEntropyLoss", [-1, 2])[:11], "The net has"),
        (lambda: refuse_labels("CrossEntropyLoss", [0.5, 9.0]), ""),
        (lambda: refuse_labels("CrossEntropyLoss", [0, 9], 0), ""),
        (lambda: refuse_labels("MSELoss", ["b", "a"]), "y holds text, such as 'a', and a net tak"),
    ],
    blind: [
        (lambda: read_cells("one two three", None), ["one two three", ""]),
        (lambda: read_cells("one two three", "a b"), None),
        (lambda: read_cells("a b c d", "a b", ""), ["a b c d", "a b", ""]),
        (lambda: read_cells(1.0, 2.0), None),
        (lambda: read_cells(None, ""), None),
        (lambda: [*map(len, read_cells("a b c " * 5000))], [10_000]),
        (lambda: blind._read_text_cells(pd.Series(pd.to_datetime(["2020-01-01"]))), None),
    ],
    drawing: [
        (lambda: draw_legend(0.2), (False, [0.21])),
        (lambda: draw_legend(0.2, after=1.0), (True, [0.21])),
        (lambda: draw_legend(0.2, bottom=0.3, after=2.0), (True, [0.3])),
        (lambda: draw_legend(0.2, is_last=False), (False, [])),
        (lambda: draw_legend(0.2, place=False), (False, [])),
        (lambda: draw_legend(drawing._MOST_LEGEND + 0.01, after=2.0), (False, [])),
        (lambda: draw_legend(drawing._MOST_LEGEND - 0.01, after=2.0)[0], True),
    ],
    text: [
        (lambda: text.count_of(0, 9), "0"),
        (lambda: text.count_of(1.0, 2000), "2,000"),
        (lambda: text.count_of(0.9999, 2000), "more than 1,999"),
        (lambda: text.count_of(0.5, 9), "4"),
        (lambda: text.count_of(0.25, 2), "fewer than 1"),
        (lambda: text.count_of(0.26, 2), "1"),
        (lambda: text.count_of(0.24, 2), "fewer than 1"),
        (
            lambda: [text.count_lower_end(low, 100) for low in (0, 0.005, 0.006, 0.9951, 1.0)],
            ["0", "0", "1", "more than 99", "100"],
        ),
        (lambda: text.fold_text(" Jose\u0301  ARIAS "), "jos\xe9 arias"),
        (lambda: text.fold_text("Jos\xc9\tStra\xdfe"), "jos\xe9 strasse"),
        (lambda: text.quote("a"), "`a`"),
        (lambda: text.quote("a`b"), "`` a`b ``"),
        (lambda: text.quote("a``b`c"), "``` a``b`c ```"),
        (lambda: [*map(len, text.wrap_short("a" * 78 + " " + "b" * 79))], [78, 78, 1]),
        (lambda: text.wrap_short("a b", "- ", 4), ["- a b"]),
        (lambda: text.wrap_short("a" * 70 + " " + "b-c" * 4, "- ", 4)[1], "    b-cb-cb-cb-c"),
    ],
    pvalues: [
        (
            lambda: pvalues.adjust_pvalues(array([0.04, 0.01, 0.6]), "holm", 0.05),
            ([False, True, False], [0.08, 0.03, 0.6]),
        ),
        (
            lambda: pvalues.adjust_pvalues(array([0.03, 0.02, 0.9]), "holm", 0.06),
            ([True, True, False], [0.06, 0.06, 0.9]),
        ),
        (lambda: pvalues.adjust_pvalues(array([0.6, 0.7]), "holm", 1.0)[1], [1.0, 1.0]),
        (lambda: pvalues.format_pvalue(0.0, 0.0), "p < 1e-300"),
        (lambda: pvalues.format_pvalue(0.002, 0.002), "p \u2264 0.002"),
        (lambda: pvalues.format_pvalue(0.00201, 0.002, 3), "p = 0.00201"),
        (lambda: pvalues.format_pvalue(1.5, 0.002), "p = 1"),
        (lambda: pvalues.format_pvalue(0.01234, 0.002), "p = 0.012"),
    ],
    types: [
        (lambda: repr(types.NamedAlternatives(int, None, "Pool")), "int | None | Pool"),
        (lambda: repr(types.NamedAlternatives(int, "Pool") | float), "int | Pool | float"),
    ],
    metric_inputs: [
        (lambda: metric_inputs.check_bits([1, 0, 1], "m"), [True, False, True]),
        (lambda: metric_inputs.check_bits([1.0, 0.0], "m"), [True, False]),
        (lambda: metric_inputs.check_bits([True, False], "m"), [True, False]),
        (
            lambda: tell_refusal(lambda: metric_inputs.check_bits([1, 5, 7], "m")),
            "m must hold 1 for members and 0 for non-members; got the value 5.",
        ),
        (
            lambda: tell_refusal(lambda: metric_inputs.check_bits(["a"], "m")),
            "m must hold 1 for members and 0 for non-members; got dtype <U1.",
        ),
    ],
    splits: [
        # The second and the fourth record share a group, and so do their copies.
        (
            lambda: splits.number_units(array([5, 9, 5, 7, 8]), array(["a", "b", "c", "b", "d"])),
            [0, 1, 0, 1, 2],
        ),
        (lambda: len({*splits.number_units(array([5, 9, 5, 7]))}), 3),
        (
            lambda: splits.join_copies(
                array([[True, False, False, False], [False, False, True, True]]),
                array([9, 5, 9, 7]),
            ),
            [[True, False, True, False], [True, False, True, True]],
        ),
        (lambda: splits.check_room(2, 3, 1), None),
        (
            lambda: (tell_refusal(lambda: splits.check_room(10**6, 10**9, 2)) or "")[:122],
            "The signals of n_estimators=1,000,000 shadow models on 1,000,000,000 records take "
            "9,000,000 GB, more than the memory of th",
        ),
    ],
    containers: [
        (
            lambda: tell_refusal(
                lambda: containers._refuse_bytes(
                    NS(columns=["a", "b"], dtypes=[np.dtype("U1"), np.dtype("S1")])
                )
            ),
            "Column b of X holds bytes of type |S1, with which pandas cannot work; turn them into "
            "text, for example with astype(str).",
        ),
        (
            lambda: containers._refuse_bytes(NS(columns=["a"], dtypes=[np.dtype("U1")])),
            None,
        ),
    ],
    moments: [
        (lambda: bool(moments.are_pairs(array([[1, 0], [0, 1]], dtype=bool))), True),
        (lambda: bool(moments.are_pairs(array([[1, 1], [0, 1]], dtype=bool))), False),
        (lambda: bool(moments.are_pairs(array([[1], [0], [1]], dtype=bool))), False),
        (
            lambda: bool(moments.are_pairs(array([[True], [False]]), array([[False], [False]]))),
            False,
        ),
        (
            lambda: bool(moments.are_pairs(array([[True], [False]]), array([[False], [True]]))),
            True,
        ),
    ],
    transactions: [(hold_noted, ((("copy", "original"),), True))],
    threads: [
        (lambda: run_with_threads(True), (True, True)),
        (lambda: run_with_threads(False), (False, True)),
    ],
    matrix: [
        (lambda: matrix.check_class_column(array([1, 2]), "y"), [1, 2]),
    ],
    guesses: [
        (
            lambda: tell_refusal(lambda: Outputs.concat([Outputs(np.eye(2), [0, 1]), "a"])),
            "Outputs.concat takes a sequence of one or more Outputs.",
        ),
        (lambda: tell_refusal(lambda: Outputs.concat([])) is None, False),
        (lambda: len(Outputs.concat([Outputs(np.eye(2), [0, 1])] * 2)), 4),
    ],
}

# The same of further parts.
MORE_ANSWERS = {
    pseudo_victims: [
        (lambda: pseudo_victims.count_pseudo_victims(3, 11), 4),
        (lambda: pseudo_victims.count_pseudo_victims(2, 11), 5),
        (lambda: pseudo_victims.count_pseudo_victims(1, 17), 16),
        (lambda: pseudo_victims.count_pseudo_victims(0, 7), 7),
        (lambda: pseudo_victims.count_pseudo_victims(500_000), 8),
        (lambda: pseudo_victims.number_pairs(NS(partners=array([2, -1, 0]))), [0, 1, 0]),
        (lambda: pseudo_victims.choose_evenly(20, 10), [0, 2, 4, 6, 8, 10, 12, 14, 16, 19]),
        (lambda: pseudo_victims.choose_evenly(3, 9), [0, 1, 2]),
        (lambda: choose_pairs([-1] * 4, 9), ([0, 1, 2, 3], [0, 1, 2, 3])),
        (lambda: choose_pairs([-1] * 5, 3), ([0, 2, 4], [0, 2, 4])),
        (lambda: choose_pairs([1, 0, 3, 2, 5, 4], 4), ([0, 1, 4, 5], [0, 0, 4, 4])),
        (lambda: move(None, [[1], [0]]), [[[3, 4, 5], [0, 1, 2]]]),
        (lambda: move(None, [[1, 3, -1], [0, 2, 3]]), [[[3, 10, 2], [0, 7, 11]]]),
        (lambda: pseudo_victims.part_of(array([[1], [2]]), array([0])), [[1], [2]]),
        (lambda: pseudo_victims.part_of(array([[1, 3], [2, 4]]), array([1])), [[3], [4]]),
        (lambda: are_lost([2 * LEAST, 0.5 * LEAST]), [False, True]),
        (lambda: are_lost([LEAST, 0.5 * LEAST]), [False, True]),
        (lambda: are_lost([2 * LEAST] * 2, [0.0, 2 * LEAST]), [True, False]),
        (lambda: are_lost(None, [0.0, 2 * LEAST]), [True, False]),
        (
            lambda: pseudo_victims.mark_remaining(np.ones((3, 2), dtype=bool), 0, array([2, -1])),
            [[False, False], [True, True], [False, True]],
        ),
        (
            lambda: pseudo_victims.mark_remaining(np.ones((2, 2), dtype=bool), 1, array([0])),
            [[False, False], [False, False]],
        ),
        (
            lambda: pseudo_victims._list_next(
                array([[1, 0], [0, 0], [1, 1], [0, 1]], dtype=bool), array([0, 1, 2, 3])
            ),
            [[1, 2], [2, 2], [3, 0], [0, 0]],
        ),
        (lambda: draw_others(range(20), [0, 1]), expect_drawn(range(20), [0, 1])),
        (lambda: {*draw_others(range(40), [2]).ravel().tolist()}, {1, 3, -1}),
        (lambda: pseudo_victims._with_axes(None, 1), None),
        (
            lambda: [
                one.shape
                for one in pseudo_victims._with_axes(
                    NS(count=np.ones(3), mean=np.ones((2, 3)), squares=np.ones((2, 3))), 2
                )
            ],
            [(3,), (2, 1, 1, 3), (2, 1, 1, 3)],
        ),
    ],
    moments: [
        (
            lambda: moments._order_pairs(
                array([[1, 0], [0, 1], [0, 0], [1, 1]], dtype=bool), None, array([1, 0, 3, 2])
            ),
            [0, 1, 2, 3],
        ),
        (
            lambda: moments._order_pairs(
                array([[1, 0], [0, 0], [0, 1], [1, 1]], dtype=bool), None, array([2, 3, 0, 1])
            ),
            [0, 2, 1, 3],
        ),
        (
            lambda: moments._order_pairs(
                array([[1, 0], [0, 0], [1, 1], [1, 1]], dtype=bool), None, array([2, 3, 0, 1])
            ),
            None,
        ),
        (lambda: moments._order_pairs(np.eye(2, dtype=bool), None, array([-1, -1])), None),
        (
            lambda: moments._order_pairs(
                array([[1], [0], [0], [0]], dtype=bool),
                array([[0], [0], [1], [0]], dtype=bool),
                array([2, 3, 0, 1]),
            ),
            [0, 2],
        ),
        (
            lambda: moments._order_pairs(
                array([[1], [0], [0], [0]], dtype=bool),
                array([[0], [1], [0], [0]], dtype=bool),
                array([2, 3, 0, 1]),
            ),
            None,
        ),
        (
            lambda: moments._order_pairs(
                np.zeros((2, 1), dtype=bool), np.zeros((2, 1), dtype=bool), array([-1, 0])
            ),
            None,
        ),
    ],
    needs: [
        (lambda: keeps("label", "auto", {"auto"}), False),
        (lambda: keeps("label", "auto", {needs.LABELS}), True),
        (lambda: keeps("label", "loss", {"loss"}), True),
        (lambda: keeps("proba", "auto", {"auto"}), True),
        (lambda: keeps("proba", "auto", {("auto", 2.0)}), False),
        (lambda: keeps("logits", ("auto", 2.0), {("auto", 2.0)}), True),
        (lambda: keeps("decision", ("auto", 2.0), {"auto"}), True),
        (lambda: keeps("decision", "loss", {"auto"}), False),
        (lambda: keeps("value", "auto", {"loss"}), False),
        (
            lambda: needs._ask_for(("auto", 2.0)),
            "it needs the log odds of the shadow models at temperature 2; fit the pool with "
            "temperatures=(2,) or more",
        ),
        (lambda: needs._ask_for("gradients")[-20:], 'with store="models"'.rjust(20)),
        (lambda: needs._ask_for("auto")[:38], "it needs a signal of each shadow model"),
        (lambda: needs._ask_for(NS(name="x"))[:25], "it needs the signal 'x' o"),
        (lambda: needs._ask_for("outputs")[:27], "it needs the outputs of the"),
        (lambda: needs._ask_for(needs.LABELS)[:23], "it compares the labels "),
        (
            lambda: needs._why_no_answers(
                needs.Needs(reads=frozenset({"proba"})), NS(kind="proba")
            ),
            None,
        ),
        (
            lambda: needs._why_no_answers(needs.Needs(reads=frozenset()), NS(kind="proba")),
            "no single kind of model suits all of its parts",
        ),
    ],
    sandbox: [
        (lambda: read_seconds(None), sandbox._USUAL_SECONDS),
        (lambda: read_seconds("2.5"), 2.5),
        (lambda: read_seconds("99999999"), 99999999.0),
        *(
            (
                lambda text=text: (tell_refusal(lambda: read_seconds(text)) or "")[-40:],
                f"must be a number of seconds above 0, got {text!r}."[-40:],
            )
            for text in ("0", "-1", "1e8", "two", "nan")
        ),
    ],
    label_maps: [
        (
            lambda: [
                label_maps.as_value(one)
                for one in (True, np.bool_(False), "TRUE", " false ", "1.50", "inf", " b ", 3)
            ],
            [1.0, 0.0, 1.0, 0.0, 1.5, "inf", "b", 3.0],
        ),
        (lambda: label_maps.sort_by_value(["10", "9", "2.5"]), ["2.5", "9", "10"]),
        (lambda: label_maps.sort_by_value(["10", "9", "b"]), ["10", "9", "b"]),
        (lambda: label_maps.match_labels(["1", "0"], [0, 1]), {"1": 1, "0": 0}),
        (lambda: label_maps.match_labels(["A", "b"], ["a", "B"]), {"A": "a", "b": "B"}),
        (lambda: label_maps.match_labels(["A", "b"], ["a", "A", "B"]), None),
        (lambda: label_maps.match_labels(["e\u0301", "b"], ["\xe9", "b"])["e\u0301"], "\xe9"),
        (lambda: label_maps.match_labels(["1", "1.0"], [0, 1]), None),
        (lambda: label_maps.match_labels(["2"], [0, 1]), None),
        (
            lambda: label_maps.match_each_label(["1", "1.0", "2", "A", "c"], [0, 1, "a", "C", "c"]),
            {"1": 1, "1.0": 1, "A": "a", "c": "c"},
        ),
    ],
    escaping: [
        (lambda: escaping.join_names([]), ""),
        (lambda: escaping.join_names(["a"]), "a"),
        (lambda: escaping.join_names("abc"), "a, b and c"),
        (lambda: escaping.join_names("abc", 3), "a, b and c"),
        (lambda: escaping.join_names("abcd", 2), "a, b and 2 more"),
        (
            lambda: escaping.to_plain(
                {1: [nan, np.float64(2.0), None], "b": (True, "x\ud800", INF)}
            ),
            {"1": [None, 2.0, None], "b": [True, "x\\ud800", None]},
        ),
    ],
    hashing: [
        (
            lambda: hashing.find_repeated_prints(
                array([5, 7, 5, 7, 9], dtype=np.uint64), array([1, 0, 0, 0, 1], dtype=bool)
            ),
            ([5, 7], [True, False]),
        ),
        (
            lambda: hashing.find_repeated_prints(
                array([5, 7], dtype=np.uint64), array([1, 0], dtype=bool)
            ),
            ([], []),
        ),
    ],
    out_of_core: [
        (lambda: out_of_core.find_smallest(array([5, 1, 9]), 2), 5),
        (lambda: out_of_core.count_below(array([1, 5, 7]), array([5, 5, 6])), [0, 2, 6]),
        (
            lambda: out_of_core.sort_places((array([3, 1, 2, 1]), array([0, 0, 1, 0]))),
            [2, 0, 3, 1],
        ),
        (lambda: out_of_core.sort_places((array([9, 9, 9]), array([3, 1, 2]))), [2, 0, 1]),
        (lambda: out_of_core.are_among(array([1, 5, 9]), array([9, 0, 1])), [True, False, True]),
        (lambda: out_of_core.are_among(array([1, 5]), array([])), [False, False]),
        (lambda: out_of_core.find_first(array([1, 0, 1, 2, 0])), [1, 0, 3]),
    ],
    probabilities: [
        *(
            (
                lambda alpha=alpha: renyi(alpha),
                LOG((array([0.75, 0.25]) ** alpha * 0.5 ** (1 - alpha)).sum()) / (alpha - 1),
            )
            for alpha in (0.25, 0.5, 0.75, 2.0, 9.0)
        ),
        (lambda: renyi(1), 0.75 * LOG(1.5) + 0.25 * LOG(0.5)),
        (lambda: renyi(2.0, (0.0, 1.0), (0.25, 0.75)), LOG(4 / 3)),
        (lambda: renyi(0.25, (1.0, 0.0), (0.25, 0.75)), -LOG(0.25)),
        (lambda: renyi(2.0, (0.5, 0.5), (0.0, 1.0)), INF),
    ],
    targets: [
        (lambda: targets.is_broadcast("target size and different to the input size"), True),
        (lambda: targets.is_broadcast("target size"), False),
        (lambda: targets.is_broadcast("different to the input size"), False),
    ],
    levels: [
        (lambda: limit("no such evidence", 9.0, 9.0).name, "unknown"),
        (lambda: limit(levels.NONE, 9.0, 9.0).name, "none"),
        (lambda: levels.read_level({"name": "none", "other": 1}).name, "none"),
    ],
    gaussians: [
        (lambda: gaussians.choose_shrinkage(make_related(9)), (1.0, 1.0)),
        (lambda: gaussians.choose_shrinkage(make_related(10)), choose_shrinkage(make_related(10))),
        (lambda: gaussians.choose_shrinkage(make_related(30)), choose_shrinkage(make_related(30))),
        (lambda: gaussians.choose_shrinkage(make_related(30)).share < 1, True),
        (lambda: gaussians.choose_shrinkage(make_related(30, 1)), (1.0, 1.0)),
        (
            lambda: multiply_rows([[2.0, 2.0], [3.0, 2.0]], [[5.0, 2.0], [1.0, 2.0]]),
            [4.0, 0.0],
        ),
        (
            lambda: multiply_rows([[2.0, 3.0], [3.0, 2.0]], [[5.0, 2.0], [1.0, 9.0]]),
            [INF, INF],
        ),
    ],
    tokens: [
        (lambda: tokens._get_scale(None), 1.0),
        (lambda: tokens._get_scale(10), LOG(10)),
        (lambda: tokens._get_scale(1.0000001) > 0, True),
        (lambda: tell_refusal(lambda: tokens._get_scale(1)) is None, False),
        (lambda: tokens._check_moment(None, "std", None), None),
        (lambda: check_moment("std", [[0.0, nan], [2.0, 3.0]]), [[0.0, nan], [2.0, 3.0]]),
        (lambda: check_moment("mean", [[-1.0, nan], [2.0, 3.0]]), [[-1.0, nan], [2.0, 3.0]]),
        (
            lambda: tell_refusal(lambda: check_moment("std", [[-0.5, nan], [2.0, 3.0]])),
            "std must be at least 0; got -0.5.",
        ),
        (
            lambda: tell_refusal(lambda: check_moment("std", [[0.5, 1.0], [2.0, 3.0]])) is None,
            False,
        ),
        (lambda: tell_refusal(lambda: check_moment("std", [[0.5, nan]])) is None, False),
        (
            lambda: tokens.read_tokens(array([[3, 5, -1], [0, 5 - tokens.GIVEN, 7]])),
            ([[3, 5, -1], [0, 5, 7]], [2, 3], [[True, True, False], [True, False, True]]),
        ),
        (lambda: read_rows([[3, -1, 5]]), "Each row must begin w"),
        (lambda: read_rows([[3, -2]]), "Each row must begin w"),
        (lambda: read_rows([[-1, -1]]), "Each row must begin w"),
        (lambda: read_rows([3, 5]), "X must be a matrix of"),
        (lambda: read_rows([[3.0]]), "X must be a matrix of"),
        (
            lambda: tokens.stack_tokens([array([3, 5]), array([7])], [[True, False], [True]], 3),
            [[3, 5 - tokens.GIVEN, -1], [7, -1, -1]],
        ),
        (lambda: tokens.stack_tokens([array([3, 5])], [[True, True]]), [[3, 5]]),
        (lambda: tokens.stack_tokens([array([3, 5])], [[True, True]], 2), [[3, 5]]),
        (
            lambda: (
                tell_refusal(lambda: tokens.stack_tokens([array([3, 5])], [[True, True]], 1))
                is None
            ),
            False,
        ),
    ],
}


@pytest.mark.parametrize("module", MORE_ANSWERS, ids=lambda module: module.__name__)
def test_further_answers_by_hand(module):
    expect_answers(MORE_ANSWERS[module])


@pytest.mark.parametrize("module", ANSWERS, ids=lambda module: module.__name__)
def test_answers_by_hand(module):
    expect_answers(ANSWERS[module])
