"""What is told of an audit, held against its numbers."""

import html
import json
import re
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from skmia.cli._gate import judge, list_findings
from skmia.cli._options import parse_limit
from skmia.cli._output import format_result
from skmia.cli._policy import as_finding
from skmia.disclosure import render_sheet
from skmia.report._document import as_audit_document
from skmia.report._page import render_audit

_LIMITS = {"auc": (0.6, 0.8), "ratio": (5, 20)}
_GATE = ("auc.high=0.6", "level=slight")
_WORDS = ("slight", "clear", "severe")
_COUNT = r"(?:more than |fewer than )?[\d,]*\d"


class Told(NamedTuple):
    """An audit and all that is told of it."""

    report: object
    document: dict
    text: str
    page: str
    markdown: str

    @property
    def ways(self):
        """The part of the document on each route."""
        ways = {"file": self.document["file"], "service": self.document}
        return {way: found for way, found in ways.items() if found is not None}

    @property
    def body(self):
        """The visible text of the page."""
        body = re.sub(
            r"<(svg|style)\b.*?</\1>", " ", self.page[self.page.index("<body") :], flags=re.S
        )
        return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", body)).split())

    @property
    def sentence(self):
        return " ".join(self.text.split("\n\n")[1].split())


def tell(report):
    """The document, the text, the page and the Markdown of a report."""
    document = json.loads(json.dumps(as_audit_document(report)))
    return Told(report, document, report.summary(), render_audit(document), report.to_markdown())


def list_contradictions(told):
    """Sentences on what contradicts a number, none for a sound audit."""
    return [found for look in _LOOKS for found in look(told)]


# --- numbers by hand


def _choose_rate(told):
    rates = {
        row["max_fpr"]
        for found in told.ways.values()
        for row in found["results"]
        if (row["metric"], row["scope"], row["status"]) == ("tpr", "overall", "ok")
    }
    usual = _choose_usual(rates)
    found = max(told.ways.values(), key=lambda one: _order(one["level"]))
    level = found["level"]
    if usual is None or level["name"] not in _WORDS or not level["overall"]:
        return usual
    best = {rate: _get_best(found, "tpr", rate) for rate in rates}
    if level["name"] == "slight":
        leaks = [row for row in _list_leaks(told, found) if row["scope"] == "overall"]
        keys = {(row["attack"], row["max_fpr"]) for row in leaks if row["metric"] == "tpr"}
        shown = {rate for rate, row in best.items() if row and (row["attack"], rate) in keys}
        is_ranked = any(row["metric"] == "auc" for row in leaks)
        return usual if is_ranked or usual in shown or not shown else _choose_usual(shown)
    place = _WORDS.index(level["name"]) - 1
    numbers, row = level["numbers"], best[usual]
    if "ratio" not in numbers or numbers["auc"]["low"] >= _LIMITS["auc"][place] * (1 - 1e-9):
        return usual
    if row and row["low"] / min(row["max_fpr"], row["fpr_high"]) >= _LIMITS["ratio"][place]:
        return usual
    return numbers["ratio"]["max_fpr"]


def _choose_usual(rates):
    usual = [rate for rate in rates if rate >= 0.01]
    return min(usual) if usual else max(rates, default=None)


def _order(level):
    place = _WORDS.index(level["name"]) if level["name"] in _WORDS else -1
    return place, level["at_least"]


def _choose_base(rate):
    return (
        100 if rate is None or rate >= 0.01 - 1e-12 else 10 ** int(np.ceil(-np.log10(rate) - 1e-9))
    )


def _get_best(found, metric, rate=None, part=("overall", "all")):
    rows = [
        row
        for row in found["results"]
        if (row["scope"], row["group"], row["metric"], row["status"]) == (*part, metric, "ok")
        and row["max_fpr"] in (None, rate)
    ]
    rows = [row for row in rows if row["told"]] or rows
    return max(rows, key=lambda row: (row["estimate"], -(row["fpr"] or 0)), default=None)


