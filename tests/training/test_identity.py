"""A pool is known by its code and its inputs: what was edited since is named, and not used."""

import functools
import re
import sys
import textwrap
import types

import numpy as np
import pytest
from forked import FORKS, run_program
from sklearn.base import clone
from sklearn.ensemble import BaggingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from skmia import Records, ShadowPool
from skmia._training.digests import UnidentifiedError
from skmia._training.identity import identify
from skmia.datasets import make_membership_problem
from skmia.exceptions import CheckpointError

try:
    import skorch
    import torch
except ImportError:
    torch = None


@pytest.fixture(scope="module")
def records():
    made = make_membership_problem(80, n_features=4, random_state=0)[0]
    return Records(made.X.astype(np.float64), made.y)


def define(source, name, **names):
    """What a program calls by a name, as it is after an edit and a new start."""
    exec(compile(textwrap.dedent(source), "program.py", "exec"), names)
    return names[name]


def transform(function):
    return make_pipeline(FunctionTransformer(function), DecisionTreeClassifier(max_depth=2))


TREE = """
    from sklearn.tree import DecisionTreeClassifier
    class Base(DecisionTreeClassifier):
        power = 1.0
        def soften(self, p):
            return p ** self.power
    class Tree(Base):
        def predict_proba(self, X):
            p = self.soften(super().predict_proba(X)) + 0.25
            return p / p.sum(axis=1, keepdims=True)
        @staticmethod
        def unused(x):
            return x
    """
FUNCTION = """
    import functools
    import numpy as np
    WEIGHT = 2.0
    def halve(X):
        return X / 2
    class Scaler:
        def __init__(self, by):
            self.by = by
        def scale(self, X):
            return X * self.by
    def make(by):
        def inner(X, shift=1.0):
            return np.tanh(halve(X)) * by * WEIGHT + shift
        return inner
    made = make(3.0)
    part = functools.partial(made, shift=4.0)
    bound = Scaler(5.0).scale
    short = lambda X: made(X)[:, ::-1]
    @functools.lru_cache(maxsize=None)
    def table():
        return (7.0, 8.0)
    def look_up(X):
        return X * table()[0]
    def imports(X):
        from scipy.special import expit as squash
        return squash(X)
    """

EDITS = {
    "a method": (TREE, "Tree", "+ 0.25", "+ 0.5", "the code of Tree.predict_proba"),
    "a base class": (TREE, "Tree", "p ** self", "2 * p ** self", "the code of Base.soften"),
    "a class attribute": (
        TREE,
        "Tree",
        "power = 1.0",
        "power = 2.0",
        "the attribute power of Base",
    ),
    "a static method": (TREE, "Tree", "return x", "return -x", "the code of Tree.unused"),
    "a method that is gone": (TREE, "Tree", "def unused", "def other", "the methods of Tree"),
    "a function": (FUNCTION, "made", "np.tanh", "np.sin", "the code of inner"),
    "a default": (FUNCTION, "made", "shift=1.0", "shift=0.0", "the defaults of inner"),
    "a closure": (FUNCTION, "made", "make(3.0)", "make(2.0)", "the variable by that inner reads"),
    "a global": (
        FUNCTION,
        "made",
        "WEIGHT = 2.0",
        "WEIGHT = 1",
        "the global WEIGHT that inner rea",
    ),
    "a helper": (FUNCTION, "short", "X / 2", "X / 4", "the code of halve"),
    "a partial": (FUNCTION, "part", "shift=4.0", "shift=5.0", "the parameter .*func"),
    "what a partial calls": (FUNCTION, "part", "X / 2", "X / 4", "the code of halve"),
    "a lambda": (FUNCTION, "short", "[:, ::-1]", "[:, ::1]", "the code of <lambda>"),
    "an object": (FUNCTION, "bound", "Scaler(5.0)", "Scaler(6.0)", "the parameter .*func"),
    "a bound method": (FUNCTION, "bound", "X * self", "X + self", "the code of Scaler.scale"),
    "a cached function": (FUNCTION, "look_up", "(7.0", "(9.0", "the code of table"),
    "an import inside": (FUNCTION, "imports", "expit", "log_ndtr", "the code of imports"),
}


def make_estimator(source, name):
    thing = define(source, name)
    return thing(max_depth=2) if isinstance(thing, type) else transform(thing)


@pytest.mark.parametrize(("source", "name", "old", "new", "named"), EDITS.values(), ids=EDITS)
def test_what_was_edited_is_named(records, tmp_path, source, name, old, new, named):
    assert old in source
    pool = ShadowPool(make_estimator(source, name), 2, checkpoint=tmp_path, random_state=0)
    first = pool.fit(records).transform(records)
    # Moved, described anew and started again it is the same program.
    moved = re.sub(r"^( +)return", r"\1# A remark.\n\1return", f"\n\n{source}", flags=re.MULTILINE)
    again = clone(pool).set_params(estimator=make_estimator(moved, name)).fit(records)
    np.testing.assert_array_equal(again.transform(records), first)
    edited = make_estimator(source.replace(old, new), name)
    with pytest.raises(CheckpointError, match=f"differs in {named}"):
        clone(pool).set_params(estimator=edited).fit(records)


