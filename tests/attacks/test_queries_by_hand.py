"""How queries are made with shadow models: partners, paths, gradients and settings, by hand."""

from types import SimpleNamespace as NS

import numpy as np
import pytest
from by_hand import expect_answers
from numpy import array, inf

from skmia import Records
from skmia.attacks import _one_query, _transferred_query

DONORS = array([[0.0], [1.0], [2.0], [9.0]])


def choose_partners(predicted, n_partners=3):
    """Choose partners of records at 0, 1.4 and 6 with labels 0, 1 and 0."""
    search = NS(_donors=NS(X=DONORS), _predicted=array(predicted), _n_partners=n_partners)
    search._place = lambda records: records.X
    records = Records(array([[0.0], [1.4], [6.0]]), [0, 1, 0])
    return _transferred_query.SwapSearch._choose_partners(search, records)


def choose_confidence(membership, n_models=6):
    """Choose by four records, of which some were members of each of the models."""
    inside, tried, settled = array(membership, dtype=bool), [], []

    def attempt(records, victim, others, chosen):
        tried.append((victim, np.flatnonzero(others).tolist(), chosen.shape))
        assert np.array_equal(chosen, inside[others][:, records.y])
        return [records.X[:, 0] > 0, records.X[:, 0] > 1]

    pool = NS(estimators_=[None] * n_models, membership=lambda records: inside[:, records.y].T)
    attack = NS(pool_=pool, _fewest=2, _try=attempt)
    attack._settle = lambda rates: settled.append(rates.tolist())
    records = Records(array([[0.0], [1.0], [2.0], [3.0]]), [0, 1, 2, 3])
    _transferred_query.TransferredQueryAttack._choose_confidence(attack, records)
    return attack.confidence_, tried, settled


# The second pair has all records and none, and the last record has one model without it for the
# third pair, where two are needed.
INSIDE = [[1, 0, 1, 1], [0, 1, 0, 1], [1, 1, 1, 1], [0, 0, 0, 0], [1, 0, 1, 0], [0, 1, 0, 0]]


def settle(target_fpr):
    rates = np.full((39, 2), 0.7)
    rates[[3, 5, 7]] = [0.1, 0.4], [0.3, 0.9], [0.2, 0.6]
    attack = NS(target_fpr=target_fpr)
    _transferred_query.TransferredQueryAttack._settle(attack, rates)
    return attack.confidence_, attack.rates_[0.15], len(attack.rates_)


def end(confidence):
    """End paths of three steps, of which the second has a low point and a way back."""
    walk = NS(confidence=array([[0.9, 0.9], [0.5, 0.2], [0.3, 0.9]]))
    return _transferred_query.end(walk, confidence)


def search_points(n_steps=3, penalty=0.0, bounds=None, slope=(2.0, -3.0), step_size=0.1):
    """Search from a point for the least value of a linear function, in units of .5."""
    settings = NS(scale=0.5, n_steps=n_steps, step_size=step_size, bounds=bounds)
    slope = array([slope])
    models = NS(pull=lambda points: ((points * slope).sum(axis=1), np.tile(slope, (1, 1))))
    return _one_query.OneQueryAttack._search(settings, models, array([[1.0, 2.0]]), penalty)


def choose_penalty(n_models=8, members=((0, 7), (2, 3), (1, 2, 6), (7,), ())):
    """Choose by records, of which models of the first and third pair make the queries."""
    inside = np.zeros((n_models, len(members)), dtype=bool)
    for record, models in enumerate(members):
        inside[list(models), record] = True
    asked = []

    def find_queries(records, making, penalty):
        asked.append((making.tolist(), sorted(records.y.tolist())))
        return penalty, records.y

    pool = NS(membership_=inside, estimators_=range(n_models))
    pool.membership = lambda records: inside[:, records.y].T
    attack = NS(pool_=pool, _find_queries=find_queries, advantage_=None)
    # Labels that are right for the record 2, for the record 0, for both and for neither.
    right = {0.3: [2], 1.0: [0], 3.0: [0, 2], inf: []}
    before = _one_query.is_right
    _one_query.is_right = lambda model, queries, y, name: np.isin(queries[1], right[queries[0]])
    try:
        n = len(members)
        records = Records(np.arange(n)[:, None], np.arange(n))
        _one_query.OneQueryAttack._choose_penalty(attack, records)
    finally:
        _one_query.is_right = before
    return attack.penalty_, attack.advantage_, asked[:1]


def measure_margins(*boxes):
    """Measure the units of models by records of the labels 0, 1 and 2, of given margins."""
    margins = array([4.0, -8.0, 1.0])
    records = Records(margins[:, None], [0, 1, 2])
    boxes = [NS(classes=array(classes), encode=np.asarray) for classes in boxes]
    attack, before = NS(_open=lambda some: boxes), _one_query.label_margin
    _one_query.label_margin = lambda box, points, y: (points[:, 0], None)
    try:
        _one_query.OneQueryAttack._measure_margins(attack, records)
    finally:
        _one_query.label_margin = before
    return attack._units


