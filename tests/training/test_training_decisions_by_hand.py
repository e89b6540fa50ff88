"""Layers, curvatures, groups and notes of the training of models, each decision by hand."""

import io
import sys
import types
import warnings
from pathlib import Path
from types import SimpleNamespace as NS
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from by_hand import expect_answers, tell_refusal
from numpy import array
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    RobustScaler,
    StandardScaler,
)

import skmia
from skmia import Records
from skmia._core import progress
from skmia._training import (
    checkpoint,
    digests,
    frozen,
    groups,
    identity,
    job,
    manifest,
    plan,
    workers,
)
from skmia._training.backends.linear import design, logistic, ridge
from skmia._training.backends.perceptron import backend, train
from skmia.exceptions import JointTrainingWarning, ResolutionWarning
from skmia.victims import _recovered

LOG = np.log


def run(function, *arrays):
    """Return what a function makes of arrays in place: the last of them."""
    arrays = [array(one, dtype=float) for one in arrays]
    function(*arrays)
    return arrays[-1]


def send_back(delta, coefs):
    delta, coefs = array(delta, dtype=float), array(coefs, dtype=float)
    out = np.empty((*delta.shape[:2], coefs.shape[1]))
    train._send_back(delta, coefs, out)
    return out - np.einsum("kbo,kho->kbh", delta, coefs)


def warn_of_end(batch_size, reached=False):
    model = NS(t_=30, n_iter_=3, batch_size=batch_size, max_iter=7)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        train.warn_of_end(NS(model=model, reached_limit=reached))
    return [(one.category.__name__, str(one.message)[:31]) for one in caught]


def count_together(n_rows, widths, n_jobs=1, item=8, batch_size=10):
    X = NS(itemsize=item)
    X = type("X", (), {"itemsize": item, "__len__": lambda self: n_rows})()
    network = NS(X=X, widths=widths, model=NS(batch_size=batch_size))
    return backend.count_together(network, n_jobs)


def why_not_settings(kind=MLPClassifier, **settings):
    return backend._why_not_settings(kind(**settings))


def why_not_records(X, y=(0, 1), estimator=None):
    estimator = MLPClassifier() if estimator is None else estimator
    return backend._why_not_records(NS(estimator=estimator, data=NS(y=array(y), tables=[X])))


def why_not_size(hidden, n_features=10, estimator=None):
    model = MLPClassifier(hidden_layer_sizes=hidden)
    estimator = model if estimator is None else make_pipeline(StandardScaler(), model)
    given = NS(estimator=estimator, data=NS(tables=[np.zeros((2, n_features))]))
    found = backend._why_not_size(given, model)
    return found and found[:30]


def split_models(n_models, models, n_together, n_jobs=1, kept=None):
    states = None if kept is None else NS(groups=lambda: kept)
    given = NS(states=states, n_models=n_models, n_jobs=n_jobs)
    return groups.split_models(given, models, n_together)


class Job:
    """Models by their numbers, of which some fail together or alone."""

    def __init__(self, numbers, progress=None):
        self.numbers, self.n_models, self.progress = list(numbers), len(numbers), progress

    def number(self, i):
        return self.numbers[i]

    def part(self, some):
        return Job([self.numbers[i] for i in some])


def train_or_halve(n_models, train_error=None, most=99, finish_error=None):
    """Train models, of which more than some together raise an error; tell who was trained."""
    trained = []

    def train_group(given):
        if given.n_models > most:
            raise train_error
        trained.append(given.numbers)
        return "trained"

    def finish(result, given, i, seconds):
        if finish_error is not None and given.n_models > 1:
            raise finish_error
        return result

    alone = lambda given, i, reason: ("alone", reason[:9])  # noqa: E731
    with mock.patch.object(groups, "train_alone", alone):
        found = groups.train_or_halve(Job(range(n_models)), train_group, finish)
    return [(k, one if isinstance(one, str) else one[0]) for k, one in found], trained


def offer(passed):
    kept = []
    keeper = NS(_last=100.0, keep=kept.append)
    with mock.patch.object(groups, "monotonic", lambda: 100.0 + passed):
        groups.StateKeeper.offer(keeper, "arrays")
    return kept


class Sender(list):
    send = list.append


def send_result(function, *arguments, **settings):
    sender = Sender()
    workers._send_result(sender, (function, arguments, settings))
    ((result, error),) = sender
    return result, error and str(error)


def receive_result(sent=None, code=0):
    class Receiver:
        def __enter__(self):
            return self

        def __exit__(self, *_):
            closed.append("closed")

        def recv(self):
            if sent is None:
                raise EOFError
            return sent

    closed = []
    process = NS(join=lambda: closed.append("joined"), exitcode=code)
    with mock.patch.object(workers.signal, "raise_signal", closed.append):
        try:
            found = workers._receive_result(Receiver(), process)
        except Exception as error:
            found = f"{type(error).__name__}: {error}"
    return found, closed


def warn_of_threads(**threads):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        workers._warn_of_threads(NS(nthreads=lambda: threads))
    return [str(one.message)[:58] for one in caught]


def find_package(module, file, distributions=()):
    """Return the package of a module whose file is known, beside installed distributions."""
    with (
        mock.patch.object(digests, "_get_file", lambda name: file.get(name)),
        mock.patch.object(digests, "_find_distributions", lambda root: distributions),
    ):
        return digests.package_of.__wrapped__(module)


def distribution(folder, metadata="text", name="one"):
    return NS(
        locate_file=lambda path: folder,
        read_text=lambda name: metadata,
        metadata={"Name": name},
        version="1.0",
    )


