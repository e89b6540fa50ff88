"""Pages of reports: what all of them share, and the level of a leak that they show."""

import base64
import hashlib
import html
import json
import math
import re
import textwrap
import warnings
from contextlib import suppress
from datetime import datetime
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from ..files import name_beside, split_place, write_bytes
from ..optional import import_optional
from ..visible import as_html, visible

WIDTH = 100


def wrap(text, indent=""):
    """A text in lines of at most 100 characters, which are indented further after the first."""
    return textwrap.fill(
        text, WIDTH, initial_indent=indent, subsequent_indent=f"{indent}  ", break_on_hyphens=False
    )


def wrap_lines(paragraphs):
    """Lines of at most 100 characters, of paragraphs in which every character is visible."""
    lines = []
    for text in paragraphs:
        lines += textwrap.wrap(visible(text), WIDTH, subsequent_indent="  ")
    return lines


def wrap_short(text, first="", later=0):
    """Lines of a summary, which have at most 80 characters."""
    indents = {"initial_indent": first, "subsequent_indent": " " * later}
    return textwrap.wrap(visible(text), 78, break_on_hyphens=False, **indents)


def shorten(text, most, mark="..."):
    """A text of so many characters at most."""
    return text if len(text) <= most else f"{text[: most - len(mark)]}{mark}"


def choose_base(rate):
    """Of how many records a rate is told: a hundred, or more if it would be below one."""
    base = 100
    while rate * base < 1 - 1e-9:
        base *= 10
    return base


def write_date(created):
    """A time in ISO 8601 as one reads it."""
    return f"{datetime.fromisoformat(created):%-d %B %Y, %H:%M} UTC"


# Characters that Markdown or HTML would read as markup.
_MARKUP = re.compile(r"([\\`*_{}\[\]<>#|~&])")


def escape(text):
    """Return a text as one line that Markdown shows as it is."""
    return _MARKUP.sub(r"\\\1", visible(text))


def quote(text):
    """Return a text as one line of code, which can be copied as it is."""
    text = visible(text)
    fence = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    space = " " if len(fence) > 1 else ""
    return f"{fence}{space}{text}{space}{fence}"


def make_table(head, rows):
    """Return the lines of a table; the cells of its rows are escaped, its headings are not."""
    rows = [head, ["---"] * len(head), *([escape(cell) for cell in row] for row in rows)]
    return [f"| {' | '.join(row)} |" for row in rows]


# Names in the provenance for what output checkers ask, beside what repeats the measurement.
REQUEST = (
    "what is released",
    "recipients",
    "purpose",
    "subsets of the data used elsewhere",
    "public columns",
)

# Who signs a decision, and what each signature says.
ROLES = {
    "researcher": "asks for the release",
    "checker": "has read the audit",
    "second checker": "has repeated the command",
}

# Reports also give the difference in accuracy, which is another number.
GAP_NOTE = (
    "gap: the mean of 1 - the probability of the label, over non-members minus over members; "
    "not the difference in accuracy."
)


def note_numbers(limits):
    """Return what the names of limits leave open, in one sentence; empty if nothing."""
    return GAP_NOTE if any(row["name"] == "gap" for row in limits) else ""


def list_decision(found):
    """The head of a recommendation, and what it says in lines."""
    lines = [*found["reasons"], *found["remarks"]]
    lines += [f"Not run: {text}" for text in found["not_run"]]
    lines += [f"Condition: {name}" for name in found["conditions"]]
    lines += [f"Measured under conditions: {row['name']}: {row['text']}" for row in found["tried"]]
    lines += [f"Needs a reason: {row['check']}" for row in found["reviews"]]
    policy = found["policy"]["name"]
    return f"As a {found['release']}, by the policy {policy}: {found['result']}", lines


def format_decision(found):
    """Format a recommendation as lines of Markdown, the last of which is empty."""
    policy, (head, lines) = found["policy"], list_decision(found)
    return [
        f"**{escape(head)}**",
        "",
        *(f"* {escape(line)}" for line in lines),
        "",
        *_tabulate_limits(found["limits"]),
        *_tabulate_checks(found["checks"]),
        *_list_requirements(found),
        *_list_origin(found["provenance"]),
        f"* policy: {escape(policy['name'])}; {_describe_hash(policy['sha256'])}",
        "",
    ]


def _tabulate_limits(limits):
    rows = [
        [row["name"], row["group"], f"{row['limit']:g}", _format(row["interval"]), row["status"]]
        for row in limits
    ]
    caption = "Limits, and the strongest attack in each group with the interval that is compared:"
    note = note_numbers(limits)
    table = _tabulate(caption, ["number", "group", "limit", "measured", "result"], rows)
    return [*table, *([escape(note), ""] if note else [])]


