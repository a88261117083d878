"""Replies follow the policy's distribution, end or are cut, and become a rollout that says which."""

from __future__ import annotations

from dataclasses import fields
from itertools import product

import numpy as np
import pytest
import torch
from torch import Tensor

from rlcore.policies.heads import Categorical
from rlcore.policies.parameters import Params
from rlcore.policies.transformer import Transformer
from rlcore.rng import generator
from rlcore.rollout import Rollout
from rlcore.words.addition import Addition
from rlcore.words.collect import collect_words
from rlcore.words.measure import accuracy, pass_at_k
from rlcore.words.sample import by_uniforms, greedy, reply
from rlcore.words.task import terms_of
from rlcore.words.vocabulary import EOS, encode

POLICY = Transformer()
TASK = Addition(partial=0.25, format=0.5)


def uneven(seed: int = 0) -> Params:
    """Random parameters with a few likely tokens and an EOS that comes now and then."""
    params = POLICY.init(TASK.shape(), generator(seed, 0, "init"))
    return params | {"lm_head.weight": params["lm_head.weight"] * 25}


def collected(params: Params, *, step: int = 0, **settings: object) -> Rollout:
    return collect_words(
        POLICY, params, params, TASK, prompts=4, group_size=16,
        dice_starts=generator(0, step, "starts"), dice_actions=generator(0, step, "actions"), **settings,  # type: ignore[arg-type]
    )  # fmt: skip


def chi_square_bound(cells: int) -> float:
    """The 99.9 % point of chi-square with cells - 1 degrees of freedom (Wilson and Hilferty 1931)."""
    n = cells - 1
    return float(n * (1 - 2 / (9 * n) + 3.0902 * (2 / (9 * n)) ** 0.5) ** 3)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_pairs_of_tokens_follow_the_distribution(seed: int) -> None:
    params, rows = uneven(seed), 20_000
    prompt = torch.tensor([encode("47+85=")])
    uniforms = torch.from_numpy(generator(seed, 0, "actions").random((rows, 2), dtype=np.float32))
    said = reply(POLICY, params, prompt, group_size=rows, max_length=2, choose=by_uniforms(uniforms))
    chance = _chance_of_pairs(params, prompt)
    pair = said.action[:, 0] * 48 + said.action[:, 1]
    counts = torch.bincount(pair, minlength=48 * 48).double()
    likely = chance * rows >= 5
    expected = torch.cat((chance[likely] * rows, (chance[~likely].sum() * rows)[None]))
    observed = torch.cat((counts[likely], counts[~likely].sum()[None]))
    assert float(((observed - expected) ** 2 / expected).sum()) < chi_square_bound(len(expected))
    shifted = observed.roll(1)
    assert float(((shifted - expected) ** 2 / expected).sum()) > chi_square_bound(len(expected)), "the test has power"


def _chance_of_pairs(params: Params, prompt: Tensor) -> Tensor:
    """P(first, second) [48 * 48] by scoring every pair; after EOS only EOS stands."""
    pairs = torch.tensor(list(product(range(48), range(48))))
    none = torch.zeros(pairs.shape)
    draft = Rollout(
        obs=pairs, action=pairs, mask=none.bool(), reward=none, logp_old=none, logp_ref=none, terminal=none.bool(),
        truncated=none.bool(), value_old=none, value_next=none, group=torch.zeros(len(pairs), dtype=torch.int64),
        prompt=prompt.expand(len(pairs), -1),
    )  # fmt: skip
    logp = POLICY.evaluate(params, draft, critic=False).logp.double()
    first, second = logp.exp().unbind(1)
    ended, stays = pairs[:, 0] == EOS, pairs[:, 1] == EOS
    return torch.where(ended, torch.where(stays, first, 0.0), first * second)


def test_the_same_dice_give_the_same_replies_and_other_dice_others() -> None:
    params = uneven()
    first, again, other = collected(params), collected(params), collected(params, step=1)
    for field in fields(Rollout):
        a, b = getattr(first, field.name), getattr(again, field.name)
        assert (a is None and b is None) or torch.equal(a, b)
    assert first.action.shape != other.action.shape or not torch.equal(first.action, other.action)


def test_finished_and_cut_replies_are_told_apart() -> None:
    rollout = collected(uneven(), max_length=5)
    lengths = rollout.mask.sum(-1)
    last = rollout.action.gather(1, (lengths - 1)[:, None]).squeeze(1)
    finished = last == EOS
    assert finished.any() and (~finished).any()
    assert (lengths[~finished] == 5).all(), "only the limit cuts"
    assert torch.equal(rollout.terminal.any(-1), finished) and torch.equal(rollout.truncated.any(-1), ~finished)
    ends = rollout.terminal | rollout.truncated
    assert (ends.sum(-1) == 1).all() and (ends.float().argmax(-1) == lengths - 1).all()
    assert (rollout.reward[~ends] == 0).all() and (rollout.value_next[ends] == 0).all()
    eos_inside = (rollout.action == EOS) & rollout.mask
    assert torch.equal(eos_inside, rollout.terminal), "a reply stops at its first end"
    graded = terms_of(TASK, rollout)
    assert (graded["exact"][~finished] == 0).all() and (graded["format"][~finished] == 0).all()


