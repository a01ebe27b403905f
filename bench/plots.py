"""SVG plots with nothing but the standard library: bars and lines, each value with its least and most."""
import math
from xml.sax.saxutils import escape

WIDTH, LEFT, RIGHT, TOP = 720, 210, 90, 40
INK, PALE, MARK = "#1f2d3d", "#c9d3de", "#c0392b"
COLOURS = ["#2c6fbb", "#c0762b", "#3c8d5a", "#8a4f9e"]


def number(value):
    if value >= 1_000_000:
        return f"{value / 1e6:.3g} M"
    if value >= 10_000:
        return f"{value / 1e3:.3g} k"
    return f"{value:.3g}"


def document(height, title, body):
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
            f'viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="12" fill="{INK}">\n'
            f'<rect width="{WIDTH}" height="{height}" fill="white"/>\n'
            f'<text x="12" y="22" font-size="15">{escape(title)}</text>\n{body}</svg>\n')


def text(x, y, said, anchor="start"):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(said)}</text>\n'


def line(x1, y1, x2, y2, colour=INK, width=1.0, dash=""):
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    return (f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" '
            f'stroke-width="{width}"{dashed}/>\n')


def bars(title, rows, log=False):
    """rows: (label, value, least, most, target or None)"""
    span = WIDTH - LEFT - RIGHT
    top = max(max(row[3], row[4] or 0) for row in rows) * 1.05 or 1
    low = min(row[2] for row in rows if row[2] > 0) / 2 if log else 0

    def at(value):
        if not log:
            return LEFT + span * max(value, 0) / top
        return LEFT + span * math.log(max(value, low) / low) / math.log(top / low)

    body = ""
    for i, (label, value, least, most, target) in enumerate(rows):
        y = TOP + 26 * i
        body += text(LEFT - 8, y + 14, label, "end")
        body += f'<rect x="{LEFT}" y="{y + 3}" width="{at(value) - LEFT:.1f}" height="15" fill="{COLOURS[0]}"/>\n'
        body += line(at(least), y + 10.5, at(most), y + 10.5, INK, 1.5)
        if target:
            body += line(at(target), y, at(target), y + 21, MARK, 2)
        body += text(max(at(most), at(value)) + 6, y + 14, number(value))
    height = TOP + 26 * len(rows) + 16
    return document(height, title, body)


def lines(title, x_label, series):
    """series: {name: [(x, value, least, most)]}; x on a logarithmic scale, values from 0."""
    height, bottom = 320, 270
    right = WIDTH - 170
    left = 70
    points = [p for all_ in series.values() for p in all_]
    xs = sorted({p[0] for p in points})
    top = max(p[3] for p in points) * 1.1 or 1

    def across(x):
        first, last = math.log10(max(xs[0], 1)), math.log10(max(xs[-1], 1))
        part = 0.5 if last == first else (math.log10(max(x, 1)) - first) / (last - first)
        return left + (right - left) * part

    def up(value):
        return bottom - (bottom - TOP) * value / top

    body = line(left, bottom, right, bottom) + line(left, TOP, left, bottom)
    for part in (0, 0.25, 0.5, 0.75, 1):
        body += line(left, up(top * part), right, up(top * part), PALE)
        body += text(left - 6, up(top * part) + 4, number(top * part), "end")
    for x in xs:
        body += text(across(x), bottom + 18, number(x), "middle")
    body += text((left + right) / 2, bottom + 38, x_label, "middle")
    for i, (name, all_) in enumerate(series.items()):
        colour = COLOURS[i % len(COLOURS)]
        for before, after in zip(all_, all_[1:]):
            body += line(across(before[0]), up(before[1]), across(after[0]), up(after[1]), colour, 2)
        for x, value, least, most in all_:
            body += line(across(x), up(least), across(x), up(most), colour, 1.5)
            body += f'<circle cx="{across(x):.1f}" cy="{up(value):.1f}" r="3" fill="{colour}"/>\n'
        body += text(right + 10, TOP + 16 + 18 * i, name)
        body += line(right - 12, TOP + 12 + 18 * i, right + 6, TOP + 12 + 18 * i, colour, 3)
    return document(height, title, body)
