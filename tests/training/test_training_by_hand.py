"""Small functions of training at the limits of their branches, with answers by hand."""

import enum
import json
import math
import weakref
from collections import OrderedDict
from functools import cache, cached_property, partial
from pathlib import Path
from types import CellType, ModuleType
from types import SimpleNamespace as NS
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from by_hand import expect_answers, tell_refusal
from numpy import array, inf, nan
from scipy import sparse
from sklearn.decomposition import PCA
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from skmia._training import checkpoint, digests, frozen, groups, plan
from skmia._training.backends.linear import design, logistic, ridge
from skmia._training.backends.perceptron import backend as perceptron
from skmia._training.backends.perceptron import train
from skmia._training.backends.torch_nets import plan as net_plan
from skmia._training.job import JobProgress
from skmia.exceptions import JointTrainingWarning

# Tables that differ in one thing alone: names, order, type, container, categories, missing cells.
TABLES = [
    array([[1, 2], [3, 4]]),
    array([[1, 3], [2, 4]]),
    array([[1, 2, 3, 4]]),
    array([[1.0, 2.0], [3.0, 4.0]]),
    array([["1", "2"], ["3", "4"]], dtype=object),
    array([[1, "2"], [3, "4"]], dtype=object),
    pd.DataFrame([[1, 2], [3, 4]]),
    pd.DataFrame([[1, 2], [3, 4]], columns=["a", "b"]),
    pd.DataFrame([[1, 2], [3, 4]], columns=["b", "a"]),
    pd.DataFrame([[1, 2], [3, 4]], columns=["0", "1"]),
    pd.Series([1, 2]),
    pd.Series([1, 2], dtype="Int64"),
    pd.Series([1, None], dtype="Int64"),
    pd.Series(["a", "b"], dtype=pd.CategoricalDtype(["a", "b"])),
    pd.Series(["a", "b"], dtype=pd.CategoricalDtype(["b", "a"])),
    pd.Series(["a", "b"], dtype=pd.CategoricalDtype(["a", "b", "c"])),
    pd.Series(["a", "b"], dtype=pd.CategoricalDtype(["a", "b"], ordered=True)),
    sparse.csr_array(array([[1, 2], [3, 4]])),
    sparse.csc_array(array([[1, 2], [3, 4]])),
    sparse.csr_array(array([[1, 2, 3, 4]])),
]


# Bodies of functions that differ in one thing alone.
BODIES = [
    "return 1",
    "return 2",
    "return 1.0",
    "return True",
    "return -1",
    "return (1, 2)",
    "return (1, 3)",
    "return (1, 2.0)",
    "return 'one'",
    "return 'other'",
    "return b'one'",
    "return x",
    "return y",
    "return x.a",
    "return x.b",
    "return x in {1, 2}",
    "return x in {1, 3}",
    "return lambda: 1",
    "return lambda: 2",
    "return lambda x: 1",
    "return lambda *, x=None: 1",
    "'a text'; return 1, 'other'",
]
NESTED = """
    def g():
        def h():
            return a.b.c
        return h, d()
    def k(x):
        return e.real + x.real
    return g, k
"""


def compile_body(body):
    """Return the code of a function f with a body."""
    space = {}
    exec(f"def f():\n    global g, k\n    {body.strip()}\n", space)
    return space["f"].__code__


def digest_body(body):
    return digests.digest_code(compile_body(body))


class NeuralNet:
    """Stands for the net of skorch whose class it names."""

    __module__ = "skorch.net"


class Color(enum.Enum):
    RED = 1
    BLUE = 1.5


class OwnList(list):
    pass


class OwnSet(set):
    pass


