"""What a browser asks for, read with care, and what a session answers."""
