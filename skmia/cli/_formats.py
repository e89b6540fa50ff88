"""What ``skmia audit`` prints: text for people, or a document for another program."""

import json
from xml.sax.saxutils import escape, quoteattr

from .. import __version__
from .._core.visible import visible
from ._gate import EXCEEDED, INCONCLUSIVE, VERDICT

FORMATS = ("text", "json", "markdown", "junit", "sarif")

_SARIF = "https://json.schemastore.org/sarif-2.1.0.json"
_RULES = {
    "verdict": "Whether the attacks are better than guessing",
    "limit": "A limit on the success of the attacks",
}


def format_result(kind, report, document, findings, source, command="audit"):
    """Format an audit for the standard output.

    Parameters
    ----------
    kind : {"text", "json", "markdown", "junit", "sarif"}
        "junit" has a test case for the verdict and for each limit; "sarif" a result for each.
    report : AuditReport or TableReport
    document : dict
        Its document.
    findings : list of Finding
    source : str or None
        Name of the file that the audit is about.
    command : str, default="audit"
        Command that made the audit.

    Returns
    -------
    text : str
    """
    if kind == "text":
        return report.summary()
    if kind == "json":
        return _as_text(document)
    if kind == "markdown":
        return report.to_markdown()
    if kind == "junit":
        return _as_junit(report, findings, command)
    return _as_text(_as_sarif(findings, source))


def _as_text(document):
    # The one control character that JSON may hold as it is.
    return json.dumps(document, indent=2, allow_nan=False).replace("\x7f", "\\u007f")


def _as_junit(report, findings, command):
    failures = sum(finding.code == EXCEEDED for finding in findings)
    errors = sum(finding.code == INCONCLUSIVE for finding in findings)
    seconds = f"{report.seconds['total']:.3f}"
    counts = f'tests="{len(findings)}" failures="{failures}" errors="{errors}" time="{seconds}"'
    lines = ['<?xml version="1.0" encoding="utf-8"?>', f'<testsuites name="skmia" {counts}>']
    lines.append(f'  <testsuite name="skmia {command}" {counts}>')
    for finding in findings:
        lines += _as_case(finding)
    return "\n".join([*lines, "  </testsuite>", "</testsuites>"])


def _as_case(finding):
    name = f'classname="skmia.{finding.way}" name={quoteattr(visible(finding.name))}'
    text = escape(visible(finding.text))
    if not finding.code:
        found = f"<system-out>{text}</system-out>" if text else ""
        return [f"    <testcase {name}>{found}</testcase>"]
    tag = "failure" if finding.code == EXCEEDED else "error"
    message = quoteattr(visible(finding.text))
    return [f"    <testcase {name}>", f"      <{tag} message={message}/>", "    </testcase>"]


def _as_sarif(findings, source):
    rules = [{"id": name, "shortDescription": {"text": text}} for name, text in _RULES.items()]
    driver = {"name": "skmia", "version": __version__, "rules": rules}
    results = [_as_sarif_result(finding, source) for finding in findings]
    return {
        "$schema": _SARIF,
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": results}],
    }


def _as_sarif_result(finding, source):
    text = finding.text or f"{finding.name} holds"
    rule = "verdict" if finding.name == VERDICT else "limit"
    holds = "informational" if rule == "verdict" else "pass"
    result = {
        "ruleId": rule,
        "kind": {0: holds, EXCEEDED: "fail", INCONCLUSIVE: "open"}[finding.code],
        "level": "error" if finding.code == EXCEEDED else "none",
        "message": {"text": f"As a {finding.way}: {visible(text).rstrip('.')}."},
    }
    if source is not None:
        place = {"artifactLocation": {"uri": source}}
        result["locations"] = [{"physicalLocation": place}]
    return result
