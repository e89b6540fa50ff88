"""Public signatures have types, and those of an estimator agree with what it validates.

``make lint`` checks with mypy that the types hold for the programs in ``typing/uses.py``.
"""

import importlib.util
import inspect
import re
import sys
from itertools import chain
from numbers import Integral, Real
from pathlib import Path
from types import UnionType
from typing import Literal, Union, get_args, get_origin, get_overloads

import pytest
from public import PUBLIC, reference

from skmia._core.sklearn import Interval, StrOptions
from skmia._core.types import ArrayLike, NamedAlternatives, Seed

ROOT = Path(__file__).parents[1]
# Methods of Python that users call without their names.
SPOKEN = {"__call__", "__getitem__", "__init__", "__len__"}


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


uses = load(ROOT / "tests" / "typing" / "uses.py")
ESTIMATORS = {
    name: thing
    for name, thing in PUBLIC.items()
    if hasattr(thing, "_parameter_constraints") and not inspect.isabstract(thing)
}
PROGRAMS = [
    thing
    for name, thing in vars(uses).items()
    if getattr(thing, "__module__", None) == uses.__name__
    and not inspect.signature(thing).parameters
]


# Every signature is complete


def iter_functions(thing):
    """A public function, or those of a class that skmia wrote: methods, and what properties ask."""
    if inspect.isfunction(thing):
        yield thing
    for name in dir(thing) if inspect.isclass(thing) else ():
        found = inspect.getattr_static(thing, name)
        holders = (getattr(found, holder, None) for holder in ("fget", "fn", "__func__", "func"))
        function = next(filter(None, holders), found)
        is_public = not name.startswith("_") or name in SPOKEN
        if is_public and inspect.isfunction(function) and function.__module__.startswith("skmia"):
            yield from get_overloads(function) or [function]


def find_untyped(function):
    signature = inspect.signature(function)
    for parameter in signature.parameters.values():
        if parameter.name not in {"self", "cls"} and parameter.annotation is parameter.empty:
            yield f"{function.__qualname__}: {parameter.name}"
    if signature.return_annotation is signature.empty:
        yield f"{function.__qualname__}: what it returns"


def test_parameters_and_results_have_types():
    functions = chain.from_iterable(map(iter_functions, PUBLIC.values()))
    assert list(chain.from_iterable(map(find_untyped, functions))) == []


def test_a_signature_without_types_is_found():
    class Half:
        def __init__(self, whole, part: int = 0):
            self.whole, self.part = whole, part

        @property
        def size(self):
            return self.whole / 2

    Half.__init__.__module__ = Half.size.fget.__module__ = "skmia"
    found = list(chain.from_iterable(map(find_untyped, iter_functions(Half))))
    assert [line.rpartition(".")[2] for line in found] == [
        "__init__: whole",
        "__init__: what it returns",
        "size: what it returns",
    ]


# What help and tooltips show are public names

PRIVATE = re.compile(r"\b[a-z]\w*(?:\.\w+)*\._\w+")


def test_no_signature_shows_a_private_name():
    for name, thing in PUBLIC.items():
        shown = [str(inspect.signature(function)) for function in iter_functions(thing)]
        assert PRIVATE.findall(" ".join([repr(thing), *shown])) == [], name


def test_the_signature_of_a_class_is_that_of_its_constructor():
    for name, thing in PUBLIC.items():
        if inspect.isclass(thing) and inspect.isfunction(thing.__init__):
            shown = [*inspect.signature(thing).parameters]
            assert shown == [*inspect.signature(thing.__init__).parameters][1:], name


def test_a_private_name_is_found():
    assert PRIVATE.findall("(a: skmia._core.records.Records, *_args, b=(1, ...))") != []
    assert PRIVATE.findall("(a: skmia.Records | None = _MOST, *, _b: int = 1.)") == []


def test_classes_and_functions_are_named_by_a_room_that_has_them():
    for thing in PUBLIC.values():
        if not inspect.isclass(thing) and not inspect.isfunction(thing):
            continue
        assert PRIVATE.findall(f"{thing.__module__}.{thing.__name__}") == []
        room = importlib.import_module(thing.__module__)
        assert getattr(room, thing.__name__) is thing
        file = sys.modules[reference.file_of(room, thing.__name__)].__file__
        written = rf"^(?:class|def) {thing.__name__}\b"
        assert re.search(written, Path(file).read_text(encoding="utf-8"), re.MULTILINE), thing


