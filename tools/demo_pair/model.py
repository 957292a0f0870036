"""The architecture of the demo pair: Qwen3, in plain PyTorch, for training."""
import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn


@dataclass(frozen=True)
class Shape:
    width: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    feed_forward: int


SHAPES = {
    "large": Shape(width=192, layers=6, heads=3, kv_heads=1, head_dim=64, feed_forward=512),
    "small": Shape(width=48, layers=2, heads=2, kv_heads=1, head_dim=32, feed_forward=128),
}
WINDOW = 512
NORM_EPS = 1e-6
ROPE_BASE = 10000.0


def rope_tables(length, head_dim):
    """cos and sin, each (length, head_dim)."""
    frequencies = 1 / (ROPE_BASE ** (torch.arange(0, head_dim, 2) / head_dim))
    angles = torch.outer(torch.arange(length).float(), frequencies)
    angles = torch.cat([angles, angles], -1)
    return angles.cos(), angles.sin()


def rotate_half(x):
    half = x.shape[-1] // 2
    return torch.cat([-x[..., half:], x[..., :half]], -1)


def linear(inputs, outputs, scale=1.0):
    layer = nn.Linear(inputs, outputs, bias=False)
    nn.init.normal_(layer.weight, std=0.02 * scale)
    return layer


class Block(nn.Module):
    """One layer. The short names are those of the checkpoint; export.py maps them to GGUF's and transformers'."""

    def __init__(self, shape):
        super().__init__()
        self.shape = shape
        residual_scale = 1 / math.sqrt(2 * shape.layers)
        self.n1 = nn.RMSNorm(shape.width, NORM_EPS)
        self.n2 = nn.RMSNorm(shape.width, NORM_EPS)
        self.qn = nn.RMSNorm(shape.head_dim, NORM_EPS)
        self.kn = nn.RMSNorm(shape.head_dim, NORM_EPS)
        self.q = linear(shape.width, shape.heads * shape.head_dim)
        self.k = linear(shape.width, shape.kv_heads * shape.head_dim)
        self.v = linear(shape.width, shape.kv_heads * shape.head_dim)
        self.o = linear(shape.heads * shape.head_dim, shape.width, residual_scale)
        self.g = linear(shape.width, shape.feed_forward)
        self.u = linear(shape.width, shape.feed_forward)
        self.dn = linear(shape.feed_forward, shape.width, residual_scale)

    def forward(self, x, cos, sin):
        batch, length, _ = x.shape
        heads, kv_heads, head_dim = self.shape.heads, self.shape.kv_heads, self.shape.head_dim
        h = self.n1(x)
        q = self.qn(self.q(h).view(batch, length, heads, head_dim)).transpose(1, 2)
        k = self.kn(self.k(h).view(batch, length, kv_heads, head_dim)).transpose(1, 2)
        v = self.v(h).view(batch, length, kv_heads, head_dim).transpose(1, 2)
        q = q * cos + rotate_half(q) * sin
        k = k * cos + rotate_half(k) * sin
        group = heads // kv_heads
        attended = F.scaled_dot_product_attention(
            q, k.repeat_interleave(group, 1), v.repeat_interleave(group, 1), is_causal=True
        )
        x = x + self.o(attended.transpose(1, 2).reshape(batch, length, heads * head_dim))
        h = self.n2(x)
        return x + self.dn(F.silu(self.g(h)) * self.u(h))


class LanguageModel(nn.Module):
    """Returns hidden states; logits() applies the output head, which is the embedding itself."""

    def __init__(self, shape, vocabulary):
        super().__init__()
        self.shape = shape
        self.emb = nn.Embedding(vocabulary, shape.width)
        nn.init.normal_(self.emb.weight, std=0.02)
        self.blocks = nn.ModuleList(Block(shape) for _ in range(shape.layers))
        self.norm = nn.RMSNorm(shape.width, NORM_EPS)

    def forward(self, tokens):
        cos, sin = rope_tables(tokens.shape[1], self.shape.head_dim)
        h = self.emb(tokens)
        for block in self.blocks:
            h = block(h, cos, sin)
        return self.norm(h)

    def logits(self, hidden):
        return F.linear(hidden, self.emb.weight)
