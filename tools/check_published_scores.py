"""Computes the paper's scores again from stored margins, with nothing of RelayGen but its database.

  relaygen calibrate ... --rules published --rule published --db pair.db --json > pair.json
  python3 tools/check_published_scores.py pair.db pair.json

score(c) = mean margin of the small model over the tokens behind c, up to the token that ends the sentence, minus the mean
margin over all other thinking tokens of the traces in which c occurs. Under the published rules a candidate is a raw
substring of the thinking, and any '.', '!', '?' or blank line ends a sentence. Ends with an error if a score, or a
decision that hangs on it, differs.
"""
import bisect
import json
import sqlite3
import struct
import sys


def numbers(blob, kind):
    return list(struct.unpack(f"<{len(blob) // 4}{kind}", blob))


def traces(database, problems):
    tags = json.loads(database.execute("SELECT value FROM settings WHERE key = 'tags'").fetchone()[0])
    rows = database.execute("""SELECT traces.problem, ends, text, margin FROM traces JOIN opinions USING (problem, sample)
                               WHERE model = 'small'""")
    for problem, ends, text, margin in rows:
        if problem not in problems:
            continue
        begin = 0
        if tags["begin"] and text.lstrip().startswith(tags["begin"].encode()):
            begin = text.index(tags["begin"].encode()) + len(tags["begin"])
        found = [place for place in (text.find(tag.encode(), begin) for tag in tags["ends"]) if place >= 0]
        yield numbers(ends, "I"), text, begin, min(found, default=len(text)), numbers(margin, "f")


def token_from(ends, byte):
    """The first token that begins at this byte or behind it."""
    return 0 if byte == 0 else min(bisect.bisect_left(ends, byte) + 1, len(ends))


def sentence_end(text, begin, end):
    places = [text.find(mark, begin, end) + len(mark) for mark in (b".", b"!", b"?", b"\n\n") if text.find(mark, begin, end) >= 0]
    return min(places, default=end)


def score(candidate, loaded, cap):
    after = after_tokens = other = other_tokens = count = 0
    for ends, text, begin, end, margin in loaded:
        first_thinking, last_thinking = token_from(ends, begin), token_from(ends, end)
        behind = set()
        place = text.find(candidate, begin, end)
        while place >= 0:
            first = token_from(ends, place + len(candidate))
            if first < last_thinking:
                stop = sentence_end(text, 0 if first == 0 else ends[first - 1], end)
                last = min(token_from(ends, stop), last_thinking, first + cap)
                behind.update(range(first, last))
                count += 1
            place = text.find(candidate, place + 1, end)
        if not behind:
            continue
        for i in range(first_thinking, last_thinking):
            if i in behind:
                after, after_tokens = after + margin[i], after_tokens + 1
            else:
                other, other_tokens = other + margin[i], other_tokens + 1
    if count == 0:
        return 0, 0.0
    return count, after / after_tokens - (other / other_tokens if other_tokens else 0)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    database = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True)
    database.text_factory = str
    result = json.load(open(sys.argv[2]))
    settings = result["settings"]
    if settings["rules"] != "published":
        sys.exit("check_published_scores.py: the calibration has to use --rules published")
    loaded = list(traces(database, set(result["selection_problems"])))
    worst = differing = 0
    for cue in result["cues"]:
        count, value = score(cue["text"].encode(), loaded, settings["max_small_tokens"])
        if count != cue["count"]:
            print(f"{cue['text']!r}: {count} occurrences here, {cue['count']} there")
            differing += 1
        elif count:
            off = abs(value - cue["published_score"]["value"])
            worst = max(worst, off)
            if off > 2e-6:  # what rounding to six digits explains
                print(f"{cue['text']!r}: {value:.6f} here, {cue['published_score']['value']:.6f} there")
                differing += 1
            if settings["rule"] == "published" and cue["selected"] and value <= 0:
                print(f"{cue['text']!r} is selected with a score of {value:.6f}")
                differing += 1
    print(f"{len(result['cues'])} candidates, {len(loaded)} traces: largest difference {worst:.1e}, {differing} differ")
    sys.exit(1 if differing else 0)


if __name__ == "__main__":
    main()
