"""The files of an audit: first the numbers, then the figure and the page."""

import io
from functools import partial

from .._core.files import write_bytes
from .._core.optional import import_optional
from .._core.pages.saved import save_documents, write_text
from ._plot import draw_document
from .page import render


def save_report(document, directory, values=None):
    """Write ``audit.json``, ``roc.png`` and ``report.html``, each of them atomically.

    Parameters
    ----------
    document : dict
        Document as written by :meth:`AuditReport.to_json`.
    directory : str or path
        Folder, which is created if it does not exist.
    values : DataFrame of n rows, default=None
        As for :meth:`AuditReport.to_html`.

    Returns
    -------
    saved : Saved
        As of :func:`save_documents`.
    """
    others = {"roc.png": _draw, "report.html": partial(_render, values=values)}
    return save_documents(document, directory, "audit.json", others)


def _render(document, path, values):
    write_text(render(document, values=values), path)


def _draw(document, path):
    # A figure made without pyplot opens no window and leaves the caller's backend and state alone.
    module = import_optional("matplotlib.figure", extra="plot")
    figure = module.Figure(figsize=(7.5, 5.5), layout="constrained")
    draw_document(document, figure.subplots())
    content = io.BytesIO()
    figure.savefig(content, format="png", dpi=150)
    write_bytes(path, content.getvalue())