def _list_leaks(told, found):
    side = (1 - told.document["settings"]["confidence_level"]) / 2
    rows = (found["permutation"] or {"numbers": []})["numbers"]
    return [row for row in rows if row["pvalue_adjusted"] <= side * (1 + 1e-12)]


def _grade(told, found, part, n_parts):
    """The level of a part of the records by its rows: a word, and whether it is at least so."""
    level = told.document["settings"]["confidence_level"]
    rows = [row for row in found["results"] if (row["scope"], row["group"]) == part]
    rows = [row for row in rows if row["status"] == "ok" and row["metric"] != "advantage"]
    told_of = {(row["metric"], row["max_fpr"]) for row in rows if row["told"]}
    rows = [row for row in rows if row["told"] or (row["metric"], row["max_fpr"]) not in told_of]
    n_attacks = 1 if all(row["told"] for row in rows) else len({row["attack"] for row in rows})
    n_compared = n_parts * n_attacks
    ends = [0, 0]
    for row in rows:
        wider = ndtri(1 - (1 - level) / n_compared / 2) / ndtri((1 + level) / 2)
        numbers = [row["estimate"] - wider * (row["estimate"] - row["low"]), row["estimate"]]
        limits = _LIMITS["auc"]
        if row["metric"] == "tpr":
            limits = _LIMITS["ratio"]
            for place, by in enumerate((wider, 1.0)):
                high = row["fpr"] + by * (row["fpr_high"] - row["fpr"])
                numbers[place] /= min(row["max_fpr"], high)
        for place, number in enumerate(numbers):
            reached = sum(number >= limit * (1 - 1e-9) for limit in limits)
            ends[place] = max(ends[place], reached)
    return f"{'at least ' if ends[1] > ends[0] else ''}{_WORDS[ends[0]]}"


def _show_level(level):
    if level["name"] in ("none", "unknown"):
        return {"none": "none shown", "unknown": "no verdict"}[level["name"]]
    return f"at least {level['name']}" if level["at_least"] else level["name"]


def _show_count(share, base):
    """How a share of so many records may be told."""
    if share < 1 and round(base * share) == base:
        return f"more than {base - 1:,}"
    if base * share <= 0.5:
        return "0" if share == 0 else "fewer than 1"
    return f"{base * share:,.0f}"


def _show_cell(share, base):
    """The same where there is no room for words."""
    return _show_count(share, base).replace("fewer than ", "<").replace("more than ", ">")


def _show_low(share, base):
    """The same of a lower end, which is all of them only where it is 1 as well."""
    return _show_cell(share, base) if base * share > 0.5 else "0"


def _read_count(text):
    """The number that a count stands for, about."""
    number = text.replace("none", "0").replace(",", "")
    return (
        float(number.split()[-1]) + 0.5 * number.startswith("more") - 0.5 * number.startswith("few")
    )


# --- what is looked at


def _look_at_levels(told):
    """Each level is the one of its rows."""
    for way, found in told.ways.items():
        level = found["level"]
        if found["evidence"] != "leak" or "beyond the shift" in str(level["numbers"]):
            continue
        leaks = {(row["scope"], row["group"]) for row in _list_leaks(told, found)}
        if not leaks:
            yield f"{way}: a leak without a number beyond chance"
        parts = level["groups"]
        wanted = {("overall", "all"): _grade(told, found, ("overall", "all"), 1)}
        for one in parts:
            part = one["scope"], one["group"]
            wanted[part] = _grade(told, found, part, len(parts)) if part in leaks else "none shown"
        given = {("overall", "all"): level} | {(one["scope"], one["group"]): one for one in parts}
        if not level["overall"] and leaks & wanted.keys():
            listed = [given[part] for part in leaks & wanted.keys()]
            wanted["overall", "all"] = _show_level(max(listed, key=_order))
        for part, word in wanted.items():
            if _show_level(given[part]) != word:
                yield f"{way} {part}: {_show_level(given[part])} for {word}"
        if level["overall"] != (("overall", "all") in leaks):
            yield f"{way}: overall"
        if not level["overall"] and level["name"] != "unknown" and not parts:
            yield f"{way}: nobody leaks"


