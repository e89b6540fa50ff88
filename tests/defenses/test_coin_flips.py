"""Labels that are coin flips: no private model knows more of them than its epsilon allows."""

import copy
import functools
import importlib
import inspect
import itertools
import pickle
import pkgutil
import warnings

import numpy as np
import pytest
from cells import slow_but
from scipy.stats import binom
from sklearn.base import clone
from sklearn.ensemble import BaggingClassifier, VotingClassifier
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import skmia
from skmia.defenses import DPSGDClassifier, LabelOnlyDefense, PATEDefense, TemperatureDefense
from skmia.defenses.schema import DeclaredSchema, NumberColumn
from skmia.synthetic import DPWassersteinGAN

torch = pytest.importorskip("torch")
skorch = pytest.importorskip("skorch")
pytest.importorskip("opacus")

N = 100
X = np.eye(N, dtype=np.float32)
Y = np.random.default_rng(0).integers(0, 2, N)
EPSILON = 0.5
PRIVATE = {"target_epsilon": EPSILON, "target_delta": 1e-4}


def most_known(epsilon, n=N):
    """The most labels of n that a private model knows, but for one time in a million."""
    # The number of right guesses is at most binomial; delta adds less than one in a thousand.
    return binom.ppf(1 - 1e-6, n, np.exp(epsilon) / (1 + np.exp(epsilon)) + 1e-3)


def make_module(n_features=N, n_classes=2):
    return torch.nn.Linear(n_features, n_classes)


def know_all(module):
    """Set the weights of a layer to what knows all labels."""
    with torch.no_grad():
        module.weight.copy_(torch.from_numpy(20.0 * np.stack([Y == 0, Y == 1])))
        module.bias.zero_()
    return module


class Loaded(torch.nn.Linear):
    """A layer that loads its weights when it is made."""

    def __init__(self):
        super().__init__(N, 2)
        know_all(self)


class Started(torch.nn.Module):
    """A layer that begins with the weights of another one."""

    def __init__(self, start):
        super().__init__()
        self.layer = torch.nn.Linear(N, 2)
        self.layer.load_state_dict(start.state_dict())

    def forward(self, x):
        return self.layer(x)


class Buffered(torch.nn.Module):
    """A layer with drawn weights beside a buffer, or an array, that knows the labels."""

    def __init__(self, kind="buffer"):
        super().__init__()
        self.layer = torch.nn.Linear(N, 2)
        known = know_all(torch.nn.Linear(N, 2)).weight.detach()
        if kind == "buffer":
            self.register_buffer("known", known)
        else:
            self.known = [known.numpy()] if kind == "array" else {"known": known}

    def forward(self, x):
        known = self.known
        known = known[0] if isinstance(known, list) else known
        known = known["known"] if isinstance(known, dict) else known
        return self.layer(x) + x @ torch.as_tensor(known).T


