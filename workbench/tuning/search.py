"""A search: which candidates the next batch tries, from what was measured before.

Random: candidates drawn from the space. Evolutionary, after MetaSchedule's: a population of what
was measured and what was drawn, of which decisions are changed, in a few generations; a model of
the decisions alone says which are worth building, the modelled time of the built kernels which
are worth measuring. No program is tried twice, by its structure.

A batch depends on nothing but the record of the batches before it: its generator is keyed by the
seed and its number, so that a search that was killed proposes what it had proposed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from math import ceil, inf
from random import Random
from typing import Literal, TypeAlias, get_args

from workbench.ir import PrimFunc
from workbench.runtime.built import Built
from workbench.target import Target
from workbench.tuning.builders import Builders
from workbench.tuning.decision_model import DecisionModel, fit
from workbench.tuning.learnt import Learnt
from workbench.tuning.score import Scored, are_those, scored
from workbench.tuning.space import Candidate, Decisions, Space, built, candidate
from workbench.tuning.trial import Ended, Refusal, Trial
from workbench.verbs.choices import Domain

Strategy: TypeAlias = Literal["random", "evolutionary"]
STRATEGIES: tuple[str, ...] = get_args(Strategy)

Proposal: TypeAlias = tuple[Decisions, tuple[int, ...]]  # with the trials that it is made from
Made: TypeAlias = Candidate | Built | None  # what there is of a trial's candidate before it is run

GENERATIONS = 4
BUILT_PER_TRIAL = 3  # of an evolutionary search, as long as that makes no more than:
MOST_LOWERED = 1500  # candidates in a search
PROPOSED_PER_BUILT = 16  # ranked by their decisions
LEAST_PROPOSED = 64
MOST_IDLE = 4  # rounds of proposals without a new one, before a space counts as exhausted
MUTATED = 0.85  # MetaSchedule's share
TWICE = 0.3  # of those mutated
BY_CHANCE = 0.05  # of a batch, whatever is predicted: MetaSchedule's eps_greedy
BEST = 0.2  # of those measured are parents, with the best of what was built since:
PARENTS = 16
FIRST_TRIES = 64  # until a candidate builds, of which the choices are known
MOST_TRIES = 200  # refused for each trial, before the same


class Search:
    """Proposes trials of a `space` for `program` on a `target`, with the times of a `model`."""

    def __init__(
        self,
        program: PrimFunc,
        space: Space,
        target: Target,
        model: Target,
        strategy: Strategy,
        seed: int,
        builders: Builders | None = None,
    ) -> None:
        self.program = program
        self.space = space
        self.target = target
        self.model = model
        self.strategy = strategy
        self.seed = seed
        self.builders = builders
        self.lowered = 0  # candidates, so far
        self._known: dict[Decisions, Scored | Refusal] = {}  # spares time and decides nothing

    @cached_property
    def domains(self) -> tuple[Domain, ...]:
        """The choices of the first candidate that builds: most of a space have the same."""
        rng = Random(f"{self.seed}")
        longest: tuple[Domain, ...] = ()
        for _ in range(FIRST_TRIES):
            made = self._draft((), rng)
            longest = max(longest, made.domains, key=len)
            if made.kernels:
                return made.domains
        return longest

    def batch(
        self, number: int, size: int, done: Sequence[Ended], refused: Sequence[Refusal]
    ) -> tuple[list[tuple[Trial, Made]], list[Refusal]]:
        """The trials of batch `number`, up to `size`, and what was refused on the way.

        `done` are the trials of the batches before, `refused` what was refused for these. Fewer
        trials where the space has no more. A candidate is there where it was built here, and its
        kernel where another process built it.
        """
        generation = _Batch(self, number, size, done, refused)
        chosen = generation.drawn() if self.strategy == "random" else generation.evolved()
        first = max((ended.trial.number for ended in done), default=-1) + 1
        made: list[tuple[Trial, Made]] = []
        for k, one in enumerate(chosen):
            trial = Trial(
                first + k,
                number,
                len(chosen),
                one.parents,
                one.decisions,
                one.program,
                generation.predicted(one),
                one.modelled,
                one.features,
            )
            made.append((trial, one.made or one.kernel))
        self._forget()
        return made, generation.refusals

    def candidate(self, decisions: Decisions, kernel: Built | None = None) -> Candidate:
        """The candidate of a trial's decisions, of which a `kernel` may have been built before."""
        return candidate(self.program, self.space, self.target, decisions, Random(0), kernel)

    def _draft(self, decisions: Decisions, rng: Random) -> Candidate:
        return candidate(self.program, self.space, self.target, decisions, rng, whole=False)

    def draft(self, number: int, decisions: Decisions, rng: Random) -> Scored | Refusal:
        """What the space makes of decisions, and of draws for those that are missing."""
        known = self._known.get(decisions)
        if known is None:
            made = self._draft(decisions, rng)
            known = scored(number, made, self.model)
            self.lowered += isinstance(known, Scored)
            same = are_those(made.decisions, decisions)
            self._known[decisions if same else made.decisions] = known
        return replace(known, batch=number) if isinstance(known, Refusal) else known

    def proved(self, number: int, one: Scored) -> Scored | Refusal:
        """The same with all proved that is asked of what is measured, or refused after all."""
        known = self._known.get(one.decisions, one)
        if isinstance(known, Scored) and not known.proved:
            made = built(one.made, self.target) if one.made else self.candidate(one.decisions)
            if made.kernel is None:
                known = Refusal(number, one.decisions, made.reason)
            else:
                known = replace(known, made=made, proved=True)
            self._known[one.decisions] = known
        if isinstance(known, Refusal):
            return replace(known, batch=number)
        return replace(known, parents=one.parents)

    def at_once(self, asked: int) -> int:
        """How many are built side by side where so many are asked for: no process is left idle."""
        processes = self.builders.count if self.builders else 1
        return ceil(asked / max(processes, 1)) * max(processes, 1)

    def prepare(self, many: Sequence[Decisions], whole: bool = False) -> None:
        """Have built what is about to be asked for, side by side; `whole` to be proved, too."""
        if self.builders is None:
            return
        known = {d: self._known.get(d) for d in many}
        new = [
            d
            for d, k in known.items()
            if k is None or (whole and isinstance(k, Scored) and not k.made)
        ]
        found = self.builders.build(new, whole)
        self.lowered += sum(
            isinstance(one, Scored) and known[d] is None for d, one in found.items()
        )
        self._known |= found

    def _forget(self) -> None:
        """Keep of what was built only what it came to: a history and its kernels are large."""
        for decisions, known in self._known.items():
            self._known[decisions] = known.light


