"""Trains one model of the demo pair on an endless stream of problems, for a given time.

Writes NAME.pt (weights) and NAME.streams.json (which part of the stream was seen: make_data.py keeps clear of it).
"""
import argparse
import json
import os
import random
import time

import torch
import torch.nn.functional as F
from tokenizers import Tokenizer

from model import SHAPES, LanguageModel
from problems import conversation

STREAM_SEEDS = {"large": 11, "small": 12}
RESUMED_STREAM_OFFSET = 2
BATCHES_IN_A_POOL = 16
SECONDS_BETWEEN_CHECKPOINTS = 900
PROMPT_WEIGHT = 0.1  # of a prompt token's loss; a completion token's is 1
MUON_LEARNING_RATE = 0.02
MUON_MOMENTUM = 0.95
MUON_DECAY = 2e-4
ADAMW_LEARNING_RATE = 3e-3


class Batches:
    """Batches of problems of similar length, drawn pool by pool from one random stream."""

    def __init__(self, tokenizer, rng, batch_size):
        self.tokenizer = tokenizer
        self.rng = rng
        self.batch_size = batch_size
        self.padding = tokenizer.token_to_id("<|endoftext|>")
        self.pool = []

    def _fill(self):
        count = self.batch_size * BATCHES_IN_A_POOL
        texts = []
        for _ in range(count):
            prompt, completion, _ = conversation(self.rng)
            prompt_ids = self.tokenizer.encode(prompt).ids
            texts.append((prompt_ids + self.tokenizer.encode(completion).ids, len(prompt_ids)))
        texts.sort(key=lambda text: len(text[0]))
        self.pool = [texts[i : i + self.batch_size] for i in range(0, count, self.batch_size)]
        self.rng.shuffle(self.pool)

    def next(self):
        """Returns tokens and the weights of their losses, both (batch, length)."""
        if not self.pool:
            self._fill()
        texts = self.pool.pop()
        length = max(len(ids) for ids, _ in texts)
        tokens = torch.full((len(texts), length), self.padding)
        weights = torch.zeros(len(texts), length)
        for row, (ids, prompt_length) in enumerate(texts):
            tokens[row, : len(ids)] = torch.tensor(ids)
            weights[row, prompt_length : len(ids)] = 1
            weights[row, 1:prompt_length] = PROMPT_WEIGHT
        return tokens, weights


def orthogonalize(gradient):
    """The nearest matrix with orthogonal rows, by five Newton-Schulz steps (Jordan et al., Muon, 2024)."""
    x = gradient / (gradient.norm() + 1e-7)
    is_tall = x.shape[0] > x.shape[1]
    x = x.t() if is_tall else x
    for _ in range(5):
        a = x @ x.t()
        x = 3.4445 * x + (-4.7750 * a + 2.0315 * a @ a) @ x
    return x.t() if is_tall else x


class Optimizer:
    """Muon for the weight matrices, AdamW for embedding and norms."""

    def __init__(self, model):
        def is_matrix(name, parameter):
            return parameter.ndim == 2 and "emb" not in name

        named = list(model.named_parameters())
        self.matrices = [p for n, p in named if is_matrix(n, p)]
        self.momenta = [torch.zeros_like(p) for p in self.matrices]
        others = [p for n, p in named if not is_matrix(n, p)]
        self.adamw = torch.optim.AdamW(others, lr=ADAMW_LEARNING_RATE, betas=(0.9, 0.95), weight_decay=0.0)

    @torch.no_grad()
    def step(self, rate):
        """Applies the gradients at `rate` (0..1) of the full learning rates."""
        for parameter, momentum in zip(self.matrices, self.momenta):
            momentum.mul_(MUON_MOMENTUM).add_(parameter.grad)
            update = orthogonalize(parameter.grad + MUON_MOMENTUM * momentum)
            update = update * max(1, parameter.shape[0] / parameter.shape[1]) ** 0.5
            parameter.mul_(1 - MUON_DECAY * rate).add_(update, alpha=-MUON_LEARNING_RATE * rate)
        for group in self.adamw.param_groups:
            group["lr"] = ADAMW_LEARNING_RATE * rate
        self.adamw.step()


def learning_rate(step, fraction, is_resumed):
    """Warm-up over 50 steps, then a plateau and a linear descent (at once, from a half, when resumed)."""
    warm_up = min(1, (step + 1) / 50)
    if is_resumed:
        return warm_up * max(0.02, 0.5 * (1 - fraction))
    return warm_up * (1 if fraction < 0.45 else max(0.02, (1 - fraction) / 0.55))