def _format(interval):
    return "-" if interval is None else "{:.3g} [{:.3g}, {:.3g}]".format(*interval)


def _tabulate_checks(checks):
    rows = [[row["name"], row["level"], row["status"], row["text"]] for row in checks]
    caption = "Structural checks; passing them does not say that a model can be released:"
    return _tabulate(caption, ["check", "level", "result", "found"], rows)


def _tabulate(caption, head, rows):
    return [caption, "", *make_table(head, rows), ""] if rows else []


def _tell_requirements(found):
    """What a release needs by the policy, in a line; empty for tables."""
    if found["release"] == "table":
        return ""
    able = {True: "able to find something", False: "not able to find anything"}
    listed = [f"{one['name']}: {able[one['is_met']]}" for one in found["requirements"]]
    return "; ".join(listed) or "nothing: the policy waives the rule"


def _list_requirements(found):
    told = _tell_requirements(found)
    return [f"* needed for a release: {escape(told)}"] if told else []


def _list_origin(provenance):
    """What was given, each in a line: text of the request, and what is to be repeated as it is."""
    return [
        f"* {escape(name)}: {escape(text) if name in REQUEST else quote(text)}"
        for name, text in provenance.items()
        if text
    ]


def _describe_hash(digest):
    return f"SHA-256 {quote(digest)}" if digest else "it was changed and has no hash"


# Hebrew, Arabic and other scripts that are written from right to left.
_LEFTWARD = "\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefe\U00010800-\U00010fff\U0001e800-\U0001efff"
_RUN = re.compile(f"[{_LEFTWARD}]+(?:[^\\S\n]+[{_LEFTWARD}]+)*")


# What a sentence emphasizes on a page, and what one types.
_STRONG, _CODE = re.compile(r"\*\*(.+?)\*\*"), re.compile("`(.+?)`")


def make_finalizer(markup):
    """Return the function that every expression of a template passes through before escaping."""

    def finalize(value):
        return visible(value) if isinstance(value, str) and not isinstance(value, markup) else value

    return finalize


def make_filters(markup):
    """Return filters that keep the direction of foreign text from changing the text around it."""
    element = markup("<bdi>{}</bdi>")

    def isolate(value):
        return element.format(visible(value))

    def isolate_runs(text):
        # Escaping first is safe: it neither adds nor removes any of these letters.
        return markup(_RUN.sub(r"<bdi>\g<0></bdi>", str(markup.escape(visible(text)))))

    def emphasize(text):
        # A string, because a substitution in markup would escape what is put in.
        text = _STRONG.sub(r"<b>\1</b>", str(isolate_runs(text)))
        return markup(_CODE.sub(r"<code>\1</code>", text))

    return {"bdi": isolate, "prose": isolate_runs, "strong": emphasize}


def make_policy(style):
    """Return a content security policy that allows this style, and nothing else."""
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


def render_page(name, package, own_style=None, **content):
    """Render a page with its style, and a policy that allows nothing else."""
    # own_style: of a page that does not share that of reports, a file beside its template
    jinja2 = import_optional("jinja2", extra="report")
    style, template = _load_template(jinja2, name, package, own_style)
    return template.render(style=style, policy=make_policy(style), **content)


@lru_cache  # because compiling takes as long as rendering
def _load_template(jinja2, name, package, own_style):
    """Return the style and the compiled template."""
    markup = jinja2.utils.markupsafe.Markup
    shared = {part: __package__ for part in ("page_base.html.j2", "page_parts.html.j2")}
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(lambda part: _read_part(part, shared.get(part, package))),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        finalize=make_finalizer(markup),
    )
    environment.filters |= make_filters(markup) | {"note_numbers": note_numbers}
    return markup(_read_style(own_style, package)), environment.get_template(name)


def _read_style(name, package):
    """The style without the spaces that only its readers need."""
    text = _read_part("page.css", __package__) if name is None else _read_part(name, package)
    text = " ".join(text.split()).replace(": ", ":")
    return re.sub(r" ?([{};,]) ?", r"\1", text)


def _read_part(name, package):
    return (files(package) / name).read_text(encoding="utf-8")


class Saved(NamedTuple):
    """The files of a report that were written, and those that could not be made."""

    paths: list  # of the files that were written
    failures: dict  # the error that prevented a file, by the name of the file

    @property
    def notes(self):
        """A sentence for each file that could not be made."""
        return [describe_failure(name, error) for name, error in self.failures.items()]


