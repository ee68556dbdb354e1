"""What a run was, read from its journal: its facts, decisions, lives and caveats, compared and exported.

Reading never needs a model and never changes anything. The command line, reports and Studio show what is computed here.
"""
