"""The apply phase: from the gradient of all parameters to new ones, followed at one parameter."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rlcore.microscope.naming import action_name, in_math, token_name, what
from rlcore.microscope.phase import Blank, Line, Mistake, Phase, Question, line
from rlcore.microscope.scene import Scene
from rlcore.optim import Adam
from rlcore.policies import Tabular


@dataclass(frozen=True)
class Spot:
    """One parameter: its place in the flat vector, and what it is called."""

    index: int
    name: str


def spot(scene: Scene) -> Spot:
    """The parameter that is followed: the selected action's own logit in a table, else the one pushed hardest."""
    of = scene.of
    layout, grad = of.state.layout, scene.applied.grad.numpy()
    if isinstance(of.config.policy, Tabular):
        rollout, at = of.trace.rollout, (scene.at.row, scene.at.token)
        state, action = int(rollout["obs"][at]), int(rollout["action"][at])
        index = state * layout.shapes[0][1] + action
        named = action_name(of.config, action)
        return Spot(index, f"logit of {named}" + ("" if layout.shapes[0][0] == 1 else f" in state {state}"))
    actor = np.concatenate([np.full(n, not name.startswith("critic")) for name, n in zip(layout.names, layout.sizes, strict=True)])
    index = int((np.abs(grad) * actor).argmax())
    before = 0
    for name, shape, size in zip(layout.names, layout.shapes, layout.sizes, strict=True):
        if index < before + size:
            where = ", ".join(str(int(i)) for i in np.unravel_index(index - before, shape))
            return Spot(index, f"{name}[{where}], the policy's parameter with the largest gradient")
        before += size
    raise IndexError(index)


def apply(scene: Scene) -> Phase:
    """The optimiser's step at one parameter, and what the whole step did to the selected token."""
    at, did, config = spot(scene), scene.applied, scene.of.config
    grad, scaled = float(did.grad[at.index]), float(did.scaled[at.index])
    before, after = float(did.before[at.index]), float(did.after[at.index])
    norm, bound = scene.update.grad_norm, config.optim.max_grad_norm
    shrunk = r"\cdot\min\Big(1,\frac{@bound@}{@norm@}\Big)=@scaled@" if norm > 0 else r"=@scaled@\quad\text{(no gradient at all: nothing to scale)}"
    lines = [line(r"g'=@g@" + shrunk, g=grad, bound=bound, norm=norm, scaled=scaled)]
    blanks = [Blank("scaled", "g'", "gradient after scaling", scaled, 2,
                    (Mistake(grad, "The norm is above the bound: the gradient is scaled down."),
                     Mistake(math.copysign(min(abs(grad), bound), grad), "The bound is on the *norm* of all parameters, not on each.")))]  # fmt: skip
    if isinstance(config.optim, Adam):
        more, blank, formula, sentence = _adam(scene, at, scaled)
    else:
        more, blank, formula, sentence = _sgd(scene, before, after, scaled)
    moved = scene.logp_after(scene.at.update)[scene.at.row, scene.at.token]
    lines += more
    was = scene.now("logp_new")
    name = in_math(token_name(scene))
    lines.append(line(rf"\log\pi({name}):\ @was@\ \to\ @is@", was=was, **{"is": float(moved)}))
    lines.append(line(rf"\pi({name}):\ @p@\ \to\ @q@", p=math.exp(was), q=math.exp(float(moved))))
    answer = "up" if after > before else "down" if after < before else "nowhere"
    question = Question("choice", f"Its gradient is {scaled:+.3g}. Where does the parameter go ({at.name})?", answer,
                        f"θ: {before:.6g} → {after:.6g}.", ("up", "nowhere", "down"))  # fmt: skip
    note = f"Followed: {at.name}. {_more(scene)}"
    return Phase("apply", "Apply", sentence, formula, tuple(lines), (blank, *blanks), question, note, shows="moved")


Told = tuple[list[Line], Blank, str, str]


