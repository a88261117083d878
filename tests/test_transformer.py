"""The transformer against plain statements of itself, against `transformers`, and against its own cached sampler."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from rlcore.knobs import SettingError
from rlcore.policies.moe import Dense, MixtureOfExperts
from rlcore.policies.parameters import Params
from rlcore.policies.shape import Shape
from rlcore.policies.transformer import VALUE_HEAD, Transformer
from rlcore.policies.weights import load_start, read_weights, save_start, starts
from rlcore.rng import generator
from rlcore.rollout import Rollout, take
from rlcore.words.addition import Addition
from rlcore.words.collect import collect_words

DENSE = Transformer(feed_forward=Dense())
SPARSE = Transformer(feed_forward=MixtureOfExperts(experts=4, top_k=2))
SHAPE = Shape(states=48, actions=48)
KINDS = pytest.mark.parametrize("policy", [DENSE, SPARSE], ids=["dense", "moe"])


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def lively(policy: Transformer, seed: int = 0) -> Params:
    """Random parameters whose distributions are far from uniform, with a value head."""
    params = policy.init(SHAPE, generator(seed, 0, "init"))
    head = torch.from_numpy(generator(seed, 1, "init").standard_normal(64).astype(np.float32))
    return params | {"lm_head.weight": params["lm_head.weight"] * 20, VALUE_HEAD: head}


def some_replies(policy: Transformer, params: Params, prompts: int = 4, group_size: int = 6, step: int = 0) -> Rollout:
    dice = (generator(0, step, "starts"), generator(0, step, "actions"))
    return collect_words(
        policy, params, params, Addition(), prompts=prompts, group_size=group_size, dice_starts=dice[0], dice_actions=dice[1]
    )


def plain_logits(policy: Transformer, params: Params, tokens: list[int]) -> Tensor:
    """Logits after every token of one sequence: no cache, no batch, one head and one token at a time."""
    d, width = policy.width // policy.heads, policy.width

    def norm(x: Tensor, weight: Tensor) -> Tensor:
        return (x - x.mean()) / (x.var(unbiased=False) + 1e-5).sqrt() * weight

    stream = [params["wte.weight"][token] + params["wpe.weight"][i] for i, token in enumerate(tokens)]
    for layer in range(policy.layers):
        h = f"h.{layer}."
        qkv = [norm(x, params[h + "ln_1.weight"]) @ params[h + "attn.c_attn.weight"] for x in stream]
        for i in range(len(stream)):
            heads = []
            for j in range(policy.heads):
                part = slice(j * d, (j + 1) * d)
                scores = torch.stack([qkv[i][part] @ qkv[m][width:][part] / d**0.5 for m in range(i + 1)])
                heads.append(sum(p * qkv[m][2 * width :][part] for m, p in enumerate(scores.softmax(0))))
            stream[i] = stream[i] + torch.cat(heads) @ params[h + "attn.c_proj.weight"]
        stream = [x + plain_feed_forward(policy, params, h + "mlp.", norm(x, params[h + "ln_2.weight"])) for x in stream]
    return torch.stack([params["lm_head.weight"] @ norm(x, params["ln_f.weight"]) for x in stream])


def plain_feed_forward(policy: Transformer, params: Params, prefix: str, x: Tensor) -> Tensor:
    """One token's feed-forward layer; for a mixture, a loop over its best experts."""
    if isinstance(policy.feed_forward, Dense):
        return torch.relu(x @ params[prefix + "c_fc.weight"]) @ params[prefix + "c_proj.weight"]
    logits = x @ params[prefix + "gate.weight"]
    best = logits.argsort(descending=True)[: policy.feed_forward.top_k]
    gates = logits[best].softmax(0)
    fc, proj = params[prefix + "experts.c_fc.weight"], params[prefix + "experts.c_proj.weight"]
    return sum((g * (torch.relu(x @ fc[e]) @ proj[e]) for g, e in zip(gates, best, strict=True)), torch.zeros_like(x))


@KINDS
def test_log_probs_equal_a_plain_statement_of_the_network(policy: Transformer) -> None:
    params = lively(policy)
    rollout = some_replies(policy, params, prompts=2, group_size=2)
    scored = policy.evaluate(params, rollout, critic=True)
    assert rollout.prompt is not None and scored.dist is not None
    for row in range(rollout.rows):
        tokens = rollout.prompt[row].tolist() + rollout.action[row].tolist()
        logits = plain_logits(policy, params, tokens)[rollout.prompt.shape[1] - 1 : -1]
        torch.testing.assert_close(scored.dist[row], logits.log_softmax(-1), atol=2e-5, rtol=1e-4)


