"""Synthetic word problems with a written-out chain of thought.

Every problem is (question, thinking, answer, value). Sentences that open with
So / Thus / Hence / That means / Again / Therefore restate what is already on the
page; Wait / Let me check / Alternatively undo the last step, whose numbers stand
just before; First / Next / Now say what to do; bare arithmetic computes. "Then"
opens both plans and arithmetic, so some cues are safe to hand to a small model
and others are not, and finding out which is left to calibration.

The order of the random draws is part of the data: the bundled problems are
reproduced byte for byte only as long as no draw is added, removed or moved.
"""
import random
from dataclasses import dataclass, field

NAMES = "Tom Mia Ben Ana Leo Eva Sam Zoe Max Ida Jon Amy Dan Liv Kim Roy Eli Fay Gus Joy".split()
ITEMS = "apples books cards coins shells pens marbles stamps stickers beads buttons cups".split()
BOXES = "boxes bags crates jars trays packs baskets".split()
PLACES = "shop farm school market library club".split()
SYSTEM_PROMPTS = [
    "You are a helpful assistant.",
    "You are a careful math tutor.",
    "Think step by step.",
    "Answer briefly.",
]
QUESTION_SUFFIXES = [
    "Put the answer in \\boxed{}.",
    "Please reason step by step, and put your final answer within \\boxed{}.",
    "Explain your steps.",
]
OPENINGS = [
    "Okay, let me work this out.",
    "Okay, let me think step by step.",
    "Alright, let me see.",
    "Let me figure this out.",
]
RESULT_CUES = ["So,", "So,", "Thus,", "Hence,", "That means"]  # So, twice: it is the most common one


@dataclass
class Step:
    """One calculation: left op right. `left` is None where it is the result of the step before.

    `result` is the sentence that states the result, with {} for the number; `goal` says what the step is for.
    """

    op: str
    left: int | None
    right: int
    result: str
    goal: str


@dataclass
class Plan:
    """A question and the steps that answer it; `template` (0..9) tells its kind."""

    template: int
    question: str
    steps: list[Step]


@dataclass
class Trace:
    """The sentences of one chain of thought, each labelled compute, check, restate, plan or talk."""

    rng: random.Random
    template: int = -1
    sentences: list[str] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)

    def say(self, label, *options):
        """Appends one of the wordings, all equally likely."""
        self.sentences.append(self.rng.choice(options))
        self.labels.append(label)

    def coin(self, probability):
        return self.rng.random() < probability

    def text(self):
        return " ".join(self.sentences)


def multiply(trace, a, b):
    """Writes out a x b; a two-digit b is split into tens and ones. Returns the product."""
    product, tens, ones = a * b, b // 10 * 10, b % 10
    if b < 10:
        trace.say("compute", f"{a} * {b} = {product}.", f"Then {a} * {b} = {product}.")
    elif ones == 0:
        trace.say("compute", f"{a} * {b // 10} = {a * (b // 10)}, and {a} * {b} = {product}.")
    else:
        trace.say("plan", f"Split {b} into {tens} and {ones}.", f"{b} is {tens} plus {ones}.")
        trace.say("compute", f"{a} * {tens} = {a * tens}.")
        trace.say("compute", f"{a} * {ones} = {a * ones}.", f"Then {a} * {ones} = {a * ones}.")
        total = f"{a * tens} + {a * ones} = {product}."
        trace.say("compute", total, f"Then {total}")
    return product


