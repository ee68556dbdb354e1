"""What a run was, read from its journal: overview, decisions, biographies, caveats; compared, exported, drawn.

Reading never needs a model and never changes anything. The command line, reports and Studio show what is computed here.
"""