class _Batch:
    """The choice of one batch, from nothing but what was done before and its own generator."""

    def __init__(
        self,
        search: Search,
        number: int,
        size: int,
        done: Sequence[Ended],
        refused: Sequence[Refusal],
    ) -> None:
        self.search = search
        self.number = number
        self.size = size
        self.done = done
        self.rng = Random(f"{search.seed} {number}")
        self.tried = {e.trial.decisions for e in done} | {r.decisions for r in refused}
        self.programs = {e.trial.program: f"trial {e.trial.number}" for e in done}
        self.pool: dict[Decisions, Scored] = {}
        self.refusals: list[Refusal] = []
        self._factors: dict[Decisions, float] = {}
        correct = [e for e in done if e.seconds < inf]
        self.learnt = Learnt(correct)
        self.measured = {e.trial.decisions: e.seconds for e in correct}
        self.best = sorted(correct, key=lambda e: e.seconds)[: ceil(BEST * len(correct))]

    def drawn(self) -> list[Scored]:
        """Candidates by chance."""
        proved: list[Scored] = []
        while len(proved) < self.size:
            before = set(self.pool)
            wanted = len(before) + self.size - len(proved)
            self._fill(wanted, lambda count: [self._draw() for _ in range(count)])
            new = [one for decisions, one in self.pool.items() if decisions not in before]
            if not new:
                break
            proved += self._proved(new, len(new))
        return proved

    def evolved(self) -> list[Scored]:
        """The best of some generations, and a few of them by chance."""
        whole = len(self.done) * BUILT_PER_TRIAL < MOST_LOWERED
        built = self.size * BUILT_PER_TRIAL if whole else self.size
        for generation in range(1, GENERATIONS + 1):
            self._fill(ceil(built * generation / GENERATIONS), self._ranked)
        self._fill(self.size, lambda count: [self._draw() for _ in range(count)])
        known = {one: self.predicted(one) for one in self.pool.values()}
        ranked = sorted(known, key=lambda one: known[one] or inf)
        chance = min(round(BY_CHANCE * self.size), max(len(ranked) - self.size, 0))
        best = self._proved(ranked, self.size - chance)
        known_best = {one.decisions for one in best}
        rest = [one for one in ranked if one.decisions not in known_best]
        return [*best, *self._proved(self.rng.sample(rest, len(rest)), chance)]

    def _proved(self, ordered: Sequence[Scored], count: int) -> list[Scored]:
        """The first `count` that pass all proofs; what does not is refused."""
        self.search.prepare([one.decisions for one in ordered[:count]], whole=True)
        kept: list[Scored] = []
        for one in ordered:
            if len(kept) == count:
                break
            found = self.search.proved(self.number, one)
            if isinstance(found, Scored):
                kept.append(found)
            else:
                self.refusals.append(found)
        return kept

    def predicted(self, one: Scored) -> float | None:
        """The seconds of one run: those modelled, times what was learnt from those measured."""
        if one.modelled is None:
            return self._by_decisions.seconds([one.decisions])[0]
        if one.decisions not in self._factors:
            self._factors[one.decisions] = self.learnt.factor(one.features)
        return one.modelled * self._factors[one.decisions]

    @property
    def _by_decisions(self) -> DecisionModel:
        own = {
            d: seconds
            for d, one in self.pool.items()
            if one.modelled is not None and (seconds := self.predicted(one)) is not None
        }
        return DecisionModel(self.search.domains, {**self.measured, **own})

    def _fill(self, count: int, propose: Callable[[int], list[Proposal]]) -> None:
        """Build what is proposed until the pool has `count`, or the space seems to have no more.

        That is, where proposals come to nothing but what was tried, or to what is refused.
        """
        idle = tries = 0
        while idle < MOST_IDLE and tries < MOST_TRIES * self.size:
            before = tries
            asked = max(count - len(self.pool), LEAST_PROPOSED // PROPOSED_PER_BUILT)
            ahead = self.search.at_once(asked)
            proposals = propose(asked * PROPOSED_PER_BUILT)
            for k, (decisions, parents) in enumerate(proposals):
                if len(self.pool) >= count:
                    return
                if k % ahead == 0:
                    coming = (one for one, _ in proposals[k : k + ahead])
                    self.search.prepare([one for one in coming if one not in self.tried])
                if decisions not in self.tried:
                    self._build(decisions, parents)
                    tries += 1
            idle += tries == before

    def _build(self, decisions: Decisions, parents: tuple[int, ...]) -> None:
        self.tried.add(decisions)
        found = self.search.draft(self.number, decisions, self.rng)
        if found.decisions != decisions and found.decisions in self.tried:
            return  # repaired into what was tried
        self.tried.add(found.decisions)
        if isinstance(found, Refusal):
            self.refusals.append(found)
        elif found.program in self.programs:
            why = f"it is the program of {self.programs[found.program]}"
            self.refusals.append(Refusal(self.number, found.decisions, why))
        else:
            self.programs[found.program] = "another candidate"
            self.pool[found.decisions] = replace(found, parents=parents)

    def _draw(self) -> Proposal:
        return tuple(domain.draw(self.rng) for domain in self.search.domains), ()

    def _ranked(self, count: int) -> list[Proposal]:
        """Mutations of the best so far, and draws, those first that their decisions speak for."""
        population: list[tuple[Decisions, tuple[int, ...], float]]
        population = [(e.trial.decisions, (e.trial.number,), e.seconds) for e in self.best]
        for one in self.pool.values():
            seconds = self.predicted(one)
            if seconds is not None and fit(self.search.domains, one.decisions):
                population.append((one.decisions, one.parents, seconds))
        population = sorted(population, key=lambda one: one[2])[: max(PARENTS, len(self.best))]
        weights = [1 / seconds for *_, seconds in population]
        proposals: dict[Decisions, tuple[int, ...]] = {}
        for _ in range(count):
            if population and self.search.domains and self.rng.random() < MUTATED:
                decisions, parents, _seconds = self.rng.choices(population, weights)[0]
                proposals.setdefault(self._mutated(decisions), parents)
            else:
                proposals.setdefault(*self._draw())
        told = self._by_decisions.seconds(list(proposals))
        order = sorted(range(len(told)), key=lambda k: told[k] or inf)
        every = list(proposals.items())
        return [every[k] for k in order]

    def _mutated(self, decisions: Decisions) -> Decisions:
        """One or two of the decisions changed a little."""
        made = list(decisions)
        domains = self.search.domains if made else ()
        for _ in range(1 + (self.rng.random() < TWICE) if domains else 0):
            k = self.rng.randrange(min(len(made), len(domains)))
            if not domains[k].wrong(made[k]):
                made[k] = domains[k].neighbour(made[k], self.rng)  # type: ignore[arg-type]
        return tuple(made)