def test_docstrings_are_no_code():
    plain, told = (
        define(f"def scale(X):\n    {text}\n    return X * 2", "scale")
        for text in ("", '"""Twice."""')
    )
    assert identify(transform(plain)).parts == identify(transform(told)).parts
    read = define('def scale(X):\n    "a"\n    return {"a": 2}["a"] * X', "scale")
    edited = define('def scale(X):\n    "b"\n    return {"b": 2}["b"] * X', "scale")
    assert identify(transform(read)).parts != identify(transform(edited)).parts


NET = """
    from torch import nn
    from torch.nn import functional as F
    class Body(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.first = nn.Linear(4, width)
        def forward(self, x):
            return F.relu(self.first(x))
    class Net(nn.Module):
        def __init__(self, width=5):
            super().__init__()
            self.body, self.last = Body(width), nn.Linear(width, 2)
        def forward(self, x):
            return self.last(self.body(x))
    def make(width=5):
        return nn.Sequential(Body(width), nn.Dropout(0.1), nn.Linear(width, 2))
    """


def make_net(source, name="Net", **settings):
    return skorch.NeuralNetClassifier(
        define(source, name),
        criterion=torch.nn.CrossEntropyLoss,
        optimizer=torch.optim.SGD,
        max_epochs=2,
        train_split=None,
        verbose=0,
        **settings,
    )


@pytest.mark.skipif(torch is None, reason="needs torch and skorch")
@pytest.mark.parametrize(
    ("name", "old", "new", "named"),
    [
        ("Net", "F.relu", "F.tanh", "the code of Body.forward"),
        pytest.param(
            "Net",
            "self.last(self.body(x))",
            "-self.last(self.body(x))",
            "the code of Net.forward",
            marks=pytest.mark.slow,
        ),
        ("Net", "width=5", "width=7", "the defaults of Net.__init__"),
        ("make", "nn.Dropout(0.1)", "nn.Dropout(0.2)", "the code of make"),
        pytest.param(
            "Net",
            "nn.Linear(4, width)",
            "nn.Linear(4, width, bias=False)",
            "the code of Body.__init",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "make", "F.relu", "F.tanh", "the code of Body.forward", marks=pytest.mark.slow
        ),
    ],
)
def test_edited_layers_are_named(records, tmp_path, name, old, new, named):
    single = Records(records.X.astype(np.float32), records.y)
    pool = ShadowPool(make_net(NET, name), 2, checkpoint=tmp_path, random_state=0).fit(single)
    again = clone(pool).set_params(estimator=make_net(NET, name)).fit(single)
    np.testing.assert_array_equal(again.transform(single), pool.transform(single))
    assert old in NET
    with pytest.raises(CheckpointError, match=f"differs in {named}"):
        clone(pool).set_params(estimator=make_net(NET.replace(old, new), name)).fit(single)


@pytest.mark.skipif(torch is None, reason="needs torch and skorch")
def test_initial_parameters_count_by_name_shape_and_value():
    parts = identify(make_net(NET)).parts
    initial = {name for name in parts if name.startswith("the initial value")}
    layers = ("body.first", "last")
    assert initial == {
        f"the initial value of module.{one}.{kind}" for one in layers for kind in ("weight", "bias")
    }
    # Code that cannot be looked into, here what a file holds, shows in what it makes.
    one, other = (make_net(NET, module__width=width) for width in (5, 6))
    assert all(identify(one).parts[name] != identify(other).parts[name] for name in initial)
    # A criterion need not be a module.
    loss = make_net(NET).set_params(criterion=lambda: torch.nn.functional.cross_entropy)
    assert initial < set(identify(loss).parts)


def test_a_pool_that_grows_in_memory_mixes_no_two_programs(records):
    source, name, old, new, named = EDITS["a method"]
    pool = ShadowPool(make_estimator(source, name), 4, warm_start=True, random_state=0).fit(records)
    before = pool.transform(records)
    pool.set_params(n_estimators=6, estimator=make_estimator(source.replace(old, new), name))
    with pytest.raises(CheckpointError, match=rf"warm_start=True.* differs in {named}"):
        pool.fit(records)
    np.testing.assert_array_equal(pool.transform(records), before)
    pool.set_params(estimator=make_estimator(source, name)).fit(records)
    np.testing.assert_array_equal(pool.transform(records)[:, :4], before)