SOURCE, SITE = Path("/src/one.py"), Path("/srv/site-packages")
OWN = digests.InstalledPackage("one", "1.0")


def find_distributions(root, *listed):
    """Return the numbers of distributions with a module, by their lists."""
    made = [
        NS(read_text=dict(top=top, record=record).get, k=k)
        for k, (top, record) in enumerate(listed)
    ]
    for one, (top, record) in zip(made, listed, strict=True):
        one.read_text = {"top_level.txt": top, "RECORD": record}.get
    with mock.patch.object(digests, "distributions", lambda: made):
        return [one.k for one in digests._find_distributions(root)]


def find_loaded(module, file):
    """Find the file of a module that is loaded from nowhere."""
    with mock.patch.dict(digests.sys.modules, {module: types.SimpleNamespace(__file__=file)}):
        return digests._get_file(module)


def list_array(values):
    ((words, content),) = digests._list_array(values)
    return words, content is values


def close_stream(file):
    """Flush and write to the standard error, if it is such a file."""
    with mock.patch.object(progress.sys, "stderr", file):
        stream = progress._ErrorStream()
        stream.write("a")
        stream.flush()
        return type(stream._file).__name__


class Broken(io.StringIO):
    def __init__(self, error):
        super().__init__()
        self.error, self.asked = error, []

    def write(self, text):
        self.asked.append(text)
        raise self.error

    def flush(self):
        self.asked.append("flush")
        raise self.error


def ask_broken(error):
    file = Broken(error)
    close_stream(file)
    return file.asked


def weigh_softmax(logits, weights=(1.0, 2.0), absent=None):
    """Weigh the probabilities of two models, of three classes and two records."""
    logits = array(logits, dtype=float)
    absent = None if absent is None else array(absent)
    return logistic._weigh_softmax(
        logits, np.broadcast_to(array(weights), (len(logits), 2)), absent
    )


LOGITS = LOG(array([[[1.0, 2.0], [2.0, 2.0], [5.0, 4.0]]]))


def add_curvature():
    """Compare the curvature of three classes, over two models, with its definition."""
    rng = np.random.default_rng(0)
    columns, proba = rng.normal(size=(5, 2)), rng.dirichlet(np.ones(3), size=(2, 5))
    proba = proba.transpose(0, 2, 1)
    weights = rng.uniform(size=(2, 1, 5))
    hessian = np.zeros((3, 2, 3, 2)).transpose(0, 2, 1, 3)
    hessian = np.zeros((3, 2, 3, 2))
    hessian = hessian.transpose(0, 1, 2, 3)
    logistic._add_curvature(hessian, columns, weights * proba, proba)
    wanted = np.zeros((3, 2, 3, 2))
    for a in range(3):
        for b in range(a + 1):
            each = weights[:, 0] * proba[:, a] * ((a == b) - proba[:, b])
            wanted[a, :, b] = (columns.T * each.sum(axis=0)) @ columns
    return np.abs(hessian - wanted).max() < 1e-9


def invert_block(matrix, n_classes=1):
    matrix = array(matrix, dtype=float)
    size = len(matrix) // n_classes
    lower = np.tril(matrix)
    return logistic._invert_block(lower.reshape(n_classes, size, n_classes, size))


def add_to_diagonal():
    hessian = np.zeros((2, 2, 2, 2))
    logistic._add_to_diagonal(hessian, array([1.0, 5.0]))
    return hessian.reshape(4, 4)


def wrong_setting(**settings):
    model = LogisticRegression(**settings)
    found = logistic._wrong_setting(model)
    return found and found[:28]


def compute_memory(n_classes):
    solver = object.__new__(logistic.LogisticSolver)
    solver._classes, solver._codes = range(n_classes), range(10)
    solver._design, solver._plan = NS(columns=np.zeros((10, 4))), NS(X=np.zeros((10, 3)))
    return solver.memory()


def wrong_size(shape, y, scaler=None):
    return logistic._wrong_size(NS(y=array(y), X=NS(shape=shape), scaler=scaler))


def why_not_ridge(n=5, d=3, scaler=None, **settings):
    given = NS(model=Ridge(**settings), X=NS(shape=(n, d)), scaler=scaler)
    with (
        mock.patch.object(ridge, "_has_few_records", lambda plan: n < d),
        mock.patch.object(ridge, "_wrong_target", lambda plan: None),
        mock.patch.object(ridge, "_too_large", lambda d: d),
    ):
        return ridge.why_not_batched_ridge(given)


def list_grams(inside):
    columns = array([[1.0, 2.0], [3.0, 1.0], [0.0, 2.0]])
    solver = NS(_design=NS(columns=columns), _gram=columns.T @ columns)
    inside = array(inside, dtype=bool)
    found = ridge.NormalSolver._grams(solver, inside)
    return [
        float(np.abs(one - columns[some].T @ columns[some]).max())
        for one, some in zip(found, inside)
    ]


SCALED = array([[1.0, 2.0], [3.0, 8.0], [8.0, 5.0]])


def map_affine(scaler):
    shift, divisor = design.affine_map(scaler.fit(SCALED))
    return (SCALED - shift) / divisor - scaler.transform(SCALED)


def to_features(has_intercept, rotation=None):
    made = NS(
        scale=array([2.0, 4.0]),
        rotation=rotation,
        fit_intercept=has_intercept,
        mean=array([1.0, 3.0]),
    )
    return design.LinearDesign.to_features(made, array([[2.0, 8.0, 5.0]]))


