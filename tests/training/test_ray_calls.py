"""What a pool asks of ray, answered in this process; test_ray.py starts a cluster of it."""

import pickle
import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier

from skmia import ShadowPool
from skmia._training import workers
from skmia.datasets import make_membership_problem

N_MODELS = 40


class RayTaskError(Exception):
    """What ray raises of a task that failed, with its error."""

    def __init__(self, cause):
        self.cause = cause


class Ray(ModuleType):
    """A cluster of two processors: a task is computed when its result is asked for."""

    def __init__(self):
        super().__init__("ray")
        self.settings, self.put_values, self.ended, self.most = [], [], [], 0
        self.exceptions = SimpleNamespace(RayTaskError=RayTaskError)
        self.cloudpickle = pickle

    def put(self, value):
        self.put_values.append(pickle.dumps(value))
        return len(self.put_values) - 1

    def remote(self, **settings):
        self.settings.append(settings)

        def submit(function, *arguments):
            return SimpleNamespace(function=function, arguments=arguments)

        return lambda function: SimpleNamespace(remote=lambda *given: submit(function, *given))

    def wait(self, tasks):
        self.most = max(self.most, len(tasks))
        return tasks[-1:], tasks[:-1]  # the last one that was submitted ends first

    def get(self, task):
        function, shared, part = task.arguments
        shared = pickle.loads(self.put_values[shared])  # as it arrives
        try:
            return task.function(function, shared, pickle.loads(pickle.dumps(part)))
        except Exception as error:
            raise RayTaskError(error) from error

    def cluster_resources(self):
        return {"CPU": 2.0}

    def cancel(self, task):
        self.ended.append(task)


@pytest.fixture
def ray(monkeypatch):
    ray = Ray()
    monkeypatch.setitem(sys.modules, "ray", ray)
    backend = SimpleNamespace(ray_remote_args={"num_cpus": 2})
    monkeypatch.setattr(workers, "_active_backend_ray", lambda: backend)
    return ray


@pytest.fixture(scope="module")
def records():
    return make_membership_problem(60, random_state=0)[0]


def test_numbers_are_those_of_a_local_fit_in_whatever_order_models_arrive(
    records, ray, monkeypatch
):
    pool = ShadowPool(DecisionTreeClassifier(max_depth=3), N_MODELS, random_state=0)
    signals = pool.fit(records).signals_
    assert pool.backend_ == "ray"
    assert ray.settings == [{"num_cpus": 2}]  # as joblib was told
    assert len(ray.put_values) == 1  # the records travel once
    assert 2 <= ray.most < N_MODELS and ray.ended == []
    monkeypatch.undo()
    local = clone(pool).fit(records)
    assert local.backend_ == "joblib"
    np.testing.assert_array_equal(signals, local.signals_)


def test_a_failure_is_told_as_a_local_one_is_and_ends_the_tasks_that_wait(records, ray):
    with pytest.raises(RuntimeError, match="could not be trained"):
        ShadowPool(DecisionTreeClassifier(max_depth=-1), N_MODELS).fit(records)
    assert len(ray.ended) == ray.most - 1
