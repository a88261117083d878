"""Pure functions from frozen records to figures. No torch, no Streamlit."""