def _look_at_headlines(told):
    """One heading a route in each format, none of them without leakage above what is found."""
    report, text = told.report, " ".join(told.text.split()).lower()
    ways = {"service": report.service} | ({"file": report.file} if report.file else {})
    for way, found in ways.items():
        if f"{found.level.heading} as a {way}".lower() not in text:
            yield f"the text lacks {found.level.heading} as a {way}"
        if f"**{found.level.heading}** as a {way}" not in told.markdown:
            yield f"Markdown lacks {found.level.heading} as a {way}"
        leaks = _list_leaks(told, told.ways[way])
        if found.level == "none" and leaks:
            yield f"no leakage as a {way}, where {len(leaks)} numbers are beyond chance"
        if found.level.heading.startswith("No verdict") != (found.evidence not in ("leak", "none")):
            yield f"{found.level.heading} of {found.evidence}"
    if not re.search(
        f"<h1>{report.level.heading}( in a group)?( in noisy answers)?</h1>", told.page
    ):
        yield "the page has another heading"
    if told.document["page_level"] != report.level:
        yield "page_level"
    worst = max(found.level.order for found in ways.values())
    if report.level.order != worst:
        yield "the page has not the highest level"


def _look_at_sentence(told):
    """Each count of the first sentence is that of its row, with the rate that was measured."""
    text, rate = told.sentence, _choose_rate(told)
    base = _choose_base(rate)
    plain = [re.sub(r"[\s\\`*]", "", one) for one in (text, told.body, told.markdown)]
    if not all(plain[0] in one for one in plain[1:]):
        yield f"not one sentence: {text}"
    conclusive = {way: one for way, one in told.ways.items() if one["evidence"] in ("leak", "none")}
    if told.report.level == "unknown" or "beyond the difference" in text:
        return
    rows = [row for one in conclusive.values() if (row := _get_best(one, "tpr", rate))]
    rows += [
        row
        for one in conclusive.values()
        for row in one["results"]
        if row["metric"] == "tpr" and row["scope"] == "overall" and row["status"] == "ok"
    ]
    bases = {_choose_base(row["max_fpr"]) for row in rows} or {base}
    shown = {(_show_count(r["estimate"], b), _show_count(r["fpr"], b)) for r in rows for b in bases}
    count = rf"({_COUNT})"
    patterns = [
        rf"recognizes? (?:no more than chance explains: )?{count} of [\d,]+ training records, and "
        rf"mistakes {count} of",
        rf"recognizes? {count} of [\d,]+ training records, when {count} of",
        rf"explains: {count} of [\d,]+ training records, and at most [\d.]+, when {count} of",
        rf"surely: {count} of [\d,]+ members, and {count} of",
        rf"it is {count} of [\d,]+, when {count} of",
    ]
    for pattern in patterns:
        for pair in re.findall(pattern, text):
            if pair not in shown:
                yield f"{pair} is no row: {text}"
    aucs = {
        _show_count(row["estimate"], 100)
        for one in conclusive.values()
        for row in one["results"]
        if row["metric"] == "auc" and row["status"] == "ok"
    }
    for number in re.findall(rf"non-member {count} of 100 times", text):
        if number not in aucs:
            yield f"{number} is no AUC: {text}"
    found = re.search(
        rf"explains: {count} of ([\d,]+) training records, and at most ([\d.]+)", text
    )
    if found:
        number, most = (float(found[k].split()[-1].replace(",", "")) for k in (1, 3))
        if most < number or "." in found[3].rstrip("."):
            yield f"at most less, or with other digits: {text}"