def make_values():
    """Make values that differ in one thing alone."""
    return [
        *(1, 2, 1.0, 2.0, True, False, 1j, "1", b"1", None, ..., range(1), slice(1), slice(2)),
        *((1,), [1], [1, 2], [2, 1], (1, 2), [[1], 2], [1, [2]], {1}, {1, 2}, {1: 2}, {2: 1}),
        *({1: 2, 3: 4}, {3: 4, 1: 2}, OrderedDict({1: 2}), OrderedDict({2: 1})),
        *(OwnList([1]), OwnList([2]), OwnSet({1}), OwnSet({2}), Color.RED, Color.BLUE),
        *(np.float64(1), np.float32(1), np.int64(1), np.int64(2), np.bool_(True)),
        *(np.dtype("f8"), np.dtype("f4"), np.dtype([("a", "f8")]), np.dtype([("b", "f8")])),
        *(np.exp, np.log, math.exp, len, max, str.upper, str.lower, math, json),
        *("a".upper, "b".upper, "a".lower, partial(max, 1), partial(max, 2), partial(min, 1)),
        *(Ridge, StandardScaler, Ridge(1.0), Ridge(2.0), Ridge(1.0).fit, Ridge(2.0).fit),
        *(Ridge(1.0).predict, FrozenEstimator(Ridge()), CellType(), CellType(3), list, dict),
        *(array([1.0]), array([2.0]), pd.Series([1.0]), pd.DataFrame([1.0])),
        *(np.random.RandomState(0), np.random.RandomState(1)),
        *(weakref.ref(Color), weakref.ref(OwnList)),
        *(compile_body("return 1"), compile_body("return 2"), cache(len), cache(max)),
    ]


def list_parts(source, **names):
    """List the parts of a function f of a program."""
    space = {"__name__": "program", **names}
    exec(source, space)
    walker = digests.DigestWalker()
    walker.add("it", space["f"])
    assert all((not text) == name.startswith("the missing") for name, text in walker.parts.items())
    return [*walker.parts]


# Bodies of classes that differ in one thing alone.
MEMBERS = [
    "pass",
    "a = 1",
    "a = 2",
    "b = 1",
    "f = lambda x: 1",
    "f = lambda x: 2",
    "f = staticmethod(lambda x: 1)",
    "f = classmethod(lambda x: 1)",
    "f = property(lambda x: 1)",
    "f = property(None, lambda x: 1)",
    "f = property(None, None, lambda x: 1)",
    "f = cached_property(lambda x: 1)",
    "__slots__ = ('a',)",
    "__slots__ = ('b',)",
]


def digest_members(body):
    space = {"__name__": "program", "cached_property": cached_property}
    exec(f"class Made:\n    {body}", space)
    walker = digests.DigestWalker()
    walker.add("it", space["Made"])
    return tuple(walker.parts.items())


def name_packages(value):
    """Return the parts of a value, and the packages that it is from."""
    walker = digests.DigestWalker()
    walker.add("it", value)
    return [*walker.parts], sorted(walker.packages)


def add_parts(*values):
    walker = digests.DigestWalker()
    for value in values:
        walker.add("a", value)
    return {name: text if text[0] != "#" else len(text) for name, text in walker.parts.items()}


def make_module(**content):
    module = ModuleType("of_the_program")
    vars(module).update(content)
    return module


def digest_in_blocks(values):
    """Compare the digest of an array that is read in blocks of few rows with that of a copy."""
    with mock.patch.object(digests, "_BLOCK_BYTES", 40):
        return digests.digest_table(values) == digests.digest_table(values.copy())


def nest(depth):
    """Return a list that holds itself below some others."""
    inner = []
    outer = inner
    for _ in range(depth):
        outer = [outer]
    inner.append(outer)
    return inner


def why_not_net(memory=None, transform_input=None):
    made = Pipeline([("net", NeuralNet())], memory=memory)
    made.transform_input = transform_input
    return net_plan.why_not_estimator(made)


def replace_idle(spread):
    """Return scales of models, of which the middle one has the records 0 and 2."""
    table = NS(
        X=array([[5.0, 1.0], [6.0, 2.0], [5.0, 1.5]]),
        membership=array([[1, 1, 0], [1, 0, 1], [1, 1, 1], [0, 1, 1]], dtype=bool),
    )
    return design.LinearPlan._without_idle(table, spread, array([0, 1, 2]))


def are_finite(coefs, intercepts):
    training = NS(model=NS(coefs_=coefs, intercepts_=intercepts))
    return perceptron.PreparedPerceptron.is_finite(training)


