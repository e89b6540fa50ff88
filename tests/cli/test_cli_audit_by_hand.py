"""What skmia audit makes of its model and of what a sandbox replies, with answers by hand."""

import json
from pathlib import Path
from types import SimpleNamespace as NS
from unittest import mock
from zipfile import ZipFile

import numpy as np
from by_hand import expect_answers, tell_refusal
from numpy import array
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skmia import Records
from skmia._core.sandbox import ModelEndedError
from skmia.cli import _audit, _damaged_models, _model, _other_files
from skmia.cli._output import AuditOutcome
from skmia.report import ModelPace

# -- what a process replies that a model of strangers ran in


class Process:
    """A sandbox whose doors are open or not, with replies to what it is asked."""

    def __init__(self, replies, open_doors=()):
        self.replies, self.open_doors, self.asked, self.closed = replies, open_doors, [], False

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.closed = True

    def ask(self, step, is_limited=True):
        self.asked.append((step, is_limited))
        reply = self.replies.get(step)
        if isinstance(reply, Exception):
            raise reply
        return reply


def ask_apart(run, replies, doors=(), checkpoint=None, check=lambda document: document):
    """Return what is made of replies, how a process was started, and what it was asked."""
    process, started = Process(replies, doors), []

    def start(*given):
        started.append(given)
        return process

    arguments = NS(checkpoint=checkpoint, model=NS(name="m.skops"), answers=None, data=None)
    parts = {
        "start_sandbox": start,
        "tell_open_doors": lambda doors: " and ".join(doors),
        "check_document": check,
    }
    with mock.patch.multiple(_audit, **parts):
        try:
            found = run(arguments)
        except (_audit.CommandError, ModelEndedError) as error:
            found = f"{type(error).__name__}: {error}"
    assert process.closed
    ((_, given, errors, *folders),) = started
    assert given is arguments and errors == (_audit.CommandError, _audit.TrainingError)
    return found, folders, process.asked


def audit_apart(reply, first=None, **given):
    replies = {"open_first": first, "audit": reply}
    return ask_apart(lambda arguments: _audit._audit_apart("steps", arguments), replies, **given)


def reply(document=None, text="told", code=0, reasons=("a", "b")):
    return {"notes": ["x"]} if document is None else document, text, code, [*reasons]


def fail(error):
    def check(document):
        raise error

    return check


ASKED = [("open_first", True), ("audit", False)]
BROKEN = f"ModelEndedError: {ModelEndedError('a reply that cannot be read')}"
DECIDED = {"notes": [], "recommendation": {"provenance": {"a": 1}}}


def estimate(reply, model="m.skops", of_strangers=True):
    """Return the text of an estimate, and how many steps were made in this process."""
    steps = mock.Mock(return_value="here")

    def run(arguments):
        arguments.model = model
        with (
            mock.patch.object(_audit, "check_sandbox") as checked,
            mock.patch.object(_audit, "list_rates", lambda arguments: "rates"),
            mock.patch.object(_audit, "is_of_strangers", lambda given: of_strangers),
            mock.patch.object(_audit, "_AuditSteps", return_value=steps) as made,
        ):
            try:
                return _audit._estimate_cost(arguments)
            finally:
                checked.assert_called_once_with(arguments)
                made.assert_called_once_with(arguments, "rates", None)

    if model is None or not of_strangers:
        found = run(NS())
        return found, steps.call_args.args
    return ask_apart(run, {"estimate": reply})


def run_audit(model="m.skops", of_strangers=True, **given):
    """Return which way is taken, and what is checked and saved."""
    seen, steps = [], mock.Mock(side_effect=lambda step: seen.append(step) or "outcome")
    usual = dict(dry_run=False, out="o", checkpoint="c", policy="p", release="r")
    arguments = NS(**(usual | {"model": model, "show_values": False} | given))

    def finish(outcome, save, arguments, show):
        return outcome, save("document", "folder"), show

    parts = {
        "_estimate_cost": lambda arguments: "cost",
        "check_folder": lambda name, folder: seen.append((name, folder)),
        "check_sandbox": lambda arguments: seen.append("sandbox"),
        "_AuditSteps": lambda *given: seen.append(given[1:]) or steps,
        "list_rates": lambda arguments: "rates",
        "read_policy": lambda *given: given,
        "is_of_strangers": lambda given: of_strangers,
        "_audit_apart": lambda *given: seen.append("apart") or given[0] is steps,
        "finish": finish,
        "read_command_tables": lambda arguments: ("values", "more"),
        "save_report": lambda *given: given,
    }
    with mock.patch.multiple(_audit, **parts):
        found = _audit.run_audit(arguments, "show")
    before = [("out", "o"), ("checkpoint", "c"), "sandbox", ("rates", ("p", "r"))]
    assert seen[:4] == before[: len(seen)]
    return found, seen[4:]