class WithoutReset(torch.nn.Module):
    """A layer that cannot draw its weights again."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(2, N))

    def forward(self, x):
        return x @ self.weight.T


class ResetsInPart(torch.nn.Linear):
    """A layer whose method for new weights uses the old ones."""

    def __init__(self):
        super().__init__(N, 2)
        know_all(self)

    def reset_parameters(self):
        if self.weight.abs().sum() == 0:
            super().reset_parameters()
        with torch.no_grad():
            self.weight.add_(torch.randn_like(self.weight))


class Initializing(skorch.NeuralNetClassifier):
    """A net that loads weights after it has made its module."""

    def initialize(self):
        super().initialize()
        know_all(self.module_)
        return self


def make_net(module=make_module, kind=skorch.NeuralNetClassifier, **settings):
    defaults = {"criterion": torch.nn.CrossEntropyLoss, "lr": 4.0, "batch_size": -1}
    defaults |= {"max_epochs": 3, "train_split": None, "verbose": 0}
    return kind(module, **defaults | settings)


def private(net, **settings):
    return DPSGDClassifier(net, **{"classes": [0, 1], **PRIVATE, **settings})


def from_callable(module):
    return lambda n_features, n_classes: make_net(module)


def trained(kind=make_module):
    module = kind()
    if isinstance(module, WithoutReset):
        with torch.no_grad():
            module.weight.copy_(know_all(make_module()).weight)
        return module
    return know_all(module)


# Ways to make a private classifier of what has seen the labels.


def of_trained_net():
    return private(make_net().fit(X, Y))


def of_cycle():
    modules = itertools.cycle([trained(), trained(), know_all(Loaded())])
    return private(lambda n_features, n_classes: make_net(copy.deepcopy(next(modules))))


def of_one_module():
    module = make_module()
    return private(lambda n_features, n_classes: make_net(module))


def of_set_params():
    return private(make_net()).set_params(estimator=make_net(trained()))


def of_a_clone():
    return clone(private(make_net(trained())).fit(X, Y))


def of_a_pickle():
    return pickle.loads(pickle.dumps(private(make_net()).fit(X, Y)))


def of_own_result():
    return private(private(make_net()).fit(X, Y).estimator_)


def of_schema():
    columns = {place: NumberColumn(0, 1) for place in range(N)}
    schema = DeclaredSchema(columns, classes=[0, 1])
    return private(make_net(trained()), classes=None, schema=schema)


def of_a_class():
    sizes = {"module__in_features": N, "module__out_features": 2}
    return private(make_net(torch.nn.Linear, **sizes))


def of_copies():
    return private(from_callable(functools.partial(copy.deepcopy, trained())))


def of_a_callable_of_a_net_that_loads():
    return private(lambda n_features, n_classes: make_net(make_module, Initializing))


WAYS = {
    "module object": lambda: private(make_net(trained())),
    "class": of_a_class,
    "callable": lambda: private(from_callable(make_module)),
    "callable around one module": of_one_module,
    "callable around a trained module": lambda: private(from_callable(trained())),
    "cycle of modules": of_cycle,
    "copies of a trained module": of_copies,
    "warm start": lambda: private(make_net(trained(), warm_start=True)),
    "set_params": of_set_params,
    "clone": of_a_clone,
    "pickle": of_a_pickle,
    "trained net": of_trained_net,
    "own result": of_own_result,
    "loads when made": lambda: private(make_net(Loaded)),
    "loads when initialized": lambda: private(make_net(make_module, Initializing)),
    "callable of a net that loads": of_a_callable_of_a_net_that_loads,
    "module as a setting": lambda: private(make_net(Started, module__start=trained())),
    "buffer": lambda: private(make_net(Buffered)),
    "buffer of an object": lambda: private(make_net(Buffered())),
    "array": lambda: private(make_net(Buffered, module__kind="array")),
    "array of an object": lambda: private(make_net(Buffered("array"))),
    "tensor in a dictionary": lambda: private(make_net(Buffered, module__kind="dict")),
    "no way to draw": lambda: private(make_net(trained(WithoutReset))),
    "draws in part": lambda: private(make_net(trained(ResetsInPart))),
    "sequence": lambda: private(make_net(torch.nn.Sequential(trained()))),
    "schema": of_schema,
}
REFUSED = {
    "callable around one module",
    "callable around a trained module",
    "cycle of modules",
    "copies of a trained module",
    "warm start",
    "loads when made",
    "loads when initialized",
    "callable of a net that loads",
    "buffer",
    "buffer of an object",
    "array",
    "array of an object",
    "tensor in a dictionary",
    "no way to draw",
    "draws in part",
}


# Others reach the same modules: an object, the result of a fit, and layers in layers.
LIKE_OTHERS = ("set_params", "trained net", "sequence")


@pytest.mark.parametrize("way", slow_but(WAYS, *(way for way in WAYS if way not in LIKE_OTHERS)))
def test_no_way_to_make_it_knows_more_than_its_epsilon_allows(way):
    if way in REFUSED:
        with pytest.raises(ValueError, match=r"public_weights=True|warm_start"):
            WAYS[way]().fit(X, Y)
        return
    model = WAYS[way]()
    for _ in range(2):  # a refit begins anew, too
        model.fit(X, Y)
        assert model.epsilon_ <= EPSILON
        assert (model.predict(X) == Y).sum() <= most_known(EPSILON)


def test_weights_that_are_declared_to_be_public_are_kept_and_their_module_stays_as_it_is(tmp_path):
    module = trained()
    before = copy.deepcopy(module.state_dict())
    ledger = skmia.defenses.PrivacyLedger(tmp_path / "fits")
    for net in (make_net(module), from_callable(module), make_net(lambda: module)):
        model = private(net, public_weights=True, ledger=ledger).fit(X, Y)
        assert (model.predict(X) == Y).sum() > most_known(EPSILON)  # which is what was declared
        assert all(torch.equal(module.state_dict()[name], before[name]) for name in before)
    private(make_net(), ledger=ledger).fit(X, Y)
    assert ledger.read()["kind"].tolist() == [*3 * ["fit from public weights"], "fit"]
    one, two = [skmia.defenses.PrivacyLedger(tmp_path / name) for name in "ab"]
    steps = {"noise_multiplier": 2.0, "sample_rate": 0.5, "n_steps": 3, "n_rows": 9}
    one.record(**steps)
    two.record(**steps, kind="fit from public weights")
    assert one.epsilon(1e-5) == two.epsilon(1e-5) < np.inf


def test_a_module_of_the_user_is_never_changed():
    module = trained()
    before = copy.deepcopy(module.state_dict())
    private(make_net(module)).fit(X, Y)
    with pytest.raises(ValueError, match="come from earlier training"):
        private(from_callable(module)).fit(X, Y)
    assert all(torch.equal(module.state_dict()[name], before[name]) for name in before)


class Usual(torch.nn.Module):
    """Constants, positions, masks, a slope, attention and tied and frozen weights."""

    def __init__(self):
        super().__init__()
        self.first = torch.nn.Sequential(torch.nn.Linear(N, 4), torch.nn.LayerNorm(4))
        self.slope, self.scale = torch.nn.PReLU(), torch.nn.Parameter(1e-3 * torch.ones(4))
        self.attention = torch.nn.MultiheadAttention(4, 2, batch_first=True)
        self.embed = torch.nn.Embedding(5, 4, padding_idx=0)
        self.tied = torch.nn.Linear(4, 5, bias=False)
        self.tied.weight = self.embed.weight
        self.register_buffer("positions", torch.arange(4))
        self.register_buffer("mask", torch.ones(4, 4).tril())
        self.last = torch.nn.Linear(5, 2)

    def forward(self, x):
        x = self.slope(self.first(x)) * self.scale
        x, _ = self.attention(x[:, None], x[:, None], x[:, None])
        return self.last(self.tied(x[:, 0]))


@pytest.mark.parametrize("module", [Usual, Usual()], ids=["class", "object"])
def test_usual_layers_are_drawn_anew(module):
    model = private(make_net(module), random_state=0).fit(X, Y)
    other = private(make_net(module), random_state=1).fit(X, Y)
    for name, value in model.estimator_.module_.named_parameters():
        assert torch.isfinite(value).all(), name
    assert not torch.equal(
        model.estimator_.module_.first[0].weight, other.estimator_.module_.first[0].weight
    )


def test_layers_without_sizes_are_taken():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = private(make_net(lambda: torch.nn.LazyLinear(2))).fit(X, Y)
    assert (model.predict(X) == Y).sum() <= most_known(EPSILON)


# Ways to refit it, as part of others; each model counts with its own epsilon.


def test_pipelines():
    pipeline = make_pipeline(FunctionTransformer(), private(make_net(trained())))
    for _ in range(2):
        assert (pipeline.fit(X, Y).predict(X) == Y).sum() <= most_known(EPSILON)


def test_searches():
    estimator = private(make_net(trained()))
    search = GridSearchCV(estimator, {"max_grad_norm": [0.5]}, cv=2).fit(X, Y)
    assert (search.predict(X) == Y).sum() <= most_known(3 * EPSILON)
    grid = {"estimator": [make_net(trained()), make_net(trained())]}
    search = GridSearchCV(estimator, grid, cv=2, error_score="raise").fit(X, Y)
    assert (search.predict(X) == Y).sum() <= most_known(5 * EPSILON)


def test_the_other_folds_do_not_know_the_rows_that_are_left_out():
    found = cross_val_predict(private(make_net(trained())), X, Y, cv=4)
    assert (found == Y).sum() <= most_known(0)


def test_ensembles():
    estimator = private(make_net(trained()))
    voting = VotingClassifier([("a", estimator), ("b", estimator)], voting="soft").fit(X, Y)
    assert (voting.predict(X) == Y).sum() <= most_known(2 * EPSILON)
    bagging = BaggingClassifier(estimator, 2, bootstrap=False, random_state=0).fit(X, Y)
    for model in bagging.estimators_:
        assert (model.predict(X) == Y).sum() <= most_known(EPSILON)


@pytest.mark.parametrize("defense", [LabelOnlyDefense, TemperatureDefense])
def test_defenses(defense):
    model = defense(private(make_net(trained()))).fit(X, Y)
    assert (model.predict(X) == Y).sum() <= most_known(EPSILON)


AGAIN = {"itself": lambda gan: gan, "a pickle": lambda gan: pickle.loads(pickle.dumps(gan))}


@pytest.mark.parametrize(
    "privacy, again",
    slow_but(
        itertools.product(["bounds", "clipping"], AGAIN),
        ("clipping", "itself"),
        ("bounds", "a pickle"),
    ),
)
def test_a_generator(privacy, again):
    n = 40
    rows = np.column_stack([np.eye(n), Y[:n]])
    gan = DPWassersteinGAN(
        **PRIVATE, privacy=privacy, max_iter=3, n_critic=2, batch_size=n, critic_layers=(8,)
    )
    gan = AGAIN[again](gan.fit(rows)).fit(rows)
    both = [torch.tensor(np.column_stack([np.eye(n), np.full(n, label)])) for label in (0, 1)]
    with torch.no_grad():  # the critic is released as well, and likes real rows
        answers = [gan.critic_(part).numpy().ravel() for part in both]
    assert gan.epsilon_ <= EPSILON
    assert ((answers[1] > answers[0]) == Y[:n]).sum() <= most_known(EPSILON, n)


# Of all public classes; what releases nothing is an audit, and states a bound for another one.


def find_classes_that_state_an_epsilon():
    for module in pkgutil.walk_packages(skmia.__path__, "skmia."):
        if any(part.startswith("_") for part in module.name.split(".")):
            continue
        for value in vars(importlib.import_module(module.name)).values():
            releases = hasattr(value, "predict") or hasattr(value, "sample")
            if inspect.isclass(value) and "\n    epsilon_ : " in (value.__doc__ or "") and releases:
                yield value.__name__


@pytest.mark.parametrize("n_teachers", [2, 10])
def test_a_private_vote_knows_no_more_than_its_epsilon_allows(n_teachers):
    def count_known(**settings):
        teacher = KNeighborsClassifier(1)  # knows each of its rows
        settings |= {"n_teachers": n_teachers, "classes": [0, 1], "random_state": 0}
        vote = PATEDefense(teacher, X, **settings).fit(X, Y)
        return (vote.predict(X) == Y).sum()

    assert count_known(**PRIVATE) <= most_known(EPSILON)
    if n_teachers == 2:
        assert count_known(noise_multiplier=0) > most_known(EPSILON)


def test_every_class_that_states_an_epsilon_is_here():
    # Audits and a test of disparity state bounds for a model; a search has tests of its law.
    others = {"DisparityTest", "EpsilonAudit", "LabelAudit", "OneRunAudit", "PrivateSearchCV"}
    found = {*find_classes_that_state_an_epsilon()} - others
    assert found == {"DPSGDClassifier", "DPWassersteinGAN", "PATEDefense"}