ANSWERS = {
    "partners": [
        # The nearest of another label, in turn if they are few; of any label if there are none.
        (lambda: choose_partners([0, 1, 1, 0]), [[1, 2, 1], [0, 3, 0], [2, 1, 2]]),
        (lambda: choose_partners([0, 1, 1, 1]), [[1, 2, 3], [0, 0, 0], [3, 2, 1]]),
        (lambda: choose_partners([0, 0, 0, 0], 2), [[0, 1], [1, 2], [3, 2]]),
    ],
    "confidence": [
        (lambda: choose_confidence(INSIDE[:5], 5), (0.5, [], [])),
        (lambda: choose_confidence(np.zeros((6, 4))), (0.5, [], [])),
        (
            lambda: choose_confidence(INSIDE),
            (
                0.5,
                [
                    (0, [2, 3, 4, 5], (4, 4)),
                    (1, [2, 3, 4, 5], (4, 4)),
                    (4, [0, 1, 2, 3], (4, 3)),
                    (5, [0, 1, 2, 3], (4, 3)),
                ],
                [
                    [
                        [(1 + 0.5 + 1 + 0.5) / 4, (2 / 3 + 1 + 0.5 + 1) / 4],
                        [(0 + 0.5 + 0 + 0.5) / 4, (2 / 3 + 0.5 + 0.5 + 0) / 4],
                    ]
                ],
            ),
        ),
        (lambda: settle(None), (0.15, (0.3, 0.9), 39)),
        (lambda: settle(0.2), (0.2, (0.3, 0.9), 39)),
        (lambda: settle(0.1), (0.1, (0.3, 0.9), 39)),
        (lambda: end(0.4), ([2, 1], [True, True])),
        (lambda: end(0.25), ([2, 1], [False, True])),
        (lambda: end(0.2), ([2, 2], [False, False])),
    ],
    "search": [
        # Where the slope is the same, each step has the same length.
        (lambda: search_points(0), [[1.0, 2.0]]),
        (lambda: search_points(1), [[0.95, 2.05]]),
        (lambda: search_points(3), [[0.85, 2.15]]),
        (lambda: search_points(3, bounds=(0.9, 2.1)), [[0.9, 2.1]]),
        # What a change costs keeps it at the optimum, or at the record, if no change is worth it.
        (lambda: search_points(penalty=1.0, slope=(0.0, 0.0)), [[1.0, 2.0]]),
        (
            lambda: search_points(300, penalty=2.5, step_size=0.02).round(2),
            [[1 - 0.5 * 0.5 * 2 / 5, 2 + 0.5 * 0.5 * 3 / 5]],
        ),
    ],
    "penalty": [
        (lambda: choose_penalty(7, members=((0,), (2, 3), (1, 2, 6), (5,))), (1.0, None, [])),
        (lambda: choose_penalty(members=[()] * 4), (1.0, None, [])),
        # The records 0 and 2 are of some of the models that make the queries. Of those that are
        # asked, 2 and 6 have record 2, 7 has record 0, and 3 has neither.
        (
            lambda: choose_penalty(),
            (0.3, {0.3: 0.25, 1.0: -0.25, 3.0: 0.0, inf: 0.0}, [([0, 1, 4, 5], [0, 2])]),
        ),
        # Half of the median size of the margins, of the labels that a model knows.
        (lambda: measure_margins([0, 1, 2], [1, 2], [9], [0]), [2.0, 2.25, 0.5, 2.0]),
    ],
}


@pytest.mark.parametrize("name", ANSWERS)
def test_answers_by_hand(name):
    expect_answers(ANSWERS[name])


def test_a_rate_that_no_confidence_reaches_is_named():
    with pytest.warns(UserWarning, match=r"target_fpr=0\.05 is not reached .* confidence is 0\.1,"):
        assert settle(0.05)[0] == 0.1


def test_models_pull_to_the_label_or_away_by_their_margin(monkeypatch):
    boxes = [NS(classes=array(classes)) for classes in ([0, 1], [0], [9], [0, 1])]
    slopes = {id(box): array([k + 1.0, -k]) for k, box in enumerate(boxes)}

    def label_margin(box, points, y):
        slope = slopes[id(box)]
        return points @ slope + y, np.tile(slope, (len(points), 1))

    monkeypatch.setattr(_one_query, "label_margin", label_margin)
    inside = array([[1, 0], [0, 0], [0, 1], [0, 1]], dtype=bool)
    models = _one_query._OpenedModels(boxes, [1.0, 2.0, 3.0, 4.0], inside, array([0, 1]))
    points = array([[0.3, -0.2], [0.1, 0.7]])
    loss, gradient = models.pull(points)

    def penalty(k, row, sign):
        return np.log1p(np.exp(-sign * (points[row] @ slopes[id(boxes[k])] + row) / (k + 1)))

    # The first record has one model with it and three without, and the other has two of each, of
    # which some do not know its label.
    wanted = [
        penalty(0, 0, 1) + penalty(1, 0, -1) / 3 + penalty(3, 0, -1) / 3,
        penalty(0, 1, -1) / 2 + penalty(3, 1, 1) / 2,
    ]
    np.testing.assert_allclose(loss, wanted)
    for j in range(2):
        moved = points + 1e-6 * np.eye(2)[j]
        slope = (models.pull(moved)[0] - loss) / 1e-6
        np.testing.assert_allclose(gradient[:, j], slope, rtol=1e-4)