def _look_at_chance(told):
    """What is called more than chance is more than chance."""
    text = told.sentence
    leaks = {way: _list_leaks(told, found) for way, found in told.ways.items()}
    if "more than chance, and" in text or "beyond chance, and" in text:
        if not any(row["scope"] == "overall" for rows in leaks.values() for row in rows):
            yield f"more than chance, though nothing is: {text}"
    named = re.search(rf"recognizes ({_COUNT}) of [\d,]+ .*when ({_COUNT}|none) of", text)
    if named and "chance explains" not in text:
        number, other = map(_read_count, named.groups())
        if number <= other:
            yield f"more than chance, though as many are mistaken: {text}"
    if re.search(r"can recognize", text):
        rate = _choose_rate(told)
        rows = [_get_best(one, "tpr", rate) for one in told.ways.values()]
        if not any(row and row["estimate"] > row["fpr"] for row in rows):
            yield f"recognized, though more are mistaken: {text}"


def _list_lines(told):
    """Lines of the table of the terminal: way, part, count, AUC, level."""
    lines = told.text.split("\n")
    heads = (k for k, line in enumerate(lines) if re.match(r" +of [\d,]+ +ranks higher", line))
    head = next(heads, None)
    way = None
    for line in lines[head + 1 :] if head is not None else []:
        if line.startswith("  guessing"):
            return
        if re.search(r"\d more groups?: ", line):
            continue
        way = line[2:11].strip() or way
        name, shown = line[11:27].strip(), line[27:]
        part = ("overall", "all") if name == "all" else tuple(name.split(" ", 1))
        cell = r"(-|[<>]?[\d.,]+ \[[^\]]*\])"
        yield way, part, *re.fullmatch(rf"\s*{cell}\s+{cell}\s+(.*)", shown).groups()


def _look_at_table(told):
    """Each line of the terminal is its row, and nothing is shown only where no interval is."""
    rate, text = _choose_rate(told), " ".join(told.text.split())
    base = _choose_base(rate)
    lines = [*_list_lines(told)]
    if lines and f"of {base:,}" not in told.text:
        yield f"the table is not of {base}"
    above = 0
    for way, part, count, auc, word in lines:
        found = told.ways[way]
        if part == ("overall", "all"):
            level = found["level"] if found["level"]["overall"] else {"name": "none"}
        else:
            level = next(g for g in found["level"]["groups"] if (g["scope"], g["group"]) == part)
        if word != _show_level(level):
            yield f"{way} {part}: {word}"
        tpr, rank = (
            None if rate is None else _get_best(found, "tpr", rate, part),
            _get_best(found, "auc", None, part),
        )
        wanted = "-"
        if tpr is not None:
            number, most = (_show_cell(tpr[k], base) for k in ("estimate", "high"))
            wanted = f"{number} [{_show_low(tpr['low'], base)}, {most}]"
        if count.replace(" ", "") != wanted.replace(" ", ""):  # which align the columns
            yield f"{way} {part}: {count} for {wanted}"
        wanted = "-" if rank is None else "{estimate:.3f} [{low:.3f}, {high:.3f}]".format(**rank)
        if auc != wanted:
            yield f"{way} {part}: {auc} for {wanted}"
        if word == "none shown" and rank is not None and rank["low"] > 0.5:
            above += 1
    if above and "above chance" not in text:
        yield f"none shown beside an interval above chance, {above} times, without a word on it"
    if above and "above chance" not in told.body:
        yield "the page says nothing of an interval above chance"


def _look_at_units(told):
    """One unit for what is recognized on the first screen."""
    base = _choose_base(_choose_rate(told))
    hero = told.page[told.page.index('id="result"') : told.page.index('id="how"')]
    hero = html.unescape(re.sub(r"<[^>]+>", " ", hero))
    hero = re.sub(r"of 100 (times|recognized)|recognized are", "", hero)
    units = {
        int(n.replace(",", ""))
        for n in re.findall(r"\bof (10+0|1,000|10,000|100,000)(?! (?:times|recognized))\b", hero)
        if f"of {n} are" not in hero
    }
    if told.report.level != "unknown" and not units <= {base, 100}:
        yield f"units {units} for {base}"
    told_of = re.findall(r"of ([\d,]+) (?:training records|members|others)", told.sentence)
    if told.report.level != "unknown" and {int(n.replace(",", "")) for n in told_of} - {base}:
        yield f"the sentence is of {told_of} for {base}: {told.sentence}"