def describe_training(*texts, n_models=3):
    given = NS(name="joint", reason="why", where=NS(name="alone"))
    caught = [(JointTrainingWarning, text) for text in texts] + [(UserWarning, "other")]
    return plan.describe_training(given, caught, n_models)


def why_not_together(**given):
    data = {"weights": None, "fit_params": None}
    data |= {name: given.pop(name) for name in list(given) if name in data}
    settings = {"fit": None, "seeds": [1]} | given
    found = plan._why_not_together(NS(why_not=lambda job: "asked"), NS(data=NS(**data), **settings))
    return found[:40]


def warn_of_weights(estimator, weights=True):
    fields = {"sample_weight": array([1.0, 2.0])} if weights else {}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = job.warn_of_weights(estimator, Records(array([[0.0], [1.0]]), [0, 1], **fields))
    return [one[:62] for one in found], len(caught)


def warn_once(*caught, **settings):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        job.warn_once(caught, 3, **settings)
    return [(one.category.__name__, str(one.message)) for one in found]


def record(*said):
    with job.recorded_warnings() as found:
        for category, text in said:
            warnings.warn(text, category, stacklevel=1)
    return [(category.__name__, text) for category, text in found]


def make_parts(seeds):
    """Return the numbers, seeds and subsets of a part, and those of a part of it."""
    whole = job.Job(None, None, np.arange(4)[:, None], seeds, None)
    part = whole.part([1, 3])
    inner = part.part([1])
    return [
        (one.numbers, one.seeds, one.subsets.ravel().tolist(), one.number(0), one.n_models)
        for one in (part, inner)
    ], whole.number(2)


def show_progress(
    passed, show=lambda progress: progress.show(1.5, "epoch", 3, 10), mininterval=0.1
):
    """Return the count, texts and redraws of a bar after some seconds."""
    texts, redrawn = [], []
    bar = NS(n=0, total=4, mininterval=mininterval, refresh=lambda: redrawn.append(1))
    bar.set_postfix_str = lambda text, refresh: texts.append(text)
    with mock.patch.object(job, "monotonic", lambda: 100.0):
        progress = job.JobProgress(bar)
    with mock.patch.object(job, "monotonic", lambda: 100.0 + passed):
        show(progress)
    return bar.n, texts, len(redrawn)


def run_kept(kept, has_progress=True):
    """Run two trainings of two and three models; tell what is imported, shown and kept."""
    log = []

    def make(k):
        return NS(
            n_models=2 + k,
            export_state=lambda: {"a": k, "b": -k},
            import_state=log.append,
            run_to_end=lambda after_epoch, show: (log.append(show), after_epoch()),
        )

    keeper = NS(
        load=lambda: kept,
        offer=lambda export: log.append(sorted(export().items())),
        keep=lambda export: log.append("kept" if export() else None),
    )
    progress = NS(part=lambda first, n_models: (first, n_models)) if has_progress else None
    groups.run_from_kept([make(0), make(1)], keeper, progress)
    return log


def run_groups(models, results, n_together=2, most_together=None, has_states=True):
    """Run groups of four models; return what is yielded, the parts and the states that go."""
    parts, dropped = [], []

    def run(train, given, own):
        parts.extend(own)
        yield from results

    states = NS(groups=list, drop=dropped.append) if has_states else None
    given = NS(part=list, most_together=most_together, states=states, n_models=4, n_jobs=1)
    found = list(
        groups.run_groups(given, models, NS(run=run), lambda part: n_together * len(part), None)
    )
    return found, parts, dropped


def call_without(name, function, *given):
    """Call a function as if nobody had imported a module."""
    with mock.patch.dict(sys.modules):
        sys.modules.pop(name, None)
        return function(*given)


def interrupt(checkpoint):
    try:
        with plan.saying_what_is_kept(checkpoint, 4):
            raise KeyboardInterrupt
    except KeyboardInterrupt as error:
        return getattr(error, "__notes__", [])


EXPORTED = [("0/a", 0), ("0/b", 0), ("1/a", 1), ("1/b", -1)]


def split_job(**given):
    """Split a job; return what is shared, what is left in a part, and what a worker gets."""
    X = np.zeros((2, 1))
    settings = {"fit": "fit", "progress": "bar", **given}
    whole = job.Job(
        LogisticRegression(n_jobs=3),
        job.JobData([X], [0, 1]),
        "subsets",
        "seeds",
        "keep",
        **settings,
    )
    shared, take_rest = workers.split_job(whole)
    rest = take_rest(whole)
    held = [shared[name] for name in ("keep", "fit", "progress")]
    left = [name for name in whole._fields if getattr(rest, name) is not None]
    back = workers.train_rest(lambda one: one, shared, rest)
    same = back.data.tables[0] is X and back.data.y == [0, 1]
    return held, back.estimator.n_jobs, whole.estimator.n_jobs, left, same


def fill_window(*steps):
    """Fill a window of tasks; a negative number takes as many tasks out."""
    window, found = workers.TaskWindow(lambda part: part, range(50)), []
    for step in steps:
        if step < 0:
            del window.tasks[:-step]
        else:
            found.append(len(window.fill(step)))
    return found, len(window.tasks)


def run_in_rounds(n_tasks, size):
    class Parallel(list):
        def __enter__(self):
            return self

        def __exit__(self, *_):
            self.append("closed")

        def __call__(self, some):
            self.append(len(some))
            return some

    parallel = Parallel()
    found = list(workers._run_in_rounds(parallel, iter(range(n_tasks)), size))
    return found == list(range(n_tasks)), list(parallel)


