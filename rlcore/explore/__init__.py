"""Numbers for pages that explain: frozen numpy records, computed by the functions that train.

Nothing here trains a run that somebody keeps, draws, or restates a formula: slots, losses and optimisers are called.
"""
