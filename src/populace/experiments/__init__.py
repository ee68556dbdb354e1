"""From one run to a conclusion: designs, arms, seeds, effects with intervals, and what they are worth."""
