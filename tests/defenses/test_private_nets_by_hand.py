"""Nets that are trained privately: weights, rows, gradients and sums, with answers by hand."""

from types import SimpleNamespace as NS
from unittest import mock

import numpy as np
import pytest
from by_hand import expect_answers, tell_refusal
from numpy import array, inf, nan

torch = pytest.importorskip("torch")
pytest.importorskip("skorch")
pytest.importorskip("opacus")

from torch import nn, tensor  # noqa: E402

from skmia.defenses import DPSGDClassifier, _fresh_weights, _private_training  # noqa: E402
from skmia.defenses.schema import DeclaredSchema, NumberColumn  # noqa: E402

Training = _private_training._PrivateTraining


def refuse(call):
    """Return the first words in which a call is refused; None if it is not."""
    told = tell_refusal(call)
    return told and told[:60]


# -- weights that no earlier training has touched


def is_fresh(first, second):
    return _fresh_weights._is_fresh(tensor(first), tensor(second))


def is_same(values):
    return is_fresh(values, values)


def share(n, n_common):
    """Return whether numbers are drawn of which a few are the same."""
    return is_fresh(
        [*np.arange(n) + 0.5], [*np.arange(n_common) + 0.5, *np.full(n - n_common, -1.0)]
    )


class Own:
    """An object of a layer's own."""

    def __init__(self):
        self.kept = tensor([7.0])