def save_documents(document, directory, numbers, others):
    """Write the document of a report, then its other files, each of them atomically."""
    # Notes in the file of the numbers say which file could not be made. The document is not
    # changed.
    directory, page = split_place(directory)
    directory.mkdir(parents=True, exist_ok=True)
    numbers, *names = (name_beside(page, name) for name in (numbers, *others))
    others = dict(zip(names, others.values(), strict=True))
    saved = Saved([directory / numbers], {})
    write_json(document, saved.paths[0])
    noted = document  # a copy with a note on each failure so far
    for name, write in others.items():
        try:
            write(noted, directory / name)
            saved.paths.append(directory / name)
        except Exception as error:  # whatever fails, the numbers stay and say so
            saved.failures[name] = error
            noted = document | {"notes": [*document["notes"], *saved.notes]}
    if saved.failures:
        with suppress(OSError):  # the numbers are there already, without the notes
            write_json(noted, saved.paths[0])
    return saved


def describe_failure(name, error):
    """A sentence on a file that could not be made, without the folder it was meant for."""
    if isinstance(error, OSError) and error.strerror:
        why = error.strerror
    else:
        why = visible(" ".join(str(error).split())).rstrip(".")
        why = why if isinstance(error, ImportError) else f"{type(error).__name__}: {why}"
    return f"The file {name} could not be made: {why}."


def write_text(text, path):
    """Write a text to a file, if there is a path, and return the text."""
    if path is not None:
        write_bytes(path, text.encode())
    return text


def write_json(document, path):
    """The same for the text of a JSON document."""
    return write_text(json.dumps(document, indent=2, allow_nan=False) + "\n", path)


def warn_of_failures(saved):
    """Warn the caller's caller of files that could not be made though their package is there."""
    for name, error in saved.failures.items():
        if not isinstance(error, ImportError):
            warnings.warn(describe_failure(name, error), RuntimeWarning, stacklevel=3)
    return saved.paths


def frame_page(report, title):
    """The page of a report, without jinja2 its text; a frame keeps its style off the notebook's."""
    try:
        page = report.to_html()
    except ImportError:
        return as_html(report.summary())
    return (
        f'<iframe sandbox="" srcdoc="{html.escape(page)}" '
        f'title="{html.escape(title)}" '
        'style="width: 100%; height: 40rem; border: 1px solid #888"></iframe>'
    )


EVIDENCE = LEAK, NONE, SHIFT, REVERSED, UNKNOWN = "leak", "none", "shift", "reversed", "unknown"
CONCLUSIVE = LEAK, NONE


# The three bars of a level, and what stands for them where the encoding has no others.
BARS = {None: "???", 0: "\u00b7\u00b7\u00b7", 1: "\u2582\u00b7\u00b7", 2: "\u2582\u2585\u00b7"}
BARS[3] = "\u2582\u2585\u2588"
ASCII = str.maketrans("\u2582\u2585\u2588\u00b7\u2026", "###..")

# Limits of the levels. Half of those that a false positive rate is multiplied by are members that
# an attacker recognizes by 5 of 6, and by 19 of 20; a member ranks above another record 3 of 5
# times, and 4 of 5; the excess is of attacks on a table. Two of each three are choices. No policy
# sets them, so that one word means the same on all pages; what a policy limits is in its advice.
LIMITS = {
    "ratio": {"clear": 5.0, "severe": 20.0},
    "auc": {"clear": 0.60, "severe": 0.80},
    "excess": {"clear": 0.09, "severe": 0.33},
}
_NAMES = ("slight", "clear", "severe")


class Level(NamedTuple):
    """How much was found: a level of what attacks reach."""

    name: str  # severe, clear or slight; none: nothing was shown; unknown: no verdict
    at_least: bool = False  # an estimate, but not the lower end of its interval, is higher
    # By name ("auc", "ratio") the highest corrected lower end and estimate, and its attack.
    numbers: dict = {}
    groups: tuple = ()  # scope and group of each part of the records, and these fields
    overall: bool = True  # False if only a group is beyond chance

    @property
    def filled(self):
        """Number of bars from 0 to 3; None without a verdict."""
        return {"none": 0, "unknown": None}.get(self.name, 1 + self.rank)

    @property
    def rank(self):
        """Place among the levels, below 0 where no leak was found."""
        return _NAMES.index(self.name) if self.name in _NAMES else -1

    @property
    def order(self):
        return self.rank, self.at_least

    @property
    def word(self):
        words = {"none": "None shown", "unknown": "No verdict"}
        usual = f"At least {self.name}" if self.at_least else self.name.capitalize()
        return words.get(self.name, usual)

    @property
    def heading(self):
        headings = {"none": "No leakage detected", "unknown": "No verdict"}
        return headings.get(self.name, f"{self.word} leakage")