# Of each module: calls and answers. Whatever may be equal differs, and each branch decides once.
ANSWERS = {
    net_plan: [
        (lambda: net_plan.find_net(Ridge()), None),
        (lambda: type(net_plan.find_net(NeuralNet())).__name__, "NeuralNet"),
        (lambda: type(net_plan.find_net(Pipeline([("a", NeuralNet())]))).__name__, "NeuralNet"),
        (lambda: net_plan.find_net(Pipeline([("a", NeuralNet()), ("b", Ridge())])), None),
        (
            lambda: net_plan.why_not_estimator(Ridge()),
            "Ridge is neither a skorch net nor a Pipeline that ends in one.",
        ),
        (lambda: why_not_net("folder"), "A Pipeline with a memory fits copies of its steps."),
        (
            lambda: why_not_net(transform_input=["X_val"]),
            "A Pipeline with transform_input passes further data to its steps.",
        ),
        (lambda: (why_not_net() or "").startswith("A Pipeline"), False),
    ],
    checkpoint: [
        (lambda: checkpoint._reason(OSError(2, "No such file")), "No such file"),
    ],
    groups: [
        (lambda: groups.describe_training_error(ValueError("two\nlines")), "ValueError: two"),
        (lambda: groups.describe_training_error(ValueError("")), "ValueError"),
        (
            lambda: (
                groups.describe_training_error(ValueError("x" * 201)) == "ValueError: " + "x" * 200
            ),
            True,
        ),
    ],
    digests: [
        (lambda: len({digest_body(one) for one in BODIES}), len(BODIES)),
        # Python writes no decimal number as long as these.
        (lambda: len(digest_body(f"return 0x{'f' * 5000}")), 33),
        (lambda: len(digest_body(f"return (1, (2, 0x{'f' * 5000}))")), 33),
        (lambda: digest_body('"one"; return 1') == digest_body('"other"; return 1'), True),
        (lambda: digest_body("return x in {1, 2}") == digest_body("return x in {2, 1}"), True),
        (
            lambda: [one.co_name for one in digests.nested_codes(compile_body(NESTED))],
            ["f", "g", "h", "k"],
        ),
        (
            lambda: sorted({*digests.iter_reads(compile_body(NESTED))}),
            [("a", ("b", "c")), ("d", ()), ("e", ("real",)), ("g", ()), ("k", ())],
        ),
        (
            lambda: [*digests.iter_imports(compile_body("import a.b; from . import c, d"))],
            [("a.b", 0, ()), ("", 1, ("c", "d"))],
        ),
        (
            lambda: [*digests.iter_imports(compile_body("from ..e import g as h; return h"))],
            [("e", 2, ("g",))],
        ),
        (lambda: len({digests.digest_table(one) for one in TABLES}), len(TABLES)),
        (
            lambda: digests.digest_table(TABLES[-3].tocoo()) == digests.digest_table(TABLES[-3]),
            True,
        ),
        (lambda: digests.digest_text("a", "bc") == digests.digest_text("ab", "c"), False),
        (
            lambda: len({digests.DigestWalker().digest(one) for one in make_values()}),
            len(make_values()),
        ),
        (
            lambda: [
                k
                for k, pair in enumerate(zip(make_values(), make_values(), strict=True))
                if len({digests.DigestWalker().digest(one) for one in pair}) > 1
            ],
            [],
        ),
        *(
            (lambda value=value: name_packages(value), (["it"], [package]))
            for value, package in (
                (np.median, "numpy"),
                (Ridge, "scikit-learn"),
                (Ridge(), "scikit-learn"),
                (Ridge.fit, "scikit-learn"),
                (json, "python"),
                (json.dumps, "python"),
                (math.exp, "python"),
                (OrderedDict, "python"),
            )
        ),
        (lambda: name_packages(Ridge(array([1.0]))), (["it"], ["scikit-learn"])),
        (lambda: name_packages([np.median, Ridge]), (["it"], ["numpy", "scikit-learn"])),
        (
            lambda: tell_refusal(lambda: add_parts(make_module())),
            "a holds a module, whose content cannot be told (AttributeError: module "
            "'of_the_program' has no attribute '__file__')",
        ),
        (
            lambda: tell_refusal(lambda: digests.DigestWalker().digest(property(len)))[:49],
            "it holds a property, whose content cannot be told",
        ),
        (
            lambda: (
                digests.DigestWalker().digest(make_module(__file__=__file__))
                == digests.digest_text("module", Path(__file__).read_bytes().hex())
            ),
            True,
        ),
        (lambda: digests._import("json.decoder", 0, {}).__name__, "json.decoder"),
        (lambda: digests._import("decoder", 1, {"__package__": "json"}).__name__, "json.decoder"),
        (lambda: digests._import("", 1, {"__package__": "json"}).__name__, "json"),
        (lambda: digests._import("decoder", 2, {"__package__": "json"}), None),
        (lambda: digests._import("decoder", 1, {}), None),
        (lambda: digests._import("no_such_module", 0, {}), None),
        (lambda: digest_in_blocks(np.arange(60.0).reshape(10, 6)[:, ::2]), True),
        (lambda: digest_in_blocks(np.arange(60.0).reshape(10, 6).T), True),
        (lambda: digest_in_blocks(np.arange(60.0)[::3]), True),
        (lambda: digest_in_blocks(np.zeros((0, 6))[:, ::2]), True),
        (lambda: digests.digest_table(array(1.0)) == digests.digest_table(array([1.0])), False),
        (
            lambda: (
                digests.digest_arrays({"a": array([1]), "b": array([2])})
                == digests.digest_arrays({"b": array([2]), "a": array([1])})
            ),
            True,
        ),
        (
            lambda: (
                digests.digest_arrays({"a": array([1]), "b": array([2])})
                == digests.digest_arrays({"a": array([2]), "b": array([1])})
            ),
            False,
        ),
        (lambda: len({digests.DigestWalker().digest(nest(depth)) for depth in range(4)}), 4),
        (lambda: len({digests.DigestWalker().digest(nest(2)) for _ in range(2)}), 1),
        (lambda: len({*map(digest_members, MEMBERS)}), len(MEMBERS)),
        (lambda: [one for one in MEMBERS if digest_members(one) != digest_members(one)], []),
        (lambda: digest_members("'a text'") == digest_members("pass"), True),
        (
            lambda: add_parts(1, "x" * 57, "x" * 58),
            {"a": "1", "a'": repr("x" * 57), "a''": 33},
        ),
        (
            lambda: list_parts(
                "def f(x): return __name__, power, missing, len(x), json.dumps, power, "
                "box.real, own.a.b",
                power=2.0,
                box=3.0,
                json=json,
                own=make_module(a=make_module(b=1), c=2),
            ),
            [
                "it",
                "the code of f",
                "the global power that f reads",
                "the missing name missing that f reads",
                "the global json that f reads",
                "the global box that f reads",
                "the global own.a.b that f reads",
            ],
        ),
        (
            lambda: list_parts(
                "def f(x, y=1):\n from math import pi\n import json\n return pi, json\nf.tag = 1"
            ),
            [
                "it",
                "the code of f",
                "the defaults of f",
                "the attributes of f",
                "the global math that f reads",
                "the global json that f reads",
            ],
        ),
        (
            lambda: list_parts("def g(a):\n def f(*, x=1):\n  return a, x\n return f\nf = g(2)"),
            ["it", "the code of f", "the defaults of f", "the variable a that f reads"],
        ),
    ],
    frozen: [
        (
            lambda: [
                name for name, _ in frozen._direct_parts(make_pipeline(StandardScaler(), Ridge()))
            ],
            ["standardscaler", "ridge"],
        ),
    ],
    logistic: [
        (lambda: logistic.inverse_strength(NS(penalty=None, C=2.0)), inf),
        (lambda: logistic.inverse_strength(NS(penalty="l2", C=2)), 2.0),
        (lambda: logistic._weigh_sigmoid(array([0.0, np.log(3.0)]), array([2.0, 4.0])), [1.0, 3.0]),
    ],
    design: [
        # The first feature is constant for model 1, the second only small.
        (
            lambda: replace_idle(array([[2.0, 3.0], [0.5, 0.5], [2.0, 3.0]])),
            [[2.0, 3.0], [2.0, 0.5], [2.0, 3.0]],
        ),
        (
            lambda: replace_idle(array([[2.0, 3.0], [0.5, 8.5], [2.0, 3.0]])),
            [[2.0, 3.0], [2.0, 8.5], [2.0, 3.0]],
        ),
        (lambda: design.are_too_large(array([1e200, 1.0])), True),
        (lambda: design.are_too_large(array([1e150, 1.0])), False),
        (lambda: design.are_too_large(array([1, 2])), False),
        (lambda: design.why_not_features(pd.DataFrame({"a": [0.5], "b": [True]})), None),
        (
            lambda: design.why_not_features(
                pd.DataFrame({"a": pd.array([1, None], "Int64"), "b": [True, False]})
            ),
            "X holds missing values",
        ),
        *(
            (lambda made=made: (design.why_not_steps(made) or "")[:27], reason)
            for made, reason in (
                (Ridge(), ""),
                (make_pipeline(Ridge()), ""),
                (make_pipeline("passthrough", Ridge()), ""),
                (make_pipeline(MinMaxScaler(), Ridge()), ""),
                (make_pipeline("passthrough", StandardScaler(), Ridge()), ""),
                (make_pipeline(Ridge(), memory="folder"), "the Pipeline has a memory"),
                (make_pipeline(PCA(1), Ridge()), "the Pipeline fits its other"),
                (make_pipeline(MinMaxScaler(clip=True), Ridge()), "the Pipeline fits its other"),
                (
                    make_pipeline(MinMaxScaler(), StandardScaler(), Ridge()),
                    "the Pipeline fits its other",
                ),
                (
                    make_pipeline(StandardScaler(), LinearRegression(fit_intercept=False)),
                    "the Pipeline shifts the fea",
                ),
            )
        ),
        (lambda: design.why_not_features(np.zeros((2, 3))), None),
        (lambda: design.why_not_features(np.zeros((2, 3, 1))), "X has 3 dimensions"),
        (
            lambda: design.why_not_features(pd.DataFrame([[1, 2]], columns=["a", "a"])),
            "X has several columns with the same name",
        ),
        (
            lambda: design.why_not_features(array([[1e200]])),
            "X holds values whose squares overflow",
        ),
        (lambda: design.why_not_features(array([[inf]])), "X holds NaN or infinite values"),
        (lambda: design.why_not_features(array([[1j]])), "X holds values that are not numbers"),
        (lambda: design.as_linear_features([[1, 2]]).dtype.str, "<f8"),
        (
            lambda: (
                design.as_linear_features(
                    pd.DataFrame({"a": np.float32([0.5]), "b": [True]})
                ).dtype.str
            ),
            "<f4",
        ),
        (lambda: design.as_linear_features(array([[1, 2]], dtype=np.float32)).dtype.str, "<f4"),
        (
            lambda: [
                type(one).__name__
                for one in design.split_estimator(make_pipeline(StandardScaler(), Ridge()))
            ],
            ["StandardScaler", "Ridge"],
        ),
        (
            lambda: [
                type(one).__name__
                for one in design.split_estimator(make_pipeline("passthrough", Ridge()))
            ],
            ["NoneType", "Ridge"],
        ),
        (
            lambda: [type(one).__name__ for one in design.split_estimator(Ridge())],
            ["NoneType", "Ridge"],
        ),
    ],
    ridge: [
        (
            lambda: ridge._has_few_records(
                NS(membership=array([[1, 1, 1], [1, 1, 0]]), X=np.zeros((3, 2)))
            ),
            True,
        ),
        (
            lambda: ridge._has_few_records(
                NS(membership=array([[1, 1, 1], [1, 1, 1]]), X=np.zeros((3, 2)))
            ),
            False,
        ),
        (lambda: ridge._wrong_target(NS(y=np.zeros((2, 2)))), "there are several targets"),
        (
            lambda: ridge._wrong_target(NS(y=array(["a"]))),
            "y holds values that are not finite numbers",
        ),
        (
            lambda: ridge._wrong_target(NS(y=array([1.0, nan]))),
            "y holds values that are not finite numbers",
        ),
        (
            lambda: ridge._wrong_target(NS(y=array([1e200]))),
            "y holds values whose squares overflow",
        ),
        (lambda: ridge._wrong_target(NS(y=array([1.0]))), None),
        (lambda: ridge._too_large(10), None),
    ],
    perceptron: [
        (lambda: are_finite([array([1.0, 2.0])], [array([0.0])]), True),
        (lambda: are_finite([array([1.0]), array([1.0, nan])], [array([0.0])]), False),
        (lambda: are_finite([array([1.0])], [array([0.0]), array([inf, 0.0])]), False),
    ],
    train: [
        (lambda: train.batch_size_of(NS(batch_size="auto"), 100), 100),
        (lambda: train.batch_size_of(NS(batch_size="auto"), 300), 200),
        (lambda: train.batch_size_of(NS(batch_size=7), 300), 7),
        (
            lambda: train.plan_perceptron_batches([2, 3, 5], 2),
            [
                (slice(0, 3, None), slice(0, 2, None)),
                (slice(1, 2, None), slice(2, 3, None)),
                (slice(2, 3, None), slice(2, 4, None)),
                (slice(2, 3, None), slice(4, 5, None)),
            ],
        ),
    ],
}


