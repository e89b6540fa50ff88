"""Designs, domains and imports of shadow models, each decision with an answer by hand."""

from types import SimpleNamespace as NS

import numpy as np
import pytest
from by_hand import expect_answers, tell_refusal
from numpy import array, inf, nan
from sklearn.linear_model import LinearRegression, LogisticRegression

from skmia import Records
from skmia.shadow import _imported, _job, _stored, _synthesis


def choose_features(n_chosen, n_features=4):
    rng = np.random.default_rng(0)
    chosen = _synthesis.choose_features(array(n_chosen), n_features, rng)
    return chosen.sum(axis=1)


def from_uniform(uniform, columns=slice(None)):
    domain = NS(
        _low=array([1.0, 2.0]),
        _high=array([4.0, 6.0]),
        _step=array([0.0, 2.0]),
        _n_values=array([4.0, 3.0]),
    )
    return _synthesis.TableCodes._from_uniform(domain, array(uniform), columns)


def other_value(values, columns):
    domain = NS(
        _low=array([1.0, 2.0, 5.0]),
        _high=array([4.0, 6.0, 6.0]),
        _step=array([3.0, 2.0, 0.0]),
        _n_values=array([2.0, 3.0, 2.0]),
    )
    return _synthesis.TableCodes.other_value(domain, array(values), array(columns))


def compute_domain(codes):
    domain = NS(codes=array(codes))
    _synthesis.TableCodes._compute_domain(domain)
    return domain._low, domain._high, domain._step, domain._n_values


def choose_targets(running, wanted, made, failed, max_failures=2, batch_size=5):
    given = NS(max_failures=max_failures, batch_size=batch_size)
    return _synthesis.ModelBasedSynthesizer._choose_targets(
        given, array(running, dtype=int), array(wanted), array(made), array(failed)
    )


def count_wanted(shares, n):
    return _synthesis.ModelBasedSynthesizer._count_wanted(NS(_shares=array(shares)), n)


def augment(*lengths, alone=False):
    records = Records(array([[0.0], [1.0]]), [0, 1])
    changed = [Records(np.zeros((n, 1)), np.zeros(n)) for n in lengths]
    found = tell_refusal(
        lambda: _job.augmented(records, lambda one: changed[0] if alone else changed)
    )
    if found is not None:
        return found
    return len(_job.augmented(records, lambda one: changed[0] if alone else changed))


def infer(membership, fingerprint=None):
    membership = array(membership, dtype=bool)
    fingerprint = np.arange(membership.shape[1]) if fingerprint is None else array(fingerprint)
    found = _job.infer_design(membership, fingerprint)
    return found.partners.tolist(), found.n_in, found.n_out


def list_conflicts(**given):
    settings = {
        "n_estimators": 64,
        "estimator": LogisticRegression(),
        "design": "paired",
        "on_disk": False,
        "checkpoint": None,
        "batched": "auto",
        "output_kind": "auto",
    }
    return [one[:24] for one in _job._list_conflicting_settings(NS(**settings | given))]


def draw_entropy(random_state, stored):
    checkpoint = None if stored is None else NS(read_entropy=lambda: stored or None)
    found = _job.draw_entropy(random_state, checkpoint)
    return "stored" if found == stored else "drawn"


def check_scores(scores, membership, n_records=2, resolution="auto"):
    try:
        _imported.check_scores(scores, membership, n_records, resolution)
    except ValueError as error:
        return str(error)[:36]
    return None


def check_sets(membership, n_models=None):
    try:
        return _imported.check_training_sets(membership, 2, n_models)
    except ValueError as error:
        return str(error)[:36]


def keep_each(n_given, n_models=2):
    """Keep what a pool keeps of so many models that were given."""
    before = _imported.keep
    _imported.keep = lambda job, trained: trained._model
    try:
        given = ((f"model {k}", None) for k in range(n_given))
        found = []
        for one in _imported._keep_each(
            NS(n_models=n_models, number=lambda i: i, subsets=[0, 0], data=None), given
        ):
            found.append(one)
    except ValueError as error:
        return str(error)[-8:]
    finally:
        _imported.keep = before
    return found


def gather(on_disk=False, outputs=True):
    """Gather three models, which arrive in another order, with warnings."""
    results = [
        (
            k,
            NS(
                arrays={"raw": np.full((1, 2, 4), float(k))}
                | ({"outputs": np.full((4, 3), 10.0 + k)} if outputs else {}),
                model=f"model {k}",
                facts={"step": k / 10},
                warnings=[f"warning {k}"],
            ),
        )
        for k in (2, 0, 1)
    ]
    found = _stored.gather_results(iter(results), 3, 4, on_disk)
    signals, outputs = (None if one is None else one for one in found[:2])
    return (
        None if signals is None else (signals.shape, signals[0, 1, :, 0].tolist()),
        None if outputs is None else (outputs.shape, outputs[:, 0, 0].tolist()),
        *found[2:5],
    )


