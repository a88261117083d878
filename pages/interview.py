"""The interview room: drill, whiteboard, mock interview, progress. No rubric, no schedule, no maths here."""

from importlib import import_module

import streamlit as st

from ui import page
from ui.interview import back, drill, narrow

back.forget()
narrow.apply()
with st.container(key=narrow.HEAD):
    words = page.head("interview", settings=(*drill.SETTINGS, "task", "case"))
with st.container(key=narrow.SECTION):
    section = page.section(words)
if section.key == "whiteboard":
    page.engine()

import_module(f"ui.interview.{section.key}").room()
