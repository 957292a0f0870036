"""Trains the byte-level BPE tokenizer of the demo pair: Qwen2's pre-tokenizer, one digit a token, 763 tokens in all."""
import argparse
import random

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

from problems import conversation

PATTERN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
SPECIAL_TOKENS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<think>", "</think>"]
WANTED_TOKENS = 763  # the texts are so simple that merges run out at 758, before the special ones
SEED = 123


def texts(rng, count):
    """Conversations without their special tokens, which are not to be learnt as text."""
    for _ in range(count):
        prompt, completion, _ = conversation(rng)
        text = prompt + completion
        for token in SPECIAL_TOKENS[1:]:
            text = text.replace(token, "")
        yield text


def train(rng):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(PATTERN), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=WANTED_TOKENS,
        special_tokens=[],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts(rng, 6000), trainer)
    tokenizer.add_special_tokens(SPECIAL_TOKENS)
    return tokenizer


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", help="tokenizer.json to write")
    args = parser.parse_args()

    rng = random.Random(SEED)
    tokenizer = train(rng)
    tokenizer.save(args.output)
    lengths = []
    for _ in range(500):
        prompt, completion, _ = conversation(rng)
        lengths.append(len(tokenizer.encode(prompt + completion).ids))
    print(f"{tokenizer.get_vocab_size()} tokens; a conversation has {sum(lengths) / len(lengths):.1f}, {max(lengths)} at most")


if __name__ == "__main__":
    main()