TWO_OF_FIVE = [[1, 1, 1, 0, 0, 1], [1, 0, 0, 1, 0, 1], [0, 1, 0, 1, 1, 1], [0, 0, 1, 0, 1, 1]]
TWO_OF_FIVE += [[0, 0, 0, 0, 0, 1]]
PAIRS = [[1, 0, 0], [0, 1, 1], [0, 1, 0], [1, 0, 1]]
APART = [[1, 0, 0], [0, 1, 0], [0, 1, 1], [1, 0, 1]]

# Of each module: calls and answers. Whatever may be equal differs, and each branch decides once.
ANSWERS = {
    _synthesis: [
        (lambda: choose_features([0, 1, 3, 4, 9, 3]), [0, 1, 3, 4, 4, 3]),
        # A real feature from 1 to 4, and one of 2, 4 and 6.
        (lambda: from_uniform([[0.0, 0.0], [0.5, 0.5], [0.9, 0.99]]), [[1, 2], [2.5, 4], [3.7, 6]]),
        (lambda: from_uniform([0.34], [1]), [4.0]),
        (lambda: other_value([1.0, 4.0, 6.0, 5.0], [0, 0, 1, 2]), [4.0, 1.0, nan, nan]),
        (
            lambda: compute_domain([[0.0, 0.5], [1.0, 0.25], [3.0, 1 / 3]]),
            ([0.0, 0.25], [3.0, 0.5], [1.0, 0.0], [4.0, 1.0]),
        ),
        (lambda: count_wanted([0.5, 0.25, 0.25], 10), [5, 3, 2]),
        (lambda: count_wanted([1 / 3, 2 / 3], 4), [1, 3]),
        # As many at once as may fail, in turns, and no more than there is room for.
        (lambda: choose_targets([], [9, 1], [0, 0], [0, 0]), [0, 0, 1]),
        (lambda: choose_targets([], [9, 9], [1, 0], [0, 0]), [0, 1, 0, 1, 0]),
        (lambda: choose_targets([0, 1], [9, 9], [1, 0], [0, 1]), [0, 0, 0]),
        (lambda: choose_targets([0, 0], [3, 0], [1, 0], [0, 0]), []),
        (lambda: choose_targets([], [9, 0], [0, 0], [2, 0]), []),
        (lambda: choose_targets([0] * 6, [99, 9], [9, 9], [0, 0]), []),
        (lambda: choose_targets([0] * 4, [99, 99], [9, 9], [0, 0]), [0]),
    ],
    _job: [
        (lambda: augment(2, 2), 3),
        (lambda: augment(2, alone=True), 2),
        (
            lambda: augment(2, 3),
            "augment must keep the number of records; it returned 3 of 2.",
        ),
        (lambda: len(_job.augmented("records", None)), 1),
        (lambda: _job.check_temperatures((1.0, 0.5)), None),
        *(
            (
                lambda given=given: tell_refusal(lambda: _job.check_temperatures(given))[:42],
                "temperatures must be one or more positive ",
            )
            for given in ((), (0.0,), (1.0, inf), (1.0, True), (-1,), ("a",))
        ),
        (
            lambda: tell_refusal(lambda: _job.check_temperatures((1, 2, 1.0)))[:38],
            "temperatures must be different numbers"[:38],
        ),
        (lambda: _job.check_outputs_store("outputs", "proba"), None),
        (lambda: _job.check_outputs_store("models", "label"), None),
        (
            lambda: tell_refusal(lambda: _job.check_outputs_store("outputs", "label"))[:15],
            'store="outputs"',
        ),
        (lambda: infer(PAIRS)[0], [1, 0, 3, 2]),
        (lambda: infer(APART)[0], [2, 3, 0, 1]),
        (lambda: infer([[1, 1, 0], [0, 0, 1], [1, 1, 1]])[0], [1, 0, -1]),
        # Two of five models for each record that varies.
        (lambda: infer(TWO_OF_FIVE)[1:], (2.0, 3.0)),
        # A repeated record says nothing.
        (
            lambda: infer(array(TWO_OF_FIVE)[:, [0, 1, 2, 3, 3, 4]], [1, 2, 3, 4, 4, 6])[1:],
            (2.0, 3.0),
        ),
        (
            lambda: infer(np.column_stack([TWO_OF_FIVE, np.eye(5, 2)]), [1, 2, 3, 4, 5, 6, 7, 7])[
                1:
            ],
            (2.0, 3.0),
        ),
        (lambda: _job._find_partners(array([[1, 0], [0, 1]], dtype=bool)), [1, 0]),
        (lambda: _job._find_partners(array([[1, 0], [1, 0]], dtype=bool)), [-1, -1]),
        (lambda: _job._find_partners(array([[1, 0], [1, 1], [0, 1]], dtype=bool)), [2, -1, 0]),
        (lambda: list_conflicts(), []),
        (lambda: list_conflicts(n_estimators=5), ["n_estimators must be eve"]),
        (lambda: list_conflicts(n_estimators=5, design="independent"), []),
        (
            lambda: list_conflicts(n_estimators=_job.BLOCK + 2, design="balanced"),
            ["n_estimators must be a m"],
        ),
        (lambda: list_conflicts(n_estimators=_job.BLOCK, design="balanced"), []),
        (lambda: list_conflicts(on_disk=True), ["on_disk=True requires a "]),
        (lambda: list_conflicts(on_disk=True, checkpoint="x"), []),
        (
            lambda: list_conflicts(on_disk=True, checkpoint="x", batched=True),
            ["batched=True trains many"],
        ),
        (lambda: list_conflicts(batched=True), []),
        (
            lambda: list_conflicts(output_kind="label", estimator=LinearRegression()),
            ['output_kind="label" is f'],
        ),
        (lambda: list_conflicts(output_kind="label"), []),
        (lambda: list_conflicts(estimator=None), []),
        (lambda: draw_entropy(None, 5), "stored"),
        (lambda: draw_entropy(0, 5), "drawn"),
        (lambda: draw_entropy(None, None), "drawn"),
        (lambda: draw_entropy(None, 0), "drawn"),
    ],
    _imported: [
        (lambda: check_scores([[1.0, 2.0]], [[1, 0]]), None),
        (lambda: check_scores([[1.0, 2.0]], [[1, 0]], 2, 0.0), None),
        (
            lambda: check_scores([[1.0, 2.0]], [[1, 0]], resolution=-1.0),
            'resolution must be "auto" or a finit',
        ),
        (
            lambda: check_scores([[1.0, 2.0]], [[1, 0]], 2, "other")[:18],
            "resolution must be",
        ),
        (lambda: check_scores([[1.0, 2.0]], [[1, 0]], 3), "scores and membership need the shape"),
        (lambda: check_scores([1.0, 2.0], [1, 0]), "scores and membership need the shape"),
        (lambda: check_scores([[1.0, 2.0]], [[1], [0]]), "scores and membership need the shape"),
        (lambda: check_scores([["a", "b"]], [[1, 0]]), "scores must hold numbers; got an arr"),
        (lambda: check_scores([[1.0, nan]], [[1, 0]])[:18], "scores holds 1 NaN"),
        (lambda: check_sets([[1, 0], [0, 1]]), [[True, False], [False, True]]),
        (lambda: check_sets([[1, 0], [0, 1]], 2), [[True, False], [False, True]]),
        (lambda: check_sets([[1, 0], [0, 1]], 3), "membership needs the shape (3, 2); g"),
        (lambda: check_sets([[1, 0, 1]]), "membership needs the shape (n_estima"),
        (lambda: check_sets([1, 0]), "membership needs the shape (n_estima"),
        (lambda: check_sets([[1, 2]]), "membership must be 1 where a model w"),
        (lambda: check_sets([["a", "b"]]), "membership must hold 0 and 1; got an"),
        (lambda: check_sets(np.zeros((0, 2))), "membership is empty; a pool needs on"),
        (lambda: keep_each(2), [(0, "model 0"), (1, "model 1")]),
        (lambda: keep_each(1), "2; got 1."[-8:]),
        (lambda: keep_each(0), "2; got 0."[-8:]),
        (lambda: keep_each(5), "e than 2."[-8:]),
        (
            gather,
            (
                ((1, 2, 3, 4), [0.0, 1.0, 2.0]),
                ((3, 4, 3), [10.0, 11.0, 12.0]),
                ["model 0", "model 1", "model 2"],
                [0.0, 0.1, 0.2],
                ["warning 0", "warning 1", "warning 2"],
            ),
        ),
        (lambda: gather(True)[:2], (None, None)),
        (lambda: gather(outputs=False)[1], None),
    ],
}


@pytest.mark.parametrize("module", ANSWERS, ids=lambda module: module.__name__)
def test_answers_by_hand(module):
    expect_answers(ANSWERS[module])
