"""Studio: look at a society."""
