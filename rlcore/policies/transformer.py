"""A causal transformer in plain torch: pure functions over named parameters, about a page.

One function, `extend`, runs tokens after a past: prompts, a sampled token, or whole replies at once are the same call.
Names and shapes are GPT-2's without its biases, so the weights load into `transformers` as they are. This module never
samples and knows no task.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import torch
import torch.nn.functional as F
from pydantic import model_validator
from torch import Tensor

from rlcore.algorithm import PolicyOutput
from rlcore.knobs import SettingError, Value, knob
from rlcore.policies.attention import Past
from rlcore.policies.heads import categorical
from rlcore.policies.moe import Dense, FeedForward, normal
from rlcore.policies.parameters import Layout, Params
from rlcore.policies.scored import Scorer, by_autograd
from rlcore.policies.shape import Shape
from rlcore.policies.weights import load_start
from rlcore.rollout import Rollout

VALUE_HEAD = "critic.value_head.weight"


class Transformer(Value):
    """Pre-norm blocks of causal attention and a feed-forward layer; learned positions; an untied head.

        x = wte[token] + wpe[position]
        x = x + attention(ln_1(x));  x = x + feed_forward(ln_2(x))      for each layer
        logits = ln_f(x) W_head^T,   value = ln_f(x) . w_value

    start  name of pretrained weights in assets/models, or None for random ones.
    Source: Radford et al. 2019 (GPT-2). Layer norm has no bias and linear maps neither.
    """

    kind: Literal["transformer"] = "transformer"
    layers: int = knob(2, "L", 1, 12, "blocks", suggested=(1, 4), live=False)
    width: int = knob(64, "d", 8, 512, "width of the residual stream", suggested=(32, 128), live=False)
    heads: int = knob(4, "h", 1, 16, "attention heads", suggested=(1, 8), live=False)
    context: int = knob(32, "n_ctx", 8, 1024, "longest prompt and reply together, in tokens", live=False)
    feed_forward: FeedForward = Dense()
    value_gain: float = knob(
        10.0, "g_v", 0.1, 1e3, "value = gain * w . h: under Adam a gain of 10 is a ten times larger step", live=False
    )
    start: str | None = None

    @model_validator(mode="after")
    def _divides(self) -> Transformer:
        if self.width % self.heads:
            raise ValueError(f"width must be a multiple of heads = {self.heads}, got {self.width}")
        return self

    # ------------------------------------------------------------ parameters

    def init(self, shape: Shape, dice: np.random.Generator) -> Params:
        """Parameters by name: pretrained if `start` is set, else random. Raises SettingError where either misfits."""
        if shape.actions is None or shape.states is None:
            raise SettingError("policy: transformer reads and writes tokens; use mlp for this environment")
        fresh = self._fresh(shape.actions, dice)
        return fresh if self.start is None else load_start(self.start, like=fresh)

    def _fresh(self, vocabulary: int, dice: np.random.Generator) -> Params:
        d, deep = self.width, (2 * self.layers) ** -0.5
        params = {"wte.weight": normal(dice, vocabulary, d, std=0.3), "wpe.weight": normal(dice, self.context, d, std=0.1)}
        for h in (f"h.{layer}." for layer in range(self.layers)):
            params[h + "ln_1.weight"] = torch.ones(d)
            params[h + "attn.c_attn.weight"] = normal(dice, d, 3 * d, std=d**-0.5)
            params[h + "attn.c_proj.weight"] = normal(dice, d, d, std=deep * d**-0.5)
            params[h + "ln_2.weight"] = torch.ones(d)
            params |= {h + "mlp." + n: p for n, p in self.feed_forward.init(d, dice, proj_std=deep).items()}
        return params | {"ln_f.weight": torch.ones(d), "lm_head.weight": normal(dice, vocabulary, d, std=0.1 * d**-0.5)}

    def init_critic(self, shape: Shape, dice: np.random.Generator) -> Params:
        """The value head on the shared trunk; it starts at 0."""
        return {VALUE_HEAD: torch.zeros(self.width)}

    # ------------------------------------------------------------ the network

    def past(self) -> Past:
        """Nothing seen yet."""
        return Past(self.heads, [torch.empty(0)] * self.layers)

    def extend(self, params: Params, tokens: Tensor, past: Past) -> tuple[Tensor, list[Tensor]]:
        """Run tokens [B, S] after what `past` holds, and add them to it.

        Returns the final hidden states [B, S, d] and, for each mixture layer, the experts visited [B, S, k].
        Raises SettingError beyond the context.
        """
        new = tokens.shape[1]
        begin, end = past.filled, past.filled + new
        if end > self.context:
            raise SettingError(f"policy.context: {end} tokens of prompt and reply do not fit into {self.context}")
        x = (F.embedding(tokens, params["wte.weight"]) + params["wpe.weight"][begin:end]).flatten(0, 1)
        routes = []
        for layer in range(self.layers):
            h = f"h.{layer}."
            qkv = _norm(x, params[h + "ln_1.weight"]) @ params[h + "attn.c_attn.weight"]
            x = torch.addmm(x, past.attend(layer, qkv, new), params[h + "attn.c_proj.weight"])
            y, visited = self.feed_forward(params, h + "mlp.", _norm(x, params[h + "ln_2.weight"]))
            x = x + y
            routes += [] if visited is None else [visited.view(*tokens.shape, -1)]
        past.filled = end
        return _norm(x, params["ln_f.weight"]).view(*tokens.shape, -1), routes

    def value(self, params: Params, hidden: Tensor) -> Tensor:
        """V at hidden states [..., d]: [...]."""
        return self.value_gain * (hidden @ params[VALUE_HEAD])

    # ------------------------------------------------------------ scoring in one pass

    def evaluate(self, params: Params, rollout: Rollout, *, critic: bool) -> PolicyOutput:
        """The policy's view of a rollout's replies: logp, entropy, value [B, T]; dist [B, T, A].

        Each distinct prompt is run once for all replies of its group, and each distinct reply once for all rows that
        say it (a sure policy repeats itself a lot); the head sees reply positions only.
        """
        assert rollout.prompt is not None
        first, of_row = distinct(rollout.group, rollout.action)
        said = rollout.action.index_select(0, first)
        hidden, _ = self._read(params, rollout.prompt.index_select(0, first), rollout.group.index_select(0, first), said)
        head = categorical(hidden @ params["lm_head.weight"].T)
        logp = head.log_prob(said)
        value = self.value(params, hidden) if critic else torch.zeros_like(logp)
        return PolicyOutput(*(x.index_select(0, of_row) for x in (logp, head.entropy(), value, head.logp)))

    def scorer(self, layout: Layout, theta: Tensor, grad: Tensor, *, critic: bool) -> Scorer:
        """As `evaluate`, cut off from the graph, with the way back from slopes to `grad` (`policies.scored`)."""
        return by_autograd(self, layout, theta, grad, critic=critic)

    def replies(self, params: Params, rollout: Rollout) -> tuple[Tensor, list[Tensor]]:
        """What the network thought before each reply token: hidden [B, T, d]; experts [B, T, k] per mixture layer."""
        assert rollout.prompt is not None
        return self._read(params, rollout.prompt, rollout.group, rollout.action)

    def _read(self, params: Params, prompt: Tensor, group: Tensor, action: Tensor) -> tuple[Tensor, list[Tensor]]:
        groups, of_row = torch.unique(group, return_inverse=True)
        one_row_each = torch.empty_like(groups).scatter_(0, of_row, torch.arange(len(group)))
        past = self.past()
        asked, routes = self.extend(params, prompt.index_select(0, one_row_each), past)
        last, routes = asked[:, -1:].index_select(0, of_row), [r[:, -1:].index_select(0, of_row) for r in routes]
        if action.shape[1] == 1:
            return last, routes
        said, more = self.extend(params, action[:, :-1], past.of_rows(of_row))
        return torch.cat((last, said), 1), [torch.cat(pair, 1) for pair in zip(routes, more, strict=True)]


def distinct(group: Tensor, action: Tensor) -> tuple[Tensor, Tensor]:
    """Rows [B] that say the same to the same prompt: (a row for each distinct reply [U], which of them each row is [B])."""
    seen: dict[tuple[int, ...], int] = {}
    first: list[int] = []
    of_row: list[int] = []
    for row, said in enumerate(zip(group.tolist(), action.tolist(), strict=True)):
        at = seen.setdefault((said[0], *said[1]), len(seen))
        first += [row] if at == len(first) else []
        of_row.append(at)
    return torch.tensor(first), torch.tensor(of_row)


def _norm(x: Tensor, weight: Tensor) -> Tensor:
    return torch.layer_norm(x, weight.shape, weight)