# -- stages and their time


def plan(whole=60.0, shares=(0.1, 0.5, 0.3, 0.1), *, pace=1, recipe=None, classes=3, **given):
    """Return what is expected of stages, the largest of which has the largest share."""
    seen, said = {}, []
    names = ["opening", _audit.SHADOWS, _audit.AS_FILE, _audit.CHECKS]
    usual = dict(quick=False, shadows=16, jobs=3, time_limit=9, measure_conditions=False)
    arguments = NS(**(usual | given))
    problem = NS(recipe=recipe, victim="victim", records="records")

    def size_up(*args, **kwargs):
        seen.update(kwargs, args=args)
        return NS(may_grow=given.get("grows", False))

    parts = {
        "_find_pace": lambda problem: pace,
        "size_up": size_up,
        "expect_audit": lambda size, pace: dict(zip(names, (whole * one for one in shares))),
        "add_steps": float,
        "expect_stages": lambda *args: said.append(args[1:]) or [*args[0]],
        "_count_classes": lambda problem: classes,
    }
    with mock.patch.multiple(_audit, **parts):
        found = _audit._plan(problem, arguments)
    if pace is None:
        return found, said
    assert seen.pop("args") == ("victim" if recipe is None else recipe, "records")
    names = ("n_classes", "shadows", "n_jobs", "file", "time_budget")
    return found, said, [seen[name] for name in names]


def find_pace(seconds=7.0, n=3, n_members=2):
    records = Records(np.eye(n), np.arange(n))
    problem = NS(seconds=seconds, recipe=None, victim="v", records=records, fit_params="f")
    problem.membership = np.arange(n) < n_members
    ticks = iter([10.0, 10.5])
    parts = {
        "measure_pace": lambda *given: (given[0], given[1] is records, given[2]),
        "query_victim": mock.Mock(side_effect=ValueError("It refuses.")),
        "time": NS(perf_counter=lambda: next(ticks)),
        "_MOST_ASKED": 4,
    }
    with mock.patch.multiple(_audit, **parts):
        found = _audit._find_pace(problem)
    if seconds is not None:
        assert parts["query_victim"].call_args.args[0] == "v"
        assert len(parts["query_victim"].call_args.args[1]) == min(n, 4)
    return tuple(found)


def list_shares(**given):
    usual = dict(quick=False, policy=None, measure_conditions=False)
    found = {_audit.SHADOWS: 0.5, "x": 0.25}
    with mock.patch.object(_audit, "list_shares", lambda has_file: found | {"file": has_file}):
        return _audit._list_shares(NS(**(usual | given)))


def write_swapped(other_value=None, **given):
    usual = dict(train=None, held_out=None, member_value="yes")
    swapped = lambda arguments: {"repeat": [vars(arguments)[name] for name in usual]}  # noqa: E731
    with mock.patch.object(_audit, "as_settings", swapped):
        return _audit._write_swapped(NS(**(usual | given)), NS(other_value=other_value))


def limit(scope=None, group=None):
    return _audit_limit(scope, group)


class _audit_limit(NS):
    def __init__(self, scope, group):
        super().__init__(scope=scope, group=group)

    def _replace(self, scope):
        return scope, self.group


def read_limits(*limits, victim=None):
    """Read limits of groups, of a column that is called another name inside."""
    seen = []

    def list_subsets(records, names, classes):
        seen.append((records, names, classes))
        return [("overall", "all", 0), ("_sex", "f", 0), ("_sex", "m", 0)]

    problem = NS(victim=victim or Ridge(), records="r", groups={"sex": "_sex", "old": "_old"})
    with mock.patch.object(_audit, "list_subsets", list_subsets):
        found = tell_refusal(lambda: _audit._read_limits(limits, problem))
        found = _audit._read_limits(limits, problem) if found is None else found
    return found, seen[0][1:]


