"""Tables for a terminal and for a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape


def text_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table as text; columns of numbers are aligned to the right.

    Parameters
    ----------
    head : sequence of str
        Titles of the columns.
    rows : sequence of sequence of str
        Cells of each row.

    Returns
    -------
    str
        The table.

    Examples
    --------
    >>> print(text_table(["block", "value"], [["svm", "1.5"], ["hint", "10.25"]]))
    block  value
    svm      1.5
    hint   10.25
    """
    lines = [list(head), *[list(row) for row in rows]]
    widths = [max(len(line[j]) for line in lines) for j in range(len(head))]
    right = [all(_numeric(row[j]) for row in rows) and bool(rows) for j in range(len(head))]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if flush else cell.ljust(width)
            for cell, width, flush in zip(line, widths, right, strict=True)
        ).rstrip()
        for line in lines
    )


def html_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table as HTML.

    Parameters
    ----------
    head : sequence of str
        Titles of the columns.
    rows : sequence of sequence of str
        Cells of each row.

    Returns
    -------
    str
        The table.

    Examples
    --------
    >>> html_table(["a < b"], [["1"]])
    '<table><thead><tr><th>a &lt; b</th></tr></thead><tbody><tr><td>1</td></tr></tbody></table>'
    """

    def row(cells: Sequence[str], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"

    body = "".join(row(cells, "td") for cells in rows)
    return f"<table><thead>{row(head, 'th')}</thead><tbody>{body}</tbody></table>"


def _numeric(cell: str) -> bool:
    return (
        cell in ("-", "")
        or cell.lstrip("+-").replace(".", "", 1).replace("e-", "").replace("e+", "").isdigit()
    )