def solve_one_by_one():
    """Solve for two classes, of which each has its own precision."""
    rows = array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    values = NS(
        values=array([[1, 10], [2, 20], [3, 30]]), precision=array([[1, 3], [2, 5], [4, 7]])
    )

    def solve(rows, values, precision, cost, is_sparse):
        return values[:2], np.eye(1) * precision[0], float(values[0]), float(precision[2])

    with mock.patch.object(_recovered, "_solve_one", solve):
        return _recovered._solve_one_by_one(rows, values, None, False)


# Of each module: calls and answers. Whatever may be equal differs, and each branch decides once.
ANSWERS = {
    train: [
        (lambda: run(train._relu, [-1.0, 0.0, 2.0]), [0.0, 0.0, 2.0]),
        (lambda: run(train._relu_slope, [0.0, 2.0], [5.0, 7.0]), [0.0, 7.0]),
        (lambda: run(train._tanh_slope, [0.5, 0.0], [4.0, 7.0]), [3.0, 7.0]),
        (lambda: run(train._logistic_slope, [0.25, 0.5], [16.0, 8.0]), [3.0, 2.0]),
        (lambda: run(train._softmax, [[0.0, LOG(3)], [1e4, 1e4]]), [[0.25, 0.75], [0.5, 0.5]]),
        (lambda: send_back([[[2.0], [3.0]]], [[[5.0], [7.0]]]), [[[0.0, 0.0], [0.0, 0.0]]]),
        (lambda: send_back([[[2.0, 1.0]]], [[[5.0, 4.0], [7.0, 2.0]]]), [[[0.0, 0.0]]]),
        (
            lambda: train.sum_losses(
                "identity", array([[1.0, 2.0], [0.0, 4.0]]), array([[3.0, 2.0], [0.0, 2.0]])
            ),
            0.5 * (2.0 + 2.0),
        ),
        (
            lambda: train.sum_losses("logistic", array([[0.25], [0.25]]), array([[1], [0]])),
            -LOG(0.25) - LOG(0.75),
        ),
        (
            lambda: train.sum_losses(
                "softmax", array([[0.25, 0.75], [0.5, 0.5]]), array([[1, 0], [0, 1]])
            ),
            -LOG(0.25) - LOG(0.5),
        ),
        (
            lambda: train.sum_losses("softmax", array([[0.0, 1.0]]), array([[1, 0]])),
            -LOG(np.finfo(float).eps),
        ),
        (lambda: warn_of_end("auto"), []),
        (lambda: warn_of_end(10), []),
        (lambda: warn_of_end(11), [("UserWarning", "Got `batch_size` less than 1 or")]),
        (
            lambda: warn_of_end(10, True),
            [("ConvergenceWarning", "Stochastic Optimizer: Maximum i")],
        ),
    ],
    backend: [
        (lambda: backend.count_together(None, 1), 1),
        (lambda: count_together(10, [2, 3, 1]), 64),
        # 2 * 10 * 1102 numbers of activations, and 5 times 101 * 1000 + 1001 * 2 weights.
        (lambda: count_together(10, [100, 1000, 2]), max(1, 2**22 // (8 * (22040 + 515010)))),
        (
            lambda: count_together(10, [50, 100, 2]),
            2**22 // (8 * (20 * 152 + 5 * (51 * 100 + 101 * 2))),
        ),
        (lambda: count_together(100_000, [10, 5, 4], 4), 2**27 // (8 * 100_000 * 22)),
        (lambda: count_together(10_000_000, [10, 5, 4], 4), 1),
        (lambda: why_not_settings(), None),
        (lambda: why_not_settings(MLPRegressor, solver="sgd"), None),
        (lambda: why_not_settings(solver="lbfgs"), "solver='lbfgs' does not train in batches"),
        (lambda: why_not_settings(learning_rate="adaptive"), None),
        (
            lambda: why_not_settings(solver="sgd", learning_rate="adaptive"),
            "learning_rate='adaptive' changes the rate of each model on its own",
        ),
        (lambda: why_not_settings(verbose=True)[:13], "verbose=True "),
        (lambda: why_not_settings(warm_start=True)[:15], "warm_start=True"),
        (lambda: why_not_settings(early_stopping=True)[:19], "early_stopping=True"),
        (lambda: why_not_records(np.zeros((2, 3))), None),
        (lambda: why_not_records(pd.DataFrame({"a": [1, 2.5], "b": [True, False]})), None),
        (lambda: why_not_records(np.zeros((2, 3)), [[0], [1]]), "there are several targets"),
        (lambda: why_not_records(sparse.csr_array((2, 3))), "X is sparse"),
        (lambda: why_not_records(np.zeros((2, 3, 4))), "X has 3 dimensions"),
        (lambda: why_not_records(array([["a"], ["b"]])), "X holds values that are not numbers"),
        (
            lambda: why_not_records(pd.DataFrame({"a": [1, 2], "b": ["x", "y"]})),
            "X holds values that are not numbers",
        ),
        (
            lambda: why_not_records(
                array([["a"], ["b"]]), estimator=make_pipeline(StandardScaler(), MLPClassifier())
            ),
            None,
        ),
        (lambda: why_not_size((1000, 1990)), None),
        (lambda: why_not_size((1000, 1991)), "networks of 2,001,000 weights "),
        (lambda: why_not_size((1000, 2000), estimator=1), None),
        (lambda: why_not_size((1000, 2001), estimator=1), "networks of 2,001,000 weights "),
        (lambda: why_not_size("many"), None),
    ],
    groups: [
        (lambda: split_models(4, [0, 1, 2, 3], 2), [[0, 1], [2, 3]]),
        (lambda: split_models(4, [0, 1, 2, 3], 3), [[0, 1], [2, 3]]),
        (lambda: split_models(4, [0, 1, 2, 3], 4), [[0, 1, 2, 3]]),
        (lambda: split_models(6, [0, 1, 2, 3, 4, 5], 4, 3), [[0, 1], [2, 3], [4, 5]]),
        (lambda: split_models(2, [0, 1], 1, 3), [[0], [1]]),
        (lambda: split_models(4, [0, 3], 2), [[0], [3]]),
        (lambda: split_models(4, [0, 1, 3], 4, kept=[[1, 2], [3, 4], [0]]), [[1, 2], [0], [3]]),
        (lambda: split_models(4, [0, 1], 4, kept=[[2, 3]]), [[0, 1]]),
        (
            lambda: train_or_halve(3),
            ([(0, "trained"), (1, "trained"), (2, "trained")], [[0, 1, 2]]),
        ),
        (
            lambda: train_or_halve(3, MemoryError(), 1),
            ([(0, "trained"), (1, "trained"), (2, "trained")], [[0], [1], [2]]),
        ),
        (lambda: train_or_halve(2, RuntimeError("CUDA error: out of memory"), 1)[1], [[0], [1]]),
        (lambda: train_or_halve(2, MemoryError(), 0), ([(0, "alone"), (1, "alone")], [])),
        (lambda: train_or_halve(2, ValueError("x"), 1), ([(0, "alone"), (1, "alone")], [])),
        (
            lambda: train_or_halve(2, finish_error=MemoryError()),
            ([(0, "trained"), (1, "trained")], [[0, 1], [0], [1]]),
        ),
        (lambda: tell_refusal(lambda: train_or_halve(2, finish_error=ValueError("x"))), "x"),
        (
            lambda: run_kept({"0/a": 5, "1/a": 6, "10/a": 7, "1/b": 8}),
            [{"a": 5}, {"a": 6, "b": 8}, (0, 2), EXPORTED, (2, 3), EXPORTED, "kept"],
        ),
        (lambda: run_kept(None, False), [None, EXPORTED, None, EXPORTED, "kept"]),
        (
            lambda: run_groups([0, 1, 2, 3], [[(2, "c"), (3, "d")], [(0, "a"), (1, "b")]]),
            (
                [(2, "c"), (3, "d"), (0, "a"), (1, "b")],
                [[0, 1], [2, 3]],
                [[2], [3], [0], [1]],
            ),
        ),
        # A group that was kept may hold models that nobody asks for.
        (
            lambda: run_groups([3, 0], [[(2, "c"), (3, "d")]]),
            ([(3, "d")], [[0], [3]], [[2], [3]]),
        ),
        (lambda: run_groups([0, 1], [], most_together=1)[1], [[0], [1]]),
        (lambda: run_groups([0, 1], [], n_together=1, most_together=3)[1], [[0], [1]]),
        (lambda: run_groups([0, 1], [[(0, "a")]], has_states=False)[::2], ([(0, "a")], [])),
        (lambda: run_groups([], [[(0, "a")]]), ([], [], [])),
        (lambda: groups.StateKeeper(None, [0]).load(), None),
        (lambda: groups.StateKeeper(None, [0]).keep(None), None),
        (lambda: groups.StateKeeper(NS(load=str), [0, 1]).load(), "[0, 1]"),
        (lambda: offer(59.9), []),
        (lambda: offer(60.0), ["arrays"]),
    ],
    workers: [
        (lambda: split_job(), (["keep", "fit", None], 1, 3, ["subsets", "seeds"], True)),
        (lambda: split_job(write="write")[3:], (["subsets", "seeds", "write"], True)),
        # Sixteen tasks at least, or two for each processor.
        (lambda: fill_window(0, 1, 8, 9), ([16, 0, 0, 2], 18)),
        (lambda: fill_window(1, -3, 1), ([16, 3], 16)),
        (lambda: fill_window(20, 20, -1, 25), ([40, 0, 10], 49)),
        (lambda: fill_window(20, 1), ([40, 0], 40)),
        (lambda: run_in_rounds(7, 3), (True, [3, 3, 1, "closed"])),
        (lambda: run_in_rounds(6, 3), (True, [3, 3, "closed"])),
        (lambda: send_result(divmod, 7, 2), ((3, 1), None)),
        (lambda: send_result(int, "11", base=2), (3, None)),
        (lambda: send_result(int, "x", base=2)[0], None),
        (lambda: send_result(divmod, 7, 0)[1] is None, False),
        (lambda: receive_result((5, None)), (5, ["closed", "joined"])),
        (
            lambda: receive_result((None, ValueError("x"))),
            ("ValueError: x", ["closed", "joined"]),
        ),
        (
            lambda: receive_result(code=3),
            (
                "TrainingError: The process of a model ended with exit code 3.",
                ["closed", "joined"],
            ),
        ),
        (
            lambda: receive_result(code=0)[0],
            "TrainingError: The process of a model ended with exit code 0.",
        ),
        (lambda: receive_result(code=-15)[1], ["closed", "joined", 15]),
        (lambda: warn_of_threads(a=1, b=1), []),
        (lambda: warn_of_threads(), []),
        (
            lambda: warn_of_threads(a=1, b=3),
            ["Workers of the dask cluster have up to 3 threads each, but"],
        ),
        (lambda: workers.use_one_job(LogisticRegression(n_jobs=None)).n_jobs, None),
        (
            lambda: (
                workers.use_one_job(make_pipeline(StandardScaler(), LinearRegression(n_jobs=3)))[
                    -1
                ].n_jobs
            ),
            1,
        ),
    ],
    digests: [
        (lambda: find_package("skmia.x", {}).name, "skmia"),
        (lambda: find_package("skmia.x", {}).version.partition("+")[0], skmia.__version__),
        (lambda: find_package("json.decoder", {}), digests.PYTHON),
        (lambda: find_package("json.decoder", {"json": Path("/home/json.py")}), None),
        (lambda: find_package("one.two", {}, [distribution(SITE)]), None),
        (lambda: find_package("one.two", {"one": SITE / "one.py"}, [distribution(SITE)]), OWN),
        (lambda: find_package("one.two", {"one.two": SITE / "two.py"}, [distribution(SITE)]), OWN),
        (
            lambda: find_package(
                "one.two",
                {"one.two": Path("/home/two.py"), "one": SITE / "one.py"},
                [distribution(SITE)],
            ),
            None,
        ),
        (
            lambda: find_package("one", {"one": Path("/src/one.py")}, [distribution("/src", None)]),
            None,
        ),
        (lambda: find_package("one", {"one": SOURCE}, [distribution("/src")]), OWN),
        (lambda: find_package("one", {"one": SITE / "one.py"}, [distribution(SITE, None)]), OWN),
        (
            lambda: find_package(
                "one",
                {"one": SITE / "one.py"},
                [distribution("/src", name="other"), distribution(SITE)],
            ),
            OWN,
        ),
        (
            lambda: find_distributions(
                "one",
                ("one two", "x"),
                ("two", "one/a.py,"),
                (None, "one/a.py,"),
                ("", "x\none.py,"),
                (None, "x\none.so,"),
                (None, "ones/a.py,"),
                (None, None),
            ),
            [0, 2, 3, 4],
        ),
        (lambda: digests._get_file("json.decoder").name, "decoder.py"),
        (lambda: digests._get_file("no_such_module_at_all"), None),
        (lambda: digests._get_file("no_such.module"), None),
        (lambda: digests._get_file("this_is_not.loaded"), None),
        (lambda: digests._get_file("builtins"), None),
        (lambda: find_loaded("xdrlib_of_tests", None), None),
        (lambda: find_loaded("antigravity", None), None),
        (lambda: digests._get_file("wave").name, "wave.py"),
        (lambda: list_array(array([1, 2])), ("<i8 (2,)", True)),
        (lambda: list_array(array([1.0])), ("<f8 (1,)", True)),
        (lambda: list_array(array([1, "a"], dtype=object)), ("objects (2,) int str", False)),
        (
            lambda: list_array(array([1.0], dtype=np.longdouble)),
            (f"{np.dtype(np.longdouble).str} (1,)", False),
        ),
        (lambda: list_array(array([1j])), ("<c16 (1,)", True)),
    ],
    progress: [
        (lambda: close_stream(io.StringIO()), "StringIO"),
        (lambda: close_stream(None), "_NullStream"),
        (lambda: ask_broken(OSError()), ["a", "flush"]),
        (lambda: ask_broken(ValueError()), ["a", "flush"]),
        (lambda: tell_refusal(lambda: ask_broken(KeyError("x"))), "'x'"),
        (lambda: progress._NullStream().write("abc"), 3),
    ],
    frozen: [
        (lambda: call_without("torch", frozen.name_frozen_modules, Ridge()), []),
        (lambda: frozen.name_frozen_modules(Ridge()), []),
    ],
    identity: [
        (lambda: call_without("skorch", lambda: list(identity._iter_nets(Ridge()))), []),
        (lambda: call_without("torch", groups._release_memory), None),
        (
            lambda: [*identity._list_versions({"scikit-learn": "7", "mine": "8"})],
            ["mine", "numpy", "python", "scikit-learn", "scipy"],
        ),
        (lambda: [*identity._list_versions({})], ["numpy", "python"]),
        (lambda: identity._list_versions({"numpy": "1", "mine": "8"})["numpy"], "1"),
        (lambda: identity._list_versions({})["numpy"], np.__version__),
    ],
    logistic: [
        (
            lambda: weigh_softmax(LOGITS),
            [[[1 / 8, 4 / 8], [2 / 8, 4 / 8], [5 / 8, 8 / 8]]],
        ),
        (lambda: weigh_softmax(LOGITS + 1000.0)[0, 0], [1 / 8, 4 / 8]),
        (lambda: weigh_softmax(LOGITS - 1000.0)[0, 0], [1 / 8, 4 / 8]),
        (
            lambda: weigh_softmax(LOGITS, absent=[[False, True, False]])[0],
            [[1 / 6, 4 / 6], [0.0, 0.0], [5 / 6, 8 / 6]],
        ),
        (add_curvature, True),
        (lambda: invert_block([[4.0, 2.0], [2.0, 5.0]]), [[5 / 16, -2 / 16], [-2 / 16, 4 / 16]]),
        (
            lambda: invert_block(np.diag([4.0, 2.0, 5.0, 1.0]), 2),
            np.diag([1 / 4, 1 / 2, 1 / 5, 1.0]),
        ),
        (lambda: add_to_diagonal(), np.diag([1.0, 5.0, 1.0, 5.0])),
        (
            lambda: logistic._compute_reach(
                array([[1.0, 2.0], [3.0, 0.0]]), [np.diag([1.0, 3.0, 2.0, 0.5])]
            ),
            18**0.5,
        ),
        (
            lambda: logistic._compute_reach(array([[1.0, 2.0]]), [np.eye(2), np.diag([1.0, 3.0])]),
            13**0.5,
        ),
        # A model of three classes has three vectors, one of two classes has one.
        (lambda: compute_memory(3) - 24 * 10, 3 * (compute_memory(2) - 24 * 10)),
        (lambda: wrong_setting(), None),
        (lambda: wrong_setting(solver="saga"), "solver='saga' is none of lbf"),
        (lambda: wrong_setting(class_weight={0: 0.0, 1: 1.0}), "class_weight leaves out a cl"),
        (lambda: wrong_setting(class_weight={0: 0.5, 1: 1.0}), None),
        (lambda: wrong_setting(class_weight="balanced"), None),
        (lambda: wrong_setting(warm_start=True), "warm_start=True is set"),
        (lambda: wrong_setting(max_iter=99), "max_iter=99 and tol=0.0001 s"),
        (lambda: wrong_setting(max_iter=100, tol=1e-3), None),
        (lambda: wrong_setting(tol=1.1e-3), "max_iter=100 and tol=0.0011 "),
        (lambda: wrong_size((9, 5), [0, 1, 0]), None),
        (lambda: wrong_size((9, 5), [0.5, 1.25]), "y does not hold classes"),
        (lambda: wrong_size((9, 5), [1, 1]), "the records have a single class"),
        (lambda: wrong_size((9000, 2999), [0, 1]), None),
        (
            lambda: wrong_size((9000, 3000), [0, 1]),
            "1 x 3001 coefficients are too many to keep their curvature",
        ),
        (lambda: wrong_size((5, 3000), [0, 1]), None),
        (lambda: wrong_size((5, 3000), [0, 1], 1)[:8], "1 x 3001"),
        (lambda: wrong_size((9000, 2048), np.arange(16) % 16)[:9], "16 x 2049"),
        (lambda: wrong_size((9000, 2047), np.arange(16) % 16), None),
    ],
    ridge: [
        # A model holds its weights of records and of columns; and their products.
        (lambda: ridge.KernelSolver.memory(NS(_centered=np.zeros((2, 5)))), 48 + 80),
        (lambda: why_not_ridge(), 3),
        (lambda: why_not_ridge(2, 3), 2),
        (
            lambda: why_not_ridge(2, 3, scaler=1),
            "a training set has fewer records than there are features, which are scaled",
        ),
        (lambda: why_not_ridge(3, 3, scaler=1), 3),
        (lambda: why_not_ridge(solver="lsqr"), "solver='lsqr' is none of auto, cholesky, svd"),
        (lambda: why_not_ridge(solver="svd"), 3),
        (lambda: why_not_ridge(positive=True), "positive=True is set"),
        (lambda: why_not_ridge(alpha=0.0), "alpha=0.0 is not a positive number"),
        (lambda: why_not_ridge(alpha=[1.0])[:11], "alpha=[1.0]"),
        (lambda: list_grams([[1, 0, 1], [0, 1, 0], [1, 1, 0]]), [0.0, 0.0, 0.0]),
        (lambda: list_grams([[1, 0, 1], [0, 1, 1], [1, 0, 0], [0, 1, 1]]), [0.0] * 4),
        (lambda: list_grams([[1, 0, 1], [1, 1, 1], [0, 0, 0]]), [0.0] * 3),
    ],
    design: [
        *(
            (lambda scaler=scaler: map_affine(scaler), np.zeros((3, 2)))
            for scaler in (
                StandardScaler(),
                StandardScaler(with_mean=False),
                StandardScaler(with_std=False),
                MinMaxScaler((1, 3)),
                MaxAbsScaler(),
                RobustScaler(),
                RobustScaler(with_centering=False),
                RobustScaler(with_scaling=False),
            )
        ),
        (lambda: to_features(False), ([[1.0, 2.0]], [0.0])),
        (lambda: to_features(True), ([[1.0, 2.0]], [5.0 - 7.0])),
        (lambda: to_features(True, array([[0.0, 1.0], [1.0, 0.0]])), ([[2.0, 1.0]], [5.0 - 5.0])),
    ],
    plan: [
        (lambda: describe_training(), ("joint", "why")),
        (
            lambda: describe_training("a"),
            ("joint", "why; 1 of 3 models were trained one by one: a"),
        ),
        (lambda: describe_training("a", "b", "a"), ("alone", "a; b")),
        (
            lambda: warn_once((UserWarning, "a"), (UserWarning, "b"), (UserWarning, "a")),
            [
                ("UserWarning", "2 of 3 shadow models: a"),
                ("UserWarning", "1 of 3 shadow models: b"),
            ],
        ),
        (
            lambda: warn_once((FutureWarning, "a"), what="victims"),
            [("FutureWarning", "1 of 3 victims: a")],
        ),
        (lambda: warn_once(), []),
        (
            lambda: record((UserWarning, "a"), (FutureWarning, "a"), (UserWarning, "a")),
            [("UserWarning", "a"), ("FutureWarning", "a")],
        ),
        (
            lambda: make_parts([5, 6, 7, 8]),
            ([([1, 3], [6, 8], [1, 3], 1, 2), ([3], [8], [3], 3, 1)], 2),
        ),
        (lambda: make_parts(None)[0][1], ([3], None, [3], 3, 1)),
        (lambda: show_progress(0.99), (0, [], 0)),
        (lambda: show_progress(1.0), (1.5, ["epoch 3 of 10"], 1)),
        (lambda: show_progress(4.9, mininterval=5.0), (0, [], 0)),
        (lambda: show_progress(5.0, mininterval=5.0), (1.5, ["epoch 3 of 10"], 1)),
        (lambda: show_progress(9.0, lambda one: one.show(9, "a", 1, 2)), (4, ["a 1 of 2"], 1)),
        (lambda: show_progress(0.0, lambda one: one.finish(3)), (1, [""], 0)),
        (
            lambda: show_progress(9.0, lambda one: (one.finish(3), one.part(2, 3)(0.5, "a", 1, 2))),
            (1, [""], 1),
        ),
        (lambda: show_progress(9.0, lambda one: one.part(1, 3)(0.5, "a", 1, 2))[0], 2.5),
        (
            lambda: show_progress(9.0, lambda one: (one.finish(1), one.finish(1), one.finish(2)))[
                0
            ],
            2,
        ),
        (lambda: job.note_failures([(UserWarning, "a")], 3), []),
        (
            lambda: job.note_failures([(JointTrainingWarning, "a"), (UserWarning, "b")], 3),
            ["1 of 3 shadow models were trained one by one: a."],
        ),
        (lambda: interrupt(None), []),
        (lambda: interrupt(NS(describe_kept=lambda n_models: None)), []),
        (
            lambda: interrupt(NS(describe_kept=lambda n_models: f"kept of {n_models}")),
            ["kept of 4"],
        ),
        (lambda: why_not_together(), "asked"),
        (lambda: why_not_together(fit=1), "The models are not trained by their own "),
        (lambda: why_not_together(seeds=None), "The models are not trained by their own "),
        (lambda: why_not_together(weights=1), "Models with sample weights are trained o"),
        (lambda: why_not_together(fit_params=1), "Models with fit_params are trained one b"),
        (lambda: warn_of_weights(Ridge(), False), ([], 0)),
        (
            lambda: warn_of_weights(Ridge()),
            (["The shadow models are trained with the weights of the field 's"], 0),
        ),
        (
            lambda: warn_of_weights(MLPClassifierWithout()),
            (["The shadow models are trained without weights: the field 'samp"], 1),
        ),
    ],
    manifest: [
        (lambda: manifest._is_digest("#ab"), True),
        (lambda: manifest._is_digest("ab"), False),
        (lambda: manifest._is_digest(["a", ["#b"]]), True),
        (lambda: manifest._is_digest(["a", 3]), False),
        (lambda: manifest._is_digest([]), False),
        (lambda: manifest._shorten_entry("a" * manifest._WIDTH), "a" * manifest._WIDTH),
        (
            lambda: manifest._shorten_entry("a" * (manifest._WIDTH + 1)),
            "a" * (manifest._WIDTH - 3) + "...",
        ),
        (
            lambda: [
                *manifest._list_manifest_differences(
                    {"a": 1, "b": 2, "versions": {"x": 1, "y": 2}},
                    {"b": 3, "c": 5, "versions": {"x": 1, "y": 2}},
                )
            ],
            [("b", 2, 3), ("c", None, 5), ("a", 1, None)],
        ),
        (
            lambda: [
                *manifest._list_manifest_differences(
                    {"b": 2, "versions": {"y": 2, "x": 1}}, {"b": 2, "versions": {"x": 4, "y": 2}}
                )
            ],
            [
                ("versions", {"x": 1, "y": 2}, {"x": 4, "y": 2}),
                ("versions", {"y": 2, "x": 1}, {"x": 4, "y": 2}),
            ],
        ),
        (
            lambda: [
                *manifest._list_manifest_differences(
                    {"b": 2, "versions": {"x": 1}}, {"b": 4, "versions": {"y": 2}}
                )
            ],
            [("b", 2, 4), ("versions", {"x": 1}, {"y": 2})],
        ),
    ],
    checkpoint: [
        (lambda: checkpoint._warning_category("UserWarning"), UserWarning),
        (lambda: checkpoint._warning_category("RuntimeWarning"), RuntimeWarning),
        (lambda: checkpoint._warning_category("ConvergenceWarning"), ConvergenceWarning),
        (lambda: checkpoint._warning_category("ResolutionWarning"), ResolutionWarning),
        (lambda: checkpoint._warning_category("ValueError"), UserWarning),
        (lambda: checkpoint._warning_category("print"), UserWarning),
        (lambda: checkpoint._warning_category("NoSuchWarning"), UserWarning),
    ],
    _recovered: [
        (
            solve_one_by_one,
            ([[1, 2], [10, 20]], [[1.0, 0.0], [0.0, 3.0]], 10.0, 7.0),
        ),
    ],
}


class MLPClassifierWithout(LinearRegression):
    def fit(self, X, y):
        return super().fit(X, y)


@pytest.mark.parametrize("module", ANSWERS, ids=lambda module: module.__name__)
def test_answers_by_hand(module):
    expect_answers(ANSWERS[module])


@pytest.mark.parametrize("kind", ["polars", "torch"])
def test_tables_of_other_libraries_are_left_to_each_model(kind):
    library = pytest.importorskip(kind)
    told = "X is a polars.DataFrame, which each model reads itself"
    made = library.DataFrame({"a": [0.0, 1.0]}) if kind == "polars" else library.ones(2, 1)
    told = told if kind == "polars" else "X is a torch tensor"
    assert design.why_not_features(made) == why_not_records(made) == told
    in_pipeline = why_not_records(made, estimator=make_pipeline(StandardScaler(), MLPClassifier()))
    assert in_pipeline == (None if kind == "polars" else told)