STAGES = ["opening", _audit.SHADOWS, _audit.AS_FILE, _audit.CHECKS]
SIZES = [3, 16, 3, True, 9]
AUDITS = [
    (lambda: audit_apart(reply()), (AuditOutcome(*reply()), [[]], ASKED)),
    (lambda: audit_apart(reply(), checkpoint="kept")[1], [["kept"]]),
    (
        lambda: audit_apart(reply(), doors=["files", "nets"])[0].document,
        {"notes": ["x", "files and nets"]},
    ),
    (
        lambda: audit_apart(reply(DECIDED | {"notes": []}), doors=["files"])[0].document,
        {
            "notes": ["files"],
            "recommendation": {"provenance": {"a": 1, "process of the model": "files"}},
        },
    ),
    (
        lambda: (
            audit_apart(reply({"notes": [], "recommendation": None}), doors=["nets"])[0].document
        ),
        {"notes": ["nets"], "recommendation": None},
    ),
    (
        lambda: audit_apart(reply(), RuntimeError("It broke.")),
        ("CommandError: --model: m.skops cannot answer: RuntimeError: It broke.", [[]], ASKED[:1]),
    ),
    (lambda: audit_apart(reply(code=4))[0].code, 4),
    *(
        (lambda wrong=wrong: audit_apart(wrong)[0], BROKEN)
        for wrong in (
            reply(text=3),
            reply(reasons=["a", 3]),
            reply(code=77),
            reply()[:3],
            None,
        )
    ),
    (lambda: audit_apart(reply(), check=fail(ValueError("odd")))[0], BROKEN),
    (lambda: audit_apart(reply(), check=fail(TypeError("odd")))[0], BROKEN),
    (lambda: estimate("a text"), ("a text", [], [("estimate", False)])),
    (lambda: estimate(3)[0], BROKEN),
    (lambda: estimate(3, model=None), ("here", ("estimate",))),
    (lambda: estimate(3, of_strangers=False), ("here", ("estimate",))),
    (lambda: run_audit(dry_run=True), ("cost", [])),
    (lambda: run_audit(), ((True, ("document", "folder", None), "show"), ["apart"])),
    (
        lambda: run_audit(of_strangers=False, show_values=True),
        (("outcome", ("document", "folder", "values"), "show"), ["open", "audit"]),
    ),
    (lambda: run_audit(model=None)[1], ["open", "audit"]),
    # Up to a minute nothing is said; then what is longest.
    (lambda: plan(pace=None), (None, [])),
    (lambda: plan(59.9), (STAGES, [()], SIZES)),
    (
        lambda: plan(60.0)[1],
        [("About 1 minutes, of which 0 are the shadow models; --time-limit ends them.",)],
    ),
    (
        lambda: plan(600.0, (0.1, 0.2, 0.6, 0.1), grows=True)[1],
        [("At least 10 minutes, of which 6 are the attack on the file; --quick leaves it out.",)],
    ),
    (lambda: plan(60.0, (0.7, 0.1, 0.1, 0.1))[1], [("About 1 minutes.",)]),
    (lambda: plan(quick=True, recipe="recipe")[2], [3, 8, 3, False, 9]),
    # The conditions of a release take once and a half as long as the shadow models.
    (lambda: plan(30.0, measure_conditions=True)[:2], ([*STAGES, _audit.CONDITIONS], [()])),
    (
        lambda: plan(100.0, (0.1, 0.5, 0.3, 0.1), measure_conditions=True)[1],
        [
            (
                "About 3 minutes, of which 1 are the conditions; without --measure-conditions "
                "there are none.",
            )
        ],
    ),
    (lambda: find_pace(), tuple(ModelPace(7.0, 0.5, 2, 3))),
    (lambda: find_pace(n=5)[2:4], (2, 4)),
    (lambda: find_pace(None), ("v", True, "f")),
    (lambda: list_shares(), {_audit.SHADOWS: 0.5, "x": 0.25, "file": True}),
    (lambda: list_shares(quick=True)["file"], False),
    (lambda: list_shares(policy="p")[_audit.POLICY], 0.03),
    (lambda: list_shares(measure_conditions=True)[_audit.CONDITIONS], 0.75),
    (lambda: write_swapped(), {}),
    (lambda: write_swapped("no"), {"swapped": [None, None, "no"]}),
    (lambda: write_swapped("no", train=1, held_out=2), {"swapped": [2, 1, "yes"]}),
    (
        lambda: read_limits(limit(), limit("sex", "m"), limit("overall", "all")),
        ([(None, None), ("_sex", "m"), ("overall", "all")], (["_sex", "_old"], False)),
    ),
    (lambda: read_limits(victim=LogisticRegression())[1], (["_sex", "_old"], True)),
    (
        lambda: read_limits(limit("old", "x"))[0],
        "--fail-above: 'old' is not reported; see --group",
    ),
    (
        lambda: read_limits(limit("sex", "x"))[0],
        "--fail-above: 'sex' has no group 'x'; it has 'f' and 'm'",
    ),
    (lambda: _audit._count_classes(NS(victim=Ridge())), 1),
    (
        lambda: _audit._count_classes(NS(victim=LogisticRegression(), records=NS(y=[3, 7, 3]))),
        2,
    ),
    (lambda: [_audit._round_minutes(one) for one in (89, 599, 751)], ["1", "10", "15"]),
]

