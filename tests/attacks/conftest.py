"""Worlds in which the right answer of an attack on a pool is known."""

from typing import NamedTuple

import numpy as np
import pytest

from skmia import Outputs, Records, ShadowPool


class World(NamedTuple):
    """Scores of shadow models and of a victim on records whose membership is known."""

    records: Records
    membership: np.ndarray  # (n,)
    pool: ShadowPool
    shadows: np.ndarray  # (n_models, n)
    inside: np.ndarray  # (n_models, n)
    target: np.ndarray  # (n,)


def build_world(target, shadows, inside, membership=None):
    """World of given scaled logits; the victim's are stored with the records."""
    answers = Outputs(np.column_stack([np.zeros(len(target)), target]), [0, 1], "logits")
    records = Records(np.arange(len(target))[:, None], np.ones(len(target), int), outputs=answers)
    pool = ShadowPool.from_scores(shadows, inside, records)
    return World(records, membership, pool, np.asarray(shadows), np.asarray(inside), target)


@pytest.fixture(scope="session")
def put_models_in_the_victims_place():
    """Scores of the records that each model was not trained on, with the model as the victim.

    The model and its complement, the other one of its pair, are no shadow models meanwhile.
    """

    def score(world, score_world):
        scores = []
        for k in range(len(world.shadows)):
            rest = [j for j in range(len(world.shadows)) if j not in (k, k ^ 1)]
            reduced = build_world(world.shadows[k], world.shadows[rest], world.inside[rest])
            scores.append(score_world(reduced)[~world.inside[k]])
        return np.concatenate(scores)

    return score


@pytest.fixture(scope="session")
def check_rate_threshold():
    """Check that a threshold is the lowest one that no more than a share of scores reach.

    check_rate_threshold(offset, scores, rate, tolerance)
    """

    def check(offset, scores, rate, tolerance):
        reached = min(cut for cut in scores if np.mean(scores >= cut) <= rate)
        below = scores[scores < reached].max()
        assert below - tolerance <= offset <= reached + tolerance

    return check


@pytest.fixture(scope="session")
def make_world():
    """Build a world of given scores: make_world(target, shadows, inside)."""
    return build_world


@pytest.fixture(scope="session")
def draw_world():
    """Draw a world with normal evidence.

    The evidence on a record is N(center + shift, std) where a model was trained on it, else
    N(center, std), and models come in complementary pairs; the victim is drawn like a shadow model
    but is none of them.
    """

    def draw(n_records=50, n_models=16, shift=1.5, std=1.0, spread=3.0, seed=0):
        rng = np.random.default_rng(seed)
        center = rng.normal(0, spread, n_records)
        inside = np.repeat(rng.random((n_models // 2, n_records)) < 0.5, 2, axis=0)
        inside[1::2] = ~inside[1::2]
        membership = rng.permutation(np.arange(n_records) % 2)
        shadows = center + shift * inside + std * rng.normal(size=inside.shape)
        target = center + shift * membership + std * rng.normal(size=n_records)
        return build_world(target, shadows, inside, membership)

    return draw


@pytest.fixture(scope="session")
def large_world(draw_world):
    """A normal world of many records, which nobody changes."""
    return draw_world(n_records=20_000, n_models=32, shift=1.5)


@pytest.fixture(scope="session")
def known_world(draw_world):
    """A normal world of many records, with enough models for their laws to be known."""
    return draw_world(n_records=8000, n_models=256, shift=1.5, std=1.0)
