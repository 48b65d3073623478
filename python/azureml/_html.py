"""The tables that notebooks show for a run, an experiment or a workspace."""

import html


def table(pairs):
    """One row of headings and one of values; a value that is a pair (text, address) is a link."""
    heads = "".join(f"<th>{html.escape(str(name))}</th>" for name, _ in pairs)
    cells = "".join(f"<td>{_cell(value)}</td>" for _, value in pairs)
    return f'<table style="width:100%"><tr>{heads}</tr><tr>{cells}</tr></table>'


def _cell(value):
    if isinstance(value, tuple):
        text, address = value
        if str(address).startswith(("http://", "https://")):
            return (
                f'<a href="{html.escape(str(address), quote=True)}" target="_blank" rel="noopener">'
                f"{html.escape(str(text))}</a>"
            )
        value = text
    return html.escape("" if value is None else str(value))