def set_level(evidence, numbers):
    """The level of the numbers, each with ``low`` and ``estimate``, of what an evidence is of."""
    if evidence not in CONCLUSIVE:
        return Level("unknown")
    if evidence == NONE:
        return Level("none", numbers=numbers)
    shown, found = (
        max([0, *(_grade(name, number[end]) for name, number in numbers.items())])
        for end in ("low", "estimate")
    )
    return Level(_NAMES[shown], found > shown, numbers)


def _grade(name, value):
    # A limit that was computed as a quotient of rates, like .35 / .07, may be a rounding below.
    return sum(value >= limit * (1 - 1e-12) for limit in LIMITS[name].values())


def scale(level, stated):
    """How much wider than the stated interval one of another level is, by the normal law."""
    from scipy.special import ndtri  # not for the command line's help, which names roles

    return ndtri((1 + level) / 2) / ndtri((1 + stated) / 2)


def as_plain_level(level, names=("ratio", "auc")):
    """A level for a document, with the limits of the numbers that it was set by."""
    limits = {name: LIMITS[name] for name in names}
    return {**level._asdict(), "groups": list(level.groups), "limits": limits}


def read_level(plain):
    """A level of a document, or that of one of its groups."""
    return Level(**{name: plain[name] for name in Level._fields if name in plain})


# Size and margins of the drawing of curves, in pixels; both axes are logarithmic.
_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 390, 270, 44, 14, 24, 38
_LOWEST, _MOST_POINTS = -3, 48


def draw_roc(curves, point=None):
    """Compute the drawing of curves, each with rates, a level, a name and whether it is dashed."""
    # -> drawing: sizes, ticks and paths in pixels, with one decimal. Of each curve, what lies below
    # its rate "from" cannot be measured and is not drawn.
    ticks = [10.0**power for power in range(_LOWEST, 1)]
    lines = []
    for curve in curves:
        kept = [place for place, rate in enumerate(curve["fpr"]) if rate >= curve["from"]]
        if not kept:
            continue
        kept = kept[:: -(-len(kept) // _MOST_POINTS)] + kept[-1:]
        fpr, *rest = ([curve[name][k] for k in kept] for name in ("fpr", "tpr", "low", "high"))
        upper, lower = ([*zip(fpr, side)] for side in (rest[2], rest[1]))
        at = curve.get("at")
        label = _place_label(fpr, rest[0], at)
        lines.append(
            {name: curve[name] for name in ("name", "level", "dashed")}
            | {"points": _join(zip(fpr, rest[0])), "band": _join([*upper, *lower[::-1]])}
            | {"point": at and _put(*at), "label": label}
        )
    return {
        "width": _WIDTH,
        "height": _HEIGHT,
        "left": _LEFT,
        "right": _WIDTH - _RIGHT,
        "top": _TOP,
        "bottom": _HEIGHT - _BOTTOM,
        "ticks": [(f"{100 * rate:g}%", *_put(rate, rate)) for rate in ticks],
        "mark": point and _put(point, 1)[0],
        "guessing": [_put(0.12, 1)[0], _put(1, 0.07)[1]],
        "lines": _separate(lines),
    }


def _put(fpr, tpr):
    x, y = (1 - max(math.log10(max(rate, 1e-300)), _LOWEST) / _LOWEST for rate in (fpr, tpr))
    across, down = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM
    return round(_LEFT + x * across, 1), round(_HEIGHT - _BOTTOM - y * down, 1)


def _join(points):
    return " ".join(f"{x:g},{y:g}" for x, y in (_put(*point) for point in points))


def _place_label(fpr, tpr, at):
    """Below the point that is reported, or else near the start of the curve."""
    x, y = _put(*(at or (fpr[0], tpr[0])))
    return [min(x + 8, _WIDTH - _RIGHT - 60), min(y + 18, _HEIGHT - _BOTTOM - 4)]


def _separate(lines):
    """Move labels that would cover each other apart."""
    for line, above in zip(lines[1:], lines):
        if abs(line["label"][1] - above["label"][1]) < 15:
            line["label"][1] = above["label"][1] + 15
    return lines


def write_conclusion(grounds, evidence, headlines, describe):
    """Return 'headline. description' for a verdict."""
    return visible(f"{headlines[evidence]}. {describe[evidence](grounds)}")


def check_evidence(document, evidence):
    """Refuse a document with another evidence than the one that follows from its numbers."""
    if evidence != document["evidence"]:
        raise ValueError(
            f"evidence is {document['evidence']!r}, but its numbers and checks say {evidence!r}"
        )