# -- the steps of an audit


class Stages:
    """A bar of stages that is open or not, with what is shown in it."""

    def __init__(self):
        self.told = []

    def __call__(self, shares):
        self.told.append(("shares", shares))
        return self

    def __enter__(self):
        self.told.append("begins")

    def __exit__(self, kind, *_):
        self.told.append("ends" if kind is None else kind.__name__)


def take_steps(*names, policy=None, query=None, **given):
    """Take steps of an audit, and return what comes of the last one and what was called."""
    bar, seen, result = Stages(), bar_calls(), FrozenResult(["r"], {"s": 1})
    usual = dict(fail_above="limits", quick=False, shadows=6, time_limit=3, memory_limit=4)
    usual |= dict(jobs=5, seed=6, release="service", train=None, member_value="m")
    usual |= dict(model=None, answers=None, data=None, controls="c", no_batching=False)
    usual |= dict(checkpoint="kept")
    arguments = NS(**(usual | given))
    records = Records(np.eye(2), np.arange(2))
    problem = NS(victim="v", records=records, membership="m", recipe="recipe", fit_params="f")
    problem.notes, problem.other_value, problem.groups = ["p"], None, {"a": "_a"}
    parts = {
        "show_stages": bar,
        "_list_shares": lambda arguments: "of stages",
        "enter_stage": lambda stage: bar.told.append(stage),
        "make_problem": lambda arguments: seen("problem", arguments) or problem,
        "_read_limits": lambda limits, problem: ("limits", limits, problem),
        "_plan": lambda *given: bar.told.append("plan"),
        "estimate_cost": lambda *args, **kwargs: NS(summary=lambda: (args, kwargs)),
        "query_victim": lambda victim, X: bar.told.append((victim, X is records.X)) or query(),
        "audit": lambda *args, **kwargs: seen("audit", args, kwargs) or result,
        "follow_policy": lambda found, *given: (found._with("policy"), ["broken"]),
        "as_settings": lambda arguments: {"seed": arguments.seed, "repeat": "again"},
        "list_findings": lambda found, limits, release: (limits[1], release),
        "as_audit_document": lambda found: {"of": found.notes},
        "conclude_audit": lambda *given: given,
        "replace": lambda found, **changed: FrozenResult(**changed),
    }
    with mock.patch.multiple(_audit, **parts):
        steps = _audit._AuditSteps(arguments, "fprs", policy)
        try:
            for name in names:
                found = steps(name)
        except KeyError as error:
            found = str(error)
    return found, bar.told, seen.calls


class FrozenResult(NS):
    def __init__(self, notes, settings):
        super().__init__(notes=notes, settings=settings)

    def _with(self, note):
        return FrozenResult([*self.notes, note], self.settings)


def bar_calls():
    calls = []

    def note(*given):
        calls.append(given)

    note.calls = calls
    return note


def conclude_steps(**given):
    """Return the notes, settings, findings, source and faults of an audit in this process."""
    result, document, findings, _, source, broken = take_steps("open", "audit", **given)[0]
    assert document == {"of": result.notes}
    return result.notes, result.settings, findings, source, broken


def fail_to_query():
    raise KeyError("gone")


def refuse_to_query():
    raise TypeError("gone")