def _look_at_dots(told):
    """Dots are of the strongest row of each route."""
    rate = _choose_rate(told)
    base = _choose_base(rate)
    grids = re.findall(r'<p class="n">(.*?)</p><figcaption><p>(.*?)</p>', told.page)
    grids = [[html.unescape(re.sub(r"<[^>]+>", "", one)) for one in grid] for grid in grids]
    for way, words in (("file", "with the file"), ("service", "as a service")):
        for kind, end in (("members", "estimate"), ("others", "fpr")):
            shown = [n for n, text in grids if text.startswith(kind) and words in text]
            if not shown or way not in told.ways:
                continue
            row = None if rate is None else _get_best(told.ways[way], "tpr", rate)
            wanted = "-" if row is None else f"{_show_count(row[end], base)} of {base:,}"
            wanted = wanted.replace("fewer than", "<").replace("more than", ">")
            if shown != [wanted] and not (wanted[0] == "0" and shown[0].startswith("< 1")):
                yield f"dots {way} {kind}: {shown} for {wanted}"


def _look_at_groups(told):
    """Each cell of the table of groups is its row, in one unit, and who is exposed most leaks."""
    page = told.page
    if 'id="groups"' not in page:
        return
    table = page[page.index('id="groups"') :]
    lead, table = table[: table.index("<table")], table[: table.index("</table>")]
    rate = _choose_rate(told)
    base = _choose_base(rate)
    counted = re.search(r"Members recognized of ([\d,]*\d)", table)
    if counted and counted[1] != f"{base:,}":
        yield f"the groups are of {counted[1]}"
    for name, cells in re.findall(r'<tr><th scope="row">(.*?)<small>.*?</th>(.*?)</tr>', table):
        name = html.unescape(re.sub(r"<[^>]+>", "", name))
        part = ("overall", "all") if name == "All records" else tuple(name.split(": ", 1))
        pattern = r'data-l="(\w+)"><span class="val"><b>(.*?)</b> <i>(.*?)</i>'
        for way, number, ends in re.findall(pattern, cells):
            row = _get_best(told.ways[way], "tpr" if counted else "auc", rate, part)
            if row is None:
                wanted = ["-", "too few others"]
            else:
                unit = base if counted else 1
                digits = 3 if not counted else 0 if unit * row["high"] >= 5 else 1
                values = [f"{unit * row[k]:,.{digits}f}" for k in ("estimate", "low", "high")]
                if not digits:
                    values[::2] = (_show_cell(row[k], base) for k in ("estimate", "high"))
                    values[1] = _show_low(row["low"], base)
                wanted = [values[0], " to ".join(values[1:])]
            if [html.unescape(number), html.unescape(ends)] != wanted:
                yield f"cell {way} {part}: {number}, {ends} for {wanted}"
    named = re.search(
        r"Members of (.*?) are exposed most: (.*?)\.</p>", re.sub(r"</?bdi>", "", lead)
    )
    if named and told.report.level in ("none", "unknown"):
        yield f"exposed most, though nothing is shown: {named[0]}"
    pattern = r"Members of (.*?) are exposed most: (.*?)\.(?= Members of|</p>)"
    for name, numbers in re.findall(pattern, re.sub(r"</?bdi>", "", lead)):
        for way, words in (("file", "with the file"), ("service", "as a service")):
            groups = told.ways[way]["level"]["groups"] if words in numbers else []
            orders = {f"{one['scope']}: {one['group']}": _order(one) for one in groups}
            if groups and orders[html.unescape(name)] < max(orders.values()):
                yield f"exposed most {words}, though another group is at a higher level: {name}"


