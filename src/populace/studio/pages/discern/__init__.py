"""The discrimination test: real or generated?"""