def test_the_share_of_cut_replies_is_measured() -> None:
    policy, short = Transformer(start="addition-0"), TASK.model_copy(update={"max_length": 5})
    params = policy.init(TASK.shape(), generator(0, 0, "init"))
    found = accuracy(policy, params, short, dice=generator(0, 0, "eval"), prompts=64)
    uniforms = torch.from_numpy(generator(0, 0, "eval").random((64 * 4, 5), dtype=np.float32))
    prompts = short.prompts("heldout").ids[:64]
    said = reply(policy, params, prompts, group_size=4, max_length=5, choose=by_uniforms(uniforms))
    cut = ~((said.action == EOS) & said.mask).any(-1)
    assert 0.1 < float(cut.float().mean()) < 0.9 and found.truncated == pytest.approx(float(cut.float().mean()))


def test_the_reward_is_on_the_last_token_and_of_the_named_terms() -> None:
    rollout = collected(uneven())
    assert torch.equal(rollout.score, TASK.reward(terms_of(TASK, rollout)))
    assert torch.equal(rollout.group, torch.arange(4).repeat_interleave(16))
    assert rollout.prompt is not None
    assert (rollout.prompt.view(4, 16, -1) == rollout.prompt.view(4, 16, -1)[:, :1]).all()
    assert torch.equal(rollout.obs[:, 0], rollout.prompt[:, -1]) and torch.equal(rollout.obs[:, 1:], rollout.action[:, :-1])


def test_another_sampler_than_the_trainer_is_said_so() -> None:
    params, other = uneven(), uneven(5)
    same, foreign, hot = collected(params), collected(params, params_rollout=other), collected(params, temperature=2.0)
    assert same.logp_rollout is None
    assert foreign.logp_rollout is not None and hot.logp_rollout is not None
    under_other = POLICY.evaluate(other, foreign, critic=False).logp
    assert (under_other - foreign.logp_rollout)[foreign.mask].abs().max() < 1e-5
    for rollout in (foreign, hot):
        now = POLICY.evaluate(params, rollout, critic=False).logp
        assert torch.equal(now, rollout.logp_old)
        assert rollout.logp_rollout is not None
        assert (rollout.logp_rollout - rollout.logp_old)[rollout.mask].abs().max() > 0.1


def test_a_temperature_divides_the_logits_that_are_sampled_from() -> None:
    params = uneven()
    hot = collected(params, temperature=3.0)
    assert hot.dist_old is not None and hot.logp_rollout is not None
    expected = Categorical((hot.dist_old / 3.0).log_softmax(-1)).log_prob(hot.action)
    torch.testing.assert_close(hot.logp_rollout[hot.mask], expected[hot.mask], atol=1e-5, rtol=1e-5)


def test_the_reference_is_scored_by_its_own_weights() -> None:
    params, ref = uneven(), uneven(9)
    rollout = collect_words(
        POLICY, params, ref, TASK, prompts=2, group_size=3, dice_starts=generator(0, 0, "starts"),
        dice_actions=generator(0, 0, "actions"),
    )  # fmt: skip
    assert torch.equal(rollout.logp_ref, POLICY.evaluate(ref, rollout, critic=False).logp)
    assert rollout.dist_ref is not None and rollout.dist_ref.shape == (*rollout.action.shape, 48)


def test_greedy_takes_the_likeliest_token_every_time() -> None:
    params, prompt = uneven(), TASK.prompts("heldout").ids[:5]
    said = reply(POLICY, params, prompt, group_size=1, max_length=6, choose=greedy)
    assert torch.equal(said.action[said.mask], said.dist.argmax(-1)[said.mask])


@pytest.mark.parametrize(("samples", "right", "k"), [(4, 0, 2), (4, 1, 2), (5, 2, 3), (6, 6, 1), (8, 3, 8)])
def test_pass_at_k_counts_subsets(samples: int, right: int, k: int) -> None:
    from itertools import combinations

    outcomes = [True] * right + [False] * (samples - right)
    drawn = list(combinations(outcomes, k))
    assert pass_at_k(right, samples, k) == pytest.approx(sum(map(any, drawn)) / len(drawn))


@pytest.mark.parametrize(("right", "samples", "k"), [(1, 4, 5), (1, 4, 0), (5, 4, 1), (-1, 4, 1)])
def test_pass_at_k_refuses_impossible_counts(right: int, samples: int, k: int) -> None:
    with pytest.raises(ValueError, match="k must be within"):
        pass_at_k(right, samples, k)


def test_accuracy_tells_its_numbers_apart_and_repeats_them() -> None:
    policy = Transformer(start="addition-0")
    params = policy.init(TASK.shape(), generator(0, 0, "init"))
    first, again = (accuracy(policy, params, TASK, dice=generator(0, 0, "eval"), prompts=64) for _ in range(2))
    assert first == again
    assert first.pass_at[1] == pytest.approx(first.sampled) and first.pass_at[1] < first.pass_at[2] < first.pass_at[4]