OPENED = [("shares", "of stages"), "begins", _audit.OPENING, "plan"]
RECORDS_ASKED = ("v", True)
COMMAND = {"s": 1, "command": {"seed": 6, "repeat": "again"}}
ASKED_OF_BOTH = {"time_budget": 3, "max_bytes": 4, "estimator": "recipe", "fit_params": "f"}
ASKED_OF_BOTH |= {"n_jobs": 5, "random_state": 6}
ASKED_OF_AUDIT = ASKED_OF_BOTH | {"group": ["_a"], "controls": "c", "fprs": "fprs"}
ASKED_OF_AUDIT |= {"batched": "auto", "checkpoint": "kept", "verbose": 1}
STEPS = [
    (lambda: take_steps("open")[:2], (None, OPENED)),
    (lambda: take_steps("open_first", query=list)[:2], (None, [*OPENED, RECORDS_ASKED])),
    (lambda: take_steps("open_first", query=refuse_to_query)[1], [*OPENED, RECORDS_ASKED]),
    (
        lambda: take_steps("open_first", query=fail_to_query)[:2],
        ("'gone'", [*OPENED, RECORDS_ASKED, "KeyError"]),
    ),
    (lambda: take_steps("open", "audit")[1], [*OPENED, "ends"]),
    (lambda: conclude_steps(), (["r", "p"], COMMAND, ("limits", "service"), None, [])),
    (lambda: conclude_steps(policy="house")[::4], (["r", "policy", "p"], ["broken"])),
    (lambda: conclude_steps(data=NS(name="d"), answers=NS(name="a"))[3], "a"),
    (lambda: conclude_steps(data=NS(name="d"), model=NS(name="m"))[3], "m"),
    (lambda: conclude_steps(train=NS(name="t"), held_out=1)[3], "t"),
    (
        lambda: conclude_steps(train=NS(name="t"), held_out=1)[1]["command"],
        {"seed": 6, "repeat": "again", "swapped": "again"},
    ),
    *(
        (
            lambda quick=quick: take_steps("estimate", quick=quick)[0][1],
            ASKED_OF_BOTH | {"shadows": shadows, "file": not quick},
        )
        for quick, shadows in ((False, 6), (True, 8))
    ),
    (lambda: take_steps("estimate")[0][0][::2], ("v", "m")),
    *(
        (
            lambda quick=quick: take_steps("open", "audit", quick=quick)[2][1][2],
            ASKED_OF_AUDIT | {"shadows": shadows, "file": not quick},
        )
        for quick, shadows in ((False, 6), (True, 8))
    ),
    (lambda: take_steps("open", "audit", no_batching=True)[2][1][2]["batched"], False),
    (lambda: take_steps("open", "audit")[2][1][1][::2], ("v", "m")),
]

# -- models and other files


def load_skops(installed, *types):
    """Return what is loaded of a file of these types, and which of them are trusted."""
    skops = NS(get_untrusted_types=lambda file: types, load=lambda file, trusted: (file, trusted))
    parts = {
        "import_optional": lambda name, extra: (name, extra) == ("skops.io", "skops") and skops,
        "version": lambda name: name == "skops" and installed,
    }
    with mock.patch.multiple(_model, **parts):
        refusal = tell_refusal(lambda: _model._load_skops(NS(name="m.skops")))
        return refusal or _model._load_skops("m.skops")


def check_loaded(error=None, check="check_foreign"):
    given = mock.Mock(side_effect=error)
    with mock.patch.object(_damaged_models, check, given):
        more = () if check == "check_foreign" else (check,)
        call = lambda: _model._check_loaded_model(NS(name="m"), "model", *more)  # noqa: E731
        found = tell_refusal(call) or call()
    given.assert_called_with("model")
    return found


def load_foreign(error=None, value="model"):
    def read(path):
        if error is not None:
            raise error
        return value

    call = lambda: _model._load_foreign(NS(name="m"), read)  # noqa: E731
    return tell_refusal(call) or call()