@pytest.mark.parametrize("module", ANSWERS, ids=lambda module: module.__name__)
def test_answers_by_hand(module):
    expect_answers(ANSWERS[module])


def test_each_parameter_has_the_number_of_its_group():
    torch = pytest.importorskip("torch")
    step = pytest.importorskip("skmia._training.backends.torch_nets.step")
    module = torch.nn.Sequential(torch.nn.Linear(1, 1), torch.nn.Linear(1, 1))
    first, last = module[0].parameters(), [module[1].weight]
    groups = [{"params": [*first, module[1].bias]}, {"params": last}]
    net = NS(module_=module, optimizer_=torch.optim.SGD(groups, lr=0.1))
    names = ["1.weight", "0.weight", "1.bias", "0.bias"]
    assert step.match_groups(net, names) == [1, 0, 0, 0]
    net.optimizer_ = torch.optim.SGD(module.parameters(), lr=0.1)
    assert step.match_groups(net, names) == [0, 0, 0, 0]


def test_a_narrow_gradient_is_filled_with_zeros():
    torch = pytest.importorskip("torch")
    optimizers = pytest.importorskip("skmia._training.backends.torch_nets.optimizers")
    stacked = NS(parameters=[torch.ones(3, 2), torch.ones(3, 4)], _rooms=[None, None])
    fill = optimizers.StackedOptimizer._fill
    gradient = torch.tensor([[[1.0], [2.0]]])
    assert fill(stacked, 0, slice(0, 1), gradient).tolist() == [[1.0, 2.0]]
    assert fill(stacked, 1, slice(1, 2), gradient).tolist() == [[1.0, 2.0, 0.0, 0.0]]
    stacked._rooms[1].fill_(7.0)
    assert fill(stacked, 1, slice(1, 2), gradient).tolist() == [[1.0, 2.0, 0.0, 0.0]]
    assert stacked._rooms[1][[0, 2]].tolist() == [[7.0] * 4] * 2


