"""arith against the values themselves: every claim holds at every point of the domain."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.arith.expressions import VARS, conditions, domains, integers, points
from workbench.arith import (
    bounds,
    equal,
    evaluate,
    is_injective,
    linear,
    narrow,
    prove,
    region_of,
    simplify,
)
from workbench.arith.cost import cost
from workbench.arith.injective import Counterexample
from workbench.ir import BinOp, Buffer, Const, Var

DOMAINS = domains()


@given(integers(), DOMAINS)
def test_simplify_keeps_every_value_and_is_never_longer(e, dom):
    simple = simplify(e, dom)
    assert simple.dtype == e.dtype
    assert cost(simple) <= cost(e) or isinstance(simple, Const)
    for env in points(dom):
        assert evaluate(simple, env) == evaluate(e, env)


@given(conditions(), DOMAINS)
def test_simplify_keeps_every_truth_value(e, dom):
    simple = simplify(e, dom)
    for env in points(dom):
        assert bool(evaluate(simple, env)) == bool(evaluate(e, env))


@pytest.mark.fuzz
@given(integers())
def test_simplify_without_bounds_holds_everywhere(e):
    simple = simplify(e)
    for env in points(dict.fromkeys(VARS, (-4, 4))):
        assert evaluate(simple, env) == evaluate(e, env)


@given(integers(), DOMAINS)
def test_bounds_hold(e, dom):
    found = bounds(e, dom)
    assert found is not None  # every variable is bounded
    low, high = found
    assert all(low <= evaluate(e, env) <= high for env in points(dom))


@given(conditions(), DOMAINS)
def test_what_is_proved_holds(cond, dom):
    if prove(cond, dom):
        assert all(evaluate(cond, env) for env in points(dom))


@given(integers(3), integers(3), DOMAINS)
def test_what_is_called_equal_is_equal(a, b, dom):
    if equal(a, b, dom):
        assert all(evaluate(a, env) == evaluate(b, env) for env in points(dom))
    assert equal(a, simplify(a, dom), dom)


@given(integers(3))
def test_linear_gives_the_value_back(e):
    found = linear(e, VARS[:2])
    if found is not None:
        factors, rest = found
        assert not any(var in VARS[:2] for var in factors if var not in VARS[:2])
        for env in points(dict.fromkeys(VARS, (-3, 3))):
            value = sum(f * env[v] for v, f in factors.items()) + evaluate(rest, env)
            assert value == evaluate(e, env)


@given(st.lists(integers(3), min_size=1, max_size=2), conditions(1), DOMAINS)
def test_injective_means_no_two_points_meet(indices, predicate, dom):
    found = is_injective(indices, dom, predicate)
    kept = [env for env in points(dom) if evaluate(predicate, env)]
    places = [tuple(evaluate(e, env) for e in indices) for env in kept]
    if isinstance(found, Counterexample):
        assert found.first != found.second
        for env in (found.first, found.second):
            assert evaluate(predicate, env)
            assert tuple(evaluate(e, env) for e in indices) == found.place
    else:
        assert found is True  # domains this small are always decided
        assert len(set(places)) == len(places)


@given(st.lists(integers(3), min_size=1, max_size=2), DOMAINS, st.sets(st.sampled_from(VARS)))
def test_region_covers_every_index(indices, dom, relaxed):
    inner = {var: ends for var, ends in dom.items() if var in relaxed}
    outer: dict[Var, tuple[int, int]] = {v: e for v, e in dom.items() if v not in relaxed}
    shape = [bounds(e, dom)[1] + 1 for e in indices]
    try:
        box = region_of(indices, inner, outer=outer)
    except ValueError:
        box = region_of(indices, inner, shape, outer)
        assert all(bounds(e, dom)[0] < 0 for e in indices) or box
        return
    for env in points(dom):
        for index, side in zip(indices, box, strict=True):
            first = evaluate(side.min, env)
            assert first <= evaluate(index, env) < first + evaluate(side.extent, env)


@given(conditions(2), DOMAINS)
def test_narrow_keeps_every_point_where_the_condition_holds(cond, dom):
    narrowed = narrow(dom, cond)
    for env in points(dom):
        if evaluate(cond, env):
            assert all(narrowed[v][0] <= env[v] <= narrowed[v][1] for v in VARS)


@given(st.lists(integers(3), min_size=1, max_size=2), DOMAINS)
def test_injective_holds_for_every_value_of_the_other_variables(indices, dom):
    inner = {var: ends for var, ends in dom.items() if var is not VARS[0]}
    if is_injective(indices, inner) is True:
        for other in range(-2, 6):
            places = [
                tuple(evaluate(e, {**env, VARS[0]: other}) for e in indices)
                for env in points(inner)
            ]
            assert len(set(places)) == len(places)


def test_what_one_index_tells_is_known_in_the_others():
    i, j, k = Var("i"), Var("j"), Var("k")
    for n in (4, 100_000):
        dom = {i: (0, n - 1), j: (0, 5), k: (0, 99)}
        assert is_injective([i, i * 4 + j], {i: dom[i], j: dom[j]}) is True
        assert is_injective([i * 4 + j, j * 4 + k, k], dom) is True  # k tells j, and j tells i
        assert not is_injective([i * 4 + j], {i: dom[i], j: dom[j]})
        assert not is_injective([i * 4 + j, j * 4 + k], dom)


def test_injective_with_a_variable_that_has_one_unknown_value():
    i, j, k = VARS
    assert is_injective([k * 4 + i], {i: (0, 7)}) is True
    assert is_injective([(k * 4 + i * 16 + j) // 2], {i: (0, 7), j: (0, 3)}) is False


def test_narrow_says_nothing_about_floats():
    value = Var("x", "float32")
    dom = {VARS[0]: (0, 7)}
    assert narrow(dom, BinOp("and", value < 3.0, VARS[0] < 4)) == {VARS[0]: (0, 3)}


def test_narrow_says_nothing_about_loads():
    load = Buffer("A", (1,), "int32")[Const(0, "int32")]
    dom = {VARS[0]: (0, 7)}
    assert narrow(dom, VARS[0] < load) == dom
