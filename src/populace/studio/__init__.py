"""The web application: it reads run folders and shows them.

Whatever it does, it does by starting the `populace` command that it shows on the screen, in a
process of its own. So it never loads a model, never stands in the loop of a run, and can be closed
or killed at any moment.
"""
