"""Points of iteration, and what expressions come to there."""

import pytest

from workbench import arith
from workbench.ir import Var, binary, const

I, J = Var("i"), Var("j")


def test_a_condition_is_asked_where_those_before_it_hold():
    table = arith.Table([I], [I > 0, 4 // I > 1])
    assert [values for _, values in table.rows({I: range(4)})] == [(1,), (2,)]


def test_a_point_at_which_something_is_divided_by_0_is_none():
    assert [values for _, values in arith.Table([4 // I]).rows({I: range(3)})] == [(4,), (2,)]
    even = binary("==", const(4, "int32") % I, const(0, "int32"))
    assert [values for _, values in arith.Table([I], [even]).rows({I: range(4)})] == [(1,), (2,)]
    assert arith.is_injective([4 // I], {I: (0, 2)}) is True


def test_what_stands_still_has_a_value_and_the_rest_is_cut():
    rows = arith.Table([I * 10 + J]).rows({J: range(5)}, {I: 3}, most=2)
    assert [values for _, values in rows] == [(30,), (31,)]


def test_a_variable_without_a_value_is_a_key_error():
    with pytest.raises(KeyError):
        next(arith.Table([I + J]).rows({I: range(2)}))
