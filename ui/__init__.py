"""Streamlit helpers that pages share: page table, state in the URL, the live panel."""
