"""What a lab shows of a program, as plain data: pure functions of a history."""