@pytest.mark.parametrize("has_bias", [True, False])
def test_a_layer_of_several_nets_is_that_of_each(has_bias):
    torch = pytest.importorskip("torch")
    engine = pytest.importorskip("skmia._training.backends.torch_nets.engine")
    draw = torch.Generator().manual_seed(0)
    x, weights, biases = (
        torch.randn(shape, generator=draw) for shape in ((4, 3, 5), (4, 2, 5), (4, 2))
    )
    stacked = torch.vmap(engine._StackedLinear.apply, in_dims=(0, 0, 0 if has_bias else None))
    found = stacked(x, weights, biases if has_bias else None)
    for one, (rows, weight) in enumerate(zip(x, weights, strict=True)):
        expected = rows @ weight.T + (biases[one] if has_bias else 0)
        torch.testing.assert_close(found[one], expected)


def test_outputs_of_all_parts_of_a_net_take_memory():
    torch = pytest.importorskip("torch")
    prepare = pytest.importorskip("skmia._training.backends.torch_nets.prepare")
    net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Linear(3, 1).to(torch.float32))
    # Three numbers, one, and that of the whole, of four bytes each.
    assert prepare._activation_bytes(net, torch.zeros(5, 2)) == 4 * (3 + 1 + 1)


def test_a_near_miss_is_told_with_what_to_change():
    ways = [NS(nearly=lambda job: None), NS(nearly=lambda job: f"{job} is near.")]
    with pytest.warns(JointTrainingWarning) as caught:
        plan._warn_of_near_misses(ways, "It")
    assert [str(one.message) for one in caught] == [
        "Models are trained one by one, which can take tens of times as long: It is near. "
        "ShadowPool(batched=False) does so without this warning."
    ]


def test_a_bar_counts_each_model_once():
    bar = NS(n=0, total=3, mininterval=0, set_postfix_str=lambda *_, **__: 0, refresh=lambda: 0)
    progress = JobProgress(bar)
    counts = []
    for k in (2, 2, 0):
        progress.finish(k)
        counts.append(bar.n)
    assert counts == [1, 1, 2]