def calculate(trace, op, x, y):
    """Writes out x op y and returns the value."""
    if op == "*":
        return multiply(trace, x, y)
    value = {"+": x + y, "-": x - y, "/": x // max(y, 1)}[op]
    trace.say("compute", f"{x} {op} {y} = {value}.", f"Then {x} {op} {y} = {value}.")
    return value


def check(trace, op, x, y, value):
    """Checks the last step; the cue is followed by arithmetic in the same sentence. Products are not checked."""
    undone = {
        "+": f"{value} - {y} = {x}",
        "-": f"{value} + {y} = {x}",
        "/": f"{value} * {y} = {x}",
    }.get(op)
    if op == "+" and trace.coin(0.4):
        trace.say("check", f"Alternatively, {y} + {x} = {value}.")
    elif undone:
        trace.say("check", f"Wait, {undone}.", f"Let me check: {undone}.")
    else:
        return
    trace.say("talk", "That matches.", "Good.")


def boxes_and_gift(rng, names, item, box, one_box, place):
    n1, n2 = names
    a, b = rng.randint(11, 99), rng.randint(3, 19)
    c = rng.randint(10, a * b - 1)
    question = (
        f"{n1} has {a} {box} with {b} {item} in each {one_box}. {n1} gives {c} {item} to {n2}. "
        f"How many {item} does {n1} have left?"
    )
    return question, [
        Step("*", a, b, f"{n1} starts with {{}} {item}", f"find how many {item} {n1} has at the start"),
        Step("-", None, c, f"{n1} has {{}} {item} left", f"take away the {c} {item} given to {n2}"),
    ]


def shared_equally(rng, names, item, box, one_box, place):
    n1, n2 = names
    d = rng.randint(2, 9)
    total = d * rng.randint(12, 99)
    a = rng.randint(10, total - 10)
    question = (
        f"{n1} has {a} {item} and {n2} has {total - a} {item}. They share all of them equally among {d} {box}. "
        f"How many {item} are in each {one_box}?"
    )
    return question, [
        Step("+", a, total - a, f"they have {{}} {item} together", f"find how many {item} they have together"),
        Step("/", None, d, f"each {one_box} holds {{}} {item}", f"divide by the {d} {box}"),
    ]


def two_purchases(rng, names, item, box, one_box, place):
    n1, _ = names
    a, b, c, d = rng.randint(3, 49), rng.randint(3, 19), rng.randint(3, 49), rng.randint(3, 19)
    other = rng.choice([x for x in ITEMS if x != item])
    question = (
        f"The {place} sells {item} for {a} dollars each and {other} for {c} dollars each. "
        f"{n1} buys {b} {item} and {d} {other}. How many dollars does {n1} pay?"
    )
    return question, [
        Step("*", a, b, f"the {item} cost {{}} dollars", f"find the cost of the {item}"),
        Step("*", c, d, f"the {other} cost {{}} dollars", f"find the cost of the {other}"),
        Step("+", a * b, c * d, f"{n1} pays {{}} dollars", "add the two costs"),
    ]


def more_than(rng, names, item, box, one_box, place):
    n1, n2 = names
    a, b = rng.randint(20, 699), rng.randint(10, 299)
    question = f"{n1} has {a} {item}. {n2} has {b} more {item} than {n1}. How many {item} do they have together?"
    return question, [
        Step("+", a, b, f"{n2} has {{}} {item}", f"find how many {item} {n2} has"),
        Step("+", a, a + b, f"they have {{}} {item} together", "add both amounts"),
    ]


def packed_in_days(rng, names, item, box, one_box, place):
    n1, n2 = names
    a = rng.randint(30, 99)
    b, d = rng.randint(5, a - 12), rng.randint(3, 19)
    question = (
        f"{n1} packs {a} {item} every day. {n2} packs {b} fewer {item} every day than {n1}. "
        f"How many {item} does {n2} pack in {d} days?"
    )
    return question, [
        Step("-", a, b, f"{n2} packs {{}} {item} every day", f"find how many {item} {n2} packs in one day"),
        Step("*", None, d, f"{n2} packs {{}} {item} in {d} days", f"multiply by the {d} days"),
    ]


def sold_and_delivered(rng, names, item, box, one_box, place):
    a = rng.randint(300, 999)
    b, c, d = rng.randint(20, a // 3), rng.randint(10, a // 3), rng.randint(20, 499)
    question = (
        f"A {place} has {a} {item}. It sells {b} {item} on Monday and {c} {item} on Tuesday. "
        f"Then {d} new {item} arrive. How many {item} does the {place} have now?"
    )
    return question, [
        Step("-", a, b, f"{{}} {item} are left after Monday", f"take away the {item} sold on Monday"),
        Step("-", None, c, f"{{}} {item} are left after Tuesday", f"take away the {item} sold on Tuesday"),
        Step("+", None, d, f"the {place} has {{}} {item}", f"add the {d} new {item}"),
    ]


def split_between_people(rng, names, item, box, one_box, place):
    d = rng.randint(2, 9)
    a, b = d * rng.randint(3, 9), rng.randint(3, 19)
    question = (
        f"A {place} has {a} {box} with {b} {item} in each {one_box}. The {item} are split equally between {d} people. "
        f"How many {item} does each person get?"
    )
    return question, [
        Step("*", a, b, f"there are {{}} {item} in total", f"find the total number of {item}"),
        Step("/", None, d, f"each person gets {{}} {item}", f"divide by the {d} people"),
    ]


def earned_and_spent(rng, names, item, box, one_box, place):
    n1, _ = names
    a, b = rng.randint(11, 49), rng.randint(3, 19)
    c, d = rng.randint(10, a * b - 1), rng.randint(10, 299)
    question = (
        f"{n1} earns {a} dollars an hour and works {b} hours. {n1} spends {c} dollars and then finds {d} dollars. "
        f"How many dollars does {n1} have now?"
    )
    return question, [
        Step("*", a, b, f"{n1} earns {{}} dollars", f"find how many dollars {n1} earns"),
        Step("-", None, c, "{} dollars are left", f"take away the {c} dollars spent"),
        Step("+", None, d, f"{n1} has {{}} dollars", f"add the {d} dollars found"),
    ]


def bare_arithmetic(rng, names, item, box, one_box, place):
    op = rng.choice("+-*/")
    # Both pairs are drawn whatever the operation is: the draws are part of the data.
    x, y = {
        "+": (rng.randint(10, 999), rng.randint(10, 999)),
        "*": (rng.randint(10, 99), rng.randint(3, 19)),
    }.get(op, (0, 0))
    if op == "-":
        x = rng.randint(30, 999)
        y = rng.randint(10, x)
    if op == "/":
        y = rng.randint(2, 9)
        x = y * rng.randint(10, 99)
    question = rng.choice([f"What is {x} {op} {y}?", f"Compute {x} {op} {y}."])
    return question, [Step(op, x, y, f"{x} {op} {y} is {{}}", f"work out {x} {op} {y}")]


def three_finders(rng, names, item, box, one_box, place):
    n1, n2 = names
    a, b, c = rng.randint(10, 299), rng.randint(10, 299), rng.randint(10, 299)
    n3 = rng.choice([x for x in NAMES if x not in (n1, n2)])
    question = (
        f"{n1} finds {a} {item}, {n2} finds {b} {item} and {n3} finds {c} {item}. "
        f"How many {item} do they find in all?"
    )
    return question, [
        Step("+", a, b, f"{n1} and {n2} find {{}} {item}", f"add the {item} of {n1} and {n2}"),
        Step("+", None, c, f"they find {{}} {item} in all", f"add the {c} {item} of {n3}"),
    ]


TEMPLATES = [
    boxes_and_gift,
    shared_equally,
    two_purchases,
    more_than,
    packed_in_days,
    sold_and_delivered,
    split_between_people,
    earned_and_spent,
    bare_arithmetic,
    three_finders,
]


def draw_plan(rng):
    """Draws names and things, then a question of a random kind with its steps."""
    names = rng.sample(NAMES, 2)
    item, box, place = rng.choice(ITEMS), rng.choice(BOXES), rng.choice(PLACES)
    one_box = "box" if box == "boxes" else box[:-1]
    template = rng.randrange(len(TEMPLATES))
    return Plan(template, *TEMPLATES[template](rng, names, item, box, one_box, place))


def labelled_problem(rng):
    """Returns question, trace (sentences with labels), answer, value."""
    trace = Trace(rng)
    plan = draw_plan(rng)
    trace.template = plan.template
    trace.say("talk", *OPENINGS)
    value = None
    for i, step in enumerate(plan.steps):
        left = value if step.left is None else step.left
        is_first = i == 0
        opening = "First, " if is_first else rng.choice(["Next, ", "Then "])
        other_opening = "I need to " if is_first else "Now, "
        trace.say("plan", f"{opening}{step.goal}.", f"{other_opening}{step.goal}.")
        value = calculate(trace, step.op, left, step.right)
        if trace.coin(0.22):
            check(trace, step.op, left, step.right, value)
        result = step.result.format(value)
        trace.say("restate", *(f"{cue} {result}." for cue in RESULT_CUES))
        if len(plan.steps) > 1 and trace.coin(0.12):
            trace.say("restate", f"Again, {result}.")
    trace.say("restate", f"Therefore, the answer is {value}.", f"Therefore, the final answer is {value}.")
    result = plan.steps[-1].result.format(value)
    answer = f"{result[0].upper()}{result[1:]}.\n\n\\boxed{{{value}}}"
    return plan.question, trace, answer, value


def turn(role, text):
    return f"<|im_start|>{role}\n{text}<|im_end|>\n"


def conversation(rng):
    """Returns (prompt, completion, value): ChatML as Qwen3 renders it; earlier turns keep only their answers."""
    prompt = turn("system", rng.choice(SYSTEM_PROMPTS)) if rng.random() < 0.2 else ""
    if rng.random() < 0.12:
        earlier_question, _, earlier_answer, _ = labelled_problem(rng)
        prompt += turn("user", earlier_question) + turn("assistant", earlier_answer)
    question, trace, answer, value = labelled_problem(rng)
    if rng.random() < 0.2:
        question += rng.choice([" ", "\n"]) + rng.choice(QUESTION_SUFFIXES)
    prompt += turn("user", question) + "<|im_start|>assistant\n"
    return prompt, f"<think>\n{trace.text()}\n</think>\n\n{answer}<|im_end|>\n", value


def main():
    """Prints six conversations, to look at."""
    rng = random.Random(0)
    for _ in range(6):
        prompt, completion, value = conversation(rng)
        print(prompt + completion, "-----", value)


if __name__ == "__main__":
    main()