def test_no_page_of_the_site_names_a_private_module():
    texts = [*reference.pages().values(), *(inspect.getdoc(thing) for thing in PUBLIC.values())]
    pages = [path for path in (ROOT / "doc").rglob("*.md") if "build" not in path.parts]
    texts += [path.read_text(encoding="utf-8") for path in [ROOT / "README.md", *pages]]
    assert len(texts) > 600
    assert [
        found for text in texts for found in re.findall(r"\bskmia[\w.]*\._(?!_)\w+", text)
    ] == []


# Types of parameters and their constraints


def iter_alternatives(annotation):
    if isinstance(annotation, NamedAlternatives):
        yield from chain.from_iterable(map(iter_alternatives, annotation.parts))
    elif annotation is None:
        yield type(None)
    elif get_origin(annotation) in (Union, UnionType):
        yield from chain.from_iterable(map(iter_alternatives, get_args(annotation)))
    else:
        yield annotation


def has_numbers(allowed, kind):
    """Whether a constraint allows numbers of a kind, ``Integral`` or ``Real``."""
    return any(kind in (one, getattr(one, "type", None)) for one in allowed)


def compare(annotation, allowed):
    """What the type of a parameter allows and what its constraints allow, of what both can say."""
    # Numbers and texts that stand for an array are not meant.
    types = set(iter_alternatives(annotation)) - set(iter_alternatives(ArrayLike))
    words = {word for one in types if get_origin(one) is Literal for word in get_args(one)}
    options = {word for one in allowed for word in getattr(one, "options", ())}
    said = {
        "None": type(None) in types,
        "bool": bool in types,
        "int": int in types,
        "float": float in types,
        "words": words if str not in types else set(),
    }
    checked = {
        "None": None in allowed,
        "bool": "boolean" in allowed,
        "int": "verbose" in allowed or has_numbers(allowed, Integral),
        "float": has_numbers(allowed, Real),
        "words": options if str not in allowed else set(),
    }
    return said, checked


def test_types_of_an_estimator_agree_with_its_constraints():
    for name, estimator in ESTIMATORS.items():
        for parameter in inspect.signature(estimator).parameters.values():
            allowed = estimator._parameter_constraints[parameter.name]
            if allowed == ["random_state"]:
                assert parameter.annotation == Seed, (name, parameter)
            elif allowed != "no_validation":
                # A default of None, which `fit` may refuse, has to be written without an argument.
                default = [None] if parameter.default is None else []
                said, checked = compare(parameter.annotation, allowed + default)
                assert said == checked, (name, parameter)


@pytest.mark.parametrize(
    "annotation, allowed, differ",
    [
        (int | None, [Interval(Integral, 1, None, closed="left"), None], []),
        (int, [Interval(Integral, 1, None, closed="left"), None], ["None"]),
        (int, [Interval(Real, 0, 1, closed="both")], ["int", "float"]),
        (Literal["a", "b"], [StrOptions({"a", "b"})], []),
        (Literal["a"] | bool, [StrOptions({"a", "b"}), "boolean"], ["words"]),
        (str, [str, "boolean"], ["bool"]),
    ],
)
def test_a_type_that_disagrees_with_its_constraint_is_found(annotation, allowed, differ):
    said, checked = compare(annotation, allowed)
    assert [what for what in said if said[what] != checked[what]] == differ


# What the type checker reads


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
@pytest.mark.usefixtures("quick_audits", "quick_tables")
def test_program_that_the_type_checker_accepts_runs(program):
    program()


# What people read


def test_help_says_array_like():
    assert repr(ArrayLike | None) == "array-like | None"
    assert repr(int | ArrayLike | list[str]) == "int | array-like | list[str]"
    assert repr(Literal["row"] | ArrayLike).endswith("Literal['row'], array-like]")
    shown = str(inspect.signature(PUBLIC["skmia.audit"]))
    assert "membership: array-like | None = None, *, train: tuple[array-like | " in shown
    assert str(inspect.signature(PUBLIC["skmia.Records"])).startswith("(X: array-like | sparse ")


def test_no_signature_shows_what_numpy_hides():
    for function in chain.from_iterable(map(iter_functions, PUBLIC.values())):
        assert "_SupportsArray" not in str(inspect.signature(function)), function