@KINDS
def test_the_cached_sampler_and_the_full_pass_agree(policy: Transformer) -> None:
    params = lively(policy)
    for step in range(3):
        rollout = some_replies(policy, params, prompts=8, group_size=8, step=step)
        scored = policy.evaluate(params, rollout, critic=True)
        assert 0 < rollout.mask.float().mean() < 1, "replies of several lengths are wanted"
        mask = rollout.mask
        assert (scored.logp - rollout.logp_old)[mask].abs().max() < 1e-5
        torch.testing.assert_close(scored.value[mask], rollout.value_old[mask], atol=1e-4, rtol=1e-5)
        assert scored.dist is not None and rollout.dist_old is not None
        torch.testing.assert_close(scored.dist[mask], rollout.dist_old[mask], atol=1e-5, rtol=1e-5)


def test_logits_equal_those_of_transformers_with_the_same_weights() -> None:
    transformers = pytest.importorskip("transformers", reason="pip install -r requirements-dev.txt brings transformers")
    params = lively(DENSE) if not starts() else load_start(starts()[0], like=DENSE.init(SHAPE, generator(0, 0, "init")))
    config = transformers.GPT2Config(
        vocab_size=48, n_positions=32, n_embd=64, n_layer=2, n_head=4, n_inner=128, activation_function="relu",
        tie_word_embeddings=False, bos_token_id=0, eos_token_id=0,
    )  # fmt: skip
    model = transformers.GPT2LMHeadModel(config).eval()
    ours = {("" if name.startswith("lm_head") else "transformer.") + name: x for name, x in params.items()}
    ours.pop("transformer." + VALUE_HEAD, None)
    biases = {name: torch.zeros_like(x) for name, x in model.state_dict().items() if name.endswith("bias")}
    model.load_state_dict(ours | biases)
    tokens = torch.from_numpy(generator(0, 0, "eval").integers(48, size=(16, 20)))
    with torch.no_grad():
        theirs = model(tokens).logits
        hidden, _ = DENSE.extend(params, tokens, DENSE.past())
    torch.testing.assert_close(hidden @ params["lm_head.weight"].T, theirs, atol=1e-4, rtol=1e-4)


@KINDS
def test_a_prompt_run_once_for_its_group_changes_neither_values_nor_gradients(policy: Transformer) -> None:
    params = {name: p.requires_grad_() for name, p in lively(policy).items()}
    rollout = some_replies(policy, {n: p.detach() for n, p in params.items()})
    each_its_own = take(rollout, torch.arange(rollout.rows))
    each_its_own = type(rollout)(**{**vars(each_its_own), "group": torch.arange(rollout.rows)})
    results = []
    for rows in (rollout, each_its_own):
        scored = policy.evaluate(params, rows, critic=True)
        loss = torch.where(rows.mask, scored.logp + scored.value, 0.0).sum()
        results.append((loss, *torch.autograd.grad(loss, list(params.values()))))
    for shared, separate in zip(*results, strict=True):
        torch.testing.assert_close(shared, separate, atol=1e-3, rtol=1e-3)


@KINDS
def test_rows_of_a_minibatch_score_as_they_do_in_the_batch(policy: Transformer) -> None:
    params = lively(policy)
    rollout = some_replies(policy, params)
    some = torch.tensor([17, 3, 4, 22, 0])
    whole, part = (policy.evaluate(params, r, critic=False).logp for r in (rollout, take(rollout, some)))
    torch.testing.assert_close(part, whole[some], atol=1e-5, rtol=1e-5)


@KINDS
def test_what_stands_after_a_reply_changes_nothing_before(policy: Transformer) -> None:
    params = lively(policy)
    rollout = some_replies(policy, params)
    junk = type(rollout)(**{**vars(rollout), "action": torch.where(rollout.mask, rollout.action, 7)})
    before, after = (policy.evaluate(params, r, critic=False).logp for r in (rollout, junk))
    assert torch.equal(before[rollout.mask], after[rollout.mask])


