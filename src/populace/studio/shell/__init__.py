"""What every page stands in: the frame, foreign text as text, simulated times, access control."""