def _look_at_release(told):
    """No release stands beside a warning, and no other word beside the one of the policy."""
    report, found = told.report, told.report.recommendation
    if found is None:
        return
    bad = [
        name
        for name, one in report.checks.items()
        if one.is_error or (one.is_warning and name not in ("permuted membership",))
    ]
    is_released = found.result in ("release", "release with conditions")
    if is_released and bad:
        yield f"{found.result} beside {bad}"
    if is_released and report.service.evidence not in ("leak", "none"):
        yield f"{found.result} without a verdict"
    text = " ".join(told.text.split())
    verb = {"file": "hand out", "service": "offer"}.get(found.release)
    if is_released and f"Do not {verb} the {found.release}" in text:
        yield "released, and not to be handed out"
    if not is_released and "may be released" in text:
        yield "may be released"
    sheet = render_sheet(told.document)
    plain = " ".join(html.unescape(re.sub(r"<[^>]+>", " ", sheet)).split())
    for name, one in (("sheet", plain), ("page", told.body), ("text", text)):
        if found.result not in one.lower():
            yield f"the {name} lacks {found.result}"
    if re.search(r"\b0 of \d+ numbers (is|are) above", plain + text):
        yield "0 of some numbers are above their limits"


def _look_at_codes(told):
    """Exit code, JUnit, SARIF and the verdict agree."""
    report = told.report
    ways = ("service", "file") if report.file is not None else ("service",)
    if report.recommendation is not None:
        ways = (report.recommendation.release,)
    for way in ways:
        for limits in ([], [parse_limit(limit) for limit in _GATE]):
            findings = list_findings(report, limits, way)
            if report.recommendation is not None:
                findings.append(as_finding(report.recommendation))
            if len(told.ways) == 1 and told.sentence.rstrip(".") not in findings[0].text:
                yield f"the gate says {findings[0].text} for {told.sentence}"
            code, reasons = judge(findings)
            yield from _compare_codes(told, way, findings, code)
            if bool(code) != bool(reasons):
                yield f"code {code} with {len(reasons)} reasons"


def _compare_codes(told, way, findings, code):
    report = told.report
    asked = [report.service, *([report.file] if way == "file" else [])]
    is_open = any(one.evidence not in ("leak", "none") for one in asked)
    if is_open and code not in (1, 4):
        yield f"code {code} without a verdict"
    if code == 4 and not any(one.code == 4 for one in findings):
        yield "code 4 without a reason"
    junit = format_result("junit", report, told.document, findings, None)
    n_failures, n_errors = junit.count("<failure"), junit.count("<error")
    told_counts = re.search(r'failures="(\d+)" errors="(\d+)"', junit)
    if (str(n_failures), str(n_errors)) != told_counts.groups():
        yield "JUnit counts"
    if bool(code) != bool(n_failures + n_errors):
        yield f"code {code}, JUnit {n_failures} and {n_errors}"
    sarif = json.loads(format_result("sarif", report, told.document, findings, None))
    kinds = {"severe": "error", "clear": "warning", "slight": "note"}
    for one, row in zip(findings, sarif["runs"][0]["results"], strict=True):
        wanted = "error" if one.code == 1 else kinds.get(one.level and one.level.name, "none")
        if row["level"] != wanted:
            yield f"SARIF {row['level']} for {wanted}"
        if one.code == 4 and row["level"] == "none" and row["kind"] != "open":
            yield f"SARIF {row['kind']} for an open question"


_EXPONENT = re.compile(r"(?<![=<>.\w] )\b\d(?:\.\d+)?e[+-]?\d+")


def _look_at_digits(told):
    """No number has an exponent or the digits of a computer, and no share is rounded to all."""
    for name, text in (("text", told.text), ("page", told.body), ("Markdown", told.markdown)):
        plain = re.sub(r"p [<=] [\d.e+-]+|Scores of \d+ records.*?How it was", "", text)
        found = _EXPONENT.search(plain)
        if found:
            yield f"{name}: {plain[max(0, found.start() - 40) : found.end() + 20]!r}"
        long = re.search(r"\b\d\.\d{7,}", plain)
        if long:
            yield f"{name}: {plain[max(0, long.start() - 40) : long.end()]!r}"
        if "nan" in re.findall(r"\b\w+\b", text):
            yield f"{name}: nan"
    ones = {
        row[end]
        for found in told.ways.values()
        for row in found["results"]
        for end in ("estimate", "high")
    } | {(told.document["baseline"] or {"auc": 0})["auc"]}
    if re.search(r"\b(100 of 100|1,000 of 1,000)\b", told.text + told.body) and 1.0 not in ones:
        yield "all of them, though no share is 1"