def load_file(name, *, trusts=False, classes=None):
    """Return how a file is loaded and checked."""
    parts = {
        "_load_skops": lambda path: f"skops {path.name}",
        "_load_foreign": lambda path, read: (
            f"foreign {getattr(read, 'func', read).__name__} {getattr(read, 'keywords', '')}"
        ),
        "_check_loaded_model": lambda path, model, *check: (
            seen.append(check) or f"checked {model if isinstance(model, str) else 'the path'}"
        ),
        "_read_model_file": lambda path, load: f"read by {load.__name__}",
    }
    seen, path = [], Path(name)
    with mock.patch.multiple(_model, **parts):
        call = lambda: _model._load_model_file(path, trusts, classes)  # noqa: E731
        return tell_refusal(call) or (call(), seen[len(seen) // 2 :])


def load_model(error=None, **given):
    """Return a loaded model, or why it is refused, and what was asked before and behind."""
    seen = []

    def load(path, trusts, classes):
        if error is not None:
            raise error
        return seen.append(("load", trusts, classes)) or "model"

    parts = {
        "refuse_other_model": lambda path, option, reads_onnx: seen.append((option, reads_onnx)),
        "check_file": lambda path, option: seen.append((path, option)),
        "_load_model_file": load,
        "refuse_other_object": seen.append,
    }
    with mock.patch.multiple(_model, **parts):
        call = lambda: _model.load_model("m", trust_pickle=7, **given)  # noqa: E731
        refusal = tell_refusal(call)
        if refusal is not None:
            return refusal
        seen.clear()
        return call(), seen


MODELS = [
    (
        lambda: load_model(),
        ("model", [("--model", True), ("m", "--model"), ("load", 7, None), "model"]),
    ),
    (
        lambda: load_model(option="MODEL", onnx=False, classes=[1])[1][:3],
        [("MODEL", False), ("m", "MODEL"), ("load", 7, [1])],
    ),
    (lambda: load_model(_model.CommandError("It is odd.")), "--model: It is odd."),
    (
        lambda: load_skops("0.11.9"),
        "skops 0.11.9 can be made to run code by a file; 0.12 is the first version that cannot",
    ),
    (lambda: load_skops("0.12.0", "numpy.dtype"), ("m.skops", ["numpy.dtype"])),
    (lambda: load_skops("0.13"), ("m.skops", [])),
    (lambda: load_skops("1.0.2"), ("m.skops", [])),
    (
        lambda: load_skops("0.12", "os.system", "numpy.dtype", "a.b"),
        "m.skops holds types that are not known to be safe: a.b, os.system. Of a model that you "
        "trust, a pickle with --trust-pickle is opened in any case",
    ),
    (lambda: check_loaded(), "model"),
    (lambda: check_loaded(check="check_booster_file"), "model"),
    (lambda: check_loaded(_damaged_models.DamagedModelError("odd")), "m is refused: odd"),
    (
        lambda: check_loaded(json.JSONDecodeError("odd", "a", 0)).partition(". ")[0],
        "m is not a model of a booster: odd: line 1 column 1 (char 0)",
    ),
    (
        lambda: check_loaded(KeyError("a")),
        "m is refused: parts of a fitted model are missing in it (KeyError: 'a')",
    ),
    (lambda: load_foreign(), "model"),
    (lambda: load_foreign(ImportError("no package")), "no package"),
    (lambda: load_foreign(_model.CommandError("ours")), "ours"),
    (
        lambda: load_foreign(ValueError("odd.")),
        f"m cannot be read: odd. {_other_files.advise_on_model()}",
    ),
    (lambda: load_file("a.skops"), ("checked skops a.skops", [()])),
    (
        lambda: load_file("a.ubj"),
        ("checked foreign read_booster_file ", [("check_booster_file",), ()]),
    ),
    (
        lambda: load_file("a.onnx", classes=[1]),
        ("foreign read_onnx_file {'classes': [1]}", []),
    ),
    (lambda: load_file("a.pkl", trusts=True), ("checked read by load", [("check_parts",)])),
    (
        lambda: load_file("a.pkl"),
        "a.pkl is a pickle, and loading it would run any code that is in it; save the model with "
        "skops, or give --trust-pickle if you trust where it comes from",
    ),
]


def walk(root):
    return [*_damaged_models._walk_objects(root)]


def check_parts(*parts, is_booster=False):
    """Return which parts are checked, of which those of a kind that is expected are broken."""
    checked = []
    given = {
        "_walk_objects": lambda model: parts,
        "_check_parameters": lambda part: checked.append(("parameters", type(part).__name__)),
        "_check_sizes": lambda part: checked.append(("sizes", type(part).__name__)),
        "_EXPECTED": {Ridge: lambda part: [part.alpha < 5], set: lambda part: [len(part) < 3]},
        "_EXPECTED_OF_BOOSTERS": {lambda part: is_booster: lambda part: [False]},
    }
    with mock.patch.multiple(_damaged_models, **given):
        return tell_refusal(lambda: _damaged_models.check_foreign("model")), checked


def clear_memory(memory):
    pipeline = make_pipeline(Ridge(), memory=memory)
    _damaged_models._check_parameters(pipeline)
    return pipeline.memory


def advise(kind=""):
    """Return the advice on a kind behind what is opened, up to the answers to records."""
    opens, _, told = _other_files.advise_on_model(None, kind).partition(" of boosters, and .onnx. ")
    assert opens == (
        "skmia opens .skops, .pkl, .pickle and .joblib with --trust-pickle, .cbm, .json, .txt and "
        ".ubj"
    )
    return told.partition("answers")[0]


class Holder:
    def __init__(self, **parts):
        vars(self).update(parts)


LOOP = [array([1.0])]
LOOP.append(LOOP)
RIDGE = Ridge().fit([[0.0], [1.0]], [0, 1])
CONTRADICT = "numbers of a {} in it contradict each other; it is damaged or forged"
OF_NETS = (
    "Audit a torch net in Python, through skorch (user guide: Connecting a model, Torch nets); of "
    "any other net give its "
)
OF_LANGUAGE = (
    "Audit a language model in Python (user guide: Language models); of a classifier give its "
)
PARTS = [
    # Each object once, of any container, without plain values.
    (lambda: len(walk(LOOP)), 2),
    (lambda: walk({"a": (b"x", 1, 2.0, None, True, "c", {"d": 4j})})[1:][-1], 4j),
    (
        lambda: [type(one).__name__ for one in walk((3j, {5j}))],
        ["tuple", "set", "complex", "complex"],
    ),
    (lambda: len(walk(array([1.0, 2.0]))), 1),
    (lambda: len(walk(array([3j, None, 4j], dtype=object))), 3),
    (lambda: walk(Holder(a=3j, b="x"))[1:], [3j]),
    (lambda: check_parts(RIDGE), (None, [("parameters", "Ridge"), ("sizes", "Ridge")])),
    (
        lambda: check_parts(Ridge(alpha=5)),
        (None, [("parameters", "Ridge"), ("sizes", "Ridge")]),
    ),
    (
        lambda: check_parts(Ridge(), Ridge(alpha=5).fit([[0.0], [1.0]], [0, 1]))[0],
        CONTRADICT.format("Ridge"),
    ),
    (lambda: check_parts({1, 2, 3}), (CONTRADICT.format("set"), [])),
    (lambda: check_parts({1, 2}, "a"), (None, [])),
    (lambda: check_parts({"learner": 1}, is_booster=True)[0], CONTRADICT.format("booster")),
    (lambda: check_parts(StandardScaler(), {1, 2, 3})[0], CONTRADICT.format("set")),
    (lambda: (clear_memory("folder"), clear_memory(None)), (None, None)),
    # What is opened, and what else there is for other kinds.
    (lambda: advise(), "Of any other model give its "),
    (lambda: advise("an archive"), "Unpack it; of a model of another kind give its "),
    (
        lambda: advise("a Stata table"),
        "Save a table as .csv or .parquet; of another model give its ",
    ),
    (lambda: advise("the weights of a net"), OF_NETS),
    (lambda: advise("checkpoints of a net"), OF_NETS),
    (lambda: advise("a torch net"), OF_NETS),
    (lambda: advise("a language model"), OF_LANGUAGE),
    (lambda: advise("a model of Hugging Face"), OF_LANGUAGE),
    (lambda: _other_files._join_file_names([".a", ".b", ".c"]), ".a, .b and .c"),
]

# Of files by their names and first bytes: what is said of them as a model, and as a table.
CONTENTS = {
    "a.skops": (b"PK\x03\x04", None, "a skops file"),
    "b.pkl": (b"PK\x03\x04", None, "a model"),
    "a.pt": (b"\x80\x02ab", "is a pickle: rename it to a.pkl", "a pickle"),
    "a.pkl": (b"\x80\x05ab", None, "a pickle"),
    "c.pkl": (b"\x80\x06ab", None, "a model"),
    "d.pkl": (b"\x80\x01ab", None, "a model"),
    "a.bin": (b"GGUF", "is a language model. ", "a language model"),
    "b.bin": (b"GGU", "is a file of weights or of another package", "a file of weights"),
    "c.bin": (b"abcdTFL3", "is a TensorFlow Lite model", "a TensorFlow Lite model"),
    "d.bin": (b"abcTFL3", "is a file of weights", "a file of weights"),
    "e.bin": (b'abcdefg\0{"', "is the weights of a net. ", "the weights of a net"),
    "f.bin": (b"xGGUF", "is a file of weights", "a file of weights"),
    "a.txt": (b"tree\n", None, None),
    "b.txt": (b"text\n", "is text, and not a model of LightGBM", None),
    "a.json": (b"text\n", None, None),
    "c.txt": (b"GGUF", "is a language model. ", "a language model"),
    "a.csv": (b"a,b\n", "is a table. ", None),
    "b.csv": (b"\xd0\xcf\x11\xe0", "is an Excel table. ", "an Excel table"),
    "c.csv": (b"PAR1", "is a parquet table. ", None),
    "d.csv": (b"GGUF", "is a language model. ", None),
    "a.xls": (b"ab", "is an Excel table. ", "an Excel table"),
    "e.xls": (b"PAR1", "is a parquet table. ", "a parquet table"),
    "a.rds": (b"ab", "is a file of R. ", "a file of R"),
    "a.odd": (b"ab", "is of a kind that is not known. ", None),
    "a.onnx": (b"ab", None, "a model"),
    "a.tar.gz": (b"ab", "is an archive. ", "an archive"),
}
ARCHIVES = {
    ("schema.json",): "a skops file",
    ("in/schema.json", "b"): "a skops file",
    ("myschema.json",): None,
    ("xl/workbook.xml",): "an Excel table",
    ("data.pkl", "metadata.json"): "a Keras model",
    ("a.npy", "b.npy"): "arrays",
    ("a.npy", "b.txt"): None,
    (): None,
}
FOLDERS = {
    ("MLmodel", "config.json"): "an MLflow model",
    ("config.json",): "a model of Hugging Face",
    ("a.PT", "b"): "a torch net",
    ("a.gguf",): "a language model",
    ("a.parquet",): None,
    ("a.npy",): None,
}


def test_audits_by_hand():
    expect_answers([*AUDITS, *STEPS])


def test_models_by_hand():
    expect_answers([*MODELS, *PARTS])


def test_files_are_told_by_their_names_and_first_bytes(tmp_path):
    for name, (content, of_model, of_table) in CONTENTS.items():
        path = tmp_path / name
        path.write_bytes(content)
        told, kind = _other_files._tell_model(path, True), _other_files._tell_table(path)
        assert (told and told[: len(name) + len(of_model) + 1]) == (
            of_model and f"{name} {of_model}"
        ), name
        assert (kind and kind[: len(of_table)]) == of_table, name
        refused = tell_refusal(lambda path=path: _other_files.refuse_other_table(path, "--data"))
        assert (refused is None) == (of_table is None), name
        refused = tell_refusal(lambda path=path: _other_files.refuse_other_model(path, "--model"))
        assert refused == (told and f"--model: {told}"), name


def test_onnx_is_read_by_one_command(tmp_path):
    path = tmp_path / "a.onnx"
    path.write_bytes(b"ab")
    told = _other_files._tell_model(path, False)
    assert told.startswith("a.onnx is an ONNX file, which skmia audit opens and skmia inspect does")
    assert ", and .onnx" not in told and ", and .onnx" in _other_files.advise_on_model()


def test_archives_are_told_by_the_names_in_them(tmp_path):
    for number, (names, kind) in enumerate(ARCHIVES.items()):
        path = tmp_path / f"{number}.zip"
        with ZipFile(path, "w") as archive:
            for name in names:
                archive.writestr(name, "text")
        assert _other_files._tell_archive(path) == kind, names
        if names:
            assert _other_files._tell_content(path) == kind, names
            skops = path.rename(path.with_suffix(".skops"))
            assert _other_files._tell_content(skops) == "a skops file"


def test_what_is_no_archive_is_not_told(tmp_path):
    (tmp_path / "a.zip").write_bytes(b"PK\x03\x04")
    for name in ("a.zip", "none.zip"):
        assert _other_files._tell_archive(tmp_path / name) is None
    assert _other_files._read_file_start(tmp_path / "none.zip") == b""
    (tmp_path / "long.bin").write_bytes(bytes(range(20)))
    assert _other_files._read_file_start(tmp_path / "long.bin") == bytes(range(16))


def test_folders_are_told_by_the_files_in_them(tmp_path):
    for number, (names, kind) in enumerate(FOLDERS.items()):
        folder = tmp_path / str(number)
        folder.mkdir()
        for name in names:
            (folder / name).write_bytes(b"ab")
        assert _other_files._tell_folder(folder) == kind, names
        assert _other_files.names_model(folder) == (kind is not None)
        told = _other_files._tell_model(folder, True)
        assert f" is {kind or 'a folder and not a file'}. " in told and "such as" not in told
        refused = tell_refusal(lambda at=folder: _other_files.refuse_other_table(at, "--data"))
        assert (refused is None) == (kind is None)
        (folder / "model.pkl").write_bytes(b"ab")
        assert f"such as {folder / 'model.pkl'} in" in _other_files._tell_model(folder, True)


OF_MODELS = [
    ("a.skops", b"ab", True),
    ("a.onnx", b"ab", True),
    ("a.h5", b"ab", True),
    ("a.csv", b"GGUF", False),
    ("a.sav", b"\x80\x05", True),
    ("a", b"PAR1", False),
    ("b", b"GGUF", True),
    ("c", b"ab", False),
]


def test_files_of_models_are_known_by_name_or_content(tmp_path):
    for name, content, is_model in OF_MODELS:
        (tmp_path / name).write_bytes(content)
        assert _other_files.names_model(tmp_path / name) == is_model, name
        assert _other_files.is_known_table(tmp_path / name) == (name == "a.csv")