def test_a_method_that_is_replaced_in_place_is_noticed(records):
    tree = define(TREE, "Tree")
    pool = ShadowPool(tree(max_depth=2), 2, warm_start=True, random_state=0).fit(records)
    tree.predict_proba = define(TREE.replace("+ 0.25", "+ 0.5"), "Tree").predict_proba
    with pytest.raises(CheckpointError, match=r"differs in the methods of Tree"):
        pool.set_params(n_estimators=4).fit(records)


AUGMENT = "def shift(records):\n    return [type(records)(records.X + 0.5, records.y)]"


def test_what_augment_makes_counts_by_content(records, tmp_path):
    settings = {"checkpoint": tmp_path, "random_state": 0}
    tree = DecisionTreeClassifier(max_depth=2)
    first, edited, same = (
        define(source, "shift")
        for source in (
            AUGMENT,
            AUGMENT.replace("0.5", "0.25"),
            AUGMENT.replace("records.X + 0.5", "0.5 + records.X"),
        )
    )
    pool = ShadowPool(tree, 2, augment=first, **settings).fit(records)
    again = ShadowPool(tree, 2, augment=same, **settings).fit(records)
    np.testing.assert_array_equal(again.signals_, pool.signals_)
    for augment in (
        edited,
        lambda records: [Records((records.X + 0.5).astype(np.float32), records.y)],
        None,
    ):
        with pytest.raises(CheckpointError, match="differs in the records that augment makes"):
            ShadowPool(tree, 2, augment=augment, **settings).fit(records)


@pytest.mark.parametrize("exact", [False, True])
def test_single_and_double_precision_are_different_records(records, tmp_path, exact):
    X = np.round(records.X) if exact else records.X
    tree = DecisionTreeClassifier(max_depth=2)
    ShadowPool(tree, 2, checkpoint=tmp_path, random_state=0).fit(Records(X, records.y))
    with pytest.raises(
        CheckpointError,
        match="in the types of the records: float64 x 4, labels int64 there, float32 x 4, labels",
    ):
        single = Records(X.astype(np.float32), records.y)
        ShadowPool(tree, 2, checkpoint=tmp_path, random_state=0).fit(single)


def test_integers_beyond_double_precision_count(tmp_path):
    rows = 2**53 + np.arange(40)[:, None]
    settings = {"n_estimators": 2, "checkpoint": tmp_path, "random_state": 0}
    tree, y = DecisionTreeClassifier(), np.arange(40) % 2
    ShadowPool(tree, **settings).fit(Records(rows, y))
    rows[rows == 2**53 + 4] = 2**53 + 40
    with pytest.raises(CheckpointError, match="differs in the features"):
        ShadowPool(tree, **settings).fit(Records(rows, y))


PROGRAM = """
import importlib, pathlib, sys
sys.dont_write_bytecode = True
import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.tree import DecisionTreeClassifier
from skmia import ShadowPool
from skmia.datasets import make_membership_problem
from skmia.exceptions import CheckpointError
import helpers

class Tree(DecisionTreeClassifier):
    def fit(self, X, y):
        print("fit", end=" ")
        return super().fit(X, y)

def scale(X):
    names = {"one", "two", "three", "four"}  # in another order in each process
    return helpers.scale(X) * len(names)

records, _ = make_membership_problem(60, n_features=4, random_state=0)
estimator = make_pipeline(FunctionTransformer(scale), Tree(max_depth=2))
settings = {"checkpoint": "pool", "resolution": 0.1, "random_state": 0}

def fit(n_models):
    try:
        pool = ShadowPool(estimator, n_models, **settings).fit(records)
        print(pool.transform(records)[:, :2].sum(), end=";")
    except CheckpointError as error:
        print(error, end=";")

fit(int(sys.argv[1]))
for text in sys.argv[2:]:  # as of a module that is edited between two sessions
    pathlib.Path("helpers.py").write_text(text)
    importlib.reload(helpers)
    fit(int(sys.argv[1]))
"""


@FORKS
def test_another_process_goes_on_unless_a_module_was_edited(tmp_path, monkeypatch, capsys):
    helpers = tmp_path / "helpers.py"
    helpers.write_text("BY = 3.0\n\ndef scale(X):\n    return X * BY\n")

    with monkeypatch.context() as patch:
        patch.chdir(tmp_path)
        patch.syspath_prepend(tmp_path)
        patch.setattr(sys, "argv", ["-c", "2"])
        patch.setattr(sys, "dont_write_bytecode", True)  # as the program sets it
        main_module = types.ModuleType("__main__")
        patch.setitem(sys.modules, "__main__", main_module)
        exec(PROGRAM, vars(main_module))
        del sys.modules["helpers"]
    first = capsys.readouterr().out.rstrip(";")
    assert first.split(" ")[:-1] == ["fit"] * 2
    helpers.write_text("BY = 3.0\n\ndef scale(X):\n    # A remark.\n    return X * BY\n")
    edits = [
        "BY = 3.0\n\ndef scale(X):\n    return X + BY\n",
        "BY = 2.0\n\ndef scale(X):\n    return X * BY\n",
    ]
    _, told, _ = run_program(PROGRAM, 4, *edits, folder=tmp_path)
    same, other_code, other_global = told.split(";")[:-1]
    assert same == first
    assert "differs in the code of scale (2)." in other_code
    assert "differs in the global BY that scale (2) reads: 3.0 there, 2.0" in other_global


