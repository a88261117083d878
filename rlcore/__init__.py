"""rlcore: PPO, GRPO, GSPO and their relatives as one equation with named slots. No Streamlit, no Plotly."""