_LOOKS = (
    *(_look_at_levels, _look_at_headlines, _look_at_sentence, _look_at_chance, _look_at_table),
    *(_look_at_units, _look_at_dots, _look_at_groups, _look_at_release, _look_at_codes),
    _look_at_digits,
)


# --- numbers

# Places with numbers of skmia itself: limits of levels, what is needed, names and versions.
_OWN_PLACES = (
    r"Levels and their limits.*?after correction for all results",
    r"Made with skmia \S+|\d+ January 2026, \d\d:\d\d UTC",
    r"of (100|1,000|10,000|100,000)\b",
    r"chance is 0\.5|guessing(: | is )?0?\.?5?|1 or true",
    r"Audit with [\d,]+ non-members or more, and with [\d.]+",
    r"--fail-above \S+|scale from 0 to 100%|p [<=] [\d.e-]+",
    r"least [\d,]+ members and [\d,]+ non-members|fewer than 10 false positives",
    r"Of 100 recognized records, [^.]*\.",
    r"(?i)of \d+ numbers?, [^.]*\.|\d+ checks? needs? a reason|leverage above [\d.]+",
    r"(1 other|0 others?|\d+ more|20 for each route|, \d+ numbers each|4 numbers each)",
    r"after correction for \d+ results|Of \d+ pointwise intervals.*?by chance",
    r"It takes [\d,]+|[\d,]+ non-members for rates",
    r"Next +\d|(?<=\. )\d(?=  ?[A-Z])",
    r"Repeat it.*",
)
_NUMBER = re.compile(r"(?<![\w.:@-])-?\d[\d,]*(?:\.\d+)?(?:e[+-]\d+)?(?![\w:])")


def _list_leaves(value):
    if isinstance(value, dict):
        for one in value.values():
            yield from _list_leaves(one)
    elif isinstance(value, list):
        for one in value:
            yield from _list_leaves(one)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield float(value)
    elif isinstance(value, str):
        yield from (float(n.replace(",", "")) for n in _NUMBER.findall(value))


def list_strange_numbers(told):
    """Numbers of the text and of the page that are nowhere in the document, with their place."""
    document = told.document
    leaves = {*_list_leaves(document), *(2 * one for one in _list_leaves(document["permutation"]))}
    rates = {row["fpr_high"] for found in told.ways.values() for row in found["results"]}
    base = _choose_base(_choose_rate(told))
    for found in told.ways.values():
        leaves |= {len(found["exposed"]), len({row["attack"] for row in found["results"]})}
    leaves |= {10 / document["data"]["n_nonmembers"], document["data"]["n_records"]}
    power = document["power"]
    for row in [] if power is None else power["numbers"]:
        spread = 2 * (row["sd"] or 0)
        leaves |= {max(0, row["auc"] - spread), min(1, row["auc"] + spread)}
    leaves |= {1 - document["settings"]["confidence_level"]}
    statuses = [one["status"] for one in document["checks"]]
    leaves |= {statuses.count(status) for status in set(statuses)}
    shown = {scale * one for one in leaves for scale in (1, 100, base)}
    shown |= {np.ceil(base * one - 1e-9) for one in rates if one is not None}
    shown |= {float(base - 1), 99.0}  # more than 99 of 100
    numbers = np.array(sorted(shown))
    strange = []
    for name, text in (("text", " ".join(told.text.split())), ("page", told.body)):
        for place in _OWN_PLACES:
            text = re.sub(place, " ", text)
        for found in _NUMBER.finditer(text):
            value, _, exponent = found[0].replace(",", "").partition("e")
            step = 10.0 ** (int(exponent or 0) - len(value.partition(".")[2]))
            value = float(value) * 10.0 ** int(exponent or 0)
            if np.abs(numbers - value).min() > 0.5000001 * step:
                around = text[max(0, found.start() - 40) : found.end() + 20]
                strange.append(f"{name}: {found[0]} in {around!r}")
    return strange