def test_installed_packages_count_by_their_version():
    identity = identify(make_pipeline(FunctionTransformer(np.log1p), StandardScaler()))
    assert set(identity.versions) == {"numpy", "python", "scikit-learn", "scipy"}
    assert not any(name.startswith("the code of") for name in identity.parts)


def test_compiled_functions_of_packages_are_known_by_name():
    from scipy.linalg.lapack import dpotrf
    from scipy.special import expit

    for function in (expit, np.add, abs, str.lower, [1].append, np.linalg.norm):
        assert identify(transform(function)).parts == identify(transform(function)).parts
    assert identify(transform(expit)).parts != identify(transform(np.exp)).parts
    reads = define("def scale(X):\n    return dpotrf(X)", "scale", dpotrf=dpotrf)
    assert "the global dpotrf that scale reads" in identify(transform(reads)).parts


def test_wrapped_functions_are_followed():
    def log(function):
        @functools.wraps(function)
        def wrapper(*arguments):
            return function(*arguments)

        return wrapper

    one, other = (log(define(FUNCTION, "make")(by)) for by in (1.0, 2.0))
    parts, others = identify(transform(one)).parts, identify(transform(other)).parts
    assert {name for name in parts if parts[name] != others[name]} == {
        "the variable by that inner reads"
    }


def test_state_of_frozen_parts_counts():
    X, y = np.arange(8.0)[:, None], np.arange(8) % 2
    one, other = (
        make_pipeline(FrozenEstimator(StandardScaler().fit(X * by)), DecisionTreeClassifier())
        for by in (1, 2)
    )
    assert identify(one).parts == identify(clone(one).fit(X, y)).parts
    assert identify(one).parts != identify(other).parts


def test_seeds_and_jobs_do_not_count():
    one = BaggingClassifier(DecisionTreeClassifier(random_state=1), n_jobs=2, random_state=2)
    other = BaggingClassifier(DecisionTreeClassifier(random_state=3), n_jobs=1, random_state=4)
    assert identify(one).parts == identify(other).parts


def test_things_that_go_in_circles():
    program = """
    class Node:
        def __init__(self):
            self.parent, self.child = self, [self]
        def scale(self, X):
            return walk(self, X)
    def walk(node, X):
        return X if node.child[0].parent is node else other(node, X)
    def other(node, X):
        return walk(node, X) * Node().step
    scale = Node().scale
    """
    parts = [identify(transform(define(program, "scale"))).parts for _ in range(2)]
    assert parts[0] == parts[1]
    edited = program.replace("is node else", "is not node else")
    assert identify(transform(define(edited, "scale"))).parts != parts[0]


UNIDENTIFIED = """
    def scale(X):
        return X * next(stream)
    """


def test_what_cannot_be_identified_is_refused_by_name(records, tmp_path):
    stream = (float(i) for i in range(1, 100))
    estimator = transform(define(UNIDENTIFIED, "scale", stream=stream))
    named = "the global stream that scale reads holds .*, whose content cannot be told"
    with pytest.raises(UnidentifiedError, match=named):
        identify(estimator)
    with pytest.raises(CheckpointError, match=named):
        ShadowPool(estimator, 2, checkpoint=tmp_path, random_state=0).fit(records)
    assert not list(tmp_path.iterdir())
    pool = ShadowPool(estimator, 2, warm_start=True, random_state=0).fit(records)
    with pytest.raises(CheckpointError, match=named):
        pool.set_params(n_estimators=4).fit(records)


def test_compiled_code_of_no_package_is_refused(monkeypatch):
    own = types.ModuleType("own")
    own.fast = np.frompyfunc(abs, 1, 1)
    monkeypatch.setitem(sys.modules, "own", own)
    with pytest.raises(UnidentifiedError, match="compiled code of no installed package"):
        identify(transform(own.fast))


def test_a_change_of_an_inner_parameter_is_named_before_the_estimators_around_it():
    there, here = (
        identify(
            make_pipeline(StandardScaler(), BaggingClassifier(DecisionTreeClassifier(max_depth=k)))
        ).parts
        for k in (3, 4)
    )
    differ = [name for name in here if here[name] != there[name]]
    outer = "the parameter baggingclassifier"
    assert differ[:3] == [f"{outer}__estimator__max_depth", f"{outer}__estimator", outer]
