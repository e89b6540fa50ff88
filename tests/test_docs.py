"""The documentation holds: examples run, links lead somewhere, no public name lacks words."""

import ast
import doctest
import importlib.util
import inspect
import re
import textwrap
from pathlib import Path
from typing import get_args

import pytest
from defaults import compare_defaults, documented_defaults, public_methods, says_default, sections
from public import PUBLIC, reference

ROOT = Path(__file__).parents[1]
GUIDE = [*sorted((ROOT / "doc").glob("*.md")), *sorted((ROOT / "doc" / "user_guide").glob("*.md"))]
TUTORIALS = sorted((ROOT / "doc" / "tutorials").glob("*.md"))
PAGES = [ROOT / "README.md", *GUIDE, *TUTORIALS, ROOT / "examples" / "README.md"]
SCRIPTS = sorted((ROOT / "examples").glob("*/plot_*.py"))
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
OPTIONAL = r"^(?:>>> |\.\.\. )?(?:from|import) (dask|matplotlib|skorch|torch|xgboost)\b"


def load(name):
    """A module of doc/, which is no package."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "doc" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


readme = load("make_readme")
links = load("check_links")
code = load("format_code")
CLASSES = {name: thing for name, thing in PUBLIC.items() if inspect.isclass(thing)}
FUNCTIONS = {name: thing for name, thing in PUBLIC.items() if inspect.isroutine(thing)}


def page_name(page):
    return str(page.relative_to(ROOT))


# The pages


def python_blocks(page):
    """Source and line of each fenced Python block of a page."""
    text = page.read_text(encoding="utf-8")
    for found in re.finditer(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        yield found[1], text.count("\n", 0, found.start(1))


def run_block(source, line, names, page):
    if ">>>" not in source:
        # Line numbers of the page, so that a traceback points into it.
        exec(compile("\n" * line + source, str(page), "exec"), names)
        return
    example = doctest.DocTestParser().get_doctest(source, names, page.name, str(page), line)
    example.globs = names  # the parser copied them, and later blocks go on from earlier ones
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    report = []
    runner.run(example, out=report.append, clear_globs=False)
    assert runner.failures == 0, "".join(report)


README = ROOT / "README.md"
# The README's code, which the first page repeats, is run by the test of its numbers.
README_LINES = set(README.read_text(encoding="utf-8").splitlines())
# Tutorials are run with their commands, in test_docs_tutorials.py.
ELSEWHERE = {README, *TUTORIALS}
PAGES_WITH_PYTHON = [page for page in PAGES if page not in ELSEWHERE and list(python_blocks(page))]


@pytest.mark.usefixtures("copied_workers")
@pytest.mark.parametrize("page", PAGES_WITH_PYTHON, ids=page_name)
def test_examples_of_a_page_run_from_top_to_bottom(page, tmp_path, monkeypatch):
    text = page.read_text(encoding="utf-8")
    for package in {"matplotlib"} & set(re.findall("matplotlib|Display", text)):
        pytest.importorskip(package)
    for package in sorted(set(re.findall(OPTIONAL, text, re.MULTILINE))):
        pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)  # what an example writes
    names = {"__name__": "__main__"}
    for source, line in python_blocks(page):
        if "fetch_" in source:  # would download
            ast.parse(source)
        elif set(source.splitlines()) <= README_LINES:
            continue
        else:
            run_block(source, line, names, page)


def code_lines(page):
    """Numbered lines of the code that a page of the site shows."""
    lines = list(enumerate(page.read_text(encoding="utf-8").splitlines(), start=1))
    shown = page.suffix == ".py"
    for number, line in lines[first_code_line(page) :]:
        if page.suffix == ".md" and line.startswith("```"):
            shown = not shown
        elif page.suffix == ".py" and line.startswith("# %%"):
            shown = False
        elif page.suffix == ".py" and not line.startswith("#"):
            shown = True
        if shown and not line.startswith("# sphinx_gallery_"):
            yield number, line


def first_code_line(page):
    """How many lines are before the code of a script: those of its title."""
    if page.suffix == ".md":
        return 0
    return ast.parse(page.read_text(encoding="utf-8")).body[0].end_lineno


@pytest.mark.parametrize("page", [*PAGES, *SCRIPTS], ids=page_name)
def test_code_of_a_page_is_as_wide_as_its_column(page):
    wide = [f"{page.name}:{n} {line}" for n, line in code_lines(page) if len(line) > code.COLUMN]
    assert wide == []


def test_wide_code_is_found(tmp_path):
    wide = (code.COLUMN + 1) * "x"
    page, script = tmp_path / "a.md", tmp_path / "a.py"
    page.write_text(f"{wide}\n```\n{wide}\n```\n{wide}\n", encoding="utf-8")
    script.write_text(f'"""{wide}"""\n{wide}\n# %%\n# {wide}\n\n# {wide}\n', encoding="utf-8")
    assert [n for n, line in code_lines(page) if len(line) > code.COLUMN] == [3]
    assert [n for n, line in code_lines(script) if len(line) > code.COLUMN] == [2, 6]


def test_blocks_of_a_page_are_formatted_as_code(tmp_path):
    pytest.importorskip("ruff")
    session = '>>> f(  1)  # "\'\n>>> def g():\n...     """Say."""\n2\n\n'
    assert code.format_blocks(["a  =  1\n", session]) == [
        "a = 1\n",
        '>>> f(1)  # "\'\n>>> def g():\n...     """Say."""\n2\n\n',
    ]


@pytest.mark.usefixtures("copied_workers")
def test_readme_shows_what_its_code_gives(tmp_path, monkeypatch):
    pytest.importorskip("jinja2")
    monkeypatch.chdir(tmp_path)
    text = README.read_text(encoding="utf-8")
    today, report = readme.rewrite(text)
    number = re.compile(r"\d+(?:\.\d+)?")
    assert number.sub("0", text) == number.sub("0", today)
    # Another processor may round the last digit of a score in another way.
    assert list(map(float, number.findall(text))) == pytest.approx(
        list(map(float, number.findall(today))), rel=0.01
    )
    assert report.evidence == "leak"
    assert (tmp_path / "report.html").exists()


DOORS = [
    "I have a model",
    "I have a file to release",
    "I have a table to publish",
    "I search for a model that leaks less",
    "I do research",
]


def test_the_first_page_of_the_site_says_what_the_readme_says():
    page, text = (
        (ROOT / "doc" / "index.md").read_text(encoding="utf-8"),
        README.read_text(encoding="utf-8"),
    )
    start, end = re.findall(r'^:(?:start-after|end-before): "(.*)"$', page, re.MULTILINE)
    shown = text.partition(f"{start}\n")[2].partition(f"\n{end}\n")
    assert "pip install" in shown[0] and shown[2] != ""
    assert re.findall("^## (I .*)$", text, re.MULTILINE) == DOORS
    # What is included is rewritten for the folder of the site only if it lies there.
    assert all(target.startswith("doc/") for _, _, target in readme.LINK.findall(shown[0]))


def test_each_door_of_the_first_page_has_a_command_of_the_readme_a_picture_and_a_tutorial():
    page = (ROOT / "doc" / "index.md").read_text(encoding="utf-8")
    text = " ".join(README.read_text(encoding="utf-8").split())
    cards = re.findall(
        r"^:::\{grid-item-card\} ([^\n]*)\n(.*?)^:::$", page, re.MULTILINE | re.DOTALL
    )
    assert [title for title, _ in cards] == DOORS
    for _, body in cards:
        command = re.findall("`(.+)`$", body, re.MULTILINE)[-1]
        assert command.replace(".fit(records)", "") in text
        assert (ROOT / "doc" / re.search("^:img-top: (.+)$", body, re.MULTILINE)[1]).is_file()
        tutorial = re.search("^:link: (.+)$", body, re.MULTILINE)[1]
        assert (ROOT / "doc" / f"{tutorial}.md") in TUTORIALS


def test_links_of_the_readme_are_absolute_on_a_package_index():
    text = README.read_text(encoding="utf-8")
    made = readme.make_absolute(text, "https://example.org/us/skmia", "1.2.3")
    targets = re.findall(r"\]\(([^)]+)\)", made)
    assert targets and all(target.startswith(("https://", "#")) for target in targets)
    assert (
        "![" in text and "](https://example.org/us/skmia/raw/v1.2.3/doc/_static/report.png)" in made
    )
    assert "](https://example.org/us/skmia/blob/v1.2.3/CONTRIBUTING.md)" in made
    assert readme.make_absolute(made, "https://example.org/us/skmia", "1.2.3") == made


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_links_of_a_page_lead_to_files_that_exist(page):
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    targets = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text)
    missing = [
        target for target in targets if "://" not in target and not (page.parent / target).exists()
    ]
    assert missing == []


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_names_that_a_page_mentions_exist(page):
    mentioned = re.findall(r"\{\w+\}`~?(skmia[\w.]*)", page.read_text(encoding="utf-8"))
    assert [name for name in mentioned if not can_be_found(name)] == []


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_code_of_a_page_imports_nothing_private(page):
    imported = re.findall(
        r"^\W*(?:from|import) (skmia\S*)(?: import (.*))?",
        page.read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    assert [found for found in imported if re.search(r"\b_", " ".join(found))] == []


def can_be_found(dotted):
    try:
        importlib.import_module(dotted)
    except ModuleNotFoundError:
        home, _, name = dotted.rpartition(".")
        return home in sys_modules_with_attribute(name) or can_be_found_as_member(home, name)
    return True


def sys_modules_with_attribute(name):
    return {module.__name__ for module in reference.public_modules() if hasattr(module, name)}


def can_be_found_as_member(home, name):
    return home in PUBLIC and hasattr(PUBLIC[home], name)


def test_make_targets_that_the_readme_names_exist():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"\bmake ([a-z-]+)", (ROOT / "README.md").read_text(encoding="utf-8")))
    assert {"audit", "test"} <= named <= targets


# The site


def names_in_the_source():
    """Full name of each name in the ``__all__`` of a module without an underscore in its path."""
    for path in sorted((ROOT / "skmia").rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        module = parts[:-1] if parts[-1] == "__init__" else parts
        if any(part.startswith("_") for part in module):
            continue
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
                names = ast.literal_eval(node.value)
                yield from (".".join([*module, name]) for name in names if name[0] != "_")


def test_every_public_name_has_a_page_of_the_api_reference():
    modules = {module.__name__ for module in reference.public_modules()}
    wanted = list(names_in_the_source())
    assert len(wanted) == len(set(wanted)) > 180
    assert {"index", *modules, *wanted} <= set(reference.pages())
    more = {name.rpartition(".")[2] for name in set(PUBLIC) - set(wanted)}  # types of results
    assert more.isdisjoint(name.rpartition(".")[2] for name in wanted)


def iter_classes(annotation):
    if inspect.isclass(annotation) and annotation.__module__.startswith("skmia."):
        yield annotation
    for part in get_args(annotation):
        yield from iter_classes(part)


def test_every_type_that_a_public_function_returns_has_a_page():
    methods = [one for cls in CLASSES.values() for _, one in public_methods(cls)]
    returned = {
        found
        for function in [*FUNCTIONS.values(), *methods]
        for found in iter_classes(inspect.signature(function).return_annotation)
    }
    assert len(returned) > 40
    # What attacks on shadow models read of a pool, which users do not.
    of_pools = {"LabelLaw", "PoolAnswers", "SideMoments", "SignalReading"}
    assert {found.__name__ for found in returned - set(CLASSES.values())} == of_pools


@pytest.mark.parametrize(
    "name, line",
    [
        ("skmia.metrics.Interval", ".. autoclass:: skmia.metrics.Interval"),
        ("skmia.metrics", "   * - :py:obj:`~skmia.metrics.Interval`"),
        ("skmia.attacks.LiRA", ".. autoclass:: skmia.attacks.LiRA"),
        ("skmia.base.BaseAttack", ".. autoclass:: skmia.base.BaseAttack()"),
        ("skmia.base.PoolAttack", ".. autoclass:: skmia.base.PoolAttack()"),
        ("skmia.metrics.operating_point", ".. autofunction:: skmia.metrics.operating_point"),
        (
            "skmia.metrics.membership_advantage_scorer",
            ".. autofunction:: skmia.metrics.membership_advantage_scorer",
        ),
        ("skmia.audit", ".. autofunction:: skmia.audit"),
        ("index", "   * - :py:obj:`~skmia.audit`"),
        ("skmia.attacks", "   * - :py:obj:`~skmia.attacks.LiRA`"),
        ("index", "   * - :py:obj:`~skmia.attacks.LiRA`"),
    ],
)
def test_page_of_the_api_reference(name, line):
    assert line in reference.pages()[name].splitlines()


def test_page_of_a_class_documents_methods_of_skmia_alone():
    own, inherited = reference.members(PUBLIC["skmia.attacks.LiRA"])
    assert {"fit", "predict", "score_samples", "decision_function", "set_params"} <= set(own)
    assert {"get_params", "get_metadata_routing"} <= set(inherited)


def test_page_of_a_class_documents_properties_that_its_docstring_leaves_out():
    own, _ = reference.members(PUBLIC["skmia.leakage.MisspecifiedTarget"])
    assert {"advantage", "loss", "power"} <= set(own)
    own, _ = reference.members(PUBLIC["skmia.Records"])
    assert "fingerprint" not in own


def test_pages_that_have_not_changed_are_left_alone(tmp_path):
    reference.write_pages(tmp_path)
    page, foreign = tmp_path / "skmia.attacks.LiRA.rst", tmp_path / "skmia.attacks.Gone.rst"
    page.write_text("another text", encoding="utf-8")
    foreign.touch()
    times = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    reference.write_pages(tmp_path)
    assert not foreign.exists()
    assert page.read_text(encoding="utf-8") == reference.pages()["skmia.attacks.LiRA"]
    others = times.keys() - {page, foreign}
    assert {path: path.stat().st_mtime_ns for path in others} == {
        path: times[path] for path in others
    }


@pytest.mark.parametrize(
    "body, found",
    [
        ('<a href="other.html#place">', []),
        ('<a href="#here"><p id="here">', []),
        ('<a href="https://example.org/none.html">', []),
        ('<a href="none.html">', ["index.html: no file for none.html"]),
        ('<a href="../other.html">', ["index.html: no file for ../other.html"]),
        ('<a href="other.html#none">', ["index.html: no place for other.html#none"]),
        ('<a href="#none">', ["index.html: no place for #none"]),
        ('<img src="none.png">', ["index.html: no file for none.png"]),
        ('<script src="//example.org/a.js">', ["index.html: loads //example.org/a.js"]),
    ],
)
def test_link_checker(body, found, tmp_path):
    (tmp_path / "index.html").write_text(body, encoding="utf-8")
    (tmp_path / "other.html").write_text('<p id="place">', encoding="utf-8")
    assert links.problems(tmp_path) == found


def test_link_checker_reads_styles(tmp_path):
    (tmp_path / "a.css").write_text("p {background: url('https://example.org/a.png')}")
    assert links.problems(tmp_path) == ["a.css: loads https://example.org/a.png"]


def test_link_checker_wants_a_site(tmp_path, capsys):
    assert links.main(tmp_path) == 1
    assert "holds no site" in capsys.readouterr().out


# The docstrings


def described(thing, *names):
    """Names that some sections of a docstring describe."""
    body = "\n".join(sections(thing).get(name, "") for name in names)
    heads = re.findall(r"^(\*{0,2}\w[^:\n]*?)(?: :.*)?$", body, flags=re.MULTILINE)
    return {name.strip("* ") for head in heads for name in head.split(",")}


def parameters(function):
    taken = inspect.signature(function).parameters.values()
    return {taken.name for taken in taken} - {"self", "cls"}


def gives_something(function):
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    own = [tree.body[0]]
    while own:
        node = own.pop()
        if isinstance(node, ast.Return) and node.value is not None:
            return True
        inner = (ast.FunctionDef, ast.Lambda, ast.ClassDef)
        own += [child for child in ast.iter_child_nodes(node) if not isinstance(child, inner)]
    return False


def complaints(name, function):
    if not inspect.getdoc(function):
        return [f"{name} has no docstring"]
    missing = parameters(function) - described(function, "Parameters")
    found = [f"{name} does not describe {', '.join(sorted(missing))}"] if missing else []
    if "Returns" not in sections(function) and gives_something(function):
        found.append(f"{name} does not say what it returns")
    return found


def test_functions_describe_their_parameters_and_what_they_return():
    assert [line for name, one in FUNCTIONS.items() for line in complaints(name, one)] == []


def test_classes_describe_their_parameters_and_methods():
    found = []
    for name, thing in CLASSES.items():
        # A base class without parameters of its own takes those of any attack.
        if not issubclass(thing, BaseException) and thing.__init__ is not object.__init__:
            missing = parameters(thing) - described(thing, "Parameters", "Attributes")
            found += [f"{name} does not describe {', '.join(sorted(missing))}"] if missing else []
        for method, function in public_methods(thing):
            found += complaints(f"{name}.{method}", function)
    assert found == []


def is_made_by_users(thing):
    """Not an abstract class, an error, or a record of numbers that some function returns."""
    is_result = hasattr(thing, "_fields") or (
        hasattr(thing, "__dataclass_fields__") and not thing.__module__.startswith("skmia.signals")
    )
    return not (is_result or inspect.isabstract(thing) or issubclass(thing, BaseException))


def test_examples_in_docstrings(pytestconfig):
    needed = FUNCTIONS | {name: one for name, one in CLASSES.items() if is_made_by_users(one)}
    without = [n for n, one in needed.items() if ">>> " not in sections(one).get("Examples", "")]
    assert without == []
    assert pytestconfig.option.doctestmodules  # which runs it, as that of every other docstring


# Defaults


def iter_documented():
    """Everything public that takes arguments, and whether users are told its defaults."""
    for name, thing in {**FUNCTIONS, **CLASSES}.items():
        if inspect.isclass(thing) and issubclass(thing, BaseException):
            continue
        yield name, thing, not inspect.isclass(thing) or is_made_by_users(thing)
        for method, function in public_methods(thing) if inspect.isclass(thing) else ():
            yield f"{name}.{method}", function, True


def test_documented_defaults_are_those_of_the_signatures():
    found, n_compared = [], 0
    for name, function, _ in iter_documented():
        differ, n = compare_defaults(name, function)
        found += differ
        n_compared += n
    assert found == []
    assert n_compared > 1100  # a docstring that is not understood would not be compared


def test_defaults_are_documented():
    """But for None, where it stands for an argument that is left out."""
    silent = [
        f"{name}: {parameter.name}"
        for name, function, is_told in iter_documented()
        for parameter in inspect.signature(function).parameters.values()
        if parameter.default not in (parameter.empty, None)
        if is_told and parameter.name not in documented_defaults(function)
    ]
    assert silent == []


def test_estimators_are_made_with_the_documented_defaults():
    found, n_made = [], 0
    for name, kind in CLASSES.items():
        if not (is_made_by_users(kind) and hasattr(kind, "get_params")):
            continue
        taken = inspect.signature(kind).parameters.values()
        needed = [one.name for one in taken if one.default is one.empty]
        needed = [one for one in needed if one not in ("args", "kwargs")]
        has = kind(**dict.fromkeys(needed)).get_params(deep=False)
        n_made += 1
        found += [
            f"{name}: {parameter} is made as {has[parameter]!r}, documented is {text}"
            for parameter, text in documented_defaults(kind).items()
            if not says_default(text, has[parameter], kind.__module__)
        ]
    assert found == []
    assert n_made > 60


def test_default_that_differs_is_found():
    def do(n=1, words=("a", "b"), rate=0.1, other=None, low=0, high=2):
        """Do something.

        Parameters
        ----------
        n : int, default=1
            One.
        words : sequence of str, default=("a", "b")
            Two.
        rate, other : float, default=0.1
            Three, and one that has another default.
        low, high : int, default=0 and 1
            Two that differ.
        """

    assert compare_defaults("do", do) == (
        [
            "do: other is None by default, documented is 0.1",
            "do: high is 2 by default, documented is 1",
        ],
        6,
    )