@torch.no_grad()
def evaluate(model, tokenizer, count):
    """Solves `count` fixed problems greedily. Returns the share of right answers and the first two texts."""
    rng = random.Random(999)
    problems = [conversation(rng) for _ in range(count)]
    prompts = [tokenizer.encode(prompt).ids for prompt, _, _ in problems]
    sequences = [ids[:] for ids in prompts]
    padding, end = tokenizer.token_to_id("<|endoftext|>"), tokenizer.token_to_id("<|im_end|>")
    live = list(range(count))
    for _ in range(260):
        if not live:
            break
        tokens = torch.full((len(live), max(len(sequences[i]) for i in live)), padding)
        for row, i in enumerate(live):
            tokens[row, : len(sequences[i])] = torch.tensor(sequences[i])
        hidden = model(tokens)
        last = torch.stack([hidden[row, len(sequences[i]) - 1] for row, i in enumerate(live)])
        for i, token in zip(live, model.logits(last).argmax(-1).tolist()):
            sequences[i].append(token)
        live = [i for i in live if sequences[i][-1] != end]
    texts = [
        tokenizer.decode(ids[len(prompt) :], skip_special_tokens=False) for ids, prompt in zip(sequences, prompts)
    ]
    right = sum(f"\\boxed{{{value}}}" in text for text, (_, _, value) in zip(texts, problems))
    return right / max(count, 1), texts[:2]


def record_stream(path, is_resumed, seed, batch_size, steps):
    streams = []
    if is_resumed:
        with open(path) as file:
            streams = json.load(file)
    streams.append({"seed": seed, "batch": batch_size, "steps": steps})
    with open(path, "w") as file:
        json.dump(streams, file)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", choices=SHAPES)
    parser.add_argument("--minutes", type=float, required=True)
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--resume", action="store_true", help="go on from NAME.pt, on another part of the stream")
    parser.add_argument("--folder", default=".", help="holds tokenizer.json; the results go there")
    parser.add_argument("--evaluate", type=int, default=64, metavar="N", help="problems to solve at the end")
    args = parser.parse_args()

    torch.set_num_threads(args.threads)
    torch.manual_seed(0)
    weights_path = os.path.join(args.folder, f"{args.name}.pt")
    tokenizer = Tokenizer.from_file(os.path.join(args.folder, "tokenizer.json"))
    model = LanguageModel(SHAPES[args.name], tokenizer.get_vocab_size())
    print(args.name, sum(p.numel() for p in model.parameters()), "parameters", flush=True)
    seed = STREAM_SEEDS[args.name] + (RESUMED_STREAM_OFFSET if args.resume else 0)
    if args.resume:
        model.load_state_dict(torch.load(weights_path))
    batches = Batches(tokenizer, random.Random(seed), args.batch)
    optimizer = Optimizer(model)

    start = time.time()
    step = token_count = 0
    average = None
    next_checkpoint = SECONDS_BETWEEN_CHECKPOINTS
    while (elapsed := time.time() - start) < args.minutes * 60:
        rate = learning_rate(step, elapsed / (args.minutes * 60), args.resume)
        tokens, weights = batches.next()
        hidden = model(tokens[:, :-1])
        targets, weights = tokens[:, 1:], weights[:, 1:]
        counted = weights > 0
        weights = weights[counted]
        losses = F.cross_entropy(model.logits(hidden[counted]), targets[counted], reduction="none")
        loss = (losses * weights).sum() / weights.sum()
        for parameter in model.parameters():
            parameter.grad = None
        loss.backward()
        optimizer.step(rate)
        step += 1
        token_count += tokens.numel()
        average = loss.item() if average is None else 0.98 * average + 0.02 * loss.item()
        elapsed = time.time() - start
        if step % 100 == 0:
            speed = token_count / elapsed
            print(f"step {step}, {elapsed:.0f} s, loss {average:.4f}, {speed:.0f} tokens/s, rate {rate:.2f}", flush=True)
        if elapsed > next_checkpoint:
            next_checkpoint += SECONDS_BETWEEN_CHECKPOINTS
            accuracy, texts = evaluate(model, tokenizer, min(16, args.evaluate))
            print(f"accuracy {accuracy:.3f}\n{texts[:1]}", flush=True)
            torch.save(model.state_dict(), weights_path)
    torch.save(model.state_dict(), weights_path)
    record_stream(os.path.join(args.folder, f"{args.name}.streams.json"), args.resume, seed, args.batch, step)
    accuracy, texts = evaluate(model, tokenizer, args.evaluate)
    print(f"{args.name}: {step} steps, {token_count} tokens, accuracy {accuracy:.3f}\n{texts}")


if __name__ == "__main__":
    main()
