"""Flags that many commands have and that are read from click's context."""

import click


def context_flag(name: str, key: str, help: str) -> click.Option:
    """A flag whose value is kept in the meta data of click's context, under a key."""
    return click.Option(
        [name],
        is_flag=True,
        expose_value=False,
        callback=lambda context, _option, value: context.meta.update({key: value}),
        help=help,
    )