class Keeper(nn.Module):
    """A module that keeps numbers in all places in which one can."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(1, 1, bias=False)
        self.inner.weight.data[:] = 2.0
        self.tied = self.inner.weight
        self.register_buffer("mean", tensor([3.0]))
        self.register_buffer("gone", None)
        self.lazy = nn.LazyLinear(2)
        self.listed = [tensor([4.0]), {"a": tensor([5.0])}, "text", nn.Linear]
        self.counted = np.array([6, 6])
        self.named = np.array(["x"])
        self.own = Own()


class Layer(nn.Module):
    """A layer that draws its weights, or all but one, or none, anew."""

    def __init__(self, draws=("weight", "bias"), frozen=(), whole=False):
        super().__init__()
        self.draws = draws
        self.weight, self.bias = (nn.Parameter(tensor([one])) for one in (1.0, 2.0))
        for name in frozen:
            getattr(self, name).requires_grad = False
        if whole:
            self.places = nn.Parameter(tensor([3, 4]), requires_grad=False)

    def reset_parameters(self):
        for name in self.draws:
            with torch.no_grad():
                getattr(self, name).fill_(5.0)


def renew(layer):
    _fresh_weights._renew_layer(layer)
    return [one.tolist() for one in layer.parameters()]


def renew_net(*layers):
    module = nn.Sequential(*layers)
    net = NS(get_params=lambda deep: {"lr": 0.1, "module": module})
    _fresh_weights.renew_modules(net)
    return [weight.item() for weight in module.parameters()]


def check_drawn(make):
    def made():
        return NS(module_=make())

    before = torch.get_rng_state()
    told = tell_refusal(lambda: _fresh_weights.check_drawn(made(), made))
    torch.set_rng_state(before)
    return told and told[:45]


def private(name):
    """Return a layer whose method to draw its weights has a name of its own."""
    layer = Layer()
    vars(layer)[name] = lambda: [one.data.fill_(6.0) for one in layer.parameters()]
    return layer


STORED, SIZES = nn.Linear(2, 2), iter(range(1, 9))
WITHOUT_SEED = np.random.default_rng(0)
WEIGHTS = [
    (lambda: is_fresh([1.5, 2.0], [3.0, 4.0]), True),
    (lambda: is_fresh([0.0, 2.0, 0.0], [0.0, 3.0, 0.0]), True),
    (lambda: is_fresh([1.0, 2.0], [1.0, 3.0]), True),
    (lambda: [is_same([one]) for one in (0.0, 1.0, 0.5)], [True, True, False]),
    # One number throughout, or a pattern of positions, is no result of training.
    (lambda: [is_same([0.5, 0.5]), is_same([0.5, 0.75])], [True, False]),
    (
        lambda: [is_same([0, 1, 2]), is_same([[0, 1], [2, 3]]), is_same([1, 2, 3])],
        [True, True, False],
    ),
    (lambda: [is_same([[1.0, 0], [1, 1]]), is_same([[1.0, 1], [0, 1]])], [True, True]),
    (lambda: [is_same([[1.0, 0], [0, 1]]), is_same([1.0, 0, 1])], [False, False]),
    # One in twenty numbers may be the same by chance.
    (lambda: [share(20, 1), share(20, 2), share(40, 2), share(40, 3)], [True, False, True, False]),
    (
        lambda: {
            name: one.tolist() for name, one in _fresh_weights._list_numbers(Keeper()).items()
        },
        {
            "counted": [6.0, 6.0],
            "listed.0": [4.0],
            "listed.1.a": [5.0],
            "mean": [3.0],
            "own.kept": [7.0],
            "inner.weight": [[2.0]],
        },
    ),
    (lambda: renew(Layer()), [[5.0], [5.0]]),
    (lambda: renew(Layer(whole=True)), [[5.0], [5.0], [3, 4]]),
    (
        lambda: refuse(lambda: renew(Layer(["weight"]))),
        "reset_parameters of the layer Layer does not draw its 'bias' anew, so that it"[:60],
    ),
    (lambda: renew(nn.Dropout()), []),
    (lambda: renew_net(Layer(), Layer()), [5.0] * 4),
    (
        lambda: refuse(lambda: renew_net(Layer(), Layer(frozen=["bias"]))),
        "'module' of the net is a module with frozen weights ('1.bias'), "[:60],
    ),
    (lambda: check_drawn(lambda: nn.Linear(2, 3)), None),
    (lambda: check_drawn(lambda: nn.Sequential(nn.Linear(2, 3), nn.PReLU())), None),
    (lambda: check_drawn(lambda: STORED), "'bias' of the net has the same numbers in net"),
    (
        lambda: check_drawn(lambda: nn.Linear(next(SIZES), 3)),
        "estimator makes another net in each call; it ",
    ),
    (
        lambda: check_drawn(lambda: nn.ParameterList([torch.from_numpy(WITHOUT_SEED.random(3))])),
        "'0' of the net differs between two nets that ",
    ),
    (lambda: check_drawn(lambda: nn.ParameterList([tensor([0.25])]))[:5], "'0' o"),
]

# -- rows as the net gets them, and their gradients


class Scaled(nn.Module):
    """Multiply features by a weight, which are one argument or two."""

    def __init__(self, *values):
        super().__init__()
        self.weight = nn.Parameter(tensor([*values]))
        self.fixed = nn.Parameter(tensor([1.0]), requires_grad=False)

    def forward(self, x, y=0.0):
        return (x + y) * self.weight


def find_gradients(features, codes, criterion=None, together=True, values=(1.0, 1.0)):
    made = _private_training.RowGradients(Scaled(*values), criterion or nn.CrossEntropyLoss())
    made.together = together
    (found,) = made(features, codes if isinstance(features, list) else tensor(codes))
    return [[round(one, 4) for one in row] for row in found.tolist()]


def take(rows, is_plain=True, collate=None, dataset=None):
    """Return the rows that a net of some data set and collation gets."""
    kind = _private_training.skorch.dataset.Dataset
    settings = {"iterator_train": {} if collate is None else {"collate_fn": collate}, "dataset": {}}
    net = NS(
        get_params_for=settings.get,
        dataset=kind if is_plain else list,
        device="cpu",
        get_dataset=dataset or (lambda X, codes: [(X[0] + 1, codes[0])]),
    )
    private = _private_training.PrivateRows(net, np.arange(6.0).reshape(3, 2), array([0, 1, 0]))
    features, codes = private.take(array(rows))
    return as_lists(features), as_lists(codes)


def as_lists(value):
    if isinstance(value, dict):
        return {key: as_lists(one) for key, one in value.items()}
    return [*map(as_lists, value)] if isinstance(value, list) else value.tolist()


def by_name(X, codes):
    return [({"x": X[0], "y": X[0] * 2}, codes[0])]


def of_any_length(X, codes):
    return [(X[0][: int(X[0][0]) // 2 + 1], codes[0])]


def split(features, codes):
    return [as_lists([*row]) for row in _private_training._split_rows(features, tensor(codes))]


HALF = [[-0.5, 0.5]]  # of the answers (1, 1) to label 0
CODES = [tensor([0]), tensor([0, 0])]
TRIED = nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.5))


def try_rows(module, rows=None):
    X = np.random.default_rng(0).normal(size=(8, 2)).astype(np.float32)
    rows = NS(take=lambda chosen: (torch.from_numpy(X[chosen]), tensor([0] * len(chosen))))
    net = NS(module_=module, criterion_=nn.CrossEntropyLoss())
    return _private_training._try_rows(net, rows)


def check_optimizer(params, step=None):
    module = nn.Linear(1, 1)
    optimizer = NS(
        param_groups=[{"params": [module.bias]}, {"params": params or [module.weight]}],
        state={} if step is None else {1: {}, 2: {"step": tensor(step)}},
    )
    return refuse(lambda: _private_training._check_optimizer(optimizer, module))


ROWS = [
    (lambda: find_gradients(tensor([[1.0, 1.0], [2.0, 0.0]]), [0, 0])[0], HALF[0]),
    (lambda: find_gradients(tensor([[1.0, 1.0]]), [0], together=False), HALF),
    (lambda: find_gradients({"x": tensor([[0.5, 0.5]]), "y": tensor([[0.5, 0.5]])}, [0]), HALF),
    (
        lambda: find_gradients([tensor([[1.0, 1.0]]), tensor([[1.0, 1.0]] * 2)], CODES),
        HALF * 2,
    ),
    # Probabilities have a logarithm: the gradient of -log(w) is -1 / w.
    (
        lambda: find_gradients(tensor([[1.0, 1.0]]), [0], nn.NLLLoss(), values=[0.25, 0.5]),
        [[-4.0, 0.0]],
    ),
    (lambda: take([2, 0]), ([[4.0, 5.0], [0.0, 1.0]], [0, 0])),
    (lambda: take([1, 2], False), ([[3.0, 4.0], [5.0, 6.0]], [1, 0])),
    (
        lambda: take([1, 2], False, dataset=by_name),
        ({"x": [[2.0, 3.0], [4.0, 5.0]], "y": [[4.0, 6.0], [8.0, 10.0]]}, [1, 0]),
    ),
    (lambda: take([0, 2], False, dataset=of_any_length), ([[[0.0]], [[4.0, 5.0]]], [[0], [0]])),
    (
        lambda: take([1], collate=lambda rows: (torch.ones(3, 1), tensor([1, 1, 1]))),
        ([[[1.0]] * 3], [[1, 1, 1]]),
    ),
    (
        lambda: split(tensor([[1], [2]]), [3, 4]),
        [[[[1]], [3]], [[[2]], [4]]],
    ),
    (lambda: split({"x": tensor([1, 2])}, [3, 4]), [[{"x": [1]}, [3]], [{"x": [2]}, [4]]]),
    (lambda: try_rows(nn.Linear(2, 2)), True),
    # What draws numbers differs between the two ways, and between two draws.
    (lambda: try_rows(TRIED), True),
    (lambda: check_optimizer(None), None),
    (lambda: check_optimizer(None, 0), None),
    (
        lambda: check_optimizer(None, 1),
        "The optimizer of the net has made steps before, which epsilo",
    ),
    (
        lambda: check_optimizer([nn.Parameter(tensor(1.0))]),
        "The optimizer of the net holds weights that are not the net'",
    ),
]

# -- nets that are made, and parts that private training cannot take


class OwnNet:
    """What is no net of skorch, but is initialized like one."""

    def __init__(self, fails=None):
        self.fails, self.is_ready = fails, False

    def get_params(self, deep=False):
        return {"fails": self.fails}

    def initialize(self):
        if self.fails:
            raise RuntimeError(self.fails)
        self.is_ready = True
        return self


def make_once(net, public_weights=True):
    made = _private_training._make_once(net, 2, 3, True, public_weights)
    return made.is_ready, made is net


def refuse_net(net):
    return tell_refusal(lambda: make_once(net)).removeprefix("estimator ")


def list_foreign(*layers, train_split=None, trains=True, device="cpu"):
    """Return the first words of what is said of the layers of a net."""
    module = nn.Sequential(*layers).to(device)
    module.requires_grad_(trains)
    net = NS(train_split=train_split, module_=module, criterion_="c", callbacks_=[])
    nothing = dict.fromkeys(
        ("_list_foreign_methods", "_list_wrong_losses", "_list_foreign_callbacks"),
        lambda net: [],
    )
    with mock.patch.multiple(_private_training, **nothing):
        return [one[:32] for one in _private_training._list_foreign_parts(net)]


class BadRows(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(tensor([1.0]))


def try_net(error):
    net = NS(module_=BadRows())
    parts = {
        "PrivateRows": lambda net, X, codes: (X.dtype.name, codes.tolist(), X.shape),
        "_try_rows": mock.Mock(side_effect=error),
    }
    with mock.patch.multiple(_private_training, **parts):
        told = tell_refusal(lambda: _private_training.try_net(net, (4,), 3))
        return told, [given.args[1] for given in parts["_try_rows"].call_args_list]


def fit_codes(y, classes, units, has_schema):
    """Return the numbers of the units that rows are trained on."""
    told = []
    parts = {
        "_read_rows": lambda self, X, y: (np.zeros((len(y), 1)), array(y), array(classes)),
        "_make_net": lambda self, training, X, classes: "net",
        "_dtype": lambda self: np.float32,
        "_name_units": lambda self, shape, classes: array(units),
        "_train": lambda self, training, X, codes, together: told.append((X.dtype.name, codes)),
    }
    columns = {"x": NumberColumn(0, 1)}
    declared = DeclaredSchema(columns, classes=[0, 1]) if has_schema else None
    with (
        mock.patch.multiple(DPSGDClassifier, **parts),
        mock.patch.object(_private_training, "try_net", lambda *given: True),
    ):
        private = DPSGDClassifier(max, noise_multiplier=0.0, schema=declared, random_state=0)
        private.fit([[0.0]] * len(y), y)
    return told[0]


def check_state(first, second, value=(1.0, 2.0), is_weight=False):
    """Refuse a weight or a buffer that is something else after one pass of rows or another."""
    state = tensor([*value])
    states = iter([{"a": tensor([*first])}, {"a": tensor([*second])}])
    parts = {
        "_list_state": lambda module: {"a": nn.Parameter(state) if is_weight else state},
        "_pass_rows": lambda net, rows, some: next(states),
    }
    with mock.patch.multiple(_private_training, **parts):
        return refuse(lambda: _private_training._check_state(NS(module_=None), None))


OF_ROWS = "The buffer 'a' of the net changes with the rows that it sees, which no noise"[:60]
OF_PASSES = "The buffer 'a' of the net changes with each pass, as in spectral"[:60]
OF_WEIGHTS = "The weights 'a' of the net change when rows pass through it, which"[:60]
LINEAR = nn.Linear(2, 2)
ASKED = ("float32", [0, 1, 2, 0, 1, 2, 0, 1], (8, 4))
NETS = [
    # Labels are numbered by the units of a net; with a schema they are places among classes.
    (lambda: fit_codes([3, 1, 7], [1, 3], [1, 3], False), ("float32", [1, 0, -1])),
    (lambda: fit_codes([1, -1, 0], [0, 2], [0, 2], True)[1], [1, -1, 0]),
    (lambda: fit_codes([1, -1, 0], [0, 2], [0, 1, 2], True)[1], [2, -1, 0]),
    (lambda: make_once(OwnNet()), (True, False)),
    (lambda: make_once(lambda n_features, n_classes: OwnNet()), (True, False)),
    (lambda: make_once(OwnNet(), False), (True, False)),
    (
        lambda: refuse_net(lambda n_features, n_classes: 3),
        "makes no net of two numbers: TypeError: got int",
    ),
    (lambda: refuse_net(lambda: 3)[:38], "makes no net of two numbers: TypeError"),
    (lambda: refuse_net(OwnNet("no  room")), "cannot be initialized: RuntimeError: no room"),
    (lambda: check_state([1.0, 2.0], [1.0, 2.0]), None),
    (lambda: check_state([1.0, 2.0], [1.0, 3.0]), OF_ROWS),
    (lambda: check_state([1.0, 3.0], [1.0, 2.0]), OF_ROWS),
    (lambda: check_state([1.0, 3.0], [1.0, 4.0]), OF_ROWS),
    (lambda: check_state([1.0, 3.0], [1.0, 3.0]), OF_PASSES),
    (lambda: check_state([3], [4], [1]), None),
    (lambda: check_state([1.0, 2.0], [1.0, 3.0], is_weight=True), OF_WEIGHTS),
    (lambda: check_state([1.0, 2.0], [1.0, 2.0], is_weight=True), None),
    (lambda: list_foreign(LINEAR, nn.GroupNorm(1, 2), nn.Embedding(2, 2)), []),
    (lambda: list_foreign(LINEAR, train_split=1), ["The rows of a validation split a"]),
    (lambda: list_foreign(LINEAR, nn.BatchNorm1d(2)), ["The net has a BatchNorm1d, which"]),
    (lambda: list_foreign(nn.Embedding(2, 2, max_norm=1)), ["The net has an Embedding with ma"]),
    (lambda: list_foreign(nn.EmbeddingBag(2, 2, max_norm=1)), ["The net has an EmbeddingBag with"]),
    (lambda: list_foreign(nn.Linear(2, 2), trains=False), ["The net has no weights to train."]),
    (
        lambda: list_foreign(nn.Linear(2, 2, bias=False), device="meta"),
        ["The device of the net must be on"],
    ),
    (lambda: try_net(None), (None, [ASKED])),
    # Of values that a module does not take, zeros and ones are tried.
    (lambda: try_net([TypeError("a"), True]), (None, [ASKED, ASKED])),
    (
        lambda: try_net([TypeError("a"), IndexError("b")])[0],
        "The net cannot be tried with synthetic rows (IndexError: b).",
    ),
    (lambda: try_net([_private_training._KeepsRowsError("kept")]), ("kept", [ASKED])),
]

# -- clipped gradients, their sums, and what is released


def clip(rows, norm=2.0, in_cache=1 << 16):
    parts = [tensor(rows)[:, :1], tensor(rows)[:, 1:]]
    with mock.patch.object(_private_training, "_IN_CACHE", in_cache):
        return Training._clip(NS(privacy=NS(max_grad_norm=norm)), parts).tolist()


def add(rows, factors, total=0.0, grid=None, in_cache=1 << 16):
    training = NS(grid=grid, _clip=lambda gradients: tensor(factors).double())
    with mock.patch.object(_private_training, "_IN_CACHE", in_cache):
        (found,) = Training._add(training, [total], [tensor(rows)])
    return found if isinstance(found, float) else found.tolist()


def release(total, grid=None, reduction="mean", noise=(1.0, -2.0)):
    """Return the gradient that a weight of two numbers is given."""
    asked, weight = [], nn.Parameter(torch.zeros(2, 1))
    training = NS(
        gradients=NS(criterion=NS(reduction=reduction)),
        privacy=NS(expected_batch_size=4),
        parameters=[weight],
        grid=grid,
        scale=8.0,
        randomness=NS(
            noise_in_steps=lambda scales, grid: (
                asked.append((scales.tolist(), grid)) or array(noise)
            )
        ),
    )
    Training._release(training, [total if isinstance(total, float) else tensor(total)])
    return weight.grad.tolist(), asked


def take_turns(n, *, poisson=False, drops=False, step=0, turns=None):
    """Return which gradients of an auditor take part in a step, of ten rows and lots of four."""
    settings = {"drop_last": True} if drops else {}
    training = NS(
        privacy=NS(poisson=poisson, sample_rate=0.5, expected_batch_size=4),
        randomness=NS(
            coins=lambda n, rate: (n, rate), uniforms=lambda n: array([0.0, 0.4, 0.9])[:n]
        ),
        contributes=np.ones(10),
        net=NS(get_params_for=lambda name: settings),
        n_steps=step,
        _turns=None if turns is None else array(turns),
    )
    return Training._choose_extra(training, n)


def draw_extra(made, chosen):
    given = []
    training = NS(
        parameters=[nn.Parameter(tensor([[1.0, 2.0]])), nn.Parameter(tensor([3.0]))],
        n_steps=7,
        extras=NS(gradients=lambda *given_: given.append(given_) or array(made)),
        _choose_extra=lambda n: array(chosen),
    )
    found = [part.tolist() for part in Training._draw_extra(training)]
    return found, given[0][0], given[0][1].tolist()


def make_loader(batch_size=None, of_net=3):
    settings = {"shuffle": True} | ({} if batch_size is None else {"batch_size": batch_size})
    net = NS(
        get_params_for=lambda name: settings,
        batch_size=of_net,
        iterator_train=lambda rows, **given: (len(rows), given["batch_size"], given["collate_fn"]),
    )
    return Training._make_loader(NS(net=net, contributes=np.ones(5)))


def step(noise=1.0, extra=False, most=4):
    """Return what is done in a step of five rows and two weights, in its order."""
    told = []
    training = NS(
        parameters=[nn.Parameter(tensor([1.0, 2.0]))],
        n_parameters=2,
        privacy=NS(noise_multiplier=noise),
        randomness=NS(for_modules=lambda: told.append("apart") or mock.MagicMock()),
        rows=NS(take=lambda rows: [rows.tolist()]),
        gradients=lambda rows: rows,
        _add=lambda totals, found: [*totals, found],
        _draw_extra=lambda: "extra",
        _release=lambda totals: told.append(totals[1:]),
        extras=NS(gradients=extra or None, on_step=None),
        optimizer=NS(step=lambda: told.append("step")),
        n_steps=3,
        _schedule=told.append,
    )
    with mock.patch.object(_private_training, "_MOST_NUMBERS", most):
        Training.step(training, np.arange(5))
    return told, training.n_steps


def schedule(event):
    told = []
    schedules = [
        (every, NS(step=lambda every=every: told.append(every))) for every in ("batch", "epoch")
    ]
    Training._schedule(NS(schedules=schedules), event)
    return told


NOT_FINITE = [[3.0, 4.0], [nan, 1.0], [0.0, 0.0], [inf, 1.0], [0.6, 0.8]]
SUMS = [
    (lambda: clip(NOT_FINITE), [0.4, 0.0, 1.0, 0.0, 1.0]),
    (lambda: clip(NOT_FINITE, in_cache=2), [0.4, 0.0, 1.0, 0.0, 1.0]),
    (lambda: clip(NOT_FINITE, inf), [1.0, 0.0, 1.0, 0.0, 1.0]),
    # After clipping the norm is not above the limit.
    (lambda: clip([[3.0, 4.0]])[0] < 0.4, True),
    (lambda: add([[1.0, 2.0], [nan, inf], [3.0, 5.0]], [0.5, 0.0, 1.0]), [3.5, 6.0]),
    (lambda: add([[1.0, 2.0], [3.0, 5.0]], [0.5, 1.0], tensor([1.0, 1.0]), in_cache=2), [4.5, 7.0]),
    # Each row in whole steps of the grid, a half to the even one.
    (lambda: add([[1.0, 2.0], [3.0, 5.0]], [0.5, 1.0], grid=2.0), [2.0, 2.0]),
    (lambda: add([[1.0, 2.0]], [0.0]), 0.0),
    (lambda: release([4.0, 8.0]), ([[1.0], [2.0]], [])),
    (lambda: release([4.0, 8.0], reduction="sum"), ([[4.0], [8.0]], [])),
    (lambda: release([3.0, 8.0], 2.0), ([[2.0], [3.0]], [([8.0, 8.0], 2.0)])),
    (lambda: release(0.0, 2.0, "sum")[0], [[2.0], [-4.0]]),
    (lambda: release(0.0), ([[0.0], [0.0]], [])),
    # Lots of 4 of 10 rows are three, or two if the last one is dropped.
    (lambda: take_turns(3), [True, False, False]),
    (lambda: take_turns(3, step=3), [True, False, False]),
    (lambda: take_turns(3, step=4, turns=[0, 1, 2]), [False, True, False]),
    (lambda: take_turns(3, step=5, turns=[0, 1, 2]), [False, False, True]),
    (lambda: take_turns(3, drops=True), [True, True, False]),
    (lambda: take_turns(3, drops=True, step=3, turns=[0, 0, 1]), [False, False, True]),
    (lambda: take_turns(3, poisson=True), (3, 0.5)),
    (
        lambda: refuse(lambda: take_turns(2, step=1, turns=[0, 1, 2])),
        "With poisson_sampling=False, extra_gradients must return as ",
    ),
    (
        lambda: draw_extra([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], [False, True]),
        ([[[4.0, 5.0]], [[6.0]]], 7, [1.0, 2.0, 3.0]),
    ),
    (
        lambda: refuse(lambda: draw_extra([[1.0, 2.0]], [True])),
        "extra_gradients must return gradients of 3 parameters; got a",
    ),
    (lambda: make_loader(), (5, 3, list)),
    (lambda: make_loader(2), (5, 2, list)),
    (lambda: make_loader(-1), (5, 5, list)),
    (lambda: make_loader(of_net=-1), (5, 5, list)),
    (lambda: step(), (["apart", [[0, 1], [2, 3], [4]], "step", "batch"], 4)),
    (
        lambda: step(noise=0.0, extra=True, most=1)[0],
        [[[0], [1], [2], [3], [4], "extra"], "step", "batch"],
    ),
    (lambda: [schedule("batch"), schedule("epoch")], [["batch"], ["epoch"]]),
]


@pytest.mark.parametrize(
    "rows", [WEIGHTS, ROWS, NETS, SUMS], ids=["weights", "rows", "nets", "sums"]
)
def test_answers_by_hand(rows):
    expect_answers(rows)