def test_the_experts_of_every_token_are_reported() -> None:
    params = lively(SPARSE)
    rollout = some_replies(SPARSE, params)
    _, routes = SPARSE.replies(params, rollout)
    assert [r.shape for r in routes] == [(*rollout.action.shape, 2)] * SPARSE.layers
    assert all((r[..., 0] != r[..., 1]).all() and r.min() >= 0 and r.max() < 4 for r in routes)
    assert DENSE.replies(lively(DENSE), rollout)[1] == []


def test_initialisation_and_sampling_leave_the_global_dice_alone() -> None:
    torch.manual_seed(3)
    before = torch.get_rng_state()
    rollout = some_replies(SPARSE, lively(SPARSE))
    SPARSE.evaluate(lively(SPARSE), rollout, critic=True)
    assert torch.equal(before, torch.get_rng_state())
    again = lively(SPARSE)
    assert all(torch.equal(x, again[name]) for name, x in lively(SPARSE).items())


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"width": 66}, "width must be a multiple of heads"),
        ({"feed_forward": {"kind": "moe", "experts": 2, "top_k": 3}}, "top_k must be at most experts"),
        ({"layers": 0}, "layers"),
    ],
)
def test_impossible_architectures_are_refused(settings: dict[str, object], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Transformer.model_validate(settings)


def test_what_does_not_fit_the_context_is_refused() -> None:
    with pytest.raises(SettingError, match=r"policy.context: 40 tokens .* into 32"):
        DENSE.extend(lively(DENSE), torch.zeros(1, 40, dtype=torch.int64), DENSE.past())
    with pytest.raises(SettingError, match="use mlp"):
        DENSE.init(Shape(features=4, actions=2), generator(0, 0, "init"))


# ---------------------------------------------------------------- weights


def test_weights_survive_the_file_in_half_precision(tmp_path: Path) -> None:
    params = lively(DENSE)
    for name in ("a", "b"):
        save_start(tmp_path / f"{name}.safetensors", params, {"command": "none", "task": "none", "policy": "none"})
    kept = read_weights(tmp_path / "a.safetensors", like=params)
    assert all(torch.equal(kept[name], x.half().float()) and kept[name].dtype == torch.float32 for name, x in params.items())
    assert (tmp_path / "a.safetensors").read_bytes() == (tmp_path / "b.safetensors").read_bytes()


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (Transformer(width=32), r"holds wte.weight as \(48, 64\), this policy needs \(48, 32\)"),
        (Transformer(layers=3), r"another architecture: it lacks h.2"),
        (Transformer(layers=1), r"another architecture: it has in excess h.1"),
        (SPARSE, r"lacks h.0.mlp.experts.* and has in excess h.0.mlp.c_fc.weight"),
    ],
)
def test_weights_of_another_architecture_are_refused(tmp_path: Path, other: Transformer, said: str) -> None:
    save_start(tmp_path / "w.safetensors", DENSE.init(SHAPE, generator(0, 0, "init")), {})
    with pytest.raises(SettingError, match=said):
        read_weights(tmp_path / "w.safetensors", like=other.init(SHAPE, generator(0, 0, "init")))


def test_broken_weight_files_are_refused(tmp_path: Path) -> None:
    params, path = DENSE.init(SHAPE, generator(0, 0, "init")), tmp_path / "w.safetensors"
    save_start(path, params, {})
    whole = path.read_bytes()
    for broken in (b"", b"hello", whole[: len(whole) // 2], b"\xff" * 64 + whole[64:]):
        path.write_bytes(broken)
        with pytest.raises(SettingError, match=r"policy.start: w.safetensors is not a readable safetensors file"):
            read_weights(path, like=params)
    save_start(path, params | {"ln_f.weight": torch.full((64,), torch.nan)}, {})
    with pytest.raises(SettingError, match=r"not finite in ln_f.weight"):
        read_weights(path, like=params)


def test_an_unknown_start_suggests_the_nearest() -> None:
    with pytest.raises(SettingError, match=r"no weights 'adition-0'; nearest: .*addition-0"):
        Transformer(start="adition-0").init(SHAPE, generator(0, 0, "init"))
    with pytest.raises(SettingError, match="no weights"):
        Transformer(start="../../etc/passwd").init(SHAPE, generator(0, 0, "init"))