def _adam(scene: Scene, at: Spot, g: float) -> Told:
    did, optim = scene.applied, scene.of.config.optim
    assert isinstance(optim, Adam)
    n = did.moments.updates
    m0, v0 = float(did.moments_before.m[at.index]), float(did.moments_before.v[at.index])
    m, v = float(did.moments.m[at.index]), float(did.moments.v[at.index])
    before, after = float(did.before[at.index]), float(did.after[at.index])
    mhat, vhat = m / (1 - optim.beta1**n), v / (1 - optim.beta2**n)
    lines = [
        line(r"m=@b1@\cdot @(m0)@+@r1@\cdot @(scaled)@=@m@", b1=optim.beta1, m0=m0, r1=1 - optim.beta1, scaled=g, m=m),
        line(r"v=@b2@\cdot @(v0)@+@r2@\cdot @(scaled)@^2=@v@", b2=optim.beta2, v0=v0, r2=1 - optim.beta2, scaled=g, v=v),
        line(r"\hat m=\frac{@m@}{1-@b1@^{@n@}}=@mhat@", m=m, b1=optim.beta1, n=str(n), mhat=mhat),
        line(r"\hat v=\frac{@v@}{1-@b2@^{@n@}}=@vhat@", v=v, b2=optim.beta2, n=str(n), vhat=vhat),
        line(r"\theta\leftarrow @before@-@lr@\cdot\frac{@mhat@}{\sqrt{@vhat@}+@eps@}=@after@", before=before, lr=did.lr,
             mhat=mhat, vhat=vhat, eps=optim.eps, after=after),
    ]  # fmt: skip
    step = did.lr * mhat / (math.sqrt(vhat) + optim.eps)
    wrong = (
        Mistake(before + step, "The sign is wrong: descent subtracts."),
        Mistake(before - did.lr * g, "That is plain gradient descent; Adam divides by the root of the second moment."),
        Mistake(before - did.lr * m / (math.sqrt(v) + optim.eps), "The bias correction is missing: divide by 1 − βⁿ."),
        Mistake(before - did.lr * mhat / (vhat + optim.eps) if vhat else before, "The square root is missing."),
    )
    blank = Blank("after", r"\theta_{\text{new}}", "the parameter after the step", after, 1, wrong,
                  max(0.02 * abs(after - before), 1e-9))  # fmt: skip
    formula = (
        r"\begin{gathered}g'=g\cdot\min\Big(1,\tfrac{g_{\max}}{\lVert g\rVert}\Big)\\ m\leftarrow\beta_1m+(1-\beta_1)g'\\ "
        r"v\leftarrow\beta_2v+(1-\beta_2)g'^2\\ \hat m=\tfrac{m}{1-\beta_1^n},\ \hat v=\tfrac{v}{1-\beta_2^n}\\ "
        r"\theta\leftarrow\theta-\mathrm{lr}\,\frac{\hat m}{\sqrt{\hat v}+\epsilon}\end{gathered}"
    )
    sentence = "The gradient of all parameters is scaled to a bound, Adam turns it into a step, and the policy is a new one."
    return lines, blank, formula, sentence


def _sgd(scene: Scene, before: float, after: float, g: float) -> Told:
    lr = scene.applied.lr
    lines = [line(r"\theta\leftarrow @before@-@lr@\cdot @(g)@=@after@", before=before, lr=lr, g=g, after=after)]
    wrong = (Mistake(before + lr * g, "The sign is wrong: descent subtracts."),)
    blank = Blank("after", r"\theta_{\text{new}}", "the parameter after the step", after, 1, wrong, max(0.02 * abs(after - before), 1e-9))
    return lines, blank, r"\theta\leftarrow\theta-\mathrm{lr}\,g'", "The gradient is scaled to a bound, and the parameters go against it."


def _more(scene: Scene) -> str:
    """What comes after this update."""
    later = [k for k in scene.meets if k > scene.at.update]
    if later:
        u = scene.updates[later[0]]
        return (
            f"The same {what(scene)} is used again in update {later[0] + 1} (epoch {u.epoch + 1}): its stored log-probability stays, "
            "so its ratio will no longer be 1."
        )
    return "That was the last update this one takes part in; then the batch is thrown away and the new policy samples another."
