"""What the widget draws: state, time line, charts and the end of the log. Plain HTML and SVG, no scripts, and all text
escaped."""

import html
import math

FINAL = ("Completed", "Failed", "Canceled")
_COLOURS = {"Completed": "#1a7f37", "Failed": "#cf222e", "Canceled": "#6e7781", "Running": "#0969da"}
_WIDTH, _HEIGHT, _PAD = 280, 120, 8
_MOST_POINTS = 400
_MOST_CHARTS = 12
_LINES = 30


def series(points):
    """{name: [(step, value)]} from points of the server; steps that never move are counted."""
    from slipway._metrics import number_from_json

    found = {}
    for point in points:
        found.setdefault(point["name"], []).append(
            (point.get("step", 0), float(number_from_json(point["value"])))
        )
    for name, values in found.items():
        if len(values) > 1 and len({step for step, _ in values}) == 1:
            found[name] = [(index, value) for index, (_, value) in enumerate(values)]
    return found


def page(data):
    record = data["record"]
    state = record["state"]
    colour = _COLOURS.get(state, "#9a6700")
    why = record.get("waiting_because") or record.get("reason") or ""
    charts = "".join(chart(name, values) for name, values in list(data["metrics"].items())[:_MOST_CHARTS])
    log = html.escape("\n".join(data["log"].splitlines()[-_LINES:]))
    return (
        '<div style="font-family:system-ui,sans-serif;border:1px solid #d0d7de;border-radius:6px;padding:12px">'
        f"<div><b>{html.escape(record['id'])}</b> "
        f'<span style="background:{colour};color:#fff;border-radius:10px;padding:1px 8px">{html.escape(state)}</span> '
        f'<span style="color:#57606a">{html.escape(why)}</span></div>'
        f"{_time_line(data['events'])}"
        f'<div style="display:flex;flex-wrap:wrap;gap:8px">{charts}</div>'
        f'<pre style="max-height:20em;overflow:auto;background:#f6f8fa;color:#1f2328;padding:8px">{log}</pre>'
        f'<a href="{html.escape(data["address"], quote=True)}" target="_blank" rel="noopener">Details</a></div>'
    )


def _time_line(events):
    steps, last = [], None
    for event in events:
        if event.get("state") != last:
            last = event.get("state")
            steps.append(
                f"{html.escape(str(last))} <small>{html.escape(str(event.get('time', ''))[11:19])}</small>"
            )
    return f'<div style="color:#57606a;margin:6px 0">{" &rarr; ".join(steps)}</div>'


def chart(name, values):
    """One metric as a line; one value as a number."""
    finite = [(step, value) for step, value in values if math.isfinite(value)]
    last = values[-1][1]
    title = f'<div style="font-size:12px">{html.escape(name)}: <b>{last:.6g}</b></div>'
    if len(finite) < 2:
        return f'<div style="width:{_WIDTH}px">{title}</div>'
    stride = max(1, len(finite) // _MOST_POINTS)
    shown = finite[::stride] + ([finite[-1]] if (len(finite) - 1) % stride else [])
    low_x, high_x = shown[0][0], max(step for step, _ in shown)
    low_y, high_y = min(value for _, value in shown), max(value for _, value in shown)
    span_x, span_y = (high_x - low_x) or 1, (high_y - low_y) or 1
    path = " ".join(
        f"{_PAD + (step - low_x) / span_x * (_WIDTH - 2 * _PAD):.1f},"
        f"{_HEIGHT - _PAD - (value - low_y) / span_y * (_HEIGHT - 2 * _PAD):.1f}"
        for step, value in shown
    )
    return (
        f'<div style="width:{_WIDTH}px">{title}<svg width="{_WIDTH}" height="{_HEIGHT}" '
        f'style="background:#f6f8fa"><polyline fill="none" stroke="#0969da" stroke-width="1.5" points="{path}"/>'
        "</svg></div>"
    )


def text(data):
    """The same for a terminal."""
    record = data["record"]
    rows = [
        f"{name}: {values[-1][1]:.6g} ({len(values)} values)"
        for name, values in sorted(data["metrics"].items())
    ]
    tail = data["log"].splitlines()[-_LINES:]
    why = record.get("reason") or record.get("waiting_because")
    return "\n".join(
        [f"{record['id']} {record['state']}" + (f": {why}" if why else ""), *rows, *tail, data["address"]]
    )
