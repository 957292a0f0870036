#!/usr/bin/env python3
"""Draws a real run of the bundled pair as docs/images/run.svg: the text with the colours of its authors.

usage: tools/picture/coloured_run.py [--problem ID] [--relaygen FILE] [--out FILE] [-- FLAG...]

Greedy, so that the same program draws the same picture. What comes after -- goes to `relaygen run`. The picture is one
card with a background of its own, which suits light and dark pages alike; its text can be selected.
"""
import argparse
import json
import os
import subprocess
import sys
from xml.sax.saxutils import escape

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROBLEMS = os.path.join(ROOT, "models/demo/problems.heldout.jsonl")

COLUMNS = 92
FONT = 14            # pixels
ADVANCE = 0.602      # widest usual monospace font, of its size
LINE = 22            # pixels from line to line
MARGIN = 28
BAR = 38             # title bar

# On #10161f: blue and orange differ for every kind of colour vision, and all have a contrast of 7 or more.
STYLE = """
  text { font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", "Liberation Mono", monospace; white-space: pre }
  .card { fill: #10161f; stroke: #3d4757 }
  .bar { fill: #1b2330 }
  .rule { stroke: #3d4757 }
  .title { fill: #a9b4c2; font-size: 13px }
  .question { fill: #f0f4f8; font-weight: bold }
  .large { fill: #6cb6ff }
  .small { fill: #ffb45c }
  .forced { fill: #a9b4c2 }
  .note { fill: #a9b4c2 }
"""


def find_problem(identity):
    with open(PROBLEMS, encoding="utf-8") as file:
        for line in file:
            problem = json.loads(line)
            if problem["id"] == identity:
                return problem
    sys.exit(f"{PROBLEMS} has no problem {identity}")


def run(program, question, flags):
    done = subprocess.run([program, "run", "--json", "--temp", "0", "--seed", "0", *flags], input=question, capture_output=True, text=True, encoding="utf-8")
    if done.returncode != 0:
        sys.exit(done.stderr.strip())
    return json.loads(done.stdout)


def authored(result):
    """The text as (character, author) pairs. Segments hold byte offsets."""
    data = result["text"].encode()
    return [(character, segment["author"])
            for segment in result["segments"] for character in data[segment["begin"]:segment["end"]].decode()]


def wrap(pairs, columns):
    """Lines of (character, class) pairs, broken at spaces; the space at a break is left out."""
    lines, line = [], []
    for pair in pairs:
        if pair[0] == "\n":
            lines.append(line)
            line = []
            continue
        line.append(pair)
        if len(line) > columns:
            space = max((i for i, (character, _) in enumerate(line) if character == " "), default=-1)
            cut = space + 1 if space > 0 else columns
            lines.append(line[:space] if space > 0 else line[:cut])
            line = line[cut:]
    lines.append(line)
    while lines and not lines[-1]:
        lines.pop()
    return lines


def spans(line):
    """One tspan for each run of a class."""
    runs = []
    for character, kind in line:
        if runs and runs[-1][1] == kind:
            runs[-1][0].append(character)
        else:
            runs.append(([character], kind))
    return "".join(f'<tspan class="{kind}">{escape("".join(characters))}</tspan>' for characters, kind in runs)


def draw(problem, result):
    usage = result["usage"]
    width = round(2 * MARGIN + COLUMNS * FONT * ADVANCE)
    body, y = [], BAR + LINE + 6

    def put(lines):
        nonlocal y
        for line in lines:
            if line:
                body.append(f'  <text xml:space="preserve" x="{MARGIN}" y="{y}">{spans(line)}</text>')
            y += LINE

    put(wrap([(character, "question") for character in problem["question"]], COLUMNS))
    y += LINE // 2
    put(wrap(authored(result), COLUMNS))
    y += 8
    body.append(f'  <line class="rule" x1="{MARGIN}" x2="{width - MARGIN}" y1="{y - LINE // 2}" y2="{y - LINE // 2}"/>')
    y += LINE // 2 + 2
    legend = [("large model", "large"), ("small model", "small")]
    if usage["forced_tokens"]:
        legend.append(("forced", "forced"))
    x = MARGIN
    for word, kind in legend:
        body.append(f'  <rect class="{kind}" x="{x}" y="{y - 11}" width="12" height="12" rx="2"/>')
        body.append(f'  <text x="{x + 20}" y="{y}"><tspan class="{kind}">{word}</tspan></text>')
        x += 150
    y += LINE + 2
    summary = (f'{usage["completion_tokens"]} tokens, {100 * usage["small_share"]:.0f}% of them by the small model; '
               f'{usage["handoffs"]} handoffs')
    put([[(character, "note") for character in summary]])
    height = y - LINE + 24
    alternative = f"A run of the bundled pair, coloured by author: {summary}."
    dots = "".join(f'<circle cx="{20 + 18 * i}" cy="{BAR // 2}" r="5.5" fill="{colour}"/>' for i, colour in enumerate(("#ef6b62", "#f2bd4b", "#5dc466")))
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" aria-label="{escape(alternative, {'"': "&quot;"})}">
  <title>{escape(alternative)}</title>
  <style>{STYLE}  </style>
  <rect class="card" x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="9"/>
  <path class="bar" d="M1 {BAR} V10 a9 9 0 0 1 9 -9 H{width - 10} a9 9 0 0 1 9 9 V{BAR} Z"/>
  {dots}
  <text x="{width / 2:g}" y="{BAR // 2 + 5}" text-anchor="middle"><tspan class="title">relaygen run --policy {escape(result["policy"])} --temp 0</tspan></text>
{chr(10).join(body)}
</svg>
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0], usage=__doc__.split("\n\n")[1].removeprefix("usage: "))
    parser.add_argument("--problem", default="777002-0", metavar="ID", help="a held-out problem of the bundled pair (default: %(default)s)")
    parser.add_argument("--relaygen", default=os.path.join(ROOT, "build/release/relaygen"), metavar="FILE", help="the program (default: build/release/relaygen)")
    parser.add_argument("--out", default=os.path.join(ROOT, "docs/images/run.svg"), metavar="FILE", help="default: docs/images/run.svg")
    split = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    args = parser.parse_args(sys.argv[1:split])
    problem = find_problem(args.problem)
    picture = draw(problem, run(args.relaygen, problem["question"], sys.argv[split + 1:]))
    os.makedirs(os.path.dirname(os.path.abspath(args.out)), exist_ok=True)
    with open(args.out, "w", encoding="utf-8") as file:
        file.write(picture)
    print(args.out)


if __name__ == "__main__":
    main()
