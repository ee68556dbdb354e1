"""The pages, one folder each.

A folder holds `page` (what is registered), `data` (what it shows, without NiceGUI), `api` (the same as JSON),
its panels, and `static` for its own style sheets and scripts.
"""
