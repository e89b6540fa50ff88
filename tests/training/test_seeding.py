import os
import random
import sys
import threading
import time

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.ensemble import BaggingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.random_projection import GaussianRandomProjection
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from skmia._core.randomness import isolated_randomness, preserved_randomness, seed_estimator


def source(entropy=0, child=0):
    return np.random.SeedSequence(entropy).spawn(child + 1)[child]


def draw_from_everything():
    numbers = [random.random(), *np.random.random(2)]  # noqa: NPY002
    return [*numbers, *np.random.normal(size=2)]  # noqa: NPY002


def states():
    found = [random.getstate(), *map(repr, np.random.get_state())]  # noqa: NPY002
    try:
        import torch
    except ImportError:
        return found
    return [*found, torch.random.get_rng_state().tolist()]


@pytest.mark.parametrize("turn", ["first", "second"])
def test_what_has_no_seed_is_seeded_in_tests(turn):
    seed = int(os.environ.get("SKMIA_TEST_SEED", 421))
    assert np.random.SeedSequence().entropy == random.Random(seed).getrandbits(128)
    assert random.random() == random.Random(seed).random()
    assert np.random.random() == np.random.RandomState(seed).random()  # noqa: NPY002
    torch = sys.modules.get("torch")
    assert torch is None or torch.initial_seed() == seed


@pytest.mark.parametrize(
    "estimator, names",
    [
        (RandomForestClassifier(), ["random_state"]),
        (
            BaggingClassifier(DecisionTreeClassifier()),
            ["estimator__random_state", "random_state"],
        ),
        (
            make_pipeline(GaussianRandomProjection(2), DecisionTreeClassifier()),
            ["decisiontreeclassifier__random_state", "gaussianrandomprojection__random_state"],
        ),
        (GridSearchCV(LinearSVC(), {"C": [1]}), ["estimator__random_state"]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_every_nested_random_state_gets_a_seed_of_its_own(estimator, names):
    seed_estimator(estimator, source())
    seeds = [estimator.get_params()[name] for name in names]
    assert all(isinstance(seed, int) and 0 <= seed < 2**31 for seed in seeds)
    assert len(set(seeds)) == len(names)


def test_seed_of_the_user_is_replaced_so_that_models_differ():
    seeds = []
    for child in range(4):
        estimator = RandomForestClassifier(random_state=0)
        seed_estimator(estimator, source(child=child))
        seeds.append(estimator.random_state)
    assert len(set(seeds)) == 4


def test_same_source_gives_the_same_seeds():
    first, second = DecisionTreeClassifier(), DecisionTreeClassifier()
    seed_estimator(first, source(5, 3))
    seed_estimator(second, source(5, 3))
    assert first.random_state == second.random_state


@pytest.mark.parametrize(
    "estimator",
    [
        make_pipeline(StandardScaler()),
        make_pipeline(FrozenEstimator(GaussianRandomProjection(random_state=1)), LinearSVC()),
    ],
)
def test_estimator_without_a_random_state_of_its_own_is_left_alone(estimator):
    seed_estimator(estimator, source())
    if len(estimator) > 1:
        assert estimator[0].estimator.random_state == 1


def test_integer_seeds_serve_every_estimator():
    model = LogisticRegression(solver="saga", max_iter=5, tol=10.0)
    seed_estimator(model, source())
    model.fit(np.eye(4), [0, 1, 0, 1])


def test_global_generators_are_seeded_inside_and_restored_outside():
    before = states()
    with isolated_randomness(source(1)):
        first = draw_from_everything()
    assert states() == before
    draw_from_everything()
    with isolated_randomness(source(1)):
        assert draw_from_everything() == first
    with isolated_randomness(source(2)):
        assert draw_from_everything() != first


def test_torch_is_seeded_inside_and_restored_outside():
    torch = pytest.importorskip("torch")
    before = torch.random.get_rng_state()
    with isolated_randomness(source(1)):
        first = torch.rand(3)
    assert torch.equal(torch.random.get_rng_state(), before)
    with isolated_randomness(source(1)):
        assert torch.equal(torch.rand(3), first)


@pytest.mark.parametrize("is_there", [False, True])
def test_devices_are_seeded_where_there_are_any(is_there, monkeypatch):
    torch = pytest.importorskip("torch", minversion="2.6")
    seeded = []
    monkeypatch.setattr(torch.accelerator, "is_available", lambda: is_there)
    monkeypatch.setattr(torch.cuda, "manual_seed_all", seeded.append)
    with isolated_randomness(source(1)):
        drawn = torch.rand(3)
    assert len(seeded) == is_there
    seed = np.random.SeedSequence(1, spawn_key=(0, 0)).generate_state(1)[0]
    assert torch.equal(drawn, torch.rand(3, generator=torch.Generator().manual_seed(int(seed))))


@pytest.mark.parametrize("kind", [np.random.MT19937, np.random.PCG64, np.random.Philox])
@pytest.mark.filterwarnings("error")
def test_a_global_generator_of_any_kind_goes_on_in_the_middle_of_a_pair_of_normals(kind):
    before = np.random.get_bit_generator()
    state = np.random.get_state(legacy=False)  # noqa: NPY002
    try:
        np.random.set_bit_generator(kind(0))
        np.random.normal()  # noqa: NPY002
        with preserved_randomness():
            inside = np.random.normal(size=1001)  # noqa: NPY002
        np.testing.assert_array_equal(np.random.normal(size=1001), inside)  # noqa: NPY002
    finally:
        np.random.set_bit_generator(before)
        np.random.set_state(state)  # noqa: NPY002


def test_generators_are_restored_after_an_error():
    before = states()
    with pytest.raises(ZeroDivisionError), isolated_randomness(source(1)):
        draw_from_everything()
        1 / 0  # noqa: B018
    assert states() == before


def test_using_a_source_twice_changes_nothing():
    seeds = source(1)
    with isolated_randomness(seeds):
        first = draw_from_everything()
    seed_estimator(DecisionTreeClassifier(), seeds)
    with isolated_randomness(seeds):
        assert draw_from_everything() == first


def test_threads_take_turns():
    drawn = {}

    def slowly(draw):
        time.sleep(5e-4)
        return draw()

    def work(child, barrier):
        barrier.wait()
        with isolated_randomness(source(child=child)):
            drawn[child] = [slowly(draw_from_everything) for _ in range(20)]

    before = states()
    barrier = threading.Barrier(4)
    threads = [threading.Thread(target=work, args=(child, barrier)) for child in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert states() == before
    for child in range(4):
        with isolated_randomness(source(child=child)):
            assert drawn[child] == [draw_from_everything() for _ in range(20)]


def test_a_parameter_that_is_about_to_go_is_left_alone():
    # TargetEncoder of scikit-learn 1.9 warns if its random_state is set at all.
    class Leaving(BaseEstimator):
        def __init__(self, random_state="deprecated", inner=None):
            self.random_state = random_state
            self.inner = inner

    estimator = Leaving(inner=DecisionTreeClassifier())
    seed_estimator(estimator, source())
    assert estimator.random_state == "deprecated"
    assert isinstance(estimator.inner.random_state, int)
