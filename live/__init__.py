"""Training that people watch: one worker for the whole server, leases, a WebSocket route and its frames.

Only `lease` knows Streamlit and only `engine` knows rlcore, so a page can be shown before torch is imported.
"""
